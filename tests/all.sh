#!/usr/bin/env bash
# Implements `make test`. The last line of output is `N passed, 0 failed`.
#
# A step is a command whose output is shown only if it fails. If a step prints a number of tests (as cargo test and the
# random contractions do), all of these tests are counted; any other step counts as one test. After a failure, the
# remaining steps still run, so that one run shows all failures. An argument restricts the steps to those whose name
# contains it: `tests/all.sh openmpi`. Lines of steps that pass end with the seconds and the cores that they kept busy.
set -uo pipefail
cd "$(dirname "$0")/.."

only=${1:-}
full=$(./.ci/features)
export full
library=(-p einsum-dist -p einsum-local -p einsum-parser -p einsum-path -p einsum-dist-py -p einsum-dist-capi)
members=("${library[@]}" -p einsum-dist-cli)
# Succeeds if the machine can build a feature.
has() { [[ $full == full || ,$full, == *,$1,* ]]; }
if has libxsmm; then members+=(-p libxsmm-sys); fi
# With the feature mpi in any case.
always_mpi=(-p einsum-dist-pxgemm)
passed=0 failed=0 failures=()
log=$(mktemp)
trap 'rm -f "$log" "$log.times"' EXIT
# Numbers have decimal points.
export LC_NUMERIC=C

# These variables let both launchers start more ranks than cores, run as root, and work in containers in which a process
# must not read the memory of another process.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export RUST_BACKTRACE=1

seconds() { date +%s.%N; }

# step NAME COMMAND... runs a command, which must succeed within 30 minutes.
step() {
    local name=$1 start count bad status
    shift
    [[ $name == *"$only"* ]] || return 0
    start=$(seconds)
    printf '%-58s ' "$name"
    # A shell of its own, so that the times are only those of this step.
    (
        timeout --kill-after=10 1800 bash -c '"$@"' "$name" "$@" > "$log" 2>&1 < /dev/null
        status=$?
        times > "$log.times"
        exit $status
    )
    status=$?
    read -r count bad < <(awk '
        /^test result:/ { p += $4; f += $6 }
        /^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 }
        END { print p + 0, f + 0 }' "$log")
    if [ $status -eq 0 ] && [ "$bad" -eq 0 ]; then
        [ "$count" -eq 0 ] && count=1
        awk -v count="$count" -v start="$start" -v end="$(seconds)" '
            NR == 2 { split($1, user, /[ms]/); split($2, sys, /[ms]/) }
            END {
                computed = 60 * (user[1] + sys[1]) + user[2] + sys[2]
                printf "ok  %5d  %6.1f s  %4.1f\n", count, end - start, computed / (end - start)
            }' "$log.times"
    else
        [ "$bad" -eq 0 ] && bad=1
        failures+=("$name")
        printf 'FAILED  (exit code %d)\n' $status
        echo "  $*"
        grep -Ev '^test .* \.\.\. (ok|ignored)$|^ +(Compiling|Checking|Downloaded|Running|Doc-tests) ' "$log" | tail -n 300 | sed 's/^/    /'
    fi
    passed=$((passed + count)) failed=$((failed + bad))
}

# exits CODE COMMAND... requires that the command ends before the timeout with exit code CODE (`any` means any code but
# 0).
exits() {
    local wanted=$1 got
    shift
    timeout --kill-after=5 60 "$@"
    got=$?
    echo "exit code $got, expected $wanted"
    if [ "$wanted" = any ]; then [ $got -ne 0 ] && [ $got -ne 124 ] && [ $got -ne 137 ]; else [ $got -eq "$wanted" ]; fi
}
export -f exits

# refuses LAUNCHER PROGRAM requires that the program on several ranks ends immediately with exit code 2 and a single
# error.
refuses() {
    local output got
    output=$(timeout --kill-after=5 60 "$1" -n 3 "$2" "mk,kn->mn" 2>&1)
    got=$?
    echo "exit code $got, expected 2, and one error:"
    echo "$output"
    [ $got -eq 2 ] && [ "$(grep -c '^error' <<< "$output")" -eq 1 ]
}
export -f refuses

# small FILE... requires that the files have less than 700 kB in total.
small() {
    du -cb "$@" | tee /dev/stderr | awk 'END { exit $1 >= 700000 }'
}
export -f small

skip() { printf '%-58s skipped: %s\n' "$1" "$2"; }

# with MPI COMMAND... runs a command with the target directory and the compiler for one MPI.
with() {
    local mpi=$1
    shift
    env MPICC="$(compiler "$mpi")" CARGO_TARGET_DIR="target/$mpi" "$@"
}
compiler() { if [ "$1" = mpich ]; then echo "${MPICC:-mpicc.mpich}"; else echo "${OPENMPI_CC:-mpicc.openmpi}"; fi; }
launcher() { if [ "$1" = mpich ]; then echo "${MPIRUN:-mpirun.mpich}"; else echo "${OPENMPI_RUN:-mpirun.openmpi}"; fi; }
export -f with compiler launcher

# binary MPI NAME builds a test program and prints its path. With the runner `echo`, cargo prints the path instead of
# running the program. Like every build of tests, the command names all members of the workspace. If the members
# differed, cargo would enable other features of dependencies and build the library again.
binary() {
    with "$1" cargo test -q "${members[@]}" "${always_mpi[@]}" --features $full --test "$2" --config "target.'cfg(all())'.runner = 'echo'" |
        grep "/$2-" | tail -n 1
}

# share MPI copies the libraries built with MPICH to another MPI's new directory, so that cargo builds only what depends
# on MPI. Without mpi-sys, because its build script does not notice another MPICC.
share() {
    local from=target/mpich/debug to=target/$1/debug part=target/$1/part
    [ -e $from/deps ] && [ ! -e "$to" ] || return 0
    rm -rf "$part" && mkdir -p "$part/deps" &&
        cp -a $from/{.fingerprint,build} "$part" &&
        cp -a $from/deps/*.{d,rlib,rmeta,so} "$part/deps" &&
        rm -r "$part"/{.fingerprint,build}/mpi-sys-* "$part"/deps/libmpi_sys-* &&
        mv "$part" "$to"
}
export -f share

# Builds the Python module and what runs on ranks. With a test among the targets, dependencies have the same features as
# in other builds of tests.
build=(cargo build --profile test "${members[@]}" "${always_mpi[@]}" --features "$full" --lib --test mpi --bins --example 05_mpi_communicator)

# --- the source ---------------------------------------------------------------------------------------------------------

tool() {
    cargo "$1" --version > /dev/null 2>&1 && return
    command -v rustup > /dev/null && rustup -q component add "$2" > /dev/null 2>&1 && cargo "$1" --version > /dev/null 2>&1
}
if tool fmt rustfmt; then step "format" cargo fmt --all --check; else skip "format" "no rustfmt"; fi

linter=check deny=()
if tool clippy clippy; then linter=clippy deny=(-- -D warnings); fi
# The library and the Python package are also checked without the feature `internals`, which the program enables. `mpi`
# is the only feature on which the tests and benchmarks depend.
for features in "--lib --examples" "--lib --features mpi"; do
    # shellcheck disable=SC2086
    step "$linter of the library, $features" with mpich cargo $linter "${library[@]}" $features "${deny[@]}"
done
combinations=("--all-targets -p einsum-dist-benches" "--all-targets -p einsum-dist-benches ${always_mpi[*]} --features $full")
for feature in libxsmm hwloc; do
    if has $feature; then
        combinations+=("--lib --bins --features $feature")
    else
        skip "$linter --features $feature" "no $feature"
    fi
done
for features in "${combinations[@]}"; do
    # shellcheck disable=SC2086
    step "$linter $features" with mpich cargo $linter "${members[@]}" $features "${deny[@]}"
done
step "documentation" with mpich env RUSTDOCFLAGS="-D warnings" cargo doc "${members[@]}" --lib --no-deps --features $full
step "public interface as in tests/public_api.txt" ./tests/public_api.py target/mpich/doc/einsum_dist --check

# --- one process and in-process ranks -------------------------------------------------------------------------------------

# The packages for crates.io must be small, and the program must build from the unpacked packages with default features,
# as it does for users. The packages are built without optimisation, because other steps test their code.
step "packages" env CARGO_TARGET_DIR=target/plain cargo package --workspace --exclude=einsum-dist-{py,capi,pxgemm,test-tools,benches} --no-verify --allow-dirty
step "packages below 700 kB" small target/plain/package/*.crate
step "packages, built with default features" env CARGO_TARGET_DIR=target/plain CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false \
    ./tests/packages.sh target/plain/package
plain=target/plain/debug/einsum-dist
if [ -x $plain ]; then step 'einsum-dist "mk,kn->mn"' $plain "mk,kn->mn"; fi

# The builds are separate steps, because on a slow machine they take most of a step's time limit. The release build
# shows what depends on debug assertions; `make demo` and the benchmarks run vector kernels in release.
step "build of the tests" with mpich cargo test "${members[@]}" "${always_mpi[@]}" --features $full --no-run
step "build, mpich, and the Python module" with mpich "${build[@]}"
step "build in release, portable kernels" with mpich env RUSTC_WORKSPACE_WRAPPER="$PWD/tests/rustc/portable.sh" \
    cargo build --release "${members[@]}" --features $full --bins
program=target/mpich/release/einsum-dist
step "the demo" env MPIRUN="$(launcher mpich)" ./.ci/demo $program

if command -v python3 > /dev/null; then
    step "Python package" env LIBRARY=target/mpich/debug/lib_einsum_dist.so ./tests/python.sh
else
    skip "Python package" "no python3"
fi

if command -v python3 > /dev/null; then
    for ranks in 1 3; do
        step "kills and restarts, $ranks ranks" python3 tests/checkpoints.py --ranks $ranks --kills 4 $program
    done
fi

step "tests, mpich" with mpich env EINSUM_DIST_MPIRUN="$(launcher mpich)" cargo test "${members[@]}" "${always_mpi[@]}" --features $full --no-fail-fast
step "orders of events" timeout 900 env RUSTC_WORKSPACE_WRAPPER="$PWD/tests/rustc/shuttle.sh" MPICC="$(compiler mpich)" CARGO_TARGET_DIR=target/mpich \
    cargo test -p einsum-dist --features mpi --lib shuttle_tests
step "AddressSanitizer, unit tests" env MPICC="$(compiler mpich)" ./tests/asan.sh --lib
# Runs the corpora and a fixed number of random inputs; `make fuzz` runs for a given time.
if command -v c++ > /dev/null; then
    # So few inputs take less time without optimisation than the optimisation itself.
    fuzz=(env CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_INCREMENTAL=false)
    step "fuzz targets, build" timeout 1500 "${fuzz[@]}" ./fuzz/run.sh --build
    step "fuzz targets, random inputs" "${fuzz[@]}" FUZZ_RUNS=12000 FUZZ_SEED=1 ./fuzz/run.sh
else
    skip "fuzz targets" "no C++ compiler"
fi
for source in examples/0[0-46-9]_*.rs; do
    name=$(basename "$source" .rs)
    step "example $name" "target/mpich/debug/examples/$name"
done

# --- ranks that are processes ----------------------------------------------------------------------------------------------

for mpi in mpich openmpi; do
    if ! command -v "$(compiler $mpi)" > /dev/null || ! command -v "$(launcher $mpi)" > /dev/null; then
        skip "$mpi" "no $(compiler $mpi) or $(launcher $mpi)"
        continue
    fi
    [[ -z $only || $mpi == *"$only"* || $only == *"$mpi"* ]] || continue
    run=$(launcher $mpi)
    counter=$PWD/target/$mpi/pmpi_count.so foreign=
    other=target/mpich/debug/lib_einsum_dist.so
    if [ $mpi = openmpi ] && [ -e $other ]; then foreign=$other; fi
    mkdir -p target/$mpi
    step "byte counter, $mpi" "$(compiler $mpi)" -O2 -Wall -Werror -fPIC -shared -o "$counter" tests/pmpi/count.c
    if [ $mpi = openmpi ]; then
        step "copy of libraries without MPI, $mpi" share $mpi
        step "build, $mpi" with $mpi "${build[@]}"
    fi
    path=$(binary $mpi mpi)
    for ranks in 1 2 3 4; do
        counts=$(mktemp -d)
        step "transfers, $mpi, $ranks ranks" timeout 300 "$run" -n $ranks \
            env LD_PRELOAD="$counter" PMPI_COUNT_FILE="$counts/count" "$path" transport
        rm -r "$counts"
    done
    for route in shared rma mixed; do
        for ranks in 1 3 4; do
            step "transfers by $route, $mpi, $ranks ranks" timeout 300 "$run" -n $ranks "$path" transport all $route
        done
    done
    for ranks in 1 2 3 4 7; do
        step "contractions and their bytes, $mpi, $ranks ranks" env RANKS=$ranks \
            sh tests/pmpi/compare.sh "$run" "$(compiler $mpi)" "$path" contractions
    done
    # One run tests both transports, so that each contraction is planned and verified only once.
    for ranks in 2 3 4 7; do
        step "contractions by shared and rma, $mpi, $ranks ranks" "$run" -n $ranks "$path" contractions shared,rma
    done
    for transport in message shared rma; do
        for ranks in 3 4; do
            step "random delays, $transport, $mpi, $ranks ranks" timeout 300 "$run" -n $ranks "$path" contractions $transport delays
        done
    done
    step "own use of MPI beside ours, $mpi" exits 0 "$run" -n 4 "$path" transport foreign
    for scenario in short long more fewer; do
        for route in message shared rma; do
            step "transfers that do not match: $scenario, $route, $mpi" exits 3 "$run" -n 2 "$path" transport $scenario $route
        done
    done
    step "a rank ends the run, $mpi" exits 3 "$run" -n 4 "$path" transport abort
    for route in message shared rma; do
        step "a rank is late at the end, $route, $mpi" exits any "$run" -n 4 "$path" transport late $route
    done
    step "a rank panics, $mpi" exits any "$run" -n 4 "$path" transport panic
    for ranks in 1 4; do
        step "example 05_mpi_communicator, $mpi, $ranks ranks" timeout 60 "$run" -n $ranks \
            "target/$mpi/debug/examples/05_mpi_communicator"
    done
    if command -v python3 > /dev/null; then
        step "kills and restarts, $mpi" python3 tests/checkpoints.py --ranks 3 --launcher "$run" --kills 4 target/$mpi/debug/einsum-dist
    fi
    step "a build without MPI under mpirun, $mpi" refuses "$run" "$plain"
    other=$(if [ $mpi = mpich ]; then echo openmpi; else echo mpich; fi)
    if command -v "$(launcher $other)" > /dev/null; then
        step "built with $mpi, started by $other" refuses "$(launcher $other)" target/$mpi/debug/einsum-dist
    fi
    if command -v python3 > /dev/null; then
        # shellcheck disable=SC2086
        step "Python package on ranks, $mpi" ./tests/python_mpi.sh "$run" target/$mpi/debug/lib_einsum_dist.so $foreign
    fi
    step "C, Fortran and CMake, $mpi" ./tests/capi.sh target/$mpi/debug "$run" "$(compiler $mpi)" "mpifort.$mpi"
    step "pxgemm, $mpi" ./tests/scalapack.sh $mpi "$(compiler $mpi)" "$run" \
        target/$mpi/debug/libeinsum_dist_pxgemm.so 4 200 "d z"
    # With MPICH these tests ran in the step "tests, mpich".
    if [ $mpi = openmpi ]; then
        step "command line and faults, $mpi" with mpich env EINSUM_DIST_MPIRUN="$run" \
            EINSUM_DIST_PROGRAM="$PWD/target/$mpi/debug/einsum-dist" cargo test "${members[@]}" "${always_mpi[@]}" --features $full --test integration cli_mpi::
    fi
done

echo
for name in ${failures[@]+"${failures[@]}"}; do echo "failed: $name"; done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
