#!/bin/sh
# Cargo calls this script instead of rustc for the crates of this workspace if RUSTC_WORKSPACE_WRAPPER names it. These
# crates are then checked by AddressSanitizer, whereas dependencies are those of other builds. Stable compilers contain
# the sanitizer, but accept its flag only with RUSTC_BOOTSTRAP.
#
# The checks are calls (threshold 0). Checks within the code are faster, but take much longer to compile.
exec env RUSTC_BOOTSTRAP=1 "$@" -Zsanitizer=address -Cllvm-args=-asan-instrumentation-with-call-threshold=0
