#!/bin/sh
# Cargo calls this script instead of rustc for the crates of this workspace if RUSTC_WORKSPACE_WRAPPER names it. The
# kernels with vector instructions are then left out.
exec "$@" --cfg portable_kernels
