"""Ranks in this process, and distributed tensors."""

import concurrent.futures
import os

import numpy as np
import pytest

import einsum_dist as ed

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_blocks_are_contracted_where_they_are(ranks, dtype):
    arrays = [RNG.random(shape).astype(dtype) for shape in [(11, 13), (13, 9), (9, 5)]]
    plan = ed.plan("ij,jk,kl->il", *arrays, ranks=ranks, threads=1)
    expected = arrays[0] @ arrays[1] @ arrays[2]
    with ed.World.in_process(ranks) as world:
        assert world.ranks == ranks and list(world.local_ranks) == list(range(ranks))
        program = world.compile(plan)
        operands = []
        for index, array in enumerate(arrays):
            operand = ed.DistTensor.zeros(world, array.shape, plan.operand_distribution(index), dtype)
            for where, block in operand.local:
                block[...] = array[where]
            assert np.array_equal(operand.gather(), array)
            operands.append(operand)
        before = world.moved[0]
        result = program.run(*operands)
        received = sum(plan.bytes_received(rank) for rank in range(ranks))
        assert world.moved[0] - before == received
        assert result.shape == expected.shape and result.dtype == dtype
        assert result.distribution == plan.output_distribution()
        assert np.allclose(result.gather(), expected, rtol=1e-4)
        assert program.run(*operands, out=result, alpha=2, beta=1) is result
        assert np.allclose(result.gather(), 3 * expected, rtol=1e-4)
        assert np.allclose(program(*arrays), expected, rtol=1e-4)
        report = program.report()
        assert report["ranks"] == ranks and report["nodes"][-1]["seconds"] is not None
        assert report["seconds"]["runs"] == 1 and report["seconds"]["min"] == report["seconds"]["max"] > 0
        assert report["gflops"] > 0 and report["compile_seconds"] > 0 and report["transport"] == world.transport


def test_options_of_a_world():
    arrays = [RNG.random((40, 50)), RNG.random((50, 30))]
    plan = ed.plan("mk,kn->mn", *arrays, ranks=3, threads=1, algorithm="ring-mn")
    for options in ({"overlap": False}, {"timeout": 30}, {"timeout": 0.5, "overlap": True}):
        with ed.World.in_process(3, **options) as world:
            program = world.compile(plan)
            assert program.report()["seconds"] is None
            assert np.allclose(program(*arrays), arrays[0] @ arrays[1])
            hidden = [rank["hidden_share"] for rank in program.report()["per_rank"]]
            assert len(hidden) == 3 and (options.get("overlap", True) or all(not share for share in hidden))
    for timeout in (0, -1.0, float("nan"), float("inf"), 1e300):
        with pytest.raises(ValueError, match="positive number of seconds"):
            ed.World.in_process(3, timeout=timeout)
    with pytest.raises(TypeError):
        ed.World.in_process(3, timeout="1")


def test_a_tensor_from_blocks_is_moved_and_written(tmp_path):
    whole = RNG.random((7, 6))
    with ed.World.in_process(3) as world:
        rows = ed.Distribution("m:3", "mn")
        parts = [whole[0:3], whole[3:5], whole[5:7]]
        tensor = ed.DistTensor.from_local(world, (7, 6), rows, parts)
        assert [where for where, _ in tensor.local] == [
            (slice(0, 3, 1), slice(0, 6, 1)),
            (slice(3, 5, 1), slice(0, 6, 1)),
            (slice(5, 7, 1), slice(0, 6, 1)),
        ]
        assert rows.ranks == 3 and np.array_equal(tensor.gather(), whole)
        cyclic = tensor.redistribute(ed.Distribution("n:cyclic(2,2)", "mn"))
        assert np.array_equal(cyclic.gather(), whole)
        for place, block in cyclic.local:
            assert np.array_equal(whole[place], block)
            assert all(isinstance(index, slice) or index.dtype == np.intp for index in place)
            block *= 2
        assert not all(isinstance(index, slice) for index in cyclic.local[0][0])
        assert np.array_equal(cyclic.gather(), 2 * whole)
        for place, block in cyclic.local:
            block[...] = whole[place]
        path = tmp_path / "whole.npy"
        cyclic.write_npy(path)
        assert np.array_equal(np.load(path), whole)
        again = ed.DistTensor.from_npy(world, path, rows, "float64")
        assert all(np.array_equal(block, part) for (_, block), part in zip(again.local, parts))
        # A view keeps its tensor.
        block = again.local[1][1]
        del again
        assert np.array_equal(block, parts[1])
        with pytest.raises(ValueError, match="shape"):
            ed.DistTensor.from_local(world, (7, 6), rows, [whole, whole, whole])
        with pytest.raises(ValueError, match="2 blocks"):
            ed.DistTensor.from_local(world, (7, 6), rows, parts[:2])
        with pytest.raises(OSError):
            tensor.write_npy(tmp_path / "missing" / "file.npy")


def test_distributions_can_be_prescribed():
    plan = ed.plan("mk,kn->mn", (8, 6), (6, 4), ranks=4, distributions="m:4; *; m:2 n:2")
    assert plan.operand_distribution(0) == ed.Distribution("m:4", "mk")
    assert plan.output_distribution() == ed.Distribution("m:2 n:2", "mn")
    with pytest.raises(ValueError):
        ed.plan("mk,kn->mn", (8, 6), (6, 4), ranks=4, distributions="q:4")
    with pytest.raises(ValueError):
        ed.Distribution("m:2 q:3", "mn")
    with pytest.raises(IndexError):
        plan.operand_distribution(2)


def test_wrong_worlds_are_refused():
    world = ed.World.in_process(2)
    other = ed.plan("mk,kn->mn", (8, 6), (6, 4), ranks=3)
    with pytest.raises(ValueError):
        world.compile(other)
    plan = ed.plan("mk,kn->mn", (8, 6), (6, 4), ranks=2)
    program = world.compile(plan)
    with pytest.raises(ValueError):
        program(np.ones((8, 6)))
    with pytest.raises(ValueError):
        ed.World.in_process(0)
    tensor = ed.DistTensor.zeros(world, (8, 6), plan.operand_distribution(0))
    right = ed.DistTensor.zeros(world, (6, 4), plan.operand_distribution(1))
    with pytest.raises(TypeError):
        program.run(tensor, ed.DistTensor.zeros(world, (6, 4), plan.operand_distribution(1), "float32"))
    with pytest.raises(ValueError):
        program.run(tensor, right, out=tensor)
    with pytest.raises(TypeError):
        program.run(tensor, right, alpha=1j)
    with pytest.raises(TypeError):
        program(np.ones((8, 6)) * 1j, np.ones((6, 4)))
    with pytest.raises(ValueError):
        program.run(tensor, right, beta=1)
    # Another thread may see, but not use, a world.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with pytest.raises(RuntimeError, match="thread"):
            pool.submit(lambda: world.ranks).result()
        with pytest.raises(RuntimeError, match="thread"):
            pool.submit(lambda: program.run(tensor, right)).result()
    # And so may a child.
    child = os.fork()
    if child == 0:
        try:
            program.run(tensor, right)
        except RuntimeError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    world.close()
    for call in (lambda: program.run(tensor, right), lambda: world.ranks, tensor.gather):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    world.close()


@pytest.mark.parametrize("text", ["x1", "m:3", "n:cyclic(2,2)", "m:cyclic(1,2) n:2", "l:cyclic(1,2) m:2", "x2 n:2"])
def test_a_tensor_from_a_whole_array(text, tmp_path):
    whole = RNG.random((5, 7, 6))[:, ::-1]
    np.save(tmp_path / "whole.npy", whole)
    with ed.World.in_process(4) as world:
        distribution = ed.Distribution(text, "lmn")
        for array in (whole, np.load(tmp_path / "whole.npy", mmap_mode="r"), whole.tolist()):
            tensor = ed.DistTensor.from_array(world, array, distribution)
            assert tensor.dtype == "float64" and np.array_equal(tensor.gather(), whole)
        wide = ed.DistTensor.from_array(world, whole, distribution, "complex64")
        assert wide.dtype == "complex64" and np.allclose(wide.gather(), whole)
        with pytest.raises(TypeError):
            ed.DistTensor.from_array(world, whole * 1j, distribution, "float64")
        with pytest.raises(ValueError, match="int64"):
            ed.DistTensor.from_array(world, np.arange(6).reshape(1, 2, 3), distribution)
