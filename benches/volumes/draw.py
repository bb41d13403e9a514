"""Draws benches/results/volumes.csv: words received by the busiest rank over the lower bound, by number of ranks."""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results"
STYLES = {
    "ours": dict(color="#c0392b", marker="o", markersize=3, linewidth=1.6, zorder=5),
    "best_grid": dict(color="#2c3e50", linestyle=":", linewidth=1.2, label="best grid of all"),
    "cosma": dict(color="#2980b9", linewidth=1),
    "recursive": dict(color="#27ae60", linewidth=1),
    "2.5d": dict(color="#8e44ad", linewidth=1),
    "2d": dict(color="#7f8c8d", linewidth=1),
}


def main():
    lines = (RESULTS / "volumes.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    shapes, memories = (list(dict.fromkeys(row[column] for row in rows)) for column in ("shape", "memory"))
    figure, axes = plt.subplots(len(memories), len(shapes), figsize=(14, 6), sharex=True, sharey=True)
    for across, memory in zip(axes, memories):
        for plot, shape in zip(across, shapes):
            some = [row for row in rows if row["shape"] == shape and row["memory"] == memory]
            for column, style in STYLES.items():
                points = [(int(row["ranks"]), float(row[column]) / float(row["bound"])) for row in some
                          if row[column] and float(row["bound"] or 0) > 0]
                plot.plot(*zip(*points), **{"label": column, **style}) if points else None
            plot.set(xscale="log", yscale="log", title=f"{shape}, {memory} memory")
            plot.grid(alpha=0.3)
    for plot in axes[-1]:
        plot.set_xlabel("ranks")
    for across in axes:
        across[0].set_ylabel("words / lower bound")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    plt.rcParams["svg.hashsalt"] = "volumes"
    figure.savefig(RESULTS / "volumes.svg", metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
