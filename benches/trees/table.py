"""Writes benches/results/trees.md from trees.csv, with a column for each instruction set and processor: python table.py"""

import math
import pathlib
import sys

import results
from machine import KERNELS, OTHER

OURS = "einsum-dist"
INTRODUCTION = """# Trees of contractions

This file is written by `make bench-trees`. All programs contract the same pairs in the same order, in float32.
`benches/trees/run.py` says what is measured, and `benches/data/trees/README.md` where the trees are from. Results of other
processors than that of the last run are kept.
"""
WARM = """## Warm

The rate of einsum-dist in GFLOP/s (two operations for each multiply-add), the ratio of the time of the fastest other program or
library to ours, and its name. Above 1, einsum-dist is faster.
"""
FIRST = """## First contraction of a process

The milliseconds of einsum-dist, and the same ratio. The times of einsum-dist and of etops do not contain what they prepare with
the tree alone, and those of the others do. Times of einsum_ir's bench_tree are only known for later contractions.
"""
MACHINE = """## {name}

Milliseconds of a contraction, warm, and in brackets those of the first in a process. `prepared` are the milliseconds in which
einsum-dist plans and compiles before. A `~` marks times during which other programs used more than {others:g} of a processor.
Trees that take more than 10^12 operations have no warm time, except with bench_tree; their ratios compare what there is.
"""
OTHERS = 0.15


def by_machine(rows):
    """Machine to tree to engine to row. A machine is the instructions, the processor and the threads."""
    found = {}
    for row in sorted(rows, key=lambda row: float(row["gflop"])):
        machine = row["instructions"], row["processor"], row["threads"]
        found.setdefault(machine, {}).setdefault(row["tree"], {})[row["engine"]] = row
    order = list(KERNELS.values())
    return dict(sorted(found.items(), key=lambda entry: (order.index(entry[0][0]), entry[0])))


def title(machine):
    instructions, processor, threads = machine
    return f"{instructions}: {processor}, {threads} threads"


def time(row, column):
    """Milliseconds, or None."""
    return float(row[column]) if row.get(column) else None


def warm(row):
    return time(row, "warm_ms") or time(row, "first_ms")


def first(row):
    return time(row, "first_ms")


def fastest(engines, value):
    """The ratio of the shortest time of the others to ours, and the name of that engine, or None."""
    own = value(engines.get(OURS, {}))
    others = [(value(row), name) for name, row in engines.items() if name != OURS and value(row)]
    return (min(others)[0] / own, min(others)[1]) if own and others else None


def columns(machines):
    """The machines by the title of their column. An instruction set that was not measured has a column too."""
    found = {}
    for name in KERNELS.values():
        measured = [machine for machine in machines if machine[0] == name]
        found |= {title(machine): machines[machine] for machine in measured} or ({} if name == OTHER else {name: None})
    return found


def comparison(machines, value, show):
    """A table with a column for each machine."""
    shown = columns(machines)
    sizes = {
        tree: float(row["gflop"])
        for rows in machines.values()
        for tree, by_engine in rows.items()
        for row in by_engine.values()
    }
    yield "| tree | GFLOP | " + " | ".join(shown) + " |"
    yield "|---|---:|" + "---|" * len(shown)
    for tree, gflop in sorted(sizes.items(), key=lambda entry: entry[1]):
        cells = []
        for rows in shown.values():
            found = fastest((rows or {}).get(tree, {}), value)
            cells.append(f"{show(rows[tree][OURS])}, {found[0]:.2f} ({found[1]})" if found else "not measured")
        yield f"| {tree} | {gflop:.4g} | " + " | ".join(cells) + " |"
    means = []
    for rows in shown.values():
        ratios = [found[0] for found in (fastest(engines, value) for engines in (rows or {}).values()) if found]
        means.append(f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}" if ratios else "")
    yield "| geometric mean | | " + " | ".join(means) + " |"


def details(trees):
    """A table of one machine with a column for each engine, and then what failed, and the versions."""
    engines = sorted({name for rows in trees.values() for name in rows}, key=lambda name: (name != OURS, name))
    yield "| tree | " + " | ".join(engines) + " | prepared | ratio |"
    yield "|---|" + "---:|" * (len(engines) + 2)
    notes = {}
    for tree, rows in trees.items():
        cells = []
        for name in engines:
            row = rows.get(name, {})
            cells.append(cell(row))
            if row.get("note"):
                notes.setdefault((name, row["note"]), []).append(tree)
        found = fastest(rows, warm)
        prepared = rows.get(OURS, {}).get("prepare_ms", "")
        yield f"| {tree} | " + " | ".join(cells) + f" | {prepared} | {f'{found[0]:.2f}' if found else ''} |"
    yield ""
    for (name, note), where in notes.items():
        yield f"- {name} on {', '.join(where)}: {note}"
    yield from (f"- {line}" for line in described(trees))


def cell(row):
    """`warm (first)`; a time that is not known is left out."""
    mark = "~" if float(row.get("others") or 0) > OTHERS else ""
    parts = [row.get("warm_ms", ""), f"({row['first_ms']})" if row.get("first_ms") else ""]
    return mark + " ".join(filter(None, parts)) if any(parts) else "failed" if row.get("note") else ""


def described(trees):
    """The versions of each engine, and the days on which it was measured."""
    found = {}
    for rows in trees.values():
        for name, row in rows.items():
            found.setdefault((name != OURS, name, row["version"]), set()).add(row["date"])
    for (_, name, version), dates in sorted(found.items()):
        yield f"{name} on {' and '.join(sorted(dates))}{f': {version}' if version else ''}"


def rate(row):
    return f"{float(row['gflop']) / warm(row) * 1e3:.3g}"


def write(file=results.FILE):
    machines = by_machine(results.read(file))
    lines = [INTRODUCTION, WARM, *comparison(machines, warm, rate), ""]
    lines += [FIRST, *comparison(machines, first, lambda row: row["first_ms"]), ""]
    for machine, trees in machines.items():
        lines += [MACHINE.format(name=title(machine), others=OTHERS), *details(trees), ""]
    file.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(*map(pathlib.Path, sys.argv[1:]))
