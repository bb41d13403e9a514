#!/usr/bin/env bash
# Implements `make test-large`, which tests blocks with more than 2^31 elements and with more than 4 GiB, with every
# transport and in files. The last line of output is `N passed, 0 failed`.
#
# The tests run for minutes and need up to 22 GB of memory and 1 GB of disk space. A step that needs more memory or disk
# space than is free is skipped with a message. An argument restricts the steps to those whose name contains it.
set -uo pipefail
cd "$(dirname "$0")/.."

only=${1:-}
full=$(./.ci/features)
passed=0 failed=0
log=$(mktemp)
files=$(mktemp -d "${TMPDIR:-/tmp}/einsum-dist-large.XXXXXX")
trap 'rm -rf "$log" "$files"' EXIT

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_btl_vader_single_copy_mechanism=none
export TMPDIR=$files EINSUM_DIST_RATES=default

# step NAME MEMORY DISK COMMAND... runs a command, which must succeed, if MEMORY GB of memory and DISK GB of disk space
# are free.
step() {
    local name=$1 memory=$2 disk=$3 start=$SECONDS free status
    shift 3
    [[ $name == *"$only"* ]] || return 0
    printf '%-58s ' "$name"
    free=$(awk '/^MemAvailable:/ { print int($2 * 1024 / 1e9) }' /proc/meminfo)
    if [ "${free:-0}" -lt "$memory" ]; then echo "skipped: takes $memory GB of memory, $free GB are there"; return; fi
    free=$(df --output=avail -B 1000000000 "$files" | tail -n 1 | tr -d ' ')
    if [ "$free" -lt "$disk" ]; then echo "skipped: takes $disk GB of disk in $files, $free GB are there"; return; fi
    if timeout --kill-after=10 1800 nice "$@" > "$log" 2>&1 < /dev/null; then
        passed=$((passed + 1))
        printf 'ok  %4d s\n' $((SECONDS - start))
    else
        status=$?
        failed=$((failed + 1))
        printf 'FAILED  (exit code %d)\n' "$status"
        echo "  $*"
        tail -n 100 "$log" | sed 's/^/    /'
    fi
}

# binary TARGET MPICC NAME builds a test program with one MPI and prints its path.
binary() {
    env MPICC="$2" CARGO_TARGET_DIR="target/$1" cargo test -q --features "$full" --test "$3" \
        --config "target.'cfg(all())'.runner = 'echo'" -- --include-ignored | grep -o "[^ ]*/$3-[^ ]*" | tail -n 1
}

compilers=("${MPICC:-mpicc.mpich}" "${OPENMPI_CC:-mpicc.openmpi}") launchers=("${MPIRUN:-mpirun.mpich}" "${OPENMPI_RUN:-mpirun.openmpi}")
large=$(binary mpich "${compilers[0]}" integration)
step "a block of 2.2 billion elements, in process" 11 0 "$large" --ignored a_block_of_more
step "a block of 5 GiB over a slow link, in process" 12 0 "$large" --ignored a_block_of_5_gib
step "a file of 2.2 billion elements, ranks of one process" 2 1 "$large" --ignored a_file

mpis=(mpich openmpi)
for at in 0 1; do
    mpi=${mpis[at]} compiler=${compilers[at]} run=${launchers[at]}
    if ! command -v "$compiler" > /dev/null || ! command -v "$run" > /dev/null; then
        echo "$mpi skipped: no $compiler or $run"
        continue
    fi
    program=$(binary $mpi "$compiler" mpi)
    step "blocks of 8.8 and 5.4 GB by message, $mpi" 22 0 "$run" -n 2 "$program" transport huge message
    for route in shared rma; do
        step "blocks of 8.8 and 8 GB by $route, $mpi" 19 0 "$run" -n 2 "$program" transport huge $route
    done
    step "a file of 2.2 billion elements, 3 processes, $mpi" 2 1 "$run" -n 3 "$program" contractions message file "$files/$mpi.npy"
    rm -f "$files/$mpi.npy"
done

echo
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
