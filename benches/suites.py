"""Defines the cases that are timed. Every suite is a list of cases, and a case is plain data."""

import ast
import csv
import math
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).parent / "data"
BYTES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}


@dataclass
class Case:
    name: str
    expression: str
    extents: dict
    dtype: str = "f32"
    # The unit of the rate. Rates count floating point operations, or the bytes of all tensors.
    unit: str = "GFLOP/s"
    # Pairs of operands in contraction order, in the format of opt_einsum. Empty for one or two operands.
    path: list = field(default_factory=list)
    # Number of floating point operations. 0 if it follows from the extents of a single contraction.
    flop: float = 0.0
    contenders: tuple = ()

    @property
    def operands(self):
        return self.expression.split("->")[0].split(",")

    @property
    def out(self):
        return self.expression.split("->")[1]

    def size(self, labels):
        return math.prod(self.extents[label] for label in labels)

    @property
    def bytes(self):
        return BYTES[self.dtype] * sum(self.size(labels) for labels in [*self.operands, self.out])

    @property
    def work(self):
        """Numerator of the rate. A complex multiply-add counts as 8 operations."""
        if self.unit == "GB/s":
            return self.bytes
        each = 8 if self.dtype[0] == "c" else 2
        return self.flop or each * self.size(self.extents)


def nested(case):
    """Returns the expression with one pair of brackets per step of the path, and the numbers of the operands in the
    order in which the operands appear in this expression.

    An intermediate has only those labels that also occur in later steps or in the output. The labels of both operands
    are first, followed by the labels of only the left operand and then the labels of only the right operand.
    """
    terms = [(labels, labels, [at]) for at, labels in enumerate(case.operands)]
    for step, pair in enumerate(case.path):
        (left, left_text, left_ids), (right, right_text, right_ids) = (terms[at] for at in sorted(pair))
        terms = [term for at, term in enumerate(terms) if at not in pair]
        if step + 1 == len(case.path):
            return f"{left_text},{right_text}->{case.out}", left_ids + right_ids
        wanted = set(case.out).union(*(labels for labels, _, _ in terms))
        kept = [label for label in left if label in wanted]
        labels = [label for label in kept if label in right] + [label for label in kept if label not in right]
        labels = "".join(labels + [label for label in right if label in wanted and label not in left])
        terms.append((labels, f"[{left_text},{right_text}->{labels}]", left_ids + right_ids))
    return case.expression, list(range(len(case.operands)))


def extents_of(text):
    return {label: int(extent) for label, extent in (pair.split("=") for pair in text.split(";"))}


def tccg(column):
    with open(DATA / "tccg24.csv") as file:
        for row in csv.DictReader(file):
            extents = extents_of(row[column])
            yield Case(row["tccg_name"], row["einsum"], extents, contenders=("ours", "torch", "tblis", "opt_einsum"))


def gemm():
    for dtype in ("f32", "f64", "c64", "c128"):
        complex_too = ("numpy matmul",) if dtype[0] == "c" else ()
        for extent in (512, 1000, 1021, 1024, 2048, 4096):
            yield Case(
                str(extent),
                "mk,kn->mn",
                dict.fromkeys("mkn", extent),
                dtype,
                contenders=("ours", *complex_too, "openblas", "mkl"),
            )


def trees():
    with open(DATA / "trees.csv") as file:
        for row in csv.DictReader(file):
            path = [list(pair) for pair in ast.literal_eval(row["path"])]
            yield Case(
                row["name"],
                row["einsum"],
                extents_of(row["sizes"]),
                path=path,
                flop=float(row["gflop"]) * 1e9,
                contenders=("ours", "torch", "tblis", "opt_einsum"),
            )


def batches():
    for extent in (8, 16, 32, 64):
        count = max(1, 2**20 // (3 * 4 * extent**2))
        yield Case(
            f"{extent}^3",
            "bmk,bkn->bmn",
            dict(b=count, m=extent, k=extent, n=extent),
            contenders=("ours", "libxsmm", "mkl batch", "torch bmm", "numpy matmul"),
        )


def bandwidth():
    for expression, extents in [
        ("mk,k->m", dict(m=4096, k=4096)),
        ("i,i->", dict(i=2**24)),
        ("i,j->ij", dict(i=4096, j=4096)),
        ("cij,cij->cij", dict(c=64, i=512, j=512)),
        ("abcdef->fedcba", dict.fromkeys("abcdef", 16)),
        ("ab->ba", dict(a=4096, b=4096)),
    ]:
        yield Case(
            expression, expression, extents, unit="GB/s", contenders=("ours", "stream", "torch", "numpy")
        )


def short():
    """Yields contractions and sums with one or two long dimensions beside short ones, which are limited by memory."""
    for expression, *sizes in (
        ("mk,kn->mn", "m=1000000;k=3;n=3", "m=200000;k=8;n=8", "m=300000;k=5;n=2", "m=300000;k=16;n=4"),
        ("mk,kn->mn", "m=8;k=8;n=200000", "m=3;k=300000;n=3", "m=1000000;k=2;n=1"),
        ("mk,kn->nm", "m=300000;k=4;n=4"),
        ("km,kn->mn", "m=500000;k=3;n=3"),
        ("km,nk->nm", "m=500000;k=3;n=3"),
        ("ac,abc->cb", "a=2;b=2;c=2000000", "a=2;b=2;c=200000"),
        ("bij,bj->bi", "b=200000;i=3;j=3", "b=200000;i=4;j=4", "b=100000;i=6;j=6"),
        ("bij,bjk->bik", "b=200000;i=2;j=2;k=2", "b=200000;i=3;j=3;k=3", "b=100000;i=4;j=4;k=4"),
        ("bij,bkj->bik", "b=100000;i=5;j=5;k=5"),
        ("bi,bj->bij", "b=200000;i=3;j=4"),
        ("bi,bi->b", "b=1000000;i=3", "b=100000;i=16"),
        ("bi,bi->i", "b=1000000;i=3"),
        ("abc,cd->abd", "a=1000;b=200;c=6;d=6"),
        ("abc,bd->adc", "a=50000;b=4;c=3;d=5"),
        ("ij->i", "i=1000000;j=5", "i=1000000;j=2", "i=300000;j=12", "i=200000;j=20", "i=50000;j=64"),
        ("ij->j", "i=1000000;j=4"),
        ("ijk->ik", "i=300000;j=4;k=3"),
        ("ijk->ji", "i=500;j=1000;k=6"),
    ):
        for size in sizes:
            extents = extents_of(size)
            name = f"{expression} {'x'.join(str(extent) for extent in extents.values())}"
            for dtype in ("f32", "f64"):
                contenders = ("ours", "stream", "torch", "numpy einsum", "opt_einsum")
                yield Case(name, expression, extents, dtype, unit="GB/s", contenders=contenders)


def scaling():
    """Yields compute-bound products and contractions, which run with one and with two workers."""
    both = ("ours", "ours, 1 worker")
    for dtype in ("f32", "f64"):
        for extent in (1024, 2048, 4096):
            yield Case(f"{dtype} {extent}", "mk,kn->mn", dict.fromkeys("mkn", extent), dtype, contenders=both)
    for case in tccg("small"):
        # With two workers, cases with fewer operations per byte are limited by memory bandwidth.
        if case.work / case.bytes >= 20:
            case.contenders = both
            yield case


SUITES = {
    "tccg-small": (tccg, "small"),
    "tccg-full": (tccg, "full"),
    "gemm": (gemm,),
    "trees": (trees,),
    "batches": (batches,),
    "bandwidth": (bandwidth,),
    "short": (short,),
    "scaling": (scaling,),
}

# Suites that are meaningful only with certain numbers of threads.
THREADS = {"trees": (2,), "scaling": (2,)}


def cases(suite):
    make, *arguments = SUITES[suite]
    return list(make(*arguments))
