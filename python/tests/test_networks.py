"""Generated networks with hyper-indices equal NumPy's result in extended precision, within the bound of rounding errors."""

import string

import numpy as np
import pytest

import einsum_dist as ed

DTYPES = {"f4": "longdouble", "f8": "longdouble", "c8": "clongdouble", "c16": "clongdouble"}


def network(rng):
    """An expression of up to 14 tensors, of which any number share an index, and its shapes."""
    count = int(rng.integers(5, 15))
    terms = [[] for _ in range(count)]
    labels = list(string.ascii_letters[: int(rng.integers(count, 2 * count))])
    extents = {label: int(rng.choice([1, 2, 2, 2, 3, 4])) for label in labels}
    for label in labels:
        for term in rng.choice(count, min(count, int(rng.choice([1, 2, 2, 2, 3, 4, 6]))), replace=False):
            if len(terms[term]) < 5:
                terms[term].append(label)
    used = [label for label in labels if any(label in term for term in terms)]
    output = [label for label in used if rng.random() < 0.15][:4]
    for term in [*terms, output]:
        rng.shuffle(term)
    text = ",".join("".join(term) for term in terms) + "->" + "".join(output)
    return text, [tuple(extents[label] for label in term) for term in terms], [extents[label] for label in used]


def roundings(plan):
    """At least the number of additions and products that a term of the result passes through, four for complex numbers."""
    report = plan.report()
    count = len(plan.shapes) + np.prod(list(plan.slices.values()), dtype=int) + 2 * plan.ranks
    for node in report["nodes"]:
        inputs, output = node["expression"].split("->")
        count += np.prod([report["dims"][label] for label in set(inputs) - set(output) - {","}], dtype=int) + 2
    return 4 * count if plan.dtype.startswith("complex") else count


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(12))
def test_networks(seed, dtype):
    rng = np.random.default_rng(seed)
    text, shapes, extents = network(rng)

    def normal(shape):
        values = rng.standard_normal(shape)
        values = np.abs(values) if seed % 3 == 0 else values
        return np.asarray(values + 1j * rng.standard_normal(shape) if dtype[0] == "c" else values, dtype)

    arrays = [normal(shape) for shape in shapes]
    wide = [array.astype(DTYPES[dtype]) for array in arrays]
    want = np.einsum(text, *wide, optimize="greedy")
    size = np.einsum(text, *(np.abs(array) for array in wide), optimize="greedy")
    plans = [ed.plan(text, *shapes, dtype=dtype, path=path) for path in ("auto", "greedy", "anneal", "left-to-right")]
    plans.append(ed.plan(text, *shapes, dtype=dtype, ranks=3))
    for share in (0.9, 0.8, 0.7, 0.6):
        try:
            plans.append(ed.plan(text, *shapes, dtype=dtype, memory_limit=int(plans[0].peak_bytes * share)))
        except ValueError:
            break
    for plan in plans:
        bound = roundings(plan) * np.finfo(dtype).eps * size
        near = lambda got: np.shape(got) == np.shape(want) and np.all(np.abs(got - want) <= bound)  # noqa: E731
        program = plan.compile()
        assert near(program(*arrays)), plan.explain()
        mantissa, exponent = program(*arrays, strip_exponent=True)
        assert near(mantissa * np.longdouble(2) ** round(exponent / np.log10(2))), plan.explain()
    assert np.all(np.abs(ed.einsum(text, *arrays) - want) <= 2 * bound)
