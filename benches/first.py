#!/usr/bin/env python3
"""Compares the first run of a process with warm runs, and writes a table by suite to benches/results/first.md.

    first.py --program PROGRAM --results FILE.csv [--workers 1,2] [--only SUITE,..] [--quick]

Results, intermediates and packed operands of a first run are in memory that nobody has written yet: the peak of the run's
memory without the operands. `write` is the time of a plain loop that writes as many bytes of such memory with as many
threads. The limit of a first run is 1.15 times the warm run plus that time. A first run is the median of several processes,
a warm one that of many runs of one process. The file keeps the rows of other processors, numbers of workers and suites.
"""

import math
import mmap
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy

import prices
import suites

sys.path.insert(0, str(Path(__file__).parent / "trees"))
import machine  # noqa: E402

SUITES = ("gemm", "tccg-small", "tccg-full", "trees", "short")
COLUMNS = ("processor", "kernel", "workers", "suite", "case", "dtype", "fresh_bytes", "write", "warm", "first")
PROCESSES, WRITES = 5, 5
FACTOR = 1.15
HUGE_PAGE = 2 << 20


def seconds_to_write(size, threads):
    """The shortest of several times in which threads write anonymous memory, each a part of it."""
    took = []
    for _ in range(WRITES):
        memory = mmap.mmap(-1, max(size, mmap.PAGESIZE))
        if size >= HUGE_PAGE:
            memory.madvise(mmap.MADV_HUGEPAGE)
        whole = numpy.frombuffer(memory, dtype=numpy.uint8)
        barrier, spans = threading.Barrier(threads), []

        def write(part):
            barrier.wait()
            start = time.perf_counter()
            part.fill(1)
            spans.append((start, time.perf_counter()))

        running = [threading.Thread(target=write, args=(part,)) for part in numpy.array_split(whole, threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        starts, ends = zip(*spans)
        took.append(max(ends) - min(starts))
    return min(took)


def measure(program, suite, case, workers, quick):
    expression = suites.nested(case)[0] if case.path else case.expression
    sizes = ",".join(f"{label}={extent}" for label, extent in case.extents.items())
    arguments = ["--workers", str(workers), "--dtype", prices.DTYPES[case.dtype], "--size", sizes, expression]
    runs = [prices.report(program, arguments, "--warmup", "0") for _ in range(1 if quick else PROCESSES)]
    first = statistics.median(run["seconds"]["median"] for run in runs)
    repeat = int(min(prices.MAX_RUNS, max(3, prices.WARM_SECONDS / first)))
    warm = prices.report(program, arguments, "--warmup", "2", "--repeat", str(repeat))
    operands = suites.BYTES[case.dtype] * sum(case.size(labels) for labels in case.operands)
    fresh = max(warm["peak_bytes"]["measured"] - operands, 0)
    return {
        "processor": machine.processor(),
        "kernel": machine.widest(),
        "workers": workers,
        "suite": suite,
        "case": case.name,
        "dtype": case.dtype,
        "fresh_bytes": fresh,
        "write": seconds_to_write(fresh, workers),
        "warm": warm["seconds"]["median"],
        "first": first,
    }


def over_limit(row):
    return float(row["first"]) / (FACTOR * float(row["warm"]) + float(row["write"]))


def table(rows):
    lines = ["| suite | cases | within the limit | geometric mean of first / limit | worst |", "|---|---:|---:|---:|---|"]
    for suite in dict.fromkeys(row["suite"] for row in rows):
        chosen = [(over_limit(row), row) for row in rows if row["suite"] == suite]
        mean = math.exp(statistics.fmean(math.log(over) for over, _ in chosen))
        over, row = max(chosen, key=lambda pair: pair[0])
        within = sum(over <= 1 for over, _ in chosen) / len(chosen)
        lines.append(f"| {suite} | {len(chosen)} | {within:.0%} | {mean:.2f} | {over:.2f} ({row['case']} {row['dtype']}) |")
    return lines


ABOUT = """\
# First runs

Written by `make bench-first`: the first run of a process, compared with a limit of 1.15 times a warm run plus the time of a plain loop to write as
much fresh memory (see `benches/first.py`)."""


def main():
    arguments = prices.arguments_of(__doc__, SUITES)
    for workers in map(int, arguments.workers.split(",")):
        for suite in arguments.only.split(","):
            rows = []
            for case in suites.cases(suite):
                row = measure(arguments.program, suite, case, workers, arguments.quick)
                rows.append(row)
                times = " ".join(f"{row[name] * 1e3:10.3f}" for name in ("write", "warm", "first"))
                print(f"{workers} {over_limit(row):6.2f} {times} ms  {row['case']} {row['dtype']}", flush=True)
            prices.save(arguments.results, rows, COLUMNS)
    prices.summarise(arguments.results, ABOUT, table)


if __name__ == "__main__":
    main()
