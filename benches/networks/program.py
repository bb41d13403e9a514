"""Runs the program einsum-dist for a network, on one rank, and reads its report."""

import json
import pathlib
import subprocess
import tempfile
import time
from collections import Counter

DEFAULT = "target/mpich/release/einsum-dist"
# Characters of a message in a table; messages may contain long shapes.
MAX_MESSAGE = 120


def version(program):
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]


def report(program, network, threads, *flags, operands=(), limit=600):
    """Returns the report and the seconds from the start to the end of the process.

    Raises RuntimeError if the program fails or takes more than `limit` seconds.
    """
    usual = Counter(network.sizes.values()).most_common(1)[0][0]
    sizes = [str(usual)] + [f"{label}={extent}" for label, extent in network.sizes.items() if extent != usual]
    random = [] if operands else ["--dtype", network.dtype, "--size", ",".join(sizes)]
    with tempfile.TemporaryDirectory() as folder:
        expression = pathlib.Path(folder) / "expression"
        expression.write_text(network.expression, encoding="utf-8")
        flags = ["--json", "--ranks", "1", "--workers", str(threads), *random, *flags]
        command = [program, *flags, f"@{expression}", *operands]
        start = time.perf_counter()
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"no result after {limit:g} s") from None
        seconds = time.perf_counter() - start
    if ran.returncode != 0:
        message = (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]
        raise RuntimeError(
            message
            if len(message) <= MAX_MESSAGE
            else f"{message[: MAX_MESSAGE // 2]} ... {message[-MAX_MESSAGE // 2 :]}"
        )
    return json.loads(ran.stdout), seconds


def multiply_adds(network, found):
    """The number of multiply-adds of a report, which counts 2 operations for each, or 8 for complex numbers."""
    return found["path_search"]["gflop"] * 1e9 / (8 if network.dtype.startswith("complex") else 2)
