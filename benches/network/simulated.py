#!/usr/bin/env python3
"""Compares simulated with measured times on emulated hosts (`hosts.sh`, as root), and prints a table.

    simulated.py PROGRAM [--hosts 4] [--rate 1gbit] [--ranks 2,4,8] [--expression E --size S] [--repeat 5]

For each number of ranks, `machine probe` measures the hosts, and then every algorithm is run and simulated on the
machine that it describes. Measured times are medians. The ratio is simulated over measured time. A star marks plans
with another grid than the run, which measures its own rates."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ALGORITHMS = ["ring-mn", "ring-k", "grid", "slicing", "summa"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--expression", default="mk,kn->mn")
    parser.add_argument("--size", default="2048")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    options = parser.parse_args()
    print("| ranks | algorithm | measured ms | simulated ms | ratio |\n|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for ranks in map(int, options.ranks.split(",")):
            machine = os.path.join(folder, f"{ranks}.toml")
            launch(options, ranks, ["machine", "probe", "-q", "-t", "1", "-o", machine])
            for algorithm in options.algorithms.split(","):
                run(options, ranks, machine, algorithm)


def run(options, ranks, machine, algorithm):
    what = [options.expression, "--size", options.size, "--algorithm", algorithm, "-t", "1"]
    timed = launch(options, ranks, [*what, "--json", "--warmup", "2", "--repeat", str(options.repeat)])
    simulate = [options.program, *what, "--machine", machine, "--simulate"]
    simulated, planned = (
        subprocess.run(simulate + more, check=True, capture_output=True, text=True).stdout for more in ([], ["--json"])
    )
    timed, planned = json.loads(timed), json.loads(planned)
    star = "" if timed["nodes"][-1]["grid"] == planned["nodes"][-1]["grid"] else " *"
    measured = timed["seconds"]["median"]
    number, unit = re.search(r"^simulated (\S+) (\w+),", simulated, re.MULTILINE).groups()
    predicted = float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
    print(
        f"| {ranks} | {algorithm} | {1e3 * measured:.1f} | {1e3 * predicted:.1f} | {predicted / measured:.2f}{star} |",
        flush=True,
    )


def launch(options, ranks, arguments):
    hosts = min(options.hosts, ranks)
    if ranks % hosts:
        sys.exit(f"{ranks} ranks cannot be divided evenly among {hosts} hosts")
    environment = {**os.environ, "RANKS_PER_HOST": str(ranks // hosts)}
    command = [os.path.join(HERE, "hosts.sh"), str(hosts), options.rate, options.program, *arguments]
    started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, errors = started.communicate(timeout=600)
    except subprocess.TimeoutExpired:
        # The script removes its hosts.
        started.terminate()
        started.wait()
        sys.exit(f"{' '.join(command)} takes more than ten minutes")
    if started.returncode:
        sys.exit(f"{' '.join(command)}\n{errors}")
    return out


if __name__ == "__main__":
    main()
