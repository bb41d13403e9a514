#!/usr/bin/env bash
# Builds the program from the packages for crates.io: tests/packages.sh DIRECTORY, which contains the .crate files.
#
# `cargo package` could build each package itself, but it would then build the library twice, once as a package and once
# as the dependency of the program.
set -euo pipefail

# In a folder inside the repository, cargo would treat the unpacked packages as members of the repository's workspace.
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
export CARGO_TARGET_DIR=$PWD/${CARGO_TARGET_DIR:-target}

patches=() program=
for archive in "$1"/*.crate; do
    tar -xf "$archive" -C "$sources"
    package=$(basename "$archive" .crate)
    patches+=(--config "patch.crates-io.${package%-[0-9]*}.path=\"$sources/$package\"")
    [[ $package != einsum-dist-cli-* ]] || program=$sources/$package
done
cd "$program"
cargo build "${patches[@]}"
