#!/usr/bin/env python3
"""Compares simulated with measured times on emulated hosts (`hosts.sh`, as root), and prints a table.

    simulated.py PROGRAM [--hosts 4] [--rate 1gbit] [--ranks 2,4,8,16] [--expression E --size S] [--repeat 5]

For each number of ranks, `machine probe` measures the hosts, and then every algorithm is run and simulated on the
machine that it describes. The ratio is simulated over measured time, the median of the runs."""

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
    parser.add_argument("--ranks", default="2,4,8,16")
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
    simulated = subprocess.run(
        [options.program, *what, "--machine", machine, "--simulate"], check=True, capture_output=True, text=True
    )
    measured = json.loads(timed)["seconds"]["median"]
    number, unit = re.search(r"^simulated (\S+) (\w+),", simulated.stdout, re.MULTILINE).groups()
    predicted = float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
    print(
        f"| {ranks} | {algorithm} | {1e3 * measured:.1f} | {1e3 * predicted:.1f} | {predicted / measured:.2f} |",
        flush=True,
    )


def launch(options, ranks, arguments):
    hosts = min(options.hosts, ranks)
    environment = {**os.environ, "RANKS_PER_HOST": str(ranks // hosts)}
    command = [os.path.join(HERE, "hosts.sh"), str(hosts), options.rate, options.program, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
