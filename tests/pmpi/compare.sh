#!/bin/sh
# Compares the number of bytes that a test program measures with the number that an independent library counts between
# the program and MPI.
#
#     tests/pmpi/compare.sh MPIRUN MPICC PROGRAM [ARGUMENT ...]       RANKS="1 2 3 4 7"
#
# PROGRAM writes "rank bytes-sent bytes-received" to $EINSUM_DIST_BYTES_FILE.<rank>. The counter is built with MPICC and
# preloaded. For every rank, the two numbers must be equal. MPIRUN may contain options.
set -eu

mpirun=$1 mpicc=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$mpicc -shared -fPIC -O2 -o "$work/count.so" "$here/count.c"

for ranks in ${RANKS:-1 2 3 4 7}; do
    export PMPI_COUNT_FILE="$work/counted.$ranks" EINSUM_DIST_BYTES_FILE="$work/measured.$ranks"
    $mpirun -n "$ranks" env LD_PRELOAD="$work/count.so" "$@"
    rank=0
    while [ "$rank" -lt "$ranks" ]; do
        counted=$(cut -d ' ' -f 1-3 "$PMPI_COUNT_FILE.$rank")
        measured=$(cat "$EINSUM_DIST_BYTES_FILE.$rank")
        if [ "$counted" != "$measured" ]; then
            echo "rank, sent, received: the program measured $measured, the counter saw $counted" >&2
            exit 1
        fi
        echo "rank, sent, received: $measured, in the program and at the border of MPI"
        rank=$((rank + 1))
    done
done
