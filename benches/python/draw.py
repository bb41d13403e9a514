"""Draws the results of `make bench-python`, and writes them as tables: python benches/python/draw.py [PYTHON.csv]

The picture and the text are written next to the table, which is benches/results/python.csv by default.
"""

import csv
import math
import pathlib
import sys

import matplotlib
from timing import COLUMNS, machine

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RESULTS = pathlib.Path(__file__).parent.parent / "results"
OURS = "einsum-dist"
INTRODUCTION = """# Contractions from Python

This file is written by `make bench-python` on {machine}. Times are medians in milliseconds; all libraries of a row ran in turn in one process, with
the same number of threads; each timed call follows a rest and an untimed call of the same library. `speedup` is the time of the fastest library without
this package, divided by that of `einsum-dist`. In brackets: the first call with this expression and these shapes.
"""
TITLES = {
    "calls": "Single calls (`benches/python/calls.py`)",
    "networks": "Tensor networks, with the same path for all (`benches/python/networks.py`)",
    "molecules": "CCSD and CCSD(T) by PySCF (`benches/python/molecules.py`)",
}


def read(file):
    """Benchmark to case to library to row."""
    found = {}
    for row in csv.DictReader(file.open(), fieldnames=COLUMNS):
        found.setdefault(row["benchmark"], {}).setdefault(row["case"], {})[row["library"]] = row
    return found


def median(row):
    return float(row["median_ms"])


def speedup(rows):
    """The time of the fastest function without this package, divided by that of `einsum-dist`."""
    others = [median(row) for library, row in rows.items() if OURS not in library]
    return min(others) / median(rows[OURS])


def table(cases):
    libraries = list(dict.fromkeys(library for rows in cases.values() for library in rows))
    yield "| case | " + " | ".join(libraries) + " | speedup |"
    yield "|---|" + "---:|" * (len(libraries) + 1)
    for case, rows in cases.items():
        cells = [f"{rows[name]['median_ms']} ({rows[name]['first_ms']})" if name in rows else "" for name in libraries]
        yield f"| {case} | " + " | ".join(cells) + f" | {speedup(rows):.2f} |"


def draw(found, file):
    bars = [(case, rows) for cases in found.values() for case, rows in cases.items()][::-1]
    figure, axes = plt.subplots(figsize=(8, 0.45 * len(bars) + 1))
    names = list(dict.fromkeys(name for _, rows in bars for name in rows if OURS not in name))
    for number, name in enumerate(names):
        points = [(median(rows[name]) / median(rows[OURS]), at) for at, (_, rows) in enumerate(bars) if name in rows]
        axes.scatter(*zip(*points), label=name, s=36, zorder=3, marker="osD^vP*X"[number % 8])
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yticks(range(len(bars)), [case for case, _ in bars])
    axes.set_xlabel("time divided by the time of einsum-dist (right of the line: slower than einsum-dist)")
    axes.grid(axis="both", alpha=0.3)
    axes.legend(fontsize=8)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main():
    file = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "python.csv"
    found = read(file)
    lines = [INTRODUCTION.format(machine=machine())]
    for benchmark, cases in found.items():
        mean = math.exp(sum(math.log(speedup(rows)) for rows in cases.values()) / len(cases))
        lines += [f"## {TITLES[benchmark]}", "", *table(cases), "", f"Geometric mean of the speedups: {mean:.2f}.", ""]
    file.with_suffix(".md").write_text("\n".join(lines))
    draw(found, file.with_suffix(".svg"))


if __name__ == "__main__":
    main()
