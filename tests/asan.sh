#!/usr/bin/env bash
# What `make test-asan` runs: the tests of the modules with unsafe code under AddressSanitizer, leaks included. `tests/asan.sh --lib` runs the
# unit tests only.
#
# The sanitizer is an option of nightly compilers only. One is used if it is there, else installed by rustup. Code that LIBXSMM
# generates and MPI are not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly --version > /dev/null 2>&1; then
    command -v rustup > /dev/null || { echo "tests/asan.sh: no nightly compiler, and no rustup to install one" >&2; exit 2; }
    rustup -q toolchain install nightly --profile minimal
fi
target=$(cargo +nightly -vV | sed -n 's/^host: //p')

# Build scripts and macros are not instrumented, as there is a target. An optimised build inlines what would be checked, and without any
# optimisation vector code takes minutes.
export RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR=target/asan CARGO_PROFILE_TEST_OPT_LEVEL=1
# Memory is refused in a test. UCX, which some MPIs load, would replace the sanitizer's calls by its own.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UCX_MEM_MMAP_HOOK_MODE=none
run() { cargo +nightly test --target "$target" --features "$(./.ci/features)" --no-fail-fast "$@"; }
unit_tests() { run -p einsum-dist -p einsum-parser --lib; }
if [ "${1:-}" = --lib ]; then
    unit_tests
    exit
fi
# Names select among the tests of every program of a command, so each program is a command of its own.
status=0
unit_tests || status=1
run --test allocations kernel:: || status=1
run --test integration -- kernel:: algorithm::delays:: plan::fixed:: || status=1
exit $status
