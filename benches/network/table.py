"""Writes the table of `make bench-network`.

table.py NETWORK.csv: the text is beside it.
"""

import csv
import sys
from pathlib import Path

INTRODUCTION = """# Several hosts: how much of the transfers hides behind computing

Written by `make bench-network`, which says how it is measured (`benches/network/main.rs`). Hosts are network namespaces of one
machine with {cores} cores, one rank of one worker on each. Matrices of f64; medians of alternating rounds, in milliseconds.

`TCP` is what a plain stream carries each way while another comes, `alone` what the transfers of a product reach without its
work, both in MB/s. `exposed` is what has nothing to hide behind if everything else is hidden. Asked for, on 2 hosts with 1 Gbit/s: a wall time of at most
1.15 times the longer of computing and transfers, plus what is exposed (`bound`), and at least 1.5 times as long without overlap
(`slowdown`; `most` is what there would be if everything were hidden and nothing cost anything). `network.svg` shows who did what
when in a run of `ring-mn` there.
"""

HEAD = """
## {hosts} hosts, {gbit} Gbit/s, `{mpi}`

TCP: {tcp} MB/s

| algorithm | m x n x k | alone | computing | transfers | both | bound | in turns | exposed | both / longer | slowdown | most | hidden | 1.5 |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|
"""


def row(r):
    extents = " x ".join(r[extent] for extent in "mnk")
    columns = ("link", "compute", "transfer", "wall", "bound", "in turns", "exposed", "ratio", "slowdown", "most", "hidden", "fast")
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
