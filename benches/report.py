"""From times to tables."""

import csv
import math
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

COLUMNS = ("suite", "name", "expression", "dtype", "threads", "contender", "kernel", "unit", "rate", "median_rate", "best", "median", "runs")


def row(suite, case, threads, contender, kernel, best, median, runs):
    rates = dict(rate=case.work / best / 1e9, median_rate=case.work / median / 1e9)
    what = dict(suite=suite, name=case.name, expression=case.expression, dtype=case.dtype, threads=threads)
    return dict(what, contender=contender, kernel=kernel, unit=case.unit, **rates, best=best, median=median, runs=runs)


def write(suite, threads, arguments, rows, timer):
    RESULTS.mkdir(exist_ok=True)
    kernel = f"-{arguments.kernel}" if arguments.kernel else ""
    with open(RESULTS / f"{suite}-{threads}{kernel}.csv", "w", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerows(rows)
    groups = {}
    for r in rows:
        groups.setdefault((r["name"], r["dtype"]), {})[r["contender"]] = r["rate"]
    best = [max(x for n, x in g.items() if n != "ours") for g in groups.values()]
    ratios = [g["ours"] / b for g, b in zip(groups.values(), best)]
    gm = lambda x: math.exp(sum(map(math.log, x)) / len(x))
    print(f"{suite} {threads}: geometric mean ratio {gm(ratios):.2f}, worst {min(ratios):.2f}, best peer {gm(best):.1f}; {timer.disturbance:.2f} {timer.missing}")


def summarise():
    pass
