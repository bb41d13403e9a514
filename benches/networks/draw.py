"""Draws the results of `make bench-networks`, and writes them as tables: python benches/networks/draw.py [NETWORKS.csv]

The picture and the text are written next to the table, which is benches/results/networks.csv by default. The times to the result
are in NETWORKS-run.csv next to it, if this file exists.
"""

import argparse
import csv
import math
import pathlib

import matplotlib
import program
from network import machine
from peers import SLICED_ELEMENTS, TOLERANCE, versions

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

RESULTS = pathlib.Path(__file__).parent.parent / "results"
OURS = "einsum-dist"
INTRODUCTION = """# Tensor networks: contraction orders, and time to the result

This file is written by `make bench-networks` on {machine}, with einsum-dist {version} and
{peers}.
`benches/networks/search.py` and `run.py` define what is measured and how the programs are compared.
"""
SEARCHES = """## {title}

Cells are the decimal logarithm of the number of multiply-adds over all slices, and in brackets the binary logarithm of the
number of elements of the largest intermediate and the number of slices, if there are any. A tree is in a column if it was
found within {tolerance:g} times the budget. `later` is the best tree of all calls of cotengra with this budget, however long they
took, with the seconds of that call. `ratio` is the number of multiply-adds of the best tree of cotengra within the budget,
divided by that of einsum-dist: above 1, einsum-dist's tree is cheaper. Times of einsum-dist are of the search alone, without the
0.03 seconds in which the program measures its speed; those of cotengra are without imports and the start of its processes.
"""
BOUNDED = """Only trees whose largest intermediate has at most 2^{log2:.0f} elements are in these tables. Trees of
searches without slices are too, if they are small enough. einsum-dist bounds all tensors that exist at one time: `2^26 in total`
is stricter than cotengra's bound, and `3 x 2^26 in total` has room for two operands and the result of a step.
"""
RUNS = """## Time to the result

Seconds of search and one contraction; in brackets, the seconds of the search. For einsum-dist, this is the time of the whole
process, from start to end, with files. For cotengra, it contains neither imports nor the start of its processes. `speedup` is
the shortest time of cotengra, divided by that of einsum-dist.
"""
UNSLICED_NAME = "without slices"


def read(file):
    return list(csv.DictReader(file.open(encoding="utf-8")))


def number(row, column):
    return float(row[column]) if row.get(column) else None


def bounded(row, prefix):
    """Whether the tree has no larger intermediate than searches with slices may have."""
    largest = number(row, f"{prefix}largest")
    return largest is not None and largest <= math.log2(SLICED_ELEMENTS) + 1e-3


def select(rows, sliced):
    """Network to budget to program to configuration to row. With `sliced`, also the rows without slices."""
    found = {}
    for row in rows:
        if row["sliced"] == "1" and not sliced:
            continue
        name = row["configuration"] if row["sliced"] == str(int(sliced)) else f"{UNSLICED_NAME}, {row['configuration']}"
        budgets = found.setdefault(row["network"], {})
        budgets.setdefault(float(row["budget"]), {}).setdefault(row["program"], {})[name] = row
    return found


def best(rows, prefix, sliced):
    """The row with the fewest multiply-adds, and its configuration."""
    usable = [(number(row, f"{prefix}multiply_adds"), name, row) for name, row in rows.items()]
    usable = [entry for entry in usable if entry[0] is not None and (not sliced or bounded(entry[2], prefix))]
    return min(usable, key=lambda entry: entry[0], default=None)


def ratio(programs, sliced):
    """The multiply-adds of the best tree of cotengra in the budget, divided by those of ours, or None."""
    both = [best(programs.get(name, {}), "within_", sliced) for name in ("cotengra", OURS)]
    return 10 ** (both[0][0] - both[1][0]) if all(both) else None


def tree(entry, prefix):
    if entry is None:
        return "none"
    slices = int(entry[2][f"{prefix}slices"])
    return f"{entry[0]:.3f} ({number(entry[2], f'{prefix}largest'):.4g}{f', {slices} slices' if slices > 1 else ''})"


def later(entry):
    return "none" if entry is None else f"{entry[0]:.3f} in {number(entry[2], 'seconds'):.3g} s ({entry[1]})"


def group(name):
    """The column of a configuration."""
    return UNSLICED_NAME if name.startswith(UNSLICED_NAME) else name


def search_table(networks, budget, sliced):
    cases = {network: budgets[budget] for network, budgets in networks.items() if budget in budgets}
    columns = [
        (program_name, column)
        for program_name in (OURS, "cotengra")
        for column in dict.fromkeys(
            map(group, (name for case in cases.values() for name in case.get(program_name, {})))
        )
    ]
    names = [f"{program_name}, {column}" for program_name, column in columns]
    yield "| network | " + " | ".join(names) + " | later | ratio |"
    yield "|---|" + "---:|" * (len(names) + 2)
    for network, programs in cases.items():
        cells = []
        for program_name, column in columns:
            rows = {name: row for name, row in programs.get(program_name, {}).items() if group(name) == column}
            cells.append(tree(best(rows, "within_", sliced), "within_"))
        value = ratio(programs, sliced)
        cells += [later(best(programs.get("cotengra", {}), "", sliced)), f"{value:.2f}" if value else ""]
        yield f"| {network} | " + " | ".join(cells) + " |"


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def search_section(networks, sliced):
    title = "Contraction orders, largest intermediate 2^26" if sliced else "Contraction orders, without slices"
    yield SEARCHES.format(title=title, tolerance=TOLERANCE)
    if sliced:
        yield BOUNDED.format(log2=math.log2(SLICED_ELEMENTS))
    for budget in sorted({budget for budgets in networks.values() for budget in budgets}):
        yield f"### {budget:g} s\n"
        yield from search_table(networks, budget, sliced)
        found = [ratio(budgets[budget], sliced) for budgets in networks.values() if budget in budgets]
        found = [value for value in found if value]
        if found:
            yield f"\nGeometric mean of the {len(found)} ratios: {mean(found):.2f}.\n"
    yield ""


def method(row):
    if row["program"] == OURS:
        return OURS
    return f"cotengra {row['search']}, {row['library']}"


def by_network(rows):
    found = {}
    for row in rows:
        found.setdefault(row["network"], {})[method(row)] = row
    return found


def speedups(rows):
    """Method to its time, divided by the time of einsum-dist."""
    own = number(rows.get(OURS, {}), "total_seconds")
    times = {name: number(row, "total_seconds") for name, row in rows.items() if name != OURS}
    return {name: seconds / own for name, seconds in times.items() if seconds} if own else {}


def run_section(networks):
    methods = list(dict.fromkeys(name for rows in networks.values() for name in rows))
    yield RUNS
    yield "| network | " + " | ".join(methods) + " | speedup |"
    yield "|---|" + "---:|" * (len(methods) + 1)
    for network, rows in networks.items():
        cells = []
        for name in methods:
            row = rows.get(name, {})
            total, search = number(row, "total_seconds"), number(row, "search_seconds")
            cells.append(f"{total:.3g} ({search:.3g})" if total is not None else row.get("note", ""))
        found = speedups(rows)
        yield f"| {network} | " + " | ".join(cells) + f" | {f'{min(found.values()):.2f}' if found else ''} |"
    found = [min(speedups(rows).values()) for rows in networks.values() if speedups(rows)]
    if found:
        yield f"\nGeometric mean of the speedups: {mean(found):.2f}."
    errors = [number(row, "error") for rows in networks.values() for row in rows.values()]
    errors = [value for value in errors if value is not None]
    if errors:
        yield f"Largest relative difference between the results of einsum-dist and of cotengra with NumPy: {max(errors):.1e}."
    yield ""


def scatter(axes, networks, series, label, title):
    """Draws the points of each series, a dict from its name to a dict from network to value."""
    for at, (name, points) in enumerate(series.items()):
        if points:
            places = [networks.index(network) for network in points]
            axes.scatter(points.values(), places, label=name, s=36, zorder=3, marker="osD^vP*X"[at % 8])
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(label)
    axes.grid(axis="both", alpha=0.3)
    if any(series.values()):
        axes.legend(fontsize=8)


def draw(selected, runs, file):
    networks = list(dict.fromkeys([*selected[False], *selected[True], *runs]))[::-1]
    figure, axes = plt.subplots(1, 3, figsize=(15, 0.3 * len(networks) + 1.6), sharey=True)
    axes[0].set_yticks(range(len(networks)), networks)
    axes[0].set_ylim(-0.6, len(networks) - 0.4)
    for sliced, place in zip((False, True), axes):
        series = {}
        for network, budgets in selected[sliced].items():
            for budget, programs in sorted(budgets.items()):
                value = ratio(programs, sliced)
                points = series.setdefault(f"{budget:g} s", {})
                if value:
                    points[network] = value
        title = "largest intermediate 2^26" if sliced else "without slices"
        scatter(place, networks, series, "multiply-adds of cotengra / einsum-dist, within the budget", title)
    series = {}
    for network, rows in runs.items():
        for name, value in speedups(rows).items():
            series.setdefault(name, {})[network] = value
    scatter(axes[2], networks, series, "time of cotengra / einsum-dist", "time to the result")
    figure.suptitle(
        "right of the line: einsum-dist is better; no point: nothing within the budget, or not measured", fontsize=9
    )
    figure.tight_layout()
    figure.savefig(file, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=RESULTS / "networks.csv")
    parser.add_argument("--program", default=program.DEFAULT, help="for its version")
    options = parser.parse_args()
    rows = read(options.file)
    run_file = options.file.with_name(f"{options.file.stem}-run.csv")
    runs = by_network(read(run_file)) if run_file.exists() else {}
    selected = {sliced: select(rows, sliced) for sliced in (False, True)}
    peers = ", ".join(f"{name} {version}" for name, version in versions().items())
    lines = [INTRODUCTION.format(machine=machine(), version=program.version(options.program), peers=peers)]
    for sliced in (False, True):
        lines += search_section(selected[sliced], sliced)
    if runs:
        lines += run_section(runs)
    options.file.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    draw(selected, runs, options.file.with_suffix(".svg"))


if __name__ == "__main__":
    main()
