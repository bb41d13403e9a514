"""Plots and summarises the results of `make mlp`. The plot shows predicted and measured times for all triples of
distributions (of `left`, `right` and `out`); the
text lists the fastest triples.

Usage: draw.py [MLP.csv]. The default is benches/results/mlp.csv. The plot and the text are written next to the table.
"""

import csv
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RESULTS = Path(__file__).parent.parent / "results"
COLOURS = {"out": "#2980b9", "left": "#27ae60", "right": "#c0392b"}
LISTED = 5
# A choice is nearly the fastest if its time is at most this multiple of the time of the fastest choice.
NEAR = 1.05

INTRODUCTION = """# MLP-1 and MLP-2 from and to all distributions

This file is written by `make mlp`; `benches/mlp/main.rs` describes the measurement. {size}.
In {equal} of {rows} rows, the ranks received the planned number of bytes.

A triple consists of the distributions of `left`, `right` and `out`. In a distribution, `m:2 k:2` cuts two dimensions into two parts each, and `x3`
means three replicas. `MB` is the total volume received by all ranks. `predicted` is the time that the cost model predicts; times are in
milliseconds. If the rates of the machine were not measured, only ratios of predicted times are meaningful.
"""


def ranks_of(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for place in order[at:end + 1]:
            ranks[place] = (at + end) / 2
        at = end + 1
    return ranks


def rank_correlation(one, other):
    """Spearman's rank correlation. It is 1 if both lists have the same order."""
    a, b = ranks_of(one), ranks_of(other)
    mean = (len(a) - 1) / 2
    spread = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / spread if spread else float("nan")


def listed(rows):
    lines = ["| left | right | out | stationary | measured | predicted | MB |", "|---|---|---|---|---:|---:|---:|"]
    for row in rows[:LISTED]:
        distributions = " | ".join(f"`{row[tensor]}`" for tensor in ("left", "right", "out"))
        times = f"{float(row['measured_ms']):.2f} | {float(row['predicted_ms']):.2f}"
        lines.append(f"| {distributions} | {row['stationary']} | {times} | {int(row['planned']) / 1e6:.2f} |")
    return lines


def choice_quality(rows):
    """Reports how often the planner's choice of the stationary matrix was (nearly) the fastest, and how much slower the
    planner's choice was than the fastest choice."""
    triples = {}
    for row in rows:
        times = triples.setdefault((row["left"], row["right"], row["out"]), {})
        times[row["chosen"] == "yes", row["stationary"]] = float(row["measured_ms"])
    over = []
    for times in triples.values():
        chosen = next(time for (choice, _), time in times.items() if choice)
        over.append(chosen / min(times.values()))
    near = sum(ratio <= NEAR for ratio in over)
    mean = math.exp(sum(map(math.log, over)) / len(over))
    return ("Some triples were measured with each of the three matrices as the stationary matrix. "
            f"In {near} of these {len(over)} triples, the planner's choice takes at most {NEAR} times as long as the fastest choice. "
            f"The geometric mean of the ratio of these two times is {mean:.3f}, and the worst ratio is {max(over):.2f}.")


def section(mlp, ranks, rows):
    swept = sorted((row for row in rows if row["set"] == "all"), key=lambda row: float(row["measured_ms"]))
    measured = [float(row["measured_ms"]) for row in swept]
    predicted = [float(row["predicted_ms"]) for row in swept]
    first = min(range(len(swept)), key=predicted.__getitem__)
    # If several triples share the lowest predicted time, all of them are reported.
    equals = [time for time, price in zip(measured, predicted) if price == predicted[first]]
    ratios = [time / measured[0] for time in (min(equals), max(equals))]
    lowest = (f"1 triple, which takes {ratios[0]:.2f}" if len(equals) == 1
              else f"{len(equals)} triples, which take {ratios[0]:.2f} to {ratios[1]:.2f}")
    once = [row for row in swept if not any("x" in row[tensor] for tensor in ("left", "right", "out"))]
    lines = ["", f"## MLP-{mlp}, {ranks} ranks", "",
             f"The {len(swept)} triples take {measured[0]:.2f} to {measured[-1]:.2f} ms. "
             f"The rank correlation of predicted and measured times is {rank_correlation(predicted, measured):.2f}. "
             f"The lowest predicted time is that of {lowest} times as long as the fastest triple.", "",
             choice_quality([row for row in rows if row["set"] == "stationary"]), "",
             "The fastest triples:", "", *listed(swept), "", "The fastest triples without replicas:", "", *listed(once)]
    return lines


def main():
    table = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "mlp.csv"
    lines = table.read_text().splitlines()
    size = lines[0].removeprefix("# ").split(";")
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    groups = list(dict.fromkeys((row["mlp"], row["ranks"]) for row in rows))
    figure, axes = plt.subplots(1, len(groups), figsize=(3.6 * len(groups), 4), squeeze=False)
    text = INTRODUCTION.format(size=f"{size[0]},{size[1]}", rows=len(rows), equal=sum(r["equal"] == "yes" for r in rows))
    for plot, (mlp, ranks) in zip(axes[0], groups):
        group = [row for row in rows if (row["mlp"], row["ranks"]) == (mlp, ranks)]
        text += "\n".join(section(mlp, ranks, group)) + "\n"
        for stationary, colour in COLOURS.items():
            points = [(float(row["predicted_ms"]), float(row["measured_ms"])) for row in group
                      if row["set"] == "all" and row["stationary"] == stationary]
            plot.scatter(*zip(*points), s=6, color=colour, alpha=0.6, label=f"{stationary} stays") if points else None
        low, high = max(plot.get_xlim()[0], 1e-3), plot.get_xlim()[1]
        plot.plot([low, high], [low, high], color="#2c3e50", linewidth=0.8, linestyle=":", label="as predicted")
        plot.set(xscale="log", yscale="log", title=f"MLP-{mlp}, {ranks} ranks", xlabel="predicted ms")
        plot.grid(alpha=0.3)
    axes[0][0].set_ylabel("measured ms")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    plt.rcParams["svg.hashsalt"] = "mlp"
    figure.savefig(table.with_suffix(".svg"), metadata={"Date": None})
    table.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
