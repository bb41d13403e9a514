#!/usr/bin/env bash
# Installs the C interface into a new folder, and builds and runs its examples with the installed files only:
# `capi.sh LIBRARIES LAUNCHER COMPILER FORTRAN_COMPILER`. Ends with a number of tests.
set -euo pipefail
cd "$(dirname "$0")/.."
libraries=$1 launcher=$2 compiler=$3 fortran=$4
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
capi/install.sh "$libraries" "$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
read -ra flags < <(pkg-config --cflags --libs einsum_dist)
strict=(-std=c99 -pedantic -Wall -Wextra -Werror)
passed=0
test() {
    echo "--- $1"
    shift
    "$@"
    passed=$((passed + 1))
}

exported() { nm -D --defined-only "$1" | awk '$2 == "T" { print $3 }' | sort; }
declared() { grep -o 'einsum_dist_[a-z_]*(' capi/include/einsum_dist.h | tr -d '(' | sort -u; }
[ -n "$(declared)" ] && [ -n "$(exported "$prefix/lib/libeinsum_dist_pxgemm.so")" ]
test "exported symbols are those of the header" diff <(declared) <(exported "$prefix/lib/libeinsum_dist.so")
pxgemm='^(einsum_dist_)?[Pp][SDCZsdcz]([Gg][Ee][Mm][Mm]|[Gg][Ee][Aa][Dd][Dd]|[Tt][Rr][Aa][Nn][UuCc]?)_{0,2}$'
test "pxgemm exports its routines only" diff /dev/null <(exported "$prefix/lib/libeinsum_dist_pxgemm.so" | grep -vE "$pxgemm")

cc "${strict[@]}" capi/examples/c/product.c "${flags[@]}" -lm -o "$prefix/product"
test "C" "$prefix/product"
"$compiler" "${strict[@]}" tests/capi/errors.c "${flags[@]}" -o "$prefix/errors"
for ranks in 1 3; do test "errors on $ranks ranks" "$launcher" -n $ranks "$prefix/errors"; done
if command -v c++ > /dev/null; then
    test "the header in C++" c++ -std=c++11 -Wall -Werror -fsyntax-only -include "$prefix/include/einsum_dist.h" -x c++ /dev/null
fi
if command -v cmake > /dev/null; then
    cmake -S capi/examples/cmake -B "$prefix/build" -DCMAKE_PREFIX_PATH="$prefix" > /dev/null
    cmake --build "$prefix/build" > /dev/null
    test "CMake" "$prefix/build/product"
fi
if [ -e "$prefix/include/einsum_dist/einsum_dist.mod" ] && command -v "$fortran" > /dev/null; then
    read -ra flags < <(pkg-config --cflags --libs einsum_dist_fortran)
    "$fortran" -std=f2008 capi/examples/fortran/product.f90 "${flags[@]}" -o "$prefix/fortran"
    for ranks in 1 3; do test "Fortran on $ranks ranks" "$launcher" -n $ranks "$prefix/fortran"; done
fi
echo "$passed passed, 0 failed"
