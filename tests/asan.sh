#!/usr/bin/env bash
# Implements `make test-asan`, which runs the tests of modules with unsafe code under AddressSanitizer, including leak
# detection. `tests/asan.sh --lib` runs only the unit tests.
#
# Only nightly compilers support the sanitizer. If none is installed, rustup installs one. MPI and the code that LIBXSMM
# generates are not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly --version > /dev/null 2>&1; then
    command -v rustup > /dev/null || { echo "tests/asan.sh: no nightly compiler, and no rustup to install one" >&2; exit 2; }
    rustup -q toolchain install nightly --profile minimal
fi
target=$(cargo +nightly -vV | sed -n 's/^host: //p')

# `--target` prevents the instrumentation of build scripts and macros. An optimisation level higher than 1 would remove
# accesses that should be checked; without optimisation, vector code would run for minutes.
export RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR=target/asan CARGO_PROFILE_TEST_OPT_LEVEL=1
# A test requests more memory than exists, so the allocator must return null instead of aborting. UCX, which some MPIs
# load, would replace the sanitizer's allocation functions by its own.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UCX_MEM_MMAP_HOOK_MODE=none
run() { cargo +nightly test --target "$target" --features "$(./.ci/features)" --no-fail-fast "$@"; }
unit_tests() { run -p einsum-dist -p einsum-parser --lib; }
if [ "${1:-}" = --lib ]; then
    unit_tests
    exit
fi
# A filter applies to all test programs of a command, so each test program has its own command.
status=0
unit_tests || status=1
run --test allocations kernel:: || status=1
run --test integration -- kernel:: algorithm::delays:: plan::fixed:: || status=1
exit $status
