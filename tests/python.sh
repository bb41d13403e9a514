#!/usr/bin/env bash
# Builds the Python package as a wheel, and tests it. The last line of output is `N passed, 0 failed`.
#
#     tests/python.sh            builds the wheel, installs the peers in a virtual environment, and runs all tests
#     tests/python.sh -k fork    passes its arguments to pytest, and runs only the package's own tests
#
# TORCH=1 also installs PyTorch; without it, the tests of einsum_dist.torch are skipped.
# PYTHON is the interpreter; the wheel works with Python 3.10 or later. LIBRARY is a compiled module to test instead of a
# wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

python=${PYTHON:-python3}
"$python" -c "import ensurepip" 2> /dev/null || ./.ci/packages python
env=$PWD/target/python
wheels=$env/wheels
requirements=python/requirements-test.txt
if ! cmp -s $requirements "$env/requirements.txt"; then
    "$python" -m venv "$env"
    "$env/bin/python" -m pip install --quiet --requirement $requirements
    cp $requirements "$env/requirements.txt"
fi
if [ -n "${TORCH:-}" ]; then
    "$env/bin/python" -m pip install --quiet --requirement python/requirements-torch.txt
fi

if [ -n "${LIBRARY:-}" ]; then
    # The package without a wheel, around a module that another build has compiled.
    rm -rf "$env/package"
    cp -r python/package "$env/package"
    cp "$LIBRARY" "$env/package/einsum_dist/_einsum_dist.abi3.so"
    export PYTHONPATH=$env/package
else
    rm -f "$wheels"/*.whl
    "$env/bin/maturin" build --quiet --release --locked --manifest-path python/Cargo.toml --out "$wheels"
    "$env/bin/python" -m pip install --quiet --force-reinstall --no-deps "$wheels"/*.whl
fi

passed=0
# run COMMAND... runs pytest and counts the tests.
run() {
    local log
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    passed=$((passed + $(grep -oE '^[0-9]+ passed|, [0-9]+ passed' "$log" | tail -n 1 | grep -oE '[0-9]+')))
    rm "$log"
}

export PYTHONDONTWRITEBYTECODE=1
pytest=("$env/bin/python" -m pytest -q -p no:cacheprovider)
cd python
run "${pytest[@]}" tests "$@"
if [ $# -eq 0 ]; then
    run "${pytest[@]}" --doctest-modules --doctest-ignore-import-errors --pyargs einsum_dist
    # NumPy's own tests of einsum, with ours in its place.
    cd tests/suites
    run env PYTHONPATH=.:${PYTHONPATH:-} "${pytest[@]}" -p in_place_of_numpy --pyargs numpy._core.tests.test_einsum
fi
if [ $# -eq 0 ] && [ -z "${LIBRARY:-}" ]; then
    # An empty environment needs nothing but the wheel.
    rm -rf "$env/empty"
    "$python" -m venv "$env/empty"
    "$env/empty/bin/python" -m pip install --quiet "$wheels"/*.whl
    "$env/empty/bin/python" -c "import einsum_dist, numpy; print(einsum_dist.einsum('mk,kn->mn', numpy.ones((2, 3)), numpy.ones((3, 4))))"
    # cargo must accept the manifests of the source distribution, which lacks most files of the repository.
    rm -rf "$env/source"
    "$env/bin/maturin" sdist --manifest-path "$root/python/Cargo.toml" --out "$env/source"
    tar xzf "$env"/source/*.tar.gz -C "$env/source"
    cargo metadata --offline --format-version 1 --manifest-path "$env"/source/*/python/Cargo.toml > "$env/source/metadata.json"
    passed=$((passed + 2))
fi
echo "$passed passed, 0 failed"
