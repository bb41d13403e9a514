"""Quality of contraction trees over the time of the search: python benches/networks/search.py FILE.json ...

Writes one row of CSV for each network, budget, program and configuration to standard output. einsum-dist searches on one rank
with as many workers as cotengra has worker processes. `multiply_adds` is the decimal logarithm of the number of multiply-adds
over all slices; `largest` (intermediate) and `peak` (all tensors at one time, with the inputs) are binary logarithms of
numbers of elements. Both programs count the same: for each pair, the product of the extents of all labels of the two tensors.
An independent count checks every tree of cotengra, and every path of einsum-dist without slices.

Budgets are seconds of search. Neither program stops exactly at the end of its budget, so there are two results. `within_...`
is the best tree that was found in TOLERANCE times the budget. For cotengra, this is the best of the trials that arrived in
time. einsum-dist reports one tree; if its search took longer, it is called again with a shorter --path-time. The other columns
are of the tree that the first call returned, and `seconds` is the time of that search. `process_seconds` also contains the
start of einsum-dist, its measurement of the speed of the search (0.03 s), planning and the proof of the plan. Planning may
change the slices. The time of cotengra contains neither imports nor the start of its worker processes. Seeds are fixed, but
the trees of cotengra, whose search reads a clock, differ from run to run.

Rows with `sliced` = 1 bound the largest intermediate by 2^26 elements (SLICED_ELEMENTS). This is the `target_size` of
cotengra; the sum of all tensors at one time may be larger. einsum-dist has no such flag: --memory-limit bounds the bytes of
all tensors that exist at one time. So it runs twice. With `2^26 in total`, all intermediates at one time have at most 2^26
elements, which is stricter than cotengra's bound. With `3 x 2^26 in total`, there is room for a step whose two operands and
result have 2^26 elements each. Its largest intermediate may then exceed 2^26. Results of either program with a larger
intermediate are in the rows, but draw.py leaves them out of the comparison. Results without slices whose largest intermediate
is small enough take part in the comparison.
"""

import argparse
import csv
import math
import sys

import program
from network import cores, multiply_adds, read
from peers import SLICED_ELEMENTS, TOLERANCE, Peers, configurations

COLUMNS = (
    "network", "tensors", "sliced", "budget", "program", "configuration",
    "within_multiply_adds", "within_largest", "within_slices", "found_seconds",
    "multiply_adds", "largest", "slices", "peak", "seconds", "process_seconds", "trials", "note",
)  # fmt: skip
OURS = "einsum-dist"
# Calls of our program, which counts steps of its search instead of reading a clock.
ATTEMPTS = 4
# Seconds after which a call is ended: a constant, and for each second of the budget.
LIMIT = 60, 3


def ours(executable, network, threads, budget, memory_limit):
    """The result of one call in the budget, and of the first call."""
    flags = ["--explain", "--path-time"]
    path_time, answer = budget, {}
    for attempt in range(ATTEMPTS):
        arguments = [*memory_limit, *flags, f"{path_time:.4g}"]
        try:
            found, process_seconds = program.report(
                executable, network, threads, *arguments, limit=seconds_limit(budget)
            )
        except RuntimeError as error:
            return {**answer, "note": str(error)}
        path_search = found["path_search"]
        count = program.multiply_adds(network, found)
        if found["slices"] == 1:
            counted = multiply_adds(network, found["path"])
            assert math.isclose(count, counted, rel_tol=1e-9), (
                f"{network.name}: {count} multiply-adds, we count {counted}"
            )
        result = {
            "multiply_adds": math.log10(max(count, 1)),
            "largest": math.log2(max(path_search["largest_elements"], 1)),
            "slices": found["slices"],
            "peak": math.log2(found["peak_bytes"]["planned"] / network.itemsize),
        }
        if attempt == 0:
            answer = {"returned": result, "seconds": path_search["seconds"], "process_seconds": process_seconds}
        if path_search["seconds"] <= TOLERANCE * budget:
            return {**answer, "within": result, "found_seconds": path_search["found_at_seconds"]}
        path_time *= 0.9 * budget / path_search["seconds"]
    return {**answer, "note": f"no search in the budget after {ATTEMPTS} calls"}


def seconds_limit(budget):
    return LIMIT[0] + LIMIT[1] * budget


def limits(network):
    """Name to flags, for searches with slices."""
    users = sum(map(network.elements, network.inputs)) + network.elements(network.output)
    return {
        f"{name}2^26 in total": ["--memory-limit", str(network.itemsize * (users + factor * SLICED_ELEMENTS))]
        for name, factor in (("", 1), ("3 x ", 3))
    }


def row(answer):
    """The columns of an answer."""
    returned, within = answer.get("returned", {}), answer.get("within", {})
    found = {**answer, **returned, **{f"within_{name}": value for name, value in within.items()}}
    found = {name: value for name, value in found.items() if name in COLUMNS}
    return {name: f"{value:.5g}" if isinstance(value, float) else value for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", metavar="FILE.json")
    parser.add_argument("--program", default=program.DEFAULT)
    parser.add_argument("--budgets", default="0.1,1,10", help="seconds, separated by commas")
    parser.add_argument("--threads", type=int, default=cores(), help="of each program")
    options = parser.parse_args()
    budgets = [float(budget) for budget in options.budgets.split(",")]
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    with Peers(options.threads) as peers:
        for file in options.files:
            network = read(file)
            for sliced in (False, True):
                for budget in budgets:
                    case = {"network": network.name, "tensors": len(network.inputs)}
                    case.update(sliced=int(sliced), budget=budget)
                    for name, memory_limit in (limits(network) if sliced else {"auto": []}).items():
                        answer = ours(options.program, network, options.threads, budget, memory_limit)
                        writer.writerow({**case, "program": OURS, "configuration": name, **row(answer)})
                    for name in configurations(sliced):
                        job = {"call": "search", "file": file, "configuration": name}
                        job.update(sliced=sliced, budget=budget)
                        answer = peers.ask(job, seconds_limit(budget))
                        writer.writerow({**case, "program": "cotengra", "configuration": name, **row(answer)})
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
