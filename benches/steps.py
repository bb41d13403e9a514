"""Measures how the time of the complete command depends on the number of steps in long trees.

Trees have 100 to 10,000 contractions and several shapes, and are contracted on 1, 3 or 64 ranks. Trees on 64 ranks are
planned and verified but not run. Some rows force one algorithm for all steps; others add output such as --explain or
--trace. Each row is one kind of tree with its ranks and flags, and is measured at several lengths. For each length, a
line prints the wall time, the CPU time on all processors, and the CPU time per step. Before dividing by the number of
steps, the time for a tree of ten steps is subtracted, to exclude the start of the program. The last line of a row
prints the ratio of the CPU time per step for the longest tree to that for 1,000 steps. The ratio is 1 if the cost is
linear, and would be 10 if it were quadratic.

    python3 benches/steps.py PROGRAM [--quick] [--mpirun mpirun.mpich]

The table is written to standard output.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

LENGTHS = [100, 300, 1000, 3000, 10_000]
BASE = 10
LIMIT = 600


def names(count):
    """Returns `count` single-character labels, without the characters that have a special meaning in expressions."""
    return [chr(0x4E00 + at) for at in range(count)]


def left(steps):
    """[[ab,bc->ac],cd->ad],..."""
    label = names(steps + 2)
    tail = "]".join(f",{label[at]}{label[at + 1]}->{label[0]}{label[at + 1]}" for at in range(1, steps + 1))
    return "[" * (steps - 1) + label[0] + label[1] + tail


def right(steps):
    """ab,[bc,[cd,de->ce]->be]->ae"""
    label = names(steps + 2)
    head = "[".join(f"{label[at]}{label[at + 1]}," for at in range(steps))
    last = label[steps + 1]
    return head + label[steps] + last + "]".join(f"->{label[at]}{last}" for at in reversed(range(steps)))


def balanced(steps):
    """[ab,bc->ac],[cd,de->ce]->ae"""
    label = names(steps + 2)

    def part(first, end):
        if end - first == 1:
            return label[first] + label[end]
        middle = (first + end) // 2
        below = [part(first, middle), part(middle, end)]
        below = [text if "," not in text else f"[{text}]" for text in below]
        return f"{','.join(below)}->{label[first]}{label[end]}"

    return part(0, steps + 1)


def star(steps):
    """[[ab,a->ab],b->ab],..., where one tensor is contracted with all others"""
    return "[" * (steps - 1) + "ab" + "]".join(f",{'ab'[at % 2]}->ab" for at in range(steps))


def unary(steps):
    """[[ab,bc->ac]->ca],cd->ad, with a transposition between two contractions"""
    label = names(steps + 2)
    text = "[" * (2 * (steps - 1)) + label[0] + label[1]
    for at in range(1, steps + 1):
        text += f",{label[at]}{label[at + 1]}->{label[0]}{label[at + 1]}"
        text += f"]->{label[at + 1]}{label[0]}]" if at < steps else ""
    return text


def batched(steps):
    """[[xab,xbc->xac],xcd->xad],..., with a batch dimension in all steps"""
    label = names(steps + 2)
    tail = "]".join(f",x{label[at]}{label[at + 1]}->x{label[0]}{label[at + 1]}" for at in range(1, steps + 1))
    return "[" * (steps - 1) + "x" + label[0] + label[1] + tail


def numbered(steps):
    """[[[0,1],[1,2]->[0,2]],[2,3]->[0,3]],..., in the notation of einsum_ir"""
    tail = "]".join(f",[{at},{at + 1}]->[0,{at + 1}]" for at in range(1, steps + 1))
    return "[" * (steps - 1) + "[0,1]" + tail


EXPLAIN, JSON = ["--explain"], ["--json"]
TRACE = "trace.json"
# The function that generates the tree, the number of ranks, and the flags.
ROWS = [
    (left, 1, ["-s", "4"]),
    (left, 1, ["-s", "4", *EXPLAIN]),
    (left, 3, ["-s", "4"]),
    (left, 3, ["-s", "4", *EXPLAIN]),
    (left, 3, ["-s", "4", "--simulate"]),
    (left, 3, ["-s", "4", *JSON]),
    (left, 3, ["-s", "4", "--memory-limit", "1GiB"]),
    (left, 3, ["-s", "4", "--trace", TRACE]),
    (left, 64, ["-s", "8", *EXPLAIN]),
    (left, 64, ["-s", "8", "--simulate"]),
    (numbered, 3, ["-s", "2"]),
    (right, 3, ["-s", "4"]),
    (balanced, 3, ["-s", "4"]),
    (star, 3, ["-s", "4"]),
    (unary, 3, ["-s", "4"]),
    (batched, 3, ["-s", "4"]),
    (right, 64, ["-s", "8", *EXPLAIN]),
    (balanced, 64, ["-s", "8", *EXPLAIN]),
    (batched, 64, ["-s", "8", *EXPLAIN]),
    (left, 3, ["-s", "64"]),
    (left, 3, ["-s", "8", "--algorithm", "ring-k"]),
    (left, 3, ["-s", "8", "--algorithm", "grid"]),
    (left, 3, ["-s", "8", "--algorithm", "slicing"]),
    (batched, 3, ["-s", "4", "--algorithm", "c"]),
]


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(command):
    """Wall time, and CPU time on all processors. None if the command exceeds LIMIT."""
    before, start = children(), time.perf_counter()
    try:
        ran = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None
    took = time.perf_counter() - start, children() - before
    if ran.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {ran.returncode}: {ran.stderr}")
    return took


def row(program, launcher, shape, ranks, flags, lengths):
    start = [*launcher, "-n", str(ranks), program] if launcher else [program, "-n", str(ranks)]
    how = f"{shape.__name__:9} {ranks:3} {' '.join(flags)}{', ' + launcher[0] if launcher else ''}"
    per_step = {}
    with tempfile.TemporaryDirectory() as folder:
        expression = Path(folder) / "tree.einsum"
        flags = [str(Path(folder) / TRACE) if flag == TRACE else flag for flag in flags]
        command = [*start, "--workers", "1", *flags, f"@{expression}"]
        base = 0.0
        for steps in [BASE, *lengths]:
            expression.write_text(shape(steps), encoding="utf-8")
            took = seconds(command)
            if took is None:
                print(f"{how:60} {steps:6}  more than {LIMIT} s", flush=True)
                return
            clock, processors = took
            if steps == BASE:
                base = processors
                continue
            per_step[steps] = max(processors - base, 0.0) / steps
            print(f"{how:60} {steps:6} {clock:9.2f} {processors:9.2f} {per_step[steps] * 1e6:9.0f}", flush=True)
    if {1000, lengths[-1]} <= per_step.keys() and lengths[-1] > 1000:
        ratio = per_step[lengths[-1]] / max(per_step[1000], 1e-9)
        print(f"{how:60} {'':6} {'':9} {'':9} {ratio:9.2f} times one of 1,000", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true", help="up to 1,000 steps")
    parser.add_argument("--mpirun", help="a launcher, for the same under MPI")
    parser.add_argument("--only", default="", help="rows whose text has this")
    options = parser.parse_args()
    os.environ.update(EINSUM_DIST_RATES="default", OPENBLAS_NUM_THREADS="1")
    lengths = [length for length in LENGTHS if length <= 1000 or not options.quick]
    print(f"{'tree, ranks, flags':60} {'steps':>6} {'s':>9} {'CPU s':>9} {'us a step':>9}")
    for shape, ranks, flags in ROWS:
        if options.only in f"{shape.__name__} {ranks} {' '.join(flags)}":
            row(options.program, [], shape, ranks, flags, lengths)
    if options.mpirun:
        for flags in [["-s", "4"], ["-s", "4", *JSON], ["-s", "8", "--algorithm", "ring-k"]]:
            row(options.program, [options.mpirun], left, 3, flags, lengths)


if __name__ == "__main__":
    main()
