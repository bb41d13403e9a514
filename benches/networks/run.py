"""Time to the result of one contraction, with the search: python benches/networks/run.py FILE.json ...

Writes one row of CSV for each network and method to standard output. All methods get the same random operands.

einsum-dist runs as a program with --path auto, which chooses the time of the search itself. `total_seconds` is the time from
the start to the end of the process, which also reads the operands from files and writes the result. `search_seconds` and
`first_seconds` are the times of search and contraction that the program reports. Processes that take less than SHORT_SECONDS
run ROUNDS times, and the median process is the row.

cotengra searches by its preset `auto`, which is quick, and by HyperOptimizer for 1 and for 10 seconds, with its defaults
otherwise (optuna, at most 128 trials). Then it contracts the tree by NumPy and by torch. `total_seconds` is the time of the
search and of the first contraction. It contains neither imports nor the start of the worker processes nor files.
`median_seconds` is the median of the contractions, which are repeated if they are short. Trees whose largest intermediate has
more than 2^28 elements are sliced; those that need more than 10^12 multiply-adds are not contracted. NumPy, torch and
einsum-dist have the same number of threads.

Networks for which einsum-dist finds no path below 10^11.5 multiply-adds and 2^28 elements in a second are left out. `error`
is the largest deviation from the result of cotengra with NumPy, in relation to the largest element of that result.
"""

import argparse
import csv
import math
import pathlib
import sys
import tempfile

import numpy as np
import program
from network import cores, read
from peers import ROUNDS, RUN_ELEMENTS, SHORT_SECONDS, Peers

COLUMNS = (
    "network", "tensors", "program", "search", "library", "total_seconds", "search_seconds", "first_seconds",
    "median_seconds", "rounds", "multiply_adds", "largest", "slices", "error", "note",
)  # fmt: skip
OURS = "einsum-dist"
# Name to seconds; "auto" is a preset of cotengra.
SEARCHES = {"auto": None, "1 s": 1, "10 s": 10}
EXPLAIN = "--explain", "--path-time", "1"
MULTIPLY_ADDS = 10**11.5
LIMIT_SECONDS = 900


def operands(network, folder):
    """Writes random operands whose contraction has elements of order 1, and returns their files."""
    rng = np.random.default_rng(0)
    uses = {label: sum(label in term for term in network.inputs) for label in network.sizes}
    files = []
    for number, term in enumerate(network.inputs):
        shape = [network.sizes[label] for label in term]
        # Products of hundreds of normal numbers would underflow in single precision. The mean square is 1.
        array = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape) / (13 / 12) ** 0.5
        if network.dtype.startswith("complex"):
            array = array * np.exp(2j * np.pi * rng.random(shape))
        # A sum over d products of random numbers grows by a factor of d**0.5, which all tensors with this label share.
        summed = [label for label in term if label not in network.output]
        array = array * math.prod(network.sizes[label] ** (-0.5 / uses[label]) for label in summed)
        files.append(str(pathlib.Path(folder) / f"operand-{number}.npy"))
        np.save(files[-1], np.asarray(array, network.dtype))
    return files


def ours(executable, network, threads, files, result):
    """The row of the median process."""
    flags = ["--path", "auto", "--output", result]
    reports = [program.report(executable, network, threads, *flags, operands=files, limit=LIMIT_SECONDS)]
    while len(reports) < ROUNDS and reports[0][1] < SHORT_SECONDS:
        reports.append(program.report(executable, network, threads, *flags, operands=files, limit=LIMIT_SECONDS))
    found, seconds = sorted(reports, key=lambda pair: pair[1])[len(reports) // 2]
    return {
        "total_seconds": seconds,
        "search_seconds": found["path_search"]["seconds"],
        "first_seconds": found["seconds"]["median"],
        "rounds": len(reports),
        "multiply_adds": math.log10(max(program.multiply_adds(network, found), 1)),
        "largest": math.log2(max(found["path_search"]["largest_elements"], 1)),
        "slices": found["slices"],
    }


def theirs(answer, library):
    """The row of one library."""
    run, returned = answer.get("runs", {}).get(library), answer.get("returned", {})
    found = {**returned, "search_seconds": answer.get("seconds"), "note": answer.get("note")}
    if run:
        found.update(first_seconds=run["first"], median_seconds=run["median"], rounds=run["rounds"])
        found["total_seconds"] = answer["seconds"] + run["first"]
    return found


def error(result, expected):
    """The largest deviation of the array in one file from that in another, or None if a file is missing."""
    if not (pathlib.Path(result).exists() and pathlib.Path(expected).exists()):
        return None
    result, expected = np.load(result), np.load(expected)
    return float(np.max(np.abs(result - expected)) / np.max(np.abs(expected)))


def measure(options, file, network, peers):
    """Returns the rows of a network."""
    with tempfile.TemporaryDirectory() as folder:
        files = operands(network, folder)
        results = {name: str(pathlib.Path(folder) / f"result-{name}.npy") for name in (OURS, *SEARCHES)}
        found = ours(options.program, network, options.threads, files, results[OURS])
        rows = [{"program": OURS, "search": "auto", **found}]
        for search, budget in SEARCHES.items():
            job = {"call": "contract", "file": file, "budget": budget, "files": files, "result": results[search]}
            answer = peers.ask(job, LIMIT_SECONDS)
            for library in answer.get("runs") or ["NumPy"]:
                rows.append({"program": "cotengra", "search": search, "library": library, **theirs(answer, library)})
        errors = [error(results[OURS], results[search]) for search in SEARCHES]
        rows[0]["error"] = max((value for value in errors if value is not None), default=None)
        return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", metavar="FILE.json")
    parser.add_argument("--program", default=program.DEFAULT)
    parser.add_argument("--threads", type=int, default=cores(), help="of each program")
    options = parser.parse_args()
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    with Peers(options.threads) as peers:
        for file in options.files:
            network = read(file)
            case = {"network": network.name, "tensors": len(network.inputs)}
            try:
                found, _ = program.report(options.program, network, options.threads, *EXPLAIN)
                too_large = found["path_search"]["largest_elements"] > RUN_ELEMENTS
                if too_large or program.multiply_adds(network, found) > MULTIPLY_ADDS:
                    print(f"{network.name} is left out: it needs too much time or memory", file=sys.stderr)
                    continue
                rows = measure(options, file, network, peers)
            except RuntimeError as failure:
                rows = [{"program": OURS, "note": str(failure)}]
            for row in rows:
                found = {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in row.items()}
                writer.writerow({**case, **found})
            sys.stdout.flush()


if __name__ == "__main__":
    main()
