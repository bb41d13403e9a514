"""Random calls equal NumPy's within the bound of rounding errors."""

import numpy as np
import pytest

import einsum_dist as ed

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
CALLS = 3000


def bound(dtype, terms):
    """The bound for sums of `terms` products of numbers of magnitude at most 1, for either library."""
    return 8 * (terms + 4) * np.finfo(dtype).eps


def array(rng, shape, dtype):
    """An array with random values and a random layout: views, negative strides, Fortran order, broadcasts."""
    dtype = np.dtype(dtype)

    def values(shape):
        real = rng.uniform(-1, 1, shape)
        return np.asarray((real + 1j * rng.uniform(-1, 1, shape)) / 2 if dtype.kind == "c" else real, dtype)

    kind = rng.integers(0, 7)
    if kind == 0:
        return np.array(values(shape), order="F")
    if kind == 1:
        step = int(rng.integers(2, 4))
        wide = values(tuple(extent * step for extent in shape))
        return wide[(..., *(slice(None, None, step) for _ in shape))]
    if kind == 2:
        return values(shape)[(..., *(slice(None, None, -1) for _ in shape))]
    if kind == 3 and len(shape) > 1:
        order = rng.permutation(len(shape))
        return values(tuple(shape[axis] for axis in order)).transpose(np.argsort(order))
    if kind == 4 and len(shape) > 0:
        return np.broadcast_to(values(shape[1:]), shape)
    if kind == 5:
        bytes_apart = np.zeros(int(np.prod(shape, dtype=int)) * dtype.itemsize + 1, np.uint8)
        odd = bytes_apart[1:].view(dtype).reshape(shape)
        odd[...] = values(shape)
        return odd
    return values(shape)


def strides(array):
    return [stride for extent, stride in zip(array.shape, array.strides) if extent > 1]


def expression(rng):
    """A random expression with its shapes, and the number of terms in each sum."""
    labels = list("abcdefg")
    extents = {label: int(rng.choice([0, 1, 2, 3, 5, 7], p=[0.03, 0.12, 0.25, 0.25, 0.2, 0.15])) for label in labels}
    operands = int(rng.integers(1, 5))
    batch = [int(extent) for extent in rng.integers(1, 4, rng.integers(0, 3))]
    ellipsis = rng.random() < 0.2
    terms, shapes = [], []
    for _ in range(operands):
        term = list(rng.choice(labels, rng.integers(0, 5)))
        shape = [1 if rng.random() < 0.04 and term.count(label) == 1 else extents[label] for label in term]
        text = "".join(term)
        if ellipsis and rng.random() < 0.7:
            at = int(rng.integers(0, len(term) + 1))
            mine = batch[int(rng.integers(0, len(batch) + 1)) :]
            text = text[:at] + "..." + text[at:]
            shape[at:at] = [1 if rng.random() < 0.2 else extent for extent in mine]
        terms.append(text)
        shapes.append(tuple(shape))
    used = sorted(set("".join(terms).replace(".", "")))
    text = ",".join(terms)
    if rng.random() < 0.8:
        output = [label for label in used if rng.random() < 0.5]
        rng.shuffle(output)
        has_ellipsis = "..." in text
        text += "->" + ("..." if has_ellipsis else "") + "".join(output)
    size = int(np.prod([max(extents[label], 1) for label in used], dtype=float))
    return text, shapes, size


@pytest.mark.parametrize("seed", range(10))
def test_random_calls(seed):
    rng = np.random.default_rng(seed)
    done = 0
    while done < CALLS // 10:
        text, shapes, terms = expression(rng)
        dtype = rng.choice(DTYPES)
        mixed = rng.random() < 0.15
        arrays = [array(rng, shape, rng.choice(DTYPES) if mixed else dtype) for shape in shapes]
        try:
            expected = np.einsum(text, *arrays)
        except ValueError:
            # NumPy rejects some broadcasts of diagonals, which the generator does not avoid.
            continue
        kind = int(rng.integers(0, 5))
        close = dict(rtol=0, atol=bound(expected.dtype, terms))
        if kind == 0:
            out = array(rng, expected.shape, expected.dtype).copy(order="F")[...]
            result = ed.einsum(text, *arrays, out=out)
            assert result is out
        elif kind == 1 and expected.ndim:
            wide = np.full([2 * extent for extent in expected.shape], 7, expected.dtype)
            out = wide[tuple(slice(None, None, -2) for _ in expected.shape)]
            before = wide.copy()
            result = ed.einsum(text, *arrays, out=out)
            before[tuple(slice(None, None, -2) for _ in expected.shape)] = out
            assert np.array_equal(before, wide), "memory between the elements was written"
        elif kind == 2:
            out = array(rng, expected.shape, expected.dtype).copy()
            alpha, beta = 1.5, rng.choice([0.0, 1.0, -0.5])
            conj = [index for index in range(len(arrays)) if rng.random() < 0.4]
            conjugated = [a.conj() if index in conj else a for index, a in enumerate(arrays)]
            expected = np.einsum(text, *conjugated)
            scaled = alpha * expected.astype(np.promote_types(expected.dtype, np.float64)) + beta * out
            result = ed.contract(text, *arrays, alpha=alpha, beta=beta, out=out, conj=conj)
            assert result is out and np.allclose(result, scaled, rtol=0, atol=2 * close["atol"]), (text, shapes)
            done += 1
            continue
        else:
            result = ed.einsum(text, *arrays)
            assert type(result) is type(expected), (text, type(result), type(expected))
            # Operands that are converted first may have other strides then, and broadcast operands are an exception.
            in_place = not mixed and all(a.flags.aligned and 0 not in a.strides for a in arrays)
            if np.size(expected) > 1 and len(arrays) > 1 and in_place:
                assert strides(result) == strides(expected), (text, [a.strides for a in arrays])
        assert result.dtype == expected.dtype and np.shape(result) == np.shape(expected), (text, shapes)
        assert np.allclose(result, expected, **close), (text, shapes, [a.strides for a in arrays])
        done += 1


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool, np.float16, np.longdouble, object])
def test_other_dtypes_are_numpys(dtype):
    a, b = np.arange(6).reshape(2, 3).astype(dtype), np.arange(12).reshape(3, 4).astype(dtype)
    expected = np.einsum("ij,jk->ik", a, b)
    result = ed.einsum("ij,jk->ik", a, b)
    assert result.dtype == expected.dtype and np.array_equal(result, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_contractions_use_threads(dtype):
    rng = np.random.default_rng(3)
    a = array(rng, (6, 70, 90), dtype)
    b = array(rng, (90, 40, 6), dtype)
    expected = np.einsum("bmk,knb->bmn", a, b)
    for threads in (1, 2, 3):
        with ed.num_threads(threads):
            assert np.allclose(ed.einsum("bmk,knb->bmn", a, b), expected, rtol=0, atol=bound(dtype, 90))


def test_tensordot_and_matmul():
    rng = np.random.default_rng(4)
    for _ in range(200):
        ndims = rng.integers(0, 5, 2)
        count = int(rng.integers(0, min(ndims) + 1))
        first = [int(x) for x in rng.choice(ndims[0], count, replace=False)] if count else []
        second = [int(x) for x in rng.choice(ndims[1], count, replace=False)] if count else []
        shapes = [list(rng.integers(1, 5, ndim)) for ndim in ndims]
        for one, other in zip(first, second):
            shapes[1][other] = shapes[0][one]
        a, b = (array(rng, tuple(int(e) for e in shape), np.float64) for shape in shapes)
        signed = [axis - int(ndims[0]) if rng.random() < 0.3 else axis for axis in first]
        expected = np.tensordot(a, b, axes=(signed, second))
        assert np.allclose(ed.tensordot(a, b, axes=(signed, second)), expected, rtol=0, atol=1e-12)
    for left, right in [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 1, 2, 3), (7, 3, 4)), ((2, 3), (6, 3, 4)), ((4, 3), (6, 5, 3, 2))]:
        a, b = array(rng, left, np.complex128), array(rng, right, np.complex128)
        expected = np.matmul(a, b)
        assert np.allclose(ed.matmul(a, b), expected, rtol=0, atol=1e-13) and np.shape(ed.matmul(a, b)) == expected.shape
        out = np.empty(expected.shape, expected.dtype)
        if expected.ndim:
            assert ed.matmul(a, b, out=out) is out and np.allclose(out, expected, rtol=0, atol=1e-13)
    assert ed.tensordot(np.ones((2, 3)), np.ones((2, 3)), axes=2) == 6.0
