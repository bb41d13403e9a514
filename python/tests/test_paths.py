"""Orders of contractions and slices that other libraries give and take."""

import itertools
import json

import numpy as np
import pytest

import einsum_dist as ed

RNG = np.random.default_rng(8)


def networks():
    """Random networks with hyper-indices and outputs: expression, inputs, output, sizes, shapes."""
    ctg = pytest.importorskip("cotengra")
    for seed, (tensors, hyper) in enumerate([(3, 0), (6, 1), (10, 2), (14, 0), (14, 3)]):
        inputs, output, shapes, sizes = ctg.utils.rand_equation(
            tensors, 3, n_out=seed % 3, n_hyper_in=hyper, d_min=2, d_max=4, seed=seed
        )
        expression = ",".join(map("".join, inputs)) + "->" + "".join(output)
        yield expression, inputs, output, sizes, [tuple(shape) for shape in shapes]


def test_plans_follow_paths_of_opt_einsum():
    oe = pytest.importorskip("opt_einsum")
    for expression, _, _, _, shapes in networks():
        for optimize in ["greedy", "branch-1"]:
            path, info = oe.contract_path(expression, *shapes, shapes=True, optimize=optimize)
            plan = ed.plan(expression, *shapes, path=path)
            assert [sorted(pair) for pair in plan.path] == [sorted(pair) for pair in path]
            for same in [info, (path, info), ["einsum_path", *path], np.array(path), str(path), json.dumps(path)]:
                assert ed.plan(expression, *shapes, path=same).path == plan.path
    assert len(ed.plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), path=[(0, 1, 2)]).path) == 2
    assert ed.plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), path=[np.array([1, 2]), (0, 1)]).path == [(1, 2), (0, 1)]


def test_optimizers_of_opt_einsum_and_cotengra():
    oe, ctg = pytest.importorskip("opt_einsum"), pytest.importorskip("cotengra")

    def slicing():
        return ctg.HyperOptimizer(max_repeats=2, parallel=False, slicing_opts={"target_slices": 2}, methods=["greedy"])

    calls = []

    def recorded(inputs, output, sizes, memory_limit=None):
        calls.append((inputs, output, sizes, memory_limit))
        return oe.paths.greedy(inputs, output, sizes)

    for expression, inputs, output, sizes, shapes in networks():
        arrays = [RNG.random(shape) for shape in shapes]
        expected = ed.contract(expression, *arrays)
        plan = ed.plan(expression, *arrays, path=recorded)
        assert calls[-1] == ([frozenset(term) for term in inputs], frozenset(output), sizes, None)
        path, _ = oe.contract_path(expression, *shapes, shapes=True, optimize="greedy")
        assert [sorted(pair) for pair in plan.path] == [sorted(pair) for pair in path]
        for optimizer in [oe.BranchBound(nbranch=2), ctg.GreedyOptimizer(), recorded]:
            assert np.allclose(ed.plan(expression, *arrays, path=optimizer).compile()(*arrays), expected)
            assert np.allclose(ed.contract(expression, *arrays, optimize=optimizer), expected)
        sliced = ed.plan(expression, *arrays, path=slicing())
        assert np.prod(list(sliced.slices.values())) >= 2
        assert np.allclose(sliced.compile()(*arrays), expected)
        with pytest.raises(ValueError, match="only plan"):
            ed.contract(expression, *arrays, optimize=slicing())
    # Labels that are implied, repeated or not letters; and pairs, for which there is nothing to find.
    arrays = [RNG.random((3, 4, 2, 2)), RNG.random((4, 4)), RNG.random((3, 5)), RNG.random(5)]
    for subscripts in ["...ijj,ik,...m,m", "[x,i,j,j],[i,k],[x,m],[m]->[k]", "[row,i,j,j],[i,k],[row,m],[m]->[k]"]:
        want = ed.contract(subscripts, *arrays)
        for optimizer in [ctg.GreedyOptimizer(), recorded]:
            assert np.allclose(ed.plan(subscripts, *arrays, path=optimizer).compile()(*arrays), want)
            assert np.allclose(ed.contract(subscripts, *arrays, optimize=optimizer), want)
    # Slices of the dimensions of an ellipsis, which here has as many as characters.
    arrays = [RNG.random((2, 3, 2, *shape)) for shape in [(4, 5), (4, 6), (5, 6)]]
    plan = ed.plan("...ij,...ik,...jk", *arrays, path=slicing())
    assert plan.slices and np.allclose(plan.compile()(*arrays), np.einsum("...ij,...ik,...jk", *arrays))
    assert ed.plan("ij,jk->ik", (2, 3), (3, 4), path=recorded).path == [(0, 1)]
    with pytest.raises(ValueError, match="nested"):
        ed.plan("[[ij,jk->ik],kl->il],lm->im", (2, 2), (2, 2), (2, 2), (2, 2), path=recorded)
    with pytest.raises(ValueError, match="2 tensors left"):
        ed.plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), path=lambda *network: [(0, 1)])


def test_opt_einsum_and_cotengra_follow_paths_of_plans():
    oe, ctg = pytest.importorskip("opt_einsum"), pytest.importorskip("cotengra")
    for expression, inputs, output, sizes, shapes in networks():
        arrays = [RNG.random(shape) for shape in shapes]
        plan = ed.plan(expression, *arrays)
        expected = plan.compile()(*arrays)
        assert np.allclose(oe.contract(expression, *arrays, optimize=plan.path), expected)
        by_path = ctg.ContractionTree.from_path(inputs, output, sizes, path=plan.path)
        by_ssa_path = ctg.ContractionTree.from_path(inputs, output, sizes, ssa_path=plan.ssa_path)
        assert by_path.contraction_cost() == by_ssa_path.contraction_cost()
        assert np.allclose(by_path.contract(arrays), expected)
        # The tree, and what the plan writes, give the same plan again.
        for given in [plan.path_json(), json.loads(plan.path_json()), plan.path, {"ssa_path": plan.ssa_path}]:
            assert ed.plan(expression, *arrays, path=given).fingerprint == plan.fingerprint
        pairs = [frozenset(pair) for pair in ed.plan(expression, *arrays, path=by_ssa_path).ssa_path]
        assert len(pairs) == len(plan.ssa_path)


def test_slices_of_cotengra_trees():
    ctg = pytest.importorskip("cotengra")
    # Trees of cotengra usually have other names for the indices.
    for renamed, (expression, inputs, output, sizes, shapes) in itertools.product([False, True], networks()):
        tree = ctg.array_contract_tree(inputs, output, sizes, optimize="greedy", canonicalize=renamed)
        tree = tree.slice(target_slices=4)
        arrays = [RNG.random(shape) for shape in shapes]
        plan = ed.plan(expression, *arrays, path=tree)
        assert renamed or set(plan.sliced_inds) == set(tree.sliced_inds)
        assert np.prod(list(plan.slices.values())) == tree.nslices
        assert np.allclose(plan.compile()(*arrays), tree.contract(arrays))
        assert ed.plan(expression, *arrays, path=tree, sliced=()).slices == {}
        again = ed.plan(expression, *arrays, path=plan.path_json())
        assert (again.fingerprint, again.slices) == (plan.fingerprint, plan.slices)


def test_slices_may_be_larger_than_one_index():
    a, b, c = (RNG.random(shape) for shape in [(4, 6), (6, 8), (8, 3)])
    plan = ed.plan("ij,jk,kl->il", a, b, c, path="greedy", sliced={"j": 2, "l": 1})
    assert plan.slices == {"j": 3, "l": 3}
    assert np.allclose(plan.compile()(a, b, c), a @ b @ c)
    for sliced, says in [(["x"], "no dimension 'x' to slice"), ({"j": 4}, "no multiple of 4")]:
        with pytest.raises(ValueError, match=says):
            ed.plan("ij,jk,kl->il", a, b, c, sliced=sliced)


@pytest.mark.parametrize(
    "path, says",
    [
        ([(0, 5), (0, 1)], "position 5"),
        ([(0, 1)], "2 tensors left"),
        ({"ssa_path": [(0, 1), (0, 2)]}, "tensor 0, which is missing or used already"),
        ({"paths": []}, "none of path"),
        ("{", "not a JSON object"),
    ],
)
def test_wrong_paths(path, says):
    with pytest.raises(ValueError, match=says):
        ed.plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5), path=path)


def test_a_cache_keeps_paths(tmp_path):
    shapes = [(4, 4)] * 12
    ring = ",".join(a + b for a, b in zip("abcdefghijkl", "bcdefghijkla")) + "->"
    folder = tmp_path / "new" / "paths"
    first = ed.plan(ring, *shapes, path_cache=folder)
    assert len(list(folder.iterdir())) == 1
    other = ring.upper()
    assert ed.plan(other, *shapes, path_cache=folder).path == first.path
    (file,) = folder.iterdir()
    file.write_text("damaged")
    with pytest.warns(UserWarning, match="searching again"):
        assert ed.plan(ring, *shapes, path_cache=str(folder)).path == first.path
    assert file.read_text() != "damaged"
