#!/usr/bin/env bash
# Runs the Python package on the ranks of mpi4py: tests/python_mpi.sh MPIRUN LIBRARY [OTHER_LIBRARY]
#
# LIBRARY is the module, built with the MPI of MPIRUN. OTHER_LIBRARY was built with another MPI and must be refused. Uses
# the virtual environment of tests/python.sh. The wheel of mpi4py has a module for each ABI, and finds MPI at run time.
set -euo pipefail
cd "$(dirname "$0")/.."

launcher=$1 library=$2 other=${3:-}
env=$PWD/target/python

# The MPI library that the module is linked with. The module of mpi4py for the MPICH ABI needs it as libmpi.so.12,
# although Debian names it libmpich.so.12.
mpi=$(ldd "$library" | awk '/libmpi(ch)?\.so/ { print $3 }')
case $mpi in
*libmpich.so.12 | *libmpi.so.12) export MPI4PY_MPIABI=mpich ;;
*) export MPI4PY_MPIABI=openmpi ;;
esac
mkdir -p "$env/lib"
ln -sf "$mpi" "$env/lib/libmpi.so.12"
export LD_LIBRARY_PATH=$env/lib PYTHONDONTWRITEBYTECODE=1

# import LIBRARY makes the package importable with this module.
import() {
    rm -rf "$env/package"
    cp -r python/package "$env/package"
    cp "$1" "$env/package/einsum_dist/_einsum_dist.abi3.so"
    export PYTHONPATH=$env/package
}

import "$library"
for ranks in 1 2 3 4; do
    timeout 120 "$launcher" -n $ranks "$env/bin/python" python/tests/mpi_ranks.py
done
# This notebook starts four ranks. Its test is counted like those above.
EINSUM_DIST_MPIRUN=$launcher timeout 120 "$env/bin/python" -m pytest -q -p no:cacheprovider \
    "python/tests/test_notebooks.py::test_notebooks_run[mpi4py]" |
    awk '{ print } /^[0-9]+ passed/ { ran = 1; print $1 " passed, 0 failed" } END { exit !ran }'
# A rank that is silent for longer than the timeout ends all processes.
ended=$(mktemp)
if timeout 60 "$launcher" -n 2 "$env/bin/python" python/tests/mpi_ranks.py silent > "$ended" 2>&1 || ! grep -q "no answer from" "$ended"; then
    cat "$ended"
    exit 1
fi
rm "$ended"
echo "1 passed, 0 failed"
if [ -n "$other" ]; then
    import "$other"
    timeout 120 "$launcher" -n 2 "$env/bin/python" python/tests/mpi_ranks.py refuse
fi
