#!/usr/bin/env python3
"""Compares predicted with measured times of contractions, and writes a table by class to benches/results/prices.md.

    prices.py --program PROGRAM --results FILE.csv [--workers 1,2] [--only SUITE,..] [--quick]

The cases are those of suites.py, run by the program with random operands, after it has measured the rates of this machine. A
cold time is the first run of a process, of which there are three. A warm time is the median of many later runs, or the last
of them for a step of a tree, which is a case of its own. Classes:

    compute    a contraction with more than 64 operations per element of its tensors
    memory     a contraction with fewer operations per element
    short      contractions of the suite `short`: extents of 1 to 16 beside long ones
    batches    many products of small matrices
    unary      permutations and sums

The file keeps the rows of other processors, numbers of workers and suites.
"""

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import suites

sys.path.insert(0, str(Path(__file__).parent / "trees"))
import machine  # noqa: E402

DTYPES = {"f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128"}
SUITES = ("tccg-small", "tccg-full", "gemm", "batches", "bandwidth", "short", "trees")
COLUMNS = ("processor", "kernel", "workers", "class", "suite", "case", "dtype", "predicted", "predicted_cold", "cold", "warm")
# Operations per element above which a contraction counts as limited by computing.
INTENSITY = 64
PROCESSES, WARM_SECONDS, MAX_RUNS = 3, 0.3, 300
# Rates in the user's cache may have been measured while other programs ran.
RATES = tempfile.TemporaryDirectory()


def report(program, arguments, *flags):
    command = [program, "--json", "--ranks", "1", *arguments, *flags]
    environment = {**machine.environment(1, "auto"), "EINSUM_DIST_CACHE": RATES.name}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {ran.stderr.strip()}")
    return json.loads(ran.stdout)


def class_of(suite, case, node):
    if node["op"] != "contract":
        return "unary"
    if suite in ("short", "batches"):
        return suite
    operands, out = node["expression"].split("->")
    extents = {label: extent for label, extent in case.extents.items() if label in node["expression"]}
    elements = sum(math.prod(extents[label] for label in term) for term in [*operands.split(","), out])
    return "compute" if 2 * math.prod(extents.values()) > INTENSITY * elements else "memory"


def measure(program, suite, case, workers, quick):
    """Yields one row per step."""
    expression = suites.nested(case)[0] if case.path else case.expression
    sizes = ",".join(f"{label}={extent}" for label, extent in case.extents.items())
    arguments = ["--workers", str(workers), "--dtype", DTYPES[case.dtype], "--size", sizes, expression]
    cold = [report(program, arguments, "--warmup", "0") for _ in range(1 if quick else PROCESSES)]
    took = max(cold[0]["seconds"]["median"], 1e-6)
    runs = int(min(MAX_RUNS, max(3, (0.1 if quick else WARM_SECONDS) / took)))
    warm = report(program, arguments, "--warmup", "2", "--repeat", str(runs))
    if len(warm["nodes"]) == 1:
        times = [[one["seconds"]["median"] for one in cold], [warm["seconds"]["median"]]]
    for at, node in enumerate(warm["nodes"]):
        if len(warm["nodes"]) > 1:
            times = [[one["nodes"][at]["seconds"] for one in cold], [node["seconds"]]]
        yield {
            "processor": machine.processor(),
            "kernel": machine.widest(),
            "workers": workers,
            "class": class_of(suite, case, node),
            "suite": suite,
            "case": node["expression"] + (f" {sizes}" if suite == "short" else f" {case.name}"),
            "dtype": case.dtype,
            "predicted": node["predicted_seconds"],
            "predicted_cold": cold[0]["nodes"][at]["predicted_seconds"],
            "cold": statistics.median(times[0]),
            "warm": times[1][0],
        }


def predicted(row, column):
    return float(row["predicted_cold" if column == "cold" else "predicted"])


def ratio(row, column):
    """The larger of the predicted and the measured time over the smaller one, negative if the prediction is too short."""
    quotient = predicted(row, column) / float(row[column])
    return quotient if quotient >= 1 else -1 / quotient


def table(rows):
    lines = ["| class | cases | run | within 1.3 | within 2 | geometric mean | shortest | longest |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|---:|")
    classes = list(dict.fromkeys(row["class"] for row in rows))
    for name in [*classes, "all"]:
        chosen = [row for row in rows if name in ("all", row["class"])]
        for column in ("cold", "warm"):
            quotients = sorted(predicted(row, column) / float(row[column]) for row in chosen)
            share = lambda most: f"{sum(1 / most <= q <= most for q in quotients) / len(quotients):.0%}"
            mean = math.exp(statistics.fmean(math.log(q) for q in quotients))
            extremes = f"{quotients[0]:.2f} | {quotients[-1]:.2f}"
            lines.append(f"| {name} | {len(chosen)} | {column} | {share(1.3)} | {share(2)} | {mean:.2f} | {extremes} |")
    return lines


ABOUT = """\
# Predicted and measured times

Written by `make bench-prices`: the predicted over the measured time of each contraction in the suites of `make bench`, in one rank, by class (see
`benches/prices.py`). `cold` is the first run of a process, `warm` the median of later runs. The columns are the share of cases in which neither time
is more than 1.3 or 2 times the other, and the geometric mean and the extremes of the quotients."""


def summarise(path, about, table):
    """Writes a table for each processor and number of workers in the file."""
    with open(path) as file:
        rows = list(csv.DictReader(file))
    lines = about.splitlines()
    for key in dict.fromkeys((row["processor"], row["kernel"], row["workers"]) for row in rows):
        chosen = [row for row in rows if (row["processor"], row["kernel"], row["workers"]) == key]
        lines += ["", f"## {key[0]}, {key[1]}, {key[2]} worker{'s' * (key[2] != '1')}", "", *table(chosen)]
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


def save(path, rows, columns):
    """Writes the rows of one suite in place of earlier ones of the same processor and number of workers."""
    key = lambda row: (row["processor"], row["kernel"], str(row["workers"]), row["suite"])
    taken, kept = {key(row) for row in rows}, []
    if path.exists():
        with open(path) as file:
            kept = [row for row in csv.DictReader(file) if key(row) not in taken]
    with open(path, "w", newline="") as file:
        written = csv.DictWriter(file, columns, lineterminator="\n")
        written.writeheader()
        written.writerows([*kept, *rows])


def arguments_of(about, all_suites):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--only", default=",".join(all_suites))
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def main():
    arguments = arguments_of(__doc__, SUITES)
    for workers in map(int, arguments.workers.split(",")):
        for suite in arguments.only.split(","):
            rows = []
            for case in suites.cases(suite):
                for row in measure(arguments.program, suite, case, workers, arguments.quick):
                    if min(row["predicted"], row["cold"], row["warm"]) > 0:
                        rows.append(row)
                        quotients = " ".join(f"{ratio(row, column):6.2f}" for column in ("cold", "warm"))
                        print(f"{workers} {row['class']:8} {quotients}  {row['case']} {row['dtype']}", flush=True)
            save(arguments.results, rows, COLUMNS)
    summarise(arguments.results, ABOUT, table)


if __name__ == "__main__":
    main()
