#!/usr/bin/env bash
# Implements `make test-long`, which runs campaigns of minutes to hours on release builds with each installed MPI. The
# last line of output is the total over all campaigns, `N passed, 0 failed`.
#
#     SIGNALS=200  signals per configuration (1 process, 3 in-process ranks, 3 ranks of each MPI); 0 for none
#     KILLS=20  kills of runs with a checkpoint per configuration; 0 for none
#     WALK_COMMANDS=20000, WALK_SECONDS=, WALK_SEED= (today's date), WALK_ONLY=  random command lines; 0 commands for none
set -uo pipefail
cd "$(dirname "$0")/.."

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none

features=$(./.ci/features)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# campaign NAME COMMAND... runs a command whose last line contains the numbers of passed and failed tests.
campaign() {
    echo "$1"
    shift
    "$@" 2>&1 | tee -a "$log"
}

walk=(--seed "${WALK_SEED:-$(date +%Y%m%d)}" --commands "${WALK_COMMANDS:-20000}")
[ -n "${WALK_SECONDS:-}" ] && walk+=(--seconds "$WALK_SECONDS")
[ -n "${WALK_ONLY:-}" ] && walk+=(--only "$WALK_ONLY") SIGNALS=0 KILLS=0
names=() launchers=() programs=()
for mpi in mpich openmpi; do
    if [ $mpi = mpich ]; then compiler=${MPICC:-mpicc.mpich} launcher=${MPIRUN:-mpirun.mpich}
    else compiler=${OPENMPI_CC:-mpicc.openmpi} launcher=${OPENMPI_RUN:-mpirun.openmpi}; fi
    command -v "$compiler" > /dev/null && command -v "$launcher" > /dev/null || continue
    MPICC=$compiler CARGO_TARGET_DIR=target/$mpi cargo build --quiet --release --features "$features" || exit 1
    names+=("$mpi") launchers+=("$launcher") programs+=("$PWD/target/$mpi/release/einsum-dist")
    walk+=(--launcher "$launcher=${programs[-1]}")
done
[ ${#names[@]} -gt 0 ] || { echo "no MPI is installed"; exit 1; }

# Signals are tested before the walk starts, because they are sent at random fractions of the time that an undisturbed
# run takes.
if [ "${SIGNALS:-200}" -gt 0 ]; then
    signals=(python3 tests/signals.py --runs "${SIGNALS:-200}")
    campaign "signals to a process" "${signals[@]}" "${programs[0]}"
    campaign "signals to 3 ranks of a process" "${signals[@]}" "${programs[0]}" --ranks 3
    for at in "${!names[@]}"; do
        campaign "signals to 3 ranks, ${names[$at]}" "${signals[@]}" "${programs[$at]}" --ranks 3 --launcher "${launchers[$at]}"
    done
fi

if [ "${KILLS:-20}" -gt 0 ]; then
    kills=(python3 tests/checkpoints.py --kills "${KILLS:-20}")
    campaign "kills of a process" "${kills[@]}" "${programs[0]}"
    campaign "kills of 3 ranks of a process" "${kills[@]}" "${programs[0]}" --ranks 3
    for at in "${!names[@]}"; do
        campaign "kills of 3 ranks, ${names[$at]}" "${kills[@]}" "${programs[$at]}" --ranks 3 --launcher "${launchers[$at]}"
    done
fi

if [ "${WALK_COMMANDS:-20000}" -gt 0 ]; then
    campaign "random command lines" env MPICC="${MPICC:-mpicc.mpich}" CARGO_TARGET_DIR=target/mpich \
        cargo test --quiet --features "$features" --test walk -- "${walk[@]}" --program "${programs[0]}"
fi

awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3; n++ } END { print p + 0 " passed, " f + 0 " failed"; exit f > 0 || n < 1 }' "$log"
