"""Writes the measured times. Each suite and number of threads has a CSV file; one Markdown file and one plot show all
suites."""

import csv
import datetime
import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"

COLUMNS = (
    *("suite", "name", "expression", "extents", "dtype", "threads", "contender", "kernel", "unit", "rate"),
    *("median_rate", "best", "median", "runs", "turns", "quiet_turns"),
)

ABOUT = """\
This file is written by `make bench`. Each library runs in a separate process. The processes run alternately, each with one untimed run before its
timed runs. The results of all libraries were compared, and they agree. Rates are those of the fastest run, in GFLOP/s (a multiply-add is 2
operations, or 8 for complex numbers) or in GB/s (each tensor counted once). `ratio` is our rate divided by the best rate of the other libraries.
`of medians` is the same ratio for the median runs instead of the fastest runs. A `~` marks a library whose processors also executed other work in all
of its runs, or in all except one.

Our times exclude planning and the allocation of the result. The times of `opt_einsum`, which calls NumPy, include both. The times of `torch` also
include both, except if the expression has a single operand; that operand is copied into a preallocated result. `tblis` writes into a preallocated
result, but for trees, its times include the allocation of the result. All other libraries write into a preallocated result. Allocating pages is cheap
for all libraries, because all of them use huge pages.
"""


class Table:
    """The rows of one CSV file, by case and contender."""

    def __init__(self, path):
        lines = path.read_text().splitlines()
        self.facts = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
        self.cases = {}
        for row in csv.DictReader(line for line in lines if not line.startswith("# ")):
            for column in ("rate", "median_rate"):
                row[column] = float(row[column])
            self.cases.setdefault((row["dtype"], row["name"]), {})[row["contender"]] = row

    def contenders(self):
        return list(dict.fromkeys(name for case in self.cases.values() for name in case))

    def peers(self):
        return [name for name in self.contenders() if not name.startswith("ours")]

    def ratio(self, case, peers, column="rate"):
        """Our rate divided by the best rate among the given peers that ran the case, or None if no peer ran it."""
        rates = [case[name][column] for name in peers if name in case]
        return case["ours"][column] / max(rates) if rates and "ours" in case else None

    def ratios(self, peers=None, wanted=lambda dtype, name: True):
        peers = self.peers() if peers is None else peers
        all_ratios = {key: self.ratio(case, peers) for key, case in self.cases.items() if wanted(*key)}
        return {key: ratio for key, ratio in all_ratios.items() if ratio is not None}


def row(suite, case, threads, contender, kernel, seconds, quiet):
    """Returns a row of the table. `seconds` contains one list of run times per turn."""
    all_seconds = sorted(second for turn in seconds for second in turn)
    best, median = all_seconds[0], all_seconds[len(all_seconds) // 2]
    return dict(
        suite=suite,
        name=case.name,
        expression=case.expression,
        extents=";".join(f"{label}={extent}" for label, extent in case.extents.items()),
        dtype=case.dtype,
        threads=threads,
        contender=contender,
        kernel=kernel,
        unit=case.unit,
        rate=f"{case.work / best / 1e9:.4g}",
        median_rate=f"{case.work / median / 1e9:.4g}",
        best=f"{best:.4g}",
        median=f"{median:.4g}",
        runs=len(all_seconds),
        turns=len(seconds),
        quiet_turns=quiet,
    )


def write(suite, timer, rows):
    RESULTS.mkdir(exist_ok=True)
    kernel = f"-{timer.kernel}" if timer.kernel else ""
    with open(RESULTS / f"{suite}-{timer.threads}{kernel}.csv", "w", newline="") as file:
        for name, value in facts(timer).items():
            file.write(f"# {name}: {value}\n")
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def facts(timer):
    versions = {library: timer.versions.get(library) or f"not available: {timer.missing[library]}" for library in LIBRARIES}
    return {
        "date": datetime.date.today().isoformat(),
        "commit": output("git", "describe", "--always", "--dirty"),
        "command": shlex.join(["benches/compare.py", *timer.command]),
        "machine": machine(),
        "compiler": output("rustc", "--version"),
        **versions,
        "others": "the processes of the libraries that were not being measured used at most "
        f"{timer.disturbance:.2f} of a processor",
    }


LIBRARIES = ("numpy", "torch", "tblis", "mkl")


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=RESULTS.parent).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine():
    fields = dict(line.split(":", 1) for line in output("lscpu").splitlines() if ":" in line)
    field = lambda name: fields.get(name, "?").strip()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    vectors = [flag for flag in ("avx2", "avx512f", "asimd", "sve") if flag in field("Flags").split()]
    caches = ", ".join(f"{name} {field(name + ' cache')}" for name in ("L1d", "L2", "L3"))
    return f"{field('CPU(s)')} x {field('Model name')}, {' '.join(vectors)}; {caches}; {memory:.0f} GiB"


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def tables(kernel=""):
    """The existing tables for one kernel, by suite and number of threads."""
    found = {}
    for path in sorted(RESULTS.glob("*.csv")):
        # SUITE-THREADS or SUITE-THREADS-KERNEL; tables of other benchmarks have no number of threads.
        named = re.fullmatch(r"(.+?)-(\d+)(?:-(\w+))?", path.stem)
        if named and (named[3] or "") == kernel:
            found[named[1], int(named[2])] = Table(path)
    return found


def verdicts(found):
    """Returns one tuple per requirement, with its number, its subject, the required and the measured value, and whether
    the requirement is met."""

    def line(number, what, required, measured, met):
        lines.append((number, what, required, measured, "yes" if met else "no"))

    def absent(number, what, required):
        lines.append((number, what, required, "not measured", "-"))

    lines = []

    def at_least(number, what, suite, threads, least, mean=None, peers=None, wanted=lambda dtype, name: True):
        required = f"each at least {least}" + (f", geometric mean at least {mean}" if mean else "")
        ratios = found[suite, threads].ratios(peers, wanted) if (suite, threads) in found else {}
        if not ratios:
            return absent(number, what, required)
        worst = min(ratios, key=ratios.get)
        below = sum(ratio < least for ratio in ratios.values())
        middle = geometric_mean(ratios.values())
        measured = f"geometric mean {middle:.2f}, worst {ratios[worst]:.2f} ({' '.join(worst)})"
        measured += f", {below} of {len(ratios)} below"
        line(number, what, required, measured, below == 0 and middle >= (mean or 0))

    for size, mean in (("small", 1.3), ("full", 1.1)):
        for threads in (1, 2):
            what = f"tccg24 {size}, {threads} worker{'s' * (threads > 1)}, ratio to the best peer"
            at_least(1, what, f"tccg-{size}", threads, 0.95, mean)
    for threads in (1, 2):
        real = lambda dtype, name: dtype in ("f32", "f64")
        workers = f"{threads} worker{'s' * (threads > 1)}"
        best = "matrix product f32 and f64, {}, ratio to the better of OpenBLAS and MKL"
        at_least(2, best.format(workers), "gemm", threads, 0.98, peers=["openblas", "mkl"], wanted=real)
        for dtype in ("f32", "f64"):
            what, required = f"extent 1021, {dtype}, {workers}, ratio to extent 1024", "at least 0.9"
            cases = found[("gemm", threads)].cases if ("gemm", threads) in found else {}
            if (dtype, "1021") in cases:
                ratio = cases[dtype, "1021"]["ours"]["rate"] / cases[dtype, "1024"]["ours"]["rate"]
                line(2, what, required, f"{ratio:.2f}", ratio >= 0.9)
            else:
                absent(2, what, required)
    at_least(3, "trees with a prescribed path, 2 workers, ratio to the best peer", "trees", 2, 1.0)
    for threads in (1, 2):
        larger = lambda dtype, name: name != "8^3"
        what = f"batches of 16^3, 32^3, 64^3, {threads} worker{'s' * (threads > 1)}, ratio to "
        at_least(4, what + "the bare LIBXSMM kernel", "batches", threads, 0.9, peers=["libxsmm"], wanted=larger)
    for threads in (1, 2):
        what = f"bandwidth-bound, {threads} worker{'s' * (threads > 1)}, ratio to a plain loop with the same traffic"
        at_least(5, what, "bandwidth", threads, 0.8, peers=["stream"])
    at_least(6, "compute-bound contractions, 2 workers, ratio to 1 worker", "scaling", 2, 1.85, peers=["ours, 1 worker"])
    forced = tables("portable")
    for key in sorted(forced):
        if key in found:
            ratios = found[key].ratios()
            shared = [ratio / ratios[case] for case, ratio in forced[key].ratios().items() if case in ratios]
            what = f"{key[0]}, {key[1]} worker{'s' * (key[1] > 1)}, portable kernel, ratio to the default kernel"
            measured = f"geometric mean {geometric_mean(shared):.2f}, worst {min(shared):.2f}"
            line(7, what, "geometric mean at least 0.9", measured, geometric_mean(shared) >= 0.9)
    if not forced:
        absent(7, "portable kernel, ratio to the default kernel", "geometric mean at least 0.9")
    for threads in (1, 2):
        numbers = lambda dtype, name: dtype in ("c64", "c128")
        what = f"complex64 and complex128 products, {threads} worker{'s' * (threads > 1)}, ratio to NumPy"
        at_least(8, what, "gemm", threads, 0.9, peers=["numpy matmul"], wanted=numbers)
    return lines


def markdown(found):
    text = [
        "# Local contraction: ours and its peers",
        "",
        *ABOUT.splitlines(),
        "",
        "| | measurement | required | measured | met |",
        "|---|---|---|---|---|",
    ]
    text += ["| " + " | ".join(map(str, line)) + " |" for line in verdicts(found)]
    for (suite, threads), table in found.items():
        unit = next(iter(next(iter(table.cases.values())).values()))["unit"]
        contenders = table.contenders()
        text += ["", f"## {suite}, {threads} worker{'s' * (threads > 1)}, {unit}", ""]
        text.append("| " + " | ".join(["case", "expression", "type", *contenders, "ratio", "of medians"]) + " |")
        text.append("|---|---|---|" + "---:|" * (len(contenders) + 2))
        peers = table.peers() or [name for name in contenders if name != "ours"]
        ratios = []
        for (dtype, name), case in table.cases.items():
            cells = [name, "`" + next(iter(case.values()))["expression"] + "`", dtype]
            cells += [cell(case[contender]) if contender in case else "-" for contender in contenders]
            both = [table.ratio(case, peers, column) for column in ("rate", "median_rate")]
            ratios += [both] if both[0] else []
            cells += [f"{ratio:.2f}" if ratio else "-" for ratio in both]
            text.append("| " + " | ".join(cells) + " |")
        if ratios:
            means = [f"**{geometric_mean(column):.2f}**" for column in zip(*ratios)]
            rates = [[case[name]["rate"] for case in table.cases.values() if name in case] for name in contenders]
            means = [f"{geometric_mean(column):.1f}" for column in rates] + means
            text.append("| **geometric mean** | | | " + " | ".join(means) + " |")
            best = [max(case[name]["rate"] for name in peers if name in case) for case in table.cases.values()]
            text += ["", f"The geometric mean of the best peer's rate in each case is {geometric_mean(best):.1f} {unit}."]
    text += ["", "## Machines and commands", ""]
    runs = {}
    for key, table in found.items():
        runs.setdefault(json.dumps(table.facts), []).append(f"{key[0]} {key[1]}")
    for known, which in runs.items():
        text += [f"{', '.join(which)}:", ""]
        text += [f"- {name}: {value}" for name, value in json.loads(known).items()] + [""]
    return "\n".join(text).rstrip() + "\n"


def cell(row):
    return f"{row['rate']:.1f}" + "~" * (int(row["quiet_turns"]) < min(2, int(row["turns"])))


def plot(found):
    try:
        import matplotlib
    except ImportError:
        return print("no matplotlib, no plot", file=sys.stderr)
    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "einsum-dist", "font.size": 8})
    names = list(dict.fromkeys(suite for suite, _ in found))
    heights = [max(len(table.cases) for (suite, _), table in found.items() if suite == name) + 4 for name in names]
    layout = dict(figsize=(13, 0.16 * sum(heights)), gridspec_kw=dict(height_ratios=heights), squeeze=False)
    figure, axes = pyplot.subplots(len(names), 2, layout="constrained", **layout)
    contenders = list(dict.fromkeys(name for table in found.values() for name in table.contenders()))
    colours = dict(zip(contenders, ["black", *matplotlib.colormaps["tab20"].colors]))
    for at, name in enumerate(names):
        for threads in (1, 2):
            axis = axes[at][threads - 1]
            table = found.get((name, threads))
            if table is None:
                axis.axis("off")
                continue
            labels = [f"{case} {dtype}" for dtype, case in table.cases]
            for contender in reversed(table.contenders()):
                cases = enumerate(table.cases.values())
                points = [(case[contender]["rate"], y) for y, case in cases if contender in case]
                style = dict(marker="D", s=16, zorder=3) if contender == "ours" else dict(marker="o", s=12)
                axis.scatter(*zip(*points), color=colours[contender], label=contender, **style)
            axis.set_yticks(range(len(labels)), labels)
            axis.invert_yaxis()
            axis.set_xlim(left=0)
            axis.grid(alpha=0.3)
            unit = next(iter(next(iter(table.cases.values())).values()))["unit"]
            axis.set_title(f"{name}, {threads} worker{'s' * (threads > 1)}, {unit}")
            axis.legend(fontsize=7, loc="best", reverse=True)
    figure.savefig(RESULTS / "local.svg", metadata={"Date": None})


def summarise():
    found = tables()
    if not found:
        return
    (RESULTS / "local.md").write_text(markdown(found))
    plot(found)
    width = max(len(what) for _, what, *_ in verdicts(found))
    for number, what, required, measured, met in verdicts(found):
        print(f"{number}  {what:{width}}  {met:3}  {measured}")
