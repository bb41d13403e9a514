"""The hooks of other libraries, against their released versions."""

import itertools

import numpy as np
import pytest

import einsum_dist as ed
import einsum_dist.cotengra
import einsum_dist.pyscf

RNG = np.random.default_rng(6)


def test_opt_einsum_backend():
    oe = pytest.importorskip("opt_einsum")
    arrays = [RNG.random(shape) for shape in [(3, 4, 5), (5, 6), (6, 3, 7), (7, 4)]]
    expression = "abc,cd,dae,eb->"
    expected = oe.contract(expression, *arrays)
    assert np.isclose(oe.contract(expression, *arrays, backend="einsum_dist"), expected)
    compiled = oe.contract_expression(expression, *(array.shape for array in arrays))
    assert np.isclose(compiled(*arrays, backend="einsum_dist"), expected)


def test_quimb_contract_backend():
    qtn = pytest.importorskip("quimb.tensor")
    network = qtn.TN2D_rand(4, 4, 3, seed=1, dtype="complex128")
    expected = network.contract()
    with qtn.contract_backend("einsum_dist"):
        assert np.isclose(network.contract(), expected)
        state = qtn.MPS_rand_state(10, 6, seed=2)
        assert np.isclose(state.H @ state, 1.0)


@pytest.mark.parametrize("size", [1, 8, 100])
@pytest.mark.parametrize("output", [0, 2])
def test_cotengra_trees_and_slices(size, output):
    ctg = pytest.importorskip("cotengra")
    inputs, out, shapes, sizes = ctg.utils.rand_equation(14, 3, n_out=output, d_min=2, d_max=4, seed=3)
    tree = ctg.array_contract_tree(inputs, out, sizes, optimize="greedy")
    if size > 1:
        tree = tree.slice(target_slices=size, allow_outer=True)
        assert tree.nslices >= size
    arrays = [RNG.random(shape) - 0.5 for shape in shapes]
    expected = tree.contract(arrays)
    contract = ed.cotengra.Contractor(tree)
    for _ in range(2):
        assert np.allclose(contract(*arrays), expected, rtol=1e-9, atol=1e-12)
    # The last operand changes, the others stay the same, and so do intermediates without sliced indices.
    constant = ed.cotengra.Contractor(tree, constant=range(len(arrays) - 1))
    assert np.allclose(constant(*arrays), expected, rtol=1e-9, atol=1e-12)
    arrays[-1] = arrays[-1] * 2
    assert np.allclose(constant(*arrays), 2 * expected, rtol=1e-9, atol=1e-12)
    arrays[-1] = arrays[-1] / 2
    single = [array.astype("f4") for array in arrays]
    assert np.allclose(contract(*single), expected, rtol=1e-3, atol=1e-4)
    assert np.allclose(tree.contract(arrays, implementation=ed.cotengra.implementation), expected, rtol=1e-9)


def test_pyscf_contracts_with_us():
    pytest.importorskip("pyscf")
    from pyscf import lib

    a, b = RNG.random((20, 30, 8)), RNG.random((8, 30, 25))
    expected = np.einsum("ijk,kjl->il", a, b)
    calls = []
    original = ed.pyscf._contract
    ed.pyscf._contract = lambda *args, **kwargs: calls.append(args[0]) or original(*args, **kwargs)
    try:
        with ed.pyscf.patched():
            assert np.allclose(lib.einsum("ijk,kjl->il", a, b), expected)
            assert np.allclose(lib.einsum("ijk,kjl,lm->im", a, b, RNG.random((25, 30)) * 0 + 1), expected.sum(1)[:, None] + np.zeros(30))
            out = np.ones((20, 25))
            assert np.allclose(lib.contract("ijk,kjl->il", a, b, alpha=2, beta=3, out=out), 2 * expected + 3)
            assert np.allclose(lib.contract("ijk,kjl->il", a * 1j, b, alpha=1j), -expected)
            assert np.allclose(lib.einsum("ij,jk->ik", np.ones((3, 3)), np.ones((3, 3))), 3)
        count = len(calls)
        assert count >= 4
        assert np.allclose(lib.einsum("ijk,kjl->il", a, b), expected) and len(calls) == count
    finally:
        ed.pyscf._contract = original


def test_libraries_find_numpys_functions():
    assert ed.array is np.array and ed.linalg is np.linalg
    with pytest.raises(AttributeError):
        ed.no_such_function


def test_array_api_namespace():
    """The functions of the standard that contract are ours, and all others are NumPy's."""
    if not hasattr(np, "__array_namespace_info__"):
        pytest.skip("NumPy before 2.1 has no namespace of the standard")
    info = ed.__array_namespace_info__()
    assert info.default_device() == "cpu" and "float64" in info.dtypes()
    a, b = ed.asarray(RNG.random((2, 4, 3))), ed.asarray(RNG.random((2, 3, 4)))
    assert np.allclose(ed.matmul(a, b), ed.tensordot(a, b, axes=([2], [1]))[range(2), :, range(2)])
    assert np.allclose(ed.vecdot(a, ed.matrix_transpose(b)), ed.sum(a * ed.permute_dims(b, (0, 2, 1)), axis=-1))
    dtypes = ("float32", "float64", "complex64", "complex128", "clongdouble", "float16", "int64", "uint8", "uint64", "bool")
    for pair in itertools.product(dtypes, dtypes):
        x, y = (RNG.integers(0, 5, shape).astype(dtype) for shape, dtype in zip(((3, 2, 4), (3, 2, 4)), pair))
        x = x * np.asarray(1 + 2j, x.dtype) if x.dtype.kind == "c" else x
        for axis in (-1, 0):
            ours, numpys = ed.vecdot(x, y, axis=axis), np.vecdot(x, y, axis=axis)
            assert ours.dtype == numpys.dtype and ours.shape == numpys.shape and np.allclose(ours, numpys), pair
    assert np.allclose(ed.vecdot(np.ones((3, 1, 4)), np.ones((2, 4))), np.full((3, 2), 4))
    assert isinstance(ed.vecdot(np.ones(3, complex), np.ones(3)), np.complex128)
    for shapes in [((), (3,)), ((3,), (2,)), ((3,), (1,))]:
        with pytest.raises(ValueError):
            ed.vecdot(*map(np.ones, shapes))
