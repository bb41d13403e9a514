"""Writes the table for `make bench-network`.

`table.py NETWORK.csv` writes the Markdown file next to the table.
"""

import csv
import sys
from pathlib import Path

INTRODUCTION = """# Several hosts: overlap of transfers and computation

This file is written by `make bench-network`; `benches/network/main.rs` describes the measurement. The hosts are network namespaces of one machine
with {cores} cores. Each host has one rank of one worker; the worker, the communication thread and the kernel's TCP share a core. `benches/network/hosts.sh`
configures the hosts and MPI: TCP uses the congestion control `reno`, and MPICH uses `UCX_RNDV_THRESH=inf` (a sender does not ask the receiver before
it sends) and segments of 64 KB. The matrices are f64. Times are medians of alternating rounds, in milliseconds.

| column | meaning |
|---|---|
| TCP | bandwidth of a plain TCP stream in each direction while both directions are in use, MB/s |
| alone | bandwidth of a product's transfers without its computation, MB/s |
| computing, transfers | time of the computation alone, and of the transfers alone |
| plain | time of the computation while plain TCP streams carry an equal number of bytes; it includes the processor time that the kernel's TCP needs in any program |
| both | time of the run, with overlap |
| exposed | the transfer time that no computation can hide, such as that of the first or last block |
| bound | 1.15 times the longer of `computing` and `transfers`, plus `exposed` |
| in turns | time of the run without overlap (`--no-overlap`) |
| slowdown | `in turns` divided by `both` |
| most | the maximum slowdown, which would be reached if all transfers were hidden without overhead |
| hidden | PASS if `both` is at most `bound` |
| 1.5 | PASS if the slowdown is at least 1.5 |

The columns `hidden` and `1.5` are requirements only for 2 hosts with 1 Gbit/s; the other networks are shown for comparison. `network.svg` shows the
tasks of each host over time in a run of `ring-mn` on 2 hosts with 1 Gbit/s.
"""

HEAD = """
## {hosts} hosts, {gbit} Gbit/s, `{mpi}`

TCP: {tcp} MB/s

| algorithm | m x n x k | alone | computing | transfers | plain | both | bound | in turns | exposed | both / longer | both / plain | slowdown | most | hidden | 1.5 |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|
"""


def row(r):
    extents = " x ".join(r[extent] for extent in "mnk")
    columns = ("link", "compute", "transfer", "plain", "wall", "bound", "in turns", "exposed", "ratio", "over plain", "slowdown", "most", "hidden", "fast")
    return "| " + " | ".join([r["algorithm"], extents, *(r[column] for column in columns)]) + " |\n"


def main():
    path = Path(sys.argv[1])
    with path.open() as file:
        comment, *lines = file.read().splitlines()
    text = INTRODUCTION.format(cores=comment.split()[1])
    last = None
    for r in csv.DictReader(lines):
        network = (r["hosts"], r["gbit"], r["mpi"])
        if network != last:
            text += HEAD.format(**r)
        last = network
        text += row(r)
    path.with_suffix(".md").write_text(text)
    print(path.with_suffix(".md"))


if __name__ == "__main__":
    main()
