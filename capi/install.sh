#!/usr/bin/env bash
# Installs the C interface, its Fortran module, and the replacement for ScaLAPACK's pxgemm:
#
#     capi/install.sh LIBRARIES PREFIX [DESTDIR]
#
# LIBRARIES is the folder with the built libraries. Compilers' module files differ, so the module is compiled by FC
# (default gfortran) if that compiler exists; its source is installed in any case.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
libraries=$1 root=${3:-}$2
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml" | head -n 1)

install -Dm755 "$libraries/libeinsum_dist_capi.so" "$root/lib/libeinsum_dist.so.0"
ln -sf libeinsum_dist.so.0 "$root/lib/libeinsum_dist.so"
install -Dm644 "$libraries/libeinsum_dist_capi.a" "$root/lib/libeinsum_dist.a"
install -Dm755 "$libraries/libeinsum_dist_pxgemm.so" "$root/lib/libeinsum_dist_pxgemm.so"
install -Dm644 "$here/include/einsum_dist.h" "$root/include/einsum_dist.h"
install -Dm644 "$here/fortran/einsum_dist.f90" "$root/include/einsum_dist/einsum_dist.f90"
if command -v "${FC:-gfortran}" > /dev/null; then
    objects=$(mktemp -d)
    (cd "$objects" && "${FC:-gfortran}" -std=f2008 -O2 -fPIC -c "$here/fortran/einsum_dist.f90")
    install -Dm644 "$objects/einsum_dist.mod" "$root/include/einsum_dist/einsum_dist.mod"
    ar rc "$root/lib/libeinsum_dist_fortran.a" "$objects/einsum_dist.o"
    rm -r "$objects"
fi
mkdir -p "$root/lib/pkgconfig" "$root/lib/cmake/einsum_dist"
for name in einsum_dist einsum_dist_fortran; do
    sed "s|@VERSION@|$version|" "$here/install/$name.pc.in" > "$root/lib/pkgconfig/$name.pc"
done
for name in einsum_dist-config einsum_dist-config-version; do
    sed "s|@VERSION@|$version|" "$here/install/$name.cmake.in" > "$root/lib/cmake/einsum_dist/$name.cmake"
done
