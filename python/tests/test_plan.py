"""Plans and compiled programs."""

import pathlib

import numpy as np
import pytest

import einsum_dist as ed

RNG = np.random.default_rng(5)


def test_a_plan_describes_a_chain():
    plan = ed.plan("ij,jk,kl,lm->im", (10, 1000), (1000, 1000), (1000, 20), (20, 500), dtype="f4", path="greedy")
    assert plan.path == [(0, 1), (0, 2), (0, 1)]
    assert plan.output_shape == (10, 500) and plan.dtype == "float32" and plan.ranks == 1
    assert plan.shapes == [(10, 1000), (1000, 1000), (1000, 20), (20, 500)]
    assert plan.flops == 2 * (10 * 1000 * 1000 + 10 * 1000 * 20 + 10 * 20 * 500)
    assert plan.largest_intermediate == 10_000 and plan.slices == {}
    assert plan.seconds > 0 and plan.peak_bytes > 4 * (1000 * 1000)
    report = plan.report()
    assert report["expression"] == "ij,jk,kl,lm->im" and len(report["nodes"]) >= 3
    assert "ij,jk" in plan.explain() and str(plan) == plan.explain()
    assert plan.fingerprint == ed.plan(plan.subscripts, *plan.shapes, dtype="f4", path=plan.path).fingerprint


def test_a_notebook_shows_a_plan():
    plan = ed.plan("mk,kn->mn", (600, 500), (500, 400), ranks=4, threads=2)
    page = plan._repr_html_()
    assert "<svg" in page and "mk,kn-&gt;mn" in page
    simulated = plan.simulate()
    assert simulated["seconds"] > 0 and 0 < simulated["working_share"] <= 1 and simulated["hidden_share"] is not None
    thousands = ed.plan("mk,kn->mn", (600, 500), (500, 400), ranks=2000)
    assert thousands.simulate()["seconds"] > 0 and " of 2000 ranks" in thousands.timeline_svg()


def test_a_machine_description_is_used():
    file = pathlib.Path(__file__).parents[2] / "data" / "machines" / "dual-grace.toml"
    plan = ed.plan("mk,kn->mn", (600, 500), (500, 400), machine=file)
    assert plan.ranks == ed.plan("mk,kn->mn", (600, 500), (500, 400), machine=file.read_text()).ranks > 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_programs_on_in_process_ranks(dtype, ranks):
    a, b, c = (np.asarray(RNG.random(shape), dtype) for shape in [(7, 11), (11, 13), (13, 5)])
    plan = ed.plan("ij,jk,kl->li", a, b, c, ranks=ranks, threads=1)
    program = plan.compile()
    expected = (a @ b @ c).T
    for _ in range(3):
        assert np.allclose(program(a, b, c), expected, rtol=1e-5)
    out = np.asfortranarray(RNG.random((5, 7)).astype(dtype))
    before = out.copy()
    assert program(a, b, c, out=out, alpha=2, beta=-1) is out
    assert np.allclose(out, 2 * expected - before, rtol=1e-4, atol=1e-4)
    # Operands that cannot be used in place are converted.
    assert np.allclose(program(a.tolist(), b, c.astype(c.dtype.newbyteorder())), expected, rtol=1e-5)


def test_constant_operands_are_kept_until_renewed():
    a, b = RNG.random((20, 30)), RNG.random((30, 40))
    program = ed.plan("ij,jk,kl->il", a, b, (40, 3), dtype="f8", constant=[0, 1], path=[(0, 1), (0, 1)]).compile()
    c = RNG.random((40, 3))
    assert np.allclose(program(a, b, c), a @ b @ c)
    a *= 2
    program.renew()
    assert np.allclose(program(a, b, c), a @ b @ c)


def test_a_memory_limit_makes_slices():
    shapes = (200, 300), (300, 250), (250, 280)
    whole = ed.plan("ij,jk,kl->il", *shapes)
    # The operands and the result stay in memory.
    limit = whole.peak_bytes - 8 * 200 * 125
    plan = ed.plan("ij,jk,kl->il", *shapes, memory_limit=limit)
    assert plan.slices and plan.peak_bytes <= limit
    arrays = [RNG.random(shape) for shape in shapes]
    assert np.allclose(plan.compile()(*arrays), arrays[0] @ arrays[1] @ arrays[2])


def test_groups_of_ranks_take_slices():
    shapes = (90, 60), (80, 60), (70, 60)
    made = {groups: ed.plan("[ai,bi->abi],ci->c", *shapes, memory_limit=900_000, ranks=4, slice_groups=groups) for groups in (1, 2, 4)}
    assert {groups: plan.report().get("slice_groups", 1) for groups, plan in made.items()} == {1: 1, 2: 2, 4: 4}
    with pytest.raises(ValueError, match="from 1 to"):
        ed.plan("ij,jk->ik", (2, 3), (3, 4), slice_groups=0)


def test_shapes_and_arrays_may_be_mixed():
    a = np.ones((2, 3), np.complex64)
    assert ed.plan("ij,jk->ik", a, [3, 4]).dtype == "complex64"
    assert ed.plan("ij,jk->ik", (2, 3), [3, 4]).dtype == "float64"
    assert ed.plan("ij,jk->ik", np.ones((2, 3), int), np.ones((3, 4), int)).dtype == "float64"
    assert ed.plan("i,->i", (3,), ()).output_shape == (3,)
