#!/usr/bin/env bash
# Builds and runs fuzz targets with a stable compiler. Usage: fuzz/run.sh [TARGET]... or fuzz/run.sh --build
# Without target names, all targets run. If --build is given, the targets are built but do not run.
#
#     FUZZ_SECONDS=60   run time of each target in seconds (default: 60), or
#     FUZZ_RUNS=100000  number of inputs that each target executes; 0 only replays the corpus. The target `arguments`,
#                       which is slower because it makes plans, executes a twentieth of this number
#     FUZZ_JOBS=2       number of targets that run at the same time (default: the number of cores)
#     FUZZ_SEED=1       seed of the random inputs (default: a new seed for each run)
#
# fuzz/corpus/TARGET is never written. New inputs are stored in target/fuzz/corpus/TARGET; inputs that crash, hang or
# allocate too much are stored in target/fuzz/artifacts. The last line is `N passed, 0 failed`, where N is the number of
# targets.
set -uo pipefail
cd "$(dirname "$0")/.."

# Absolute paths, because one target changes its working directory.
out=$PWD/target/fuzz corpora=$PWD/fuzz/corpus dictionary=$PWD/fuzz/dictionary.txt
host=$(rustc -vV | sed -n 's/^host: //p')
programs=$out/$host/release
mkdir -p $out/corpus $out/artifacts $out/logs

# These are the coverage flags of cargo-fuzz. Unlike the flags for sanitizers, they work with a stable compiler. Because
# of --target, they do not apply to build scripts. No fuzz target runs a kernel, so vector kernels are left out.
coverage="--cfg fuzzing --cfg portable_kernels -Cpasses=sancov-module"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    coverage+=" -Cllvm-args=-sanitizer-coverage-$option"
done
CARGO_TARGET_DIR=$out RUSTFLAGS="$coverage" cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host" --bins || exit 1

[ "${1:-}" = --build ] && exit

targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz/targets/*.rs)

# `one TARGET` runs a target and prints its speed. If the target fails, prints the end of its log.
one() {
    local target=$1 limit
    mkdir -p "$out/corpus/$target" "$corpora/$target"
    limit=-max_total_time=${FUZZ_SECONDS:-60}
    if [ -n "${FUZZ_RUNS:-}" ]; then
        if [ "$target" = arguments ]; then limit=-runs=$((FUZZ_RUNS / 20)); else limit=-runs=$FUZZ_RUNS; fi
    fi
    TIMEFORMAT=%U
    if { time "$programs/$target" "$out/corpus/$target" "$corpora/$target" -dict="$dictionary" -max_len=1024 \
        -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/artifacts/$target-" \
        ${FUZZ_SEED:+-seed=$FUZZ_SEED} "$limit" > "$out/logs/$target" 2>&1; } 2> "$out/logs/$target.seconds"; then
        awk -v name="$target" -v cpu="$(tail -n 1 "$out/logs/$target.seconds")" '
            /number_of_executed_units/ { n = $2 } /peak_rss_mb/ { m = $2 }
            END { printf "%-14s %11d executions  %7d a second of a core  %5d MB\n", name, n, n / (cpu + 0.001), m }' "$out/logs/$target"
    else
        echo "$target FAILED"
        tail -n 60 "$out/logs/$target" | sed 's/^/    /'
        echo "    once more: $programs/$target \$(ls -t $out/artifacts/$target-* | head -n 1)"
        return 1
    fi
}
export -f one
export out programs corpora dictionary

printf '%s\n' "${targets[@]}" | xargs -P "${FUZZ_JOBS:-$(nproc)}" -I {} bash -c 'one {} || touch "$out/logs/{}.failed"'
failed=0
for target in "${targets[@]}"; do
    if [ -e "$out/logs/$target.failed" ]; then
        rm "$out/logs/$target.failed"
        failed=$((failed + 1))
    fi
done
echo "$((${#targets[@]} - failed)) passed, $failed failed"
[ $failed -eq 0 ]
