"""From times to tables."""

import csv
import json
import math
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


class Row:
    def __init__(self, suite, case, threads, contender, best, median, runs):
        self.suite, self.name, self.dtype, self.threads = suite, case.name, case.dtype, threads
        self.expression, self.contender, self.unit = case.expression, contender, case.unit
        self.best, self.median, self.runs = best, median, runs
        self.rate, self.median_rate = case.work / best / 1e9, case.work / median / 1e9


COLUMNS = ("suite", "name", "expression", "dtype", "threads", "contender", "unit", "rate", "median_rate", "best", "median", "runs")


def write(rows, suite, arguments, facts):
    RESULTS.mkdir(exist_ok=True)
    kernel = f"-{arguments.kernel}" if arguments.kernel else ""
    with open(RESULTS / f"{suite}-{arguments.threads}{kernel}.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for row in rows:
            table.writerow([getattr(row, column) for column in COLUMNS])
    groups = {}
    for row in rows:
        groups.setdefault((row.name, row.dtype), {})[row.contender] = row
    ratios = []
    for group in groups.values():
        peers = [row.rate for name, row in group.items() if not name.startswith("ours")]
        if "ours" in group and peers:
            ratios.append(group["ours"].rate / max(peers))
    if ratios:
        best = [max(r.rate for n, r in g.items() if not n.startswith("ours")) for g in groups.values()]
        gm = lambda x: math.exp(sum(map(math.log, x)) / len(x))
        print(f"{suite} {arguments.threads}: geometric mean ratio {gm(ratios):.2f}, worst {min(ratios):.2f}, best peer {gm(best):.1f}; {facts['disturbance']}")


def summarise():
    pass
