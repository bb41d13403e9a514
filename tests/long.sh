#!/usr/bin/env bash
# What `make test-long` runs: campaigns that take minutes to hours. Ends with the line `N passed, 0 failed` of all of them.
#
#     WALK_COMMANDS=20000, WALK_SECONDS=, WALK_SEED= (the day's), WALK_ONLY=  the random walk over the command line
set -uo pipefail
cd "$(dirname "$0")/.."

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none

features=$(./.ci/features)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# campaign NAME COMMAND...: its last line says how many passed.
campaign() {
    echo "$1"
    shift
    "$@" 2>&1 | tee -a "$log"
}

launchers=()
for mpi in mpich openmpi; do
    if [ $mpi = mpich ]; then compiler=${MPICC:-mpicc.mpich} launcher=${MPIRUN:-mpirun.mpich}
    else compiler=${OPENMPI_CC:-mpicc.openmpi} launcher=${OPENMPI_RUN:-mpirun.openmpi}; fi
    command -v "$compiler" > /dev/null && command -v "$launcher" > /dev/null || continue
    MPICC=$compiler CARGO_TARGET_DIR=target/$mpi cargo build --quiet --features "$features" || exit 1
    launchers+=(--launcher "$launcher=$PWD/target/$mpi/debug/einsum-dist")
done

walk=(--seed "${WALK_SEED:-$(date +%Y%m%d)}")
[ -n "${WALK_COMMANDS:-}" ] && walk+=(--commands "$WALK_COMMANDS")
[ -n "${WALK_SECONDS:-}" ] && walk+=(--seconds "$WALK_SECONDS")
[ -n "${WALK_ONLY:-}" ] && walk+=(--only "$WALK_ONLY")
campaign "random command lines" env MPICC="${MPICC:-mpicc.mpich}" CARGO_TARGET_DIR=target/mpich \
    cargo test --quiet --features "$features" --test walk -- "${walk[@]}" "${launchers[@]}"

awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3; n++ } END { print p + 0 " passed, " f + 0 " failed"; exit f > 0 || n < 1 }' "$log"
