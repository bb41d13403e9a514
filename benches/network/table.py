"""Writes the table of `make bench-network`.

table.py NETWORK.csv writes the Markdown file next to the table.
"""

import csv
import sys
from pathlib import Path

INTRODUCTION = """# Several hosts: how much of the transfers hides behind computing

Written by `make bench-network`, which says how it is measured (`benches/network/main.rs`). Hosts are network namespaces of one
machine with {cores} cores, one rank of one worker on each; a core has a rank's worker, its communication and the kernel's TCP. How hosts and
MPI are set up is in `benches/network/hosts.sh`: TCP with reno, MPICH with `UCX_RNDV_THRESH=inf` (nobody asks before sending) and
segments of 64 KB. Matrices of f64; medians of alternating rounds, in milliseconds.

| column | what |
|---|---|
| TCP | what a plain stream carries each way while another comes, MB/s |
| alone | what the transfers of a product reach without its work, MB/s |
| plain | computing while plain streams of TCP carry as many bytes: what the kernel takes of the core, whoever sends |
| exposed | what has nothing to hide behind if everything else is hidden |
| bound | 1.15 times the longer of computing and transfers, plus what is exposed |
| slowdown | `in turns` (`--no-overlap`) over `both`; `most` is what it would be if everything were hidden and nothing cost anything |
| hidden | PASS if `both` is within the bound |
| 1.5 | PASS if the slowdown is at least 1.5 |

Both are asked for on 2 hosts with 1 Gbit/s; the other networks are beside it. `network.svg` shows who did what when in a run of
`ring-mn` there.
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
