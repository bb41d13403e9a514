#!/usr/bin/env bash
# Tests our pxgemm, pxgeadd and pxtran with ScaLAPACK (Debian's libscalapack-MPI-dev and scalapack-mpi-test): random calls
# (`pxgemm/random.c`), and netlib's tests of the level 3 PBLAS, with our routines in place of ScaLAPACK's:
#
#     scalapack.sh MPI COMPILER LAUNCHER LIBRARY RANKS CALLS TYPES
#     scalapack.sh mpich mpicc.mpich mpirun.mpich libeinsum_dist_pxgemm.so 4 2000 "s d c z"
#
# MPI is mpich or openmpi. Ends with a number of tests.
set -euo pipefail
mpi=$1 compiler=$2 launcher=$3 library=$(realpath "$4") ranks=$5 calls=$6 types=$7
sources=$(realpath "$(dirname "$0")/pxgemm")
tests=$(compgen -G "/usr/lib/*/scalapack/$mpi-tests/PBLAS" || true)
if [ -z "$tests" ]; then
    echo "skipped: no scalapack-mpi-test"
    exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$compiler" -std=c99 -Wall -Wextra -Werror "$sources/random.c" -L"$(dirname "$library")" -leinsum_dist_pxgemm \
    -Wl,-rpath,"$(dirname "$library")" "-lscalapack-$mpi" -lm -o random
"$launcher" -n "$ranks" ./random "$calls" 1 | tee random.log
for type in $types; do
    parameters=P${type^^}BLAS3TST.dat
    # Grids with more processes are skipped.
    sed -e 's/^[0-9]*\(\s*number of process grids\)/5\1/' \
        -e 's/^[0-9[:space:]]*\(values of P\)/1 2 1 2 3 \1/' -e 's/^[0-9[:space:]]*\(values of Q\)/1 1 2 2 2 \1/' "$tests/$parameters" > "$parameters"
    "$launcher" -n "$ranks" env LD_PRELOAD="$library" "$tests/${type}pb3tst" > "$type.log" 2>&1 || { cat "$type.log"; exit 1; }
    # The program counts neither of these as failures.
    grep -q "Error-exit tests completed" "$type.log"
    if grep -F '*** ERROR' "$type.log"; then exit 1; fi
    awk '/TOTAL TESTS/ { found = 1 } found && $1 == "|" { print }' "$type.log" | tee -a summary
done
awk '{ passed += $4; failed += $5 }
    $2 ~ /GEMM|GEADD|TRADD/ && $4 == 0 { print $2 " was not tested"; failed++ }
    END { print passed " passed, " failed " failed"; exit failed > 0 || passed == 0 }' summary
