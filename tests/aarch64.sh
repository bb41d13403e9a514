#!/usr/bin/env bash
# Implements `make test-aarch64`, which builds for AArch64 and runs the kernel tests. The last output line is `N passed,
# 0 failed`.
#
# On another processor the script cross-compiles and runs the tests under qemu-user, which emulates a processor whose
# only vector extension is NEON. On Debian and Ubuntu, the script installs missing tools. The standard library for
# AArch64 comes from rustup or, if rustup cannot provide it, from the Debian packages rustc-web and libstd-rust-web-dev.
# These packages are unpacked below target/, because installing them would replace Debian's rustc. RUST_FROM=debian uses
# the packages without trying rustup.
set -euo pipefail
cd "$(dirname "$0")/.."

triple=aarch64-unknown-linux-gnu
# Sysroot with libc for the emulator. The default is the path on Debian.
sysroot=${AARCH64_SYSROOT:-/usr/aarch64-linux-gnu}
export CARGO_TARGET_DIR=target/aarch64 RUST_BACKTRACE=1
mkdir -p $CARGO_TARGET_DIR

# --- tools ------------------------------------------------------------------------------------------------------------

needs() {
    cat >&2 <<END
$1
Testing for AArch64 on another processor takes
  rustc's standard library for $triple   rustup target add $triple
  aarch64-linux-gnu-gcc with libc                         here: ${compiler:-missing}
  qemu-aarch64-static or qemu-aarch64                     here: ${emulator:-missing}
Debian and Ubuntu: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static. If its libc is not in $sysroot, set AARCH64_SYSROOT.
END
    exit 1
}

find_tools() {
    compiler=$(command -v aarch64-linux-gnu-gcc || true)
    emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
    # The cross compiler may be installed without its C library.
    [ -n "$compiler" ] && [ -n "$emulator" ] && [ -d "$sysroot" ] &&
        "$compiler" -x c -o /dev/null - <<< "int main(void) { return 0; }" 2> /dev/null
}

install_tools() {
    command -v apt-get > /dev/null || needs "This system has no apt-get, so nothing is installed for you."
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo > /dev/null || needs "Only root can install packages."
        as_root=(sudo)
    fi
    local packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static)
    echo "installing: ${packages[*]}"
    apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }
    apt update
    apt install -y --no-install-recommends "${packages[@]}" > /dev/null
    find_tools || needs "The packages are installed, but something is still missing."
}

has_std() { compgen -G "$("$1" --print target-libdir --target $triple 2> /dev/null)/libstd-*.rlib" > /dev/null; }

rust_from_rustup() {
    command -v rustup > /dev/null && timeout 300 rustup -q target add $triple > /dev/null 2>&1 && has_std rustc
}

# Unpacks a separate compiler with the standard libraries for both processors.
rust_from_debian() {
    command -v apt-get > /dev/null || needs "There is no rustup, or it could not fetch anything, and no apt-get."
    local place=$PWD/$CARGO_TARGET_DIR/debian own
    own=$(dpkg --print-architecture)
    if [ ! -x "$place/rustc" ] || ! has_std "$place/rustc"; then
        echo "unpacking rustc-web and libstd-rust-web-dev below $CARGO_TARGET_DIR"
        rm -rf "$place"
        mkdir -p "$place"/{lists/partial,archives/partial}
        # Uses separate package lists, so that the second architecture is not added to the system's configuration.
        fetch() {
            apt-get -qq -o Dir::State::Lists="$place/lists" -o Dir::Cache::Archives="$place/archives" -o Dir::Cache::pkgcache= \
                -o Dir::Cache::srcpkgcache= -o APT::Architectures::="$own" -o APT::Architectures::=arm64 -o APT::Sandbox::User= "$@"
        }
        fetch update
        (
            cd "$place/archives"
            fetch download rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64
            # Most of the compiler is in a library that depends on LLVM. The name of the library's package contains its
            # version.
            library=$(dpkg-deb -f libstd-rust-web-dev_*_"$own".deb Depends | grep -o 'libstd-rust-web-[0-9.]*' | head -n 1)
            fetch -y --no-install-recommends --download-only -o Debug::NoLocking=1 install "$library" > /dev/null
        )
        local package
        for package in "$place"/archives/*.deb; do dpkg-deb -x "$package" "$place"; done
        rm -rf "$place"/{lists,archives}
        # Without this wrapper, the unpacked compiler would search for its libraries where they are normally installed.
        cat > "$place/rustc" <<END
#!/bin/sh
LD_LIBRARY_PATH=\$(echo "$place"/usr/lib/*-linux-gnu | tr ' ' :) exec "$place/usr/bin/rustc" --sysroot "$place/usr" "\$@"
END
        chmod +x "$place/rustc"
    fi
    export RUSTC=$place/rustc
    has_std "$RUSTC"
}

target=() skip=() emulate=()
if [ "$(uname -m)" != aarch64 ]; then
    find_tools || install_tools
    if [ "${RUST_FROM:-}" = debian ]; then
        rust_from_debian
    else
        has_std rustc || rust_from_rustup || rust_from_debian
    fi
    target=(--target $triple)
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$compiler
    emulate=("$emulator" -L "$sysroot")
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="${emulate[*]}"
    export QEMU_CPU=${QEMU_CPU:-cortex-a72}
    # The default number of random contractions would take too long under emulation.
    export KERNEL_CASES=${KERNEL_CASES:-500}
    # The emulator does not forward requests for huge pages to the kernel, and it fakes /proc/self/smaps.
    skip=(--skip large_memory_has_huge_pages)
    echo "$("${RUSTC:-rustc}" --version) for $triple, $emulator as $QEMU_CPU"
fi

build() {
    local command=$1
    shift
    timeout --kill-after=10 1800 cargo "$command" "${target[@]}" "$@"
}

# --- the tests ------------------------------------------------------------------------------------------------------------

passed=0 failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# step NAME COMMAND... runs a command and counts its tests in the same way as tests/all.sh.
step() {
    local name=$1 start=$SECONDS status=0 count bad
    shift
    printf '%-58s ' "$name"
    "$@" > "$log" 2>&1 < /dev/null || status=$?
    read -r count bad < <(awk '/^test result:/ { p += $4; f += $6 } END { print p + 0, f + 0 }' "$log")
    if [ $status -eq 0 ] && [ "$bad" -eq 0 ]; then
        [ "$count" -eq 0 ] && count=1
        printf 'ok  %5d  %4d s\n' "$count" $((SECONDS - start))
    else
        [ "$bad" -eq 0 ] && bad=1
        printf 'FAILED  (exit code %d)\n' $status
        tail -n 300 "$log" | sed 's/^/    /'
    fi
    passed=$((passed + count)) failed=$((failed + bad))
}

# Only the crate of the kernels has its unit tests built; the other tests and the program use its library.
kernels=(-p einsum-local --lib) contractions=(-p einsum-dist-cli --test integration)
step "build with default features" build test "${contractions[@]}" --no-run
step 'einsum-dist "mk,kn->mn"' "${emulate[@]}" "$CARGO_TARGET_DIR/${target[1]:-}/debug/einsum-dist" "mk,kn->mn" --check
step "unit tests of kernels and local plans" build test "${kernels[@]}" -- "${skip[@]}"
step "contractions and unary kernels" build test "${contractions[@]}" -- kernel::contract kernel::unary

echo
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
