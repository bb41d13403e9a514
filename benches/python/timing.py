"""Times functions that compute the same, in turn, so that all of them see the same load of the machine."""

import csv
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import threadpoolctl

import einsum_dist as ed

COLUMNS = ("benchmark", "case", "library", "first_ms", "median_ms", "min_ms", "rounds")
# Threads of OpenMP and BLAS keep the cores busy for some milliseconds, waiting for more work (see neighbours.py).
REST_SECONDS = 0.05
# Calls that take longer are timed without a rest and a call before, which would matter little.
LONG_SECONDS = 1.0


def same_threads():
    """Gives the libraries that are imported so far as many threads as einsum_dist has. Returns the number."""
    threads = ed.get_num_threads()
    threadpoolctl.threadpool_limits(threads)
    for name in ("torch", "pytblis"):
        if name in sys.modules:
            sys.modules[name].set_num_threads(threads)
    return threads


def compare(benchmark, case, functions, seconds=3.0, rounds=(5, 200), rtol=1e-6):
    """Calls `functions`, a dict from library to function, in turn. Writes a row of CSV for each to standard output.

    The first call of each is its first with this expression and these shapes: it includes planning, compiling and whatever the
    library caches. A timed call follows a rest, in which the threads of the other libraries fall asleep, and then a call of the
    same function, as in a program that uses one library. All results must agree. The number of rounds is chosen such that the
    timed calls take about `seconds`.
    """
    results, first = {}, {}
    for library, function in functions.items():
        start = time.perf_counter()
        results[library] = np.array(function())
        first[library] = time.perf_counter() - start
    expected = next(iter(results.values()))
    scale = np.max(np.abs(expected), initial=0.0)
    for library, result in results.items():
        error = np.max(np.abs(result - expected), initial=0.0)
        assert error <= rtol * scale, f"{case}: {library} differs by {error / scale:.1e}"
    last = {library: timed(function) for library, function in functions.items()}
    count = int(min(rounds[1], max(rounds[0], seconds / sum(last.values()))))
    times = {library: [] for library in functions}
    names = list(functions)
    for number in range(count):
        for library in names[number % len(names) :] + names[: number % len(names)]:
            if last[library] < LONG_SECONDS:
                time.sleep(REST_SECONDS)
                functions[library]()
            last[library] = timed(functions[library])
            times[library].append(last[library])
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for library, all_times in times.items():
        values = first[library], statistics.median(all_times), min(all_times)
        writer.writerow([benchmark, case, library, *(f"{value * 1e3:.4g}" for value in values), count])
    sys.stdout.flush()


def timed(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def machine():
    """The name of the processor, and the number of its cores that this process may use."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {len(os.sched_getaffinity(0))} cores"
