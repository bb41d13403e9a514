"""Mantissas and exponents apart, and warnings of results that left the range of their type."""

import math
import warnings

import numpy as np
import pytest

import einsum_dist as ed

DTYPES = ["f4", "f8", "c8", "c16"]
LOG2 = math.log10(2)


def operands(rng, shapes, dtype, scale):
    """Operands of random signs, and the same in double precision without the scale."""

    def normal(shape):
        values = rng.standard_normal(shape)
        return values + 1j * rng.standard_normal(shape) if dtype[0] == "c" else np.asarray(values)

    # Powers of two scale without rounding.
    wide = [normal(shape).astype(dtype).astype("c16" if dtype[0] == "c" else "f8") for shape in shapes]
    return [(values * 2.0**scale).astype(dtype) for values in wide], wide


def check(got, want, power, dtype):
    """`got` is a mantissa and an exponent, and `want` times 2^`power` the result."""
    mantissa, exponent = got
    assert isinstance(exponent, float) and np.asarray(mantissa).dtype == dtype
    whole = round(exponent / LOG2)
    assert exponent == whole * LOG2, "a whole power of two"
    parts = np.abs(np.stack([np.real(mantissa), np.imag(mantissa)]))
    assert 0.5 <= parts.max() < 1
    mine = np.asarray(mantissa).astype("c16") * 2.0 ** (whole - power)
    assert np.shape(mantissa) == np.shape(want)
    assert np.abs(mine - want).max() <= 200 * np.finfo(dtype).eps * np.abs(want).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sign", [1, -1, 0])
@pytest.mark.parametrize(
    "subscripts, shapes",
    [
        ("ij,jk->ik", [(4, 5), (5, 3)]),
        ("ij,jk,kl,li->", [(4, 5), (5, 3), (3, 2), (2, 4)]),
        ("ai,bi,ci->abc", [(2, 6), (3, 6), (2, 6)]),
        ("ij->j", [(4, 5)]),
        ("i->i", [(7,)]),
        ("iij,j->i", [(4, 4, 3), (3,)]),
        ("->", [()]),
        (",a->a", [(), (3,)]),
    ],
)
def test_values_far_outside_the_range(subscripts, shapes, dtype, sign):
    rng = np.random.default_rng(len(shapes))
    scale = sign * (110 if dtype in ("f4", "c8") else 900)
    narrow, wide = operands(rng, shapes, dtype, scale)
    want = np.einsum(subscripts, *wide, optimize=False)
    check(ed.contract(subscripts, *narrow, strip_exponent=True), want, scale * len(shapes), dtype)
    program = ed.plan(subscripts, *narrow, dtype=dtype).compile()
    for _ in range(2):
        check(program(*narrow, strip_exponent=True), want, scale * len(shapes), dtype)
    # A call without it is not scaled.
    small = [values.astype(dtype) for values in wide]
    assert np.allclose(program(*small), want, rtol=1e-3, atol=1e-3)


def test_the_base_is_ten():
    mantissa, exponent = ed.contract("i,i,i->", *[np.full(5, 1e30, "f4")] * 3, strip_exponent=True)
    assert abs(math.log10(mantissa) + exponent - (90 + math.log10(5))) < 1e-6


def test_zeros_infinities_and_empty_tensors():
    big = np.full((2, 2), 1e30, "f4")
    mantissa, exponent = ed.contract("ij,jk->ik", np.zeros((2, 2), "f4"), big, strip_exponent=True)
    assert exponent == 0.0 and not mantissa.any()
    for special in (np.inf, -np.inf, np.nan):
        left = np.eye(2, dtype="f4")
        left[0, 0] = special
        mantissa, exponent = ed.contract("ij,jk->ik", left, big, strip_exponent=True)
        assert np.array_equal(mantissa[0], np.full(2, special, "f4"), equal_nan=True)
        assert np.allclose(mantissa[1] * 10.0**exponent, 1e30)
    mantissa, exponent = ed.contract("ij,jk->ik", np.ones((2, 0)), np.ones((0, 3)), strip_exponent=True)
    assert exponent == 0.0 and mantissa.shape == (2, 3) and not mantissa.any()
    mantissa, exponent = ed.contract("ij,jk->ik", np.ones((0, 2)), np.ones((2, 3)), strip_exponent=True)
    assert exponent == 0.0 and mantissa.shape == (0, 3)


def test_other_arguments():
    a = np.arange(6, dtype="f4").reshape(2, 3) * np.float32(1e37)
    mantissa, exponent = ed.contract("ij,kj->ik", a, a, conj=[1], optimize="greedy", strip_exponent=True)
    assert np.allclose(mantissa * 10 ** (exponent - 74), (a / 1e37) @ (a / 1e37).T)
    mantissa, exponent = ed.contract("ij,kj->ik", [[1, 2]], [[3, 4]], strip_exponent=True)
    assert np.isclose(mantissa[0, 0] * 10**exponent, 11)
    program = ed.plan("ij,kj->ik", a, a, dtype="f4").compile()
    for wrong in ({"alpha": 2}, {"beta": 1, "out": np.zeros((2, 2), "f4")}, {"out": np.zeros((2, 2), "f4")}):
        for call in (lambda **more: ed.contract("ij,kj->ik", a, a, **more), lambda **more: program(a, a, **more)):
            with pytest.raises(ValueError, match="strip_exponent"):
                call(**wrong, strip_exponent=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks(dtype):
    narrow, wide = operands(np.random.default_rng(5), [(7, 4), (4, 5), (5, 3)], dtype, 100)
    program = ed.plan("ij,jk,kl->il", *narrow, dtype=dtype, ranks=3).compile()
    check(program(*narrow, strip_exponent=True), np.einsum("ij,jk,kl->il", *wide), 300, dtype)


@pytest.mark.parametrize("sliced", [0, 1, 3])
def test_trees_of_cotengra(sliced):
    cotengra = pytest.importorskip("cotengra")
    from einsum_dist.cotengra import Contractor

    inputs, output, shapes, sizes = cotengra.utils.lattice_equation([3, 4], d_min=3, d_max=4, seed=1)
    tree = cotengra.array_contract_tree(inputs, output, sizes)
    for index in list(sizes)[:sliced]:
        tree.remove_ind_(index)
    for scale in (60, -60, 0):
        narrow, wide = operands(np.random.default_rng(2), shapes, "f4", scale)
        # Slices of very different sizes, and one of zeros.
        for values in (narrow[0], wide[0]):
            values[0], values[1] = 0, values[1] * np.float32(2.0**-30)
        mantissa, exponent = Contractor(tree)(*narrow, strip_exponent=True)
        peer, power = tree.contract(wide, strip_exponent=False), scale * len(shapes)
        assert np.isclose(float(mantissa) * 2.0 ** (round(exponent / LOG2) - power), float(peer), rtol=1e-3)
    mantissa, exponent = Contractor(tree)(*(np.zeros_like(values) for values in narrow), strip_exponent=True)
    assert mantissa == 0 and exponent == 0.0


CASES = {
    "overflow": (1e30, 1e30, "overflowed"),
    "underflow": (1e-30, 1e-30, "underflowed, and its elements are 0"),
    "subnormal": (1e-22, 1e-20, "underflowed, and its elements have lost digits"),
    "ordinary": (1e30, 1e-30, None),
    "zero": (0.0, 1e-30, None),
    "infinite": (np.inf, 1.0, None),
    "not a number": (1.0, np.nan, None),
}


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_results_out_of_range_are_reported(name, complex_):
    left, right, says = CASES[name]
    dtype = "c8" if complex_ else "f4"
    for extent, inner in ((3, 3), (70, 600)):
        a, b = np.full((extent, inner), left, dtype), np.full((inner, extent), right, dtype)
        program = ed.plan("ij,jk->ik", a, b, dtype=dtype).compile()
        calls = [
            lambda: ed.einsum("ij,jk->ik", a, b),
            lambda: ed.contract("ij,jk->ik", a, b),
            lambda: ed.einsum("ij,jk->", a[:3, :3], b[:3, :3]),
            lambda: ed.einsum("ij,jk->ki", a, b, out=np.zeros((extent, 2 * extent), dtype)[:, ::2]),
            lambda: program(a, b),
        ]
        for call in calls:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                call()
            found = [str(warning.message) for warning in found if issubclass(warning.category, RuntimeWarning)]
            assert len(found) == (says is not None), found
            if says:
                assert says in found[0] and "strip_exponent" in found[0]
                assert ("complex128" if complex_ else "float64") in found[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ed.contract("ij,jk->ik", a, b, strip_exponent=True)
            ed.contract("ij,jk->ik", a, b, alpha=0)
            ed.contract("ij,jk->ik", a, b, beta=1, out=np.ones((extent, extent), dtype))


def test_an_exact_zero_is_no_underflow():
    left, right = np.diag([1.0, 0]).astype("f4"), np.diag([0, 1.0]).astype("f4")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ed.einsum("ij,jk->ik", left, right).any()
