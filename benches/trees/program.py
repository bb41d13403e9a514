"""Runs the programs: einsum-dist, and einsum_ir's bench_tree if EINSUM_IR_BENCH is its path. Each run is a new process."""

import json
import os
import re
import subprocess

DEFAULT = "target/mpich/release/einsum-dist"
# bench_tree, which `scons` builds in a copy of https://github.com/scalable-analyses/einsum_ir.
EINSUM_IR = os.environ.get("EINSUM_IR_BENCH", "")
# bench_tree runs a tree twice and reports the second run. Processes of a tree that takes less are repeated.
SHORT_SECONDS, PROCESSES = 0.1, 5
# Runs of einsum-dist after the first.
MOST = 1000
MAX_MESSAGE = 120


def output(command, environment):
    """The standard output. Raises RuntimeError if the program fails."""
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ran.returncode != 0:
        message = (ran.stderr.strip().splitlines() or [f"exit status {ran.returncode}"])[-1]
        raise RuntimeError(message[:MAX_MESSAGE])
    return ran.stdout


def version(program):
    return output([program, "--version"], None).split()[-1]


def commit(folder):
    """The commit of the repository to which a folder belongs, or nothing."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder).stdout.strip()


def report(program, tree, operands, threads, kernel, environment, *flags):
    """The report of einsum-dist for one rank."""
    command = [program, "--json", "--ranks", "1", "--workers", str(threads), "--kernel", kernel, *flags]
    return json.loads(output([*command, tree.text, *operands], environment))


def ours(run, seconds):
    """`run` takes flags and returns the report. The first run has a process of its own, because the program reports only the
    median of several runs."""
    first, warm = run(), []
    if seconds:
        repeat = int(min(MOST, max(1, seconds / max(first["seconds"]["median"], 1e-6))))
        warm = [run("--warmup", "1", "--repeat", str(repeat))["seconds"]["median"]]
    return {
        "prepare": first["plan_seconds"] + first["compile_seconds"],
        "first": first["seconds"]["median"],
        "warm": warm,
        "norm": first["output"]["norm"],
    }


def einsum_ir(tree, environment):
    """Its operands are its own random numbers. Its scripts bind threads to cores too."""
    environment = {**environment, "OMP_PROC_BIND": "true"}
    prepare, warm = [], []
    while len(warm) < PROCESSES and (not warm or warm[0] < SHORT_SECONDS):
        text = output([EINSUM_IR, tree.text, tree.extents, "FP32"], environment)
        prepare.append(number(text, "compile"))
        warm.append(number(text, "eval"))
    version = commit(os.path.dirname(os.path.abspath(EINSUM_IR)))
    return {"prepare": prepare[0], "warm": warm, "version": f"commit {version}" if version else ""}


def number(text, name):
    return float(re.search(rf"time \({name}\): *(\S+)", text)[1])
