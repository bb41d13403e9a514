"""Times functions that compute the same, in turn, so that all of them see the same load of the machine."""

import csv
import pathlib
import statistics
import sys
import time

import numpy as np

COLUMNS = ("benchmark", "case", "library", "first_ms", "median_ms", "min_ms", "rounds")


def compare(benchmark, case, functions, seconds=3.0, rounds=(5, 200), rtol=1e-6):
    """Calls `functions`, a dict from library to function, in turn. Writes a row of CSV for each to standard output.

    The first call of each is its first in this process: it includes planning, compiling and whatever the library caches.
    A timed call follows a call of the same function. All results must agree. The number of rounds is chosen such that the timed
    calls take about `seconds`.
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
    start = time.perf_counter()
    for function in functions.values():
        function()
    count = int(min(rounds[1], max(rounds[0], seconds / (time.perf_counter() - start))))
    times = {library: [] for library in functions}
    names = list(functions)
    for number in range(count):
        for library in names[number % len(names) :] + names[: number % len(names)]:
            # Threads of the library before may still keep the cores busy, waiting for work (see neighbours.py).
            functions[library]()
            start = time.perf_counter()
            functions[library]()
            times[library].append(time.perf_counter() - start)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for library, all_times in times.items():
        values = first[library], statistics.median(all_times), min(all_times)
        writer.writerow([benchmark, case, library, *(f"{value * 1e3:.4g}" for value in values), count])
    sys.stdout.flush()


def machine():
    """The name of the processor, and the number of its cores that this process may use."""
    import os

    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {len(os.sched_getaffinity(0))} cores"
