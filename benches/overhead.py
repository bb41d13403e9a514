"""Measures the overhead per step in a chain of 10,000 products of 4 x 4 matrices on one thread, and compares it with
that of opt_einsum on NumPy.

Both programs contract the chain from left to right. Paths are found and compiled before the clock starts. Runs of the
two programs alternate; the medians over all rounds are written to benches/results/overhead.md.

    target/peers/bin/python benches/overhead.py PROGRAM
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")})

import numpy
import opt_einsum

PRODUCTS, EXTENT, ROUNDS = 10_000, 4, 5
RESULT = Path(__file__).parent / "results" / "overhead.md"


def chain():
    symbols = [opt_einsum.get_symbol(at) for at in range(PRODUCTS + 2)]
    terms = ",".join(left + right for left, right in zip(symbols, symbols[1:]))
    return f"{terms}->{symbols[0]}{symbols[-1]}"


def ours(program, expression):
    """Returns the median time of ten runs, in seconds."""
    options = ["--size", str(EXTENT), "--path", "left-to-right", "--workers", "1", "--warmup", "3", "--repeat", "10"]
    command = [program, *options, "--json", f"@{expression}"]
    report = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return report["seconds"]["median"]


def peer(expression):
    """Returns a function that runs the chain once and returns its seconds."""
    # opt_einsum appends each result to the list of operands, so the next matrix is the first in the list.
    path = [(0, 1)] + [(0, rest) for rest in range(PRODUCTS - 1, 0, -1)]
    generator = numpy.random.default_rng(0)
    # The matrices are orthogonal, so that products neither vanish nor grow.
    shape = (EXTENT, EXTENT)
    matrices = [numpy.linalg.qr(generator.standard_normal(shape))[0].astype("f4") for _ in range(PRODUCTS + 1)]
    contract = opt_einsum.contract_expression(expression, *[shape] * len(matrices), optimize=path)

    def run():
        start = time.perf_counter()
        contract(*matrices, backend="numpy")
        return time.perf_counter() - start

    run()
    return run


def main():
    program = sys.argv[1]
    expression = chain()
    with tempfile.NamedTemporaryFile("w", suffix=".einsum", encoding="utf-8") as file:
        file.write(expression)
        file.flush()
        theirs = peer(expression)
        rounds = [(ours(program, file.name), theirs()) for _ in range(ROUNDS)]
    mine, other = (statistics.median(times) / PRODUCTS * 1e6 for times in zip(*rounds))
    text = (
        f"The table shows the time per product in microseconds, for a chain of {PRODUCTS:,} products of {EXTENT} x {EXTENT} "
        "matrices in float32 on one thread.\n\n"
        "| einsum-dist | opt_einsum with NumPy | ratio |\n|---|---|---|\n"
        f"| {mine:.2f} | {other:.2f} | {other / mine:.1f} |\n"
    )
    RESULT.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
