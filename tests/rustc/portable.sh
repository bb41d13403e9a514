#!/bin/sh
# Cargo calls this script instead of rustc for the crates of this workspace if RUSTC_WORKSPACE_WRAPPER names it. The
# tests of these builds need no vector instructions, and kernels with them take most of a build.
exec "$@" --cfg portable_kernels
