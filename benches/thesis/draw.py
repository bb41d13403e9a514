"""Plots the results of `make thesis`. The plots show the rates of two ranks for each algorithm, and their speed-up
over one rank with all cores.

Usage: draw.py [THESIS.csv]. The default is benches/results/thesis.csv. The plot is written next to the table.
"""

import csv
import sys
from math import prod
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results"
STYLES = {
    "one rank": dict(color="#2c3e50", linestyle="--", linewidth=1.2, label="one rank, all cores"),
    "auto": dict(color="#c0392b", marker="o", markersize=4, linewidth=1.8, zorder=5),
    "local": dict(color="#7f8c8d", linewidth=1),
    "c": dict(color="#2980b9", linewidth=1),
    "ring-mn": dict(color="#27ae60", linewidth=1),
    "ring-k": dict(color="#16a085", linewidth=1, linestyle="-."),
    "slicing": dict(color="#f39c12", linewidth=1),
    "grid": dict(color="#8e44ad", linewidth=1),
    "master-worker": dict(color="#d35400", linewidth=1, linestyle=":"),
}


def main():
    table = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "thesis.csv"
    lines = table.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    # Sizes with three extents (m x n x k) are not points of a curve.
    rows = [row for row in rows if " x " not in row["size"]]
    cases, places = (list(dict.fromkeys(row[column] for row in rows)) for column in ("case", "ranks"))
    shape = (2 * len(places), len(cases))
    figure, axes = plt.subplots(*shape, figsize=(13, 3.2 * shape[0]), sharex=True, squeeze=False)
    for down, (place, over) in enumerate((place, over) for over in (False, True) for place in places):
        for plot, case in zip(axes[down], cases):
            some = [row for row in rows if row["case"] == case and row["ranks"] == place]
            for column, style in STYLES.items():
                points = [(prod(map(int, row["size"].split())),
                           float(row[column]) / (float(row["one rank"]) if over else 1)) for row in some if row[column]]
                plot.plot(*zip(*sorted(points)), **{"label": column, **style}) if points else None
            plot.set(xscale="log", title=f"{case}, ranks {place}" if place == "in process" else f"{case}, {place} ranks")
            plot.set_ylim(bottom=0)
            plot.grid(alpha=0.3)
        axes[down][0].set_ylabel("speed-up over one rank" if over else "GFLOP/s")
    for plot in axes[-1]:
        plot.set_xlabel("rows of the product: outer times inner extent")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    plt.rcParams["svg.hashsalt"] = "thesis"
    figure.savefig(table.with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
