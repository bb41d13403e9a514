"""Plots benches/results/volumes.csv. The plots show the ratio of the words that the busiest rank receives to the lower
bound, for each number of ranks. Also writes the mean volumes to volumes.md, with the volumes from Table 4 of the COSMA
paper (Kwasniewski and others, 2019) for comparison."""

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


# Measured MB per rank from Table 4 of the paper, for ScaLAPACK, CTF, CARMA and COSMA.
PAPER = {
    ("square", "strong"): (203, 222, 195, 107), ("square", "limited"): (816, 986, 799, 424),
    ("square", "extra"): (303, 350, 291, 151), ("largeK", "strong"): (2636, 2278, 659, 545),
    ("largeK", "limited"): (368, 541, 128, 88), ("largeK", "extra"): (133, 152, 48, 35),
    ("largeM", "strong"): (3507, 2024, 541, 410), ("largeM", "limited"): (989, 672, 399, 194),
    ("largeM", "extra"): (122, 77, 77, 29), ("flat", "strong"): (134, 68, 10, 7),
    ("flat", "limited"): (47, 101, 26, 8), ("flat", "extra"): (15, 15, 10, 3),
}
# The smallest number of ranks in the paper's measurements, where the paper states it.
FEWEST, BYTES = {"largeK": 2048, "largeM": 2048}, 8


def table(rows):
    """Mean MB in double precision, over all numbers of ranks from 128 (or FEWEST) on for which the matrices fit into
    memory."""
    lines = ["| shape | memory | ranks | ours | COSMA's grid | recursive | 2.5D | 2D | paper: COSMA | paper: CARMA | paper: CTF | paper: ScaLAPACK |",
             "|---" * 12 + "|"]
    for (shape, memory), (scalapack, ctf, carma, cosma) in PAPER.items():
        fewest = FEWEST.get(shape, 128)
        some = [row for row in rows if row["shape"] == shape and row["memory"] == memory and row["ours"]
                and int(row["ranks"]) >= fewest]

        def mean(column):
            values = [float(row[column]) for row in some if row[column]]
            return f"{sum(values) / len(values) * BYTES / 1e6:.0f}" if len(values) == len(some) and values else "n/a"

        ranks = f"{min(int(row['ranks']) for row in some)} to {max(int(row['ranks']) for row in some)}" if some else "n/a"
        cells = [mean(column) for column in ("ours", "cosma", "recursive", "2.5d", "2d")]
        lines.append(f"| {shape} | {memory} | {ranks} | " + " | ".join([*cells, *map(str, (cosma, carma, ctf, scalapack))]) + " |")
    return "\n".join(lines) + "\n"


def main():
    lines = (RESULTS / "volumes.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    shapes, memories = (list(dict.fromkeys(row[column] for row in rows)) for column in ("shape", "memory"))
    figure, axes = plt.subplots(len(memories), len(shapes), figsize=(14, 3 * len(memories)), sharex=True, sharey=True)
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
    (RESULTS / "volumes.md").write_text(table(rows))


if __name__ == "__main__":
    sys.exit(main())
