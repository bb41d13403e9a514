#!/bin/sh
# Cargo calls this script instead of rustc for the crates of this workspace if RUSTC_WORKSPACE_WRAPPER names it. Shuttle
# then chooses the order of events (src/sync). With RUSTFLAGS, cargo would also build all dependencies again. The tests
# contract only tiny tensors, so they need no vector instructions.
exec "$@" --cfg shuttle --cfg portable_kernels
