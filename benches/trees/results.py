"""The rows of benches/results/trees.csv: one for each processor, instruction set, number of threads, tree and engine.

New rows replace rows of the same key, and no others. So results of other processors remain.
"""

import csv
import pathlib

FILE = pathlib.Path(__file__).parent.parent / "results" / "trees.csv"
KEY = ("processor", "instructions", "threads", "tree", "engine")
COLUMNS = (
    *KEY, "gflop", "first_ms", "warm_ms", "least_warm_ms", "prepare_ms", "rounds", "others", "version", "date", "note",
)  # fmt: skip


def key(row):
    return tuple(str(row[column]) for column in KEY)


def read(file=FILE):
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def merge(rows, file=FILE):
    """Adds the rows to the file."""
    found = {key(row): row for row in read(file)} | {key(row): row for row in rows}
    part = file.with_suffix(".part")
    with part.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, COLUMNS, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(found[name] for name in sorted(found))
    part.replace(file)
