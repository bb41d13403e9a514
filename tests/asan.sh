#!/usr/bin/env bash
# The program of `make test-asan`: runs the tests of modules with unsafe code under AddressSanitizer, including leak
# detection. `tests/asan.sh --lib` runs the unit tests only.
#
# Only nightly compilers support the sanitizer; rustup installs one if none is present. MPI and the code that LIBXSMM
# generates are not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly --version > /dev/null 2>&1; then
    command -v rustup > /dev/null || { echo "tests/asan.sh: no nightly compiler, and no rustup to install one" >&2; exit 2; }
    rustup -q toolchain install nightly --profile minimal
fi
target=$(cargo +nightly -vV | sed -n 's/^host: //p')

# Build scripts and macros are not instrumented, because `--target` is given. Higher optimisation would remove accesses
# that should be checked; without optimisation, vector code takes minutes.
export RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR=target/asan CARGO_PROFILE_TEST_OPT_LEVEL=1
# A test requests more memory than exists, so the allocator must return null. UCX, which some MPIs load, would replace
# the sanitizer's allocation functions by its own.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UCX_MEM_MMAP_HOOK_MODE=none
run() { cargo +nightly test --target "$target" --features "$(./.ci/features)" --no-fail-fast "$@"; }
unit_tests() { run -p einsum-dist -p einsum-parser --lib; }
if [ "${1:-}" = --lib ]; then
    unit_tests
    exit
fi
# A filter applies to all programs of a command, so each program has a command of its own.
status=0
unit_tests || status=1
run --test allocations kernel:: || status=1
run --test integration -- kernel:: algorithm::delays:: plan::fixed:: || status=1
exit $status
