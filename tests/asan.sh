#!/usr/bin/env bash
# Implements `make test-asan`, which runs the tests of modules with unsafe code under AddressSanitizer, including leak
# detection. `tests/asan.sh --lib` runs only the unit tests.
#
# Succeeds without tests if the compiler has no AddressSanitizer. Dependencies, MPI and the code that LIBXSMM generates are
# not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! compgen -G "$(rustc --print target-libdir)/librustc*_rt.asan.a" > /dev/null; then
    echo "skipped: $(rustc --version) has no AddressSanitizer"
    exit
fi

# An optimisation level higher than 1 would remove accesses that should be checked; without optimisation, vector code
# would run for minutes.
export RUSTC_WORKSPACE_WRAPPER=$PWD/tests/rustc/address_sanitizer.sh CARGO_TARGET_DIR=target/mpich CARGO_PROFILE_TEST_OPT_LEVEL=1
# A test requests more memory than exists, so the allocator must return null instead of aborting. UCX, which some MPIs
# load, would replace the sanitizer's allocation functions by its own.
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UCX_MEM_MMAP_HOOK_MODE=none
features=$(./.ci/features)
run() { cargo test --no-fail-fast --features "$features" "$@"; }
status=0
# The kernels' own tests run with all of them; the unit tests of other code need only portable ones.
generated=()
case $features in full | *libxsmm*) generated=(--features libxsmm) ;; esac
cargo test --no-fail-fast -p einsum-local --lib "${generated[@]}" || status=1
RUSTC_WORKSPACE_WRAPPER=$PWD/tests/rustc/portable_address_sanitizer.sh run -p einsum-dist -p einsum-parser --lib || status=1
[ "${1:-}" != --lib ] || exit $status
# A filter applies to all test programs of a command, so each test program has its own command.
run --test allocations kernel:: || status=1
run --test integration -- kernel:: algorithm::delays:: plan::fixed:: || status=1
exit $status
