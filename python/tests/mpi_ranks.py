"""Contracts on the ranks of an mpi4py program: mpirun -n 3 python python/tests/mpi_ranks.py

Prints `N passed, 0 failed` on rank 0. With the argument `refuse`, mpi4py and einsum_dist have different MPI libraries,
and the program expects the error. With `silent`, rank 1 is silent for longer than the timeout.
"""

import sys
import time

import numpy as np
from mpi4py import MPI

import einsum_dist as ed

COMM = MPI.COMM_WORLD


def refuse():
    try:
        ed.World.mpi()
    except RuntimeError as error:
        text = str(error)
        assert "MPICH" in text and "Open MPI" in text, text
        return 1
    raise AssertionError("the wrong MPI was accepted")


def contract(world, dtype, expression, shapes, seed):
    rng = np.random.default_rng(seed)
    arrays = [rng.random(shape).astype(dtype) for shape in shapes]
    expected = np.einsum(expression, *arrays, optimize=True)
    plan = ed.plan(expression, *arrays, ranks=world.ranks, threads=1)
    program = world.compile(plan)
    rank = world.local_ranks.start
    operands = []
    for index, array in enumerate(arrays):
        operand = ed.DistTensor.zeros(world, array.shape, plan.operand_distribution(index), dtype)
        for where, block in operand.local:
            block[...] = array[where]
        operands.append(operand)
        copied = ed.DistTensor.from_array(world, array, plan.operand_distribution(index))
        assert all(np.array_equal(mine[1], other[1]) for mine, other in zip(copied.local, operand.local, strict=True))
    assert program.report()["seconds"] is None
    before = world.moved[0]
    result = program.run(*operands)
    # Only the planned bytes have moved, so nothing was gathered.
    assert world.moved[0] - before == plan.bytes_received(rank), (expression, world.moved, plan.bytes_received(rank))
    for where, block in result.local:
        assert np.allclose(block, expected[where], rtol=1e-4)
    assert np.allclose(result.gather(), expected, rtol=1e-4)
    assert np.allclose(program(*arrays), expected, rtol=1e-4)
    report = program.report()
    assert len(set(COMM.allgather(str(report["seconds"])))) == 1 or world.ranks < COMM.size
    assert report["gflops"] > 0 and len(report["per_rank"]) == world.ranks
    # Messages of the program and of the library do not meet.
    assert COMM.allreduce(rank) == world.ranks * (world.ranks - 1) // 2
    return 1


def wrong(world, array, **options):
    """One process has another array than the others: all raise, and none waits."""
    try:
        ed.DistTensor.from_array(world, array, ed.Distribution(f"m:{world.ranks}", "mn"), **options)
    except (ValueError, TypeError, RuntimeError):
        return 1
    raise AssertionError("different arrays were accepted")


def silent():
    world = ed.World.mpi(timeout=1)
    program = world.compile(ed.plan("mk,kn->mn", (60, 50), (50, 40), ranks=2, threads=1, algorithm="ring-mn"))
    if COMM.rank == 1:
        time.sleep(5)
    program(np.ones((60, 50)), np.ones((50, 40)))


def main():
    passed = 0
    with ed.World.mpi(timeout=60, overlap=COMM.size != 3) as world:
        assert world.ranks == COMM.size and world.local_ranks.start == COMM.rank
        cases = [
            ("mk,kn->mn", [(37, 41), (41, 29)]),
            ("bqhd,bkhd->bhqk", [(3, 11, 2, 8), (3, 13, 2, 8)]),
            ("ij,jk,kl->li", [(7, 9), (9, 6), (6, 5)]),
            ("mk,k->m", [(64, 50), (50,)]),
        ]
        for seed, (expression, shapes) in enumerate(cases):
            for dtype in ("float32", "float64", "complex64", "complex128"):
                passed += contract(world, dtype, expression, shapes, seed)
        if COMM.size > 1:
            first = COMM.rank == 0
            passed += wrong(world, np.ones((4, 5)) if first else None)
            passed += wrong(world, np.ones((4, 5 if first else 6)))
            passed += wrong(world, np.ones((4, 5)), dtype=None if first else "float32")
            passed += wrong(world, np.ones((4, 5)), dtype="float64" if first else "int8")
        # A part of the ranks, with a world of its own.
    part = COMM.Split(COMM.rank % 2)
    with ed.World.mpi(part) as world:
        assert world.ranks == part.size
        passed += contract(world, "float64", "mk,kn->mn", [(12, 10), (10, 8)], 9) if COMM.size < 2 else small(world)
    part.Free()
    try:
        ed.World.mpi("world")
        raise AssertionError("a text is no communicator")
    except TypeError:
        passed += 1
    return passed


def small(world):
    plan = ed.plan("mk,kn->mn", (12, 10), (10, 8), ranks=world.ranks, threads=1)
    ones = np.ones((12, 10)), np.ones((10, 8))
    assert np.all(world.compile(plan)(*ones) == 10)
    return 1


if __name__ == "__main__":
    if "silent" in sys.argv:
        silent()
        sys.exit("the silent rank was not noticed")
    count = refuse() if "refuse" in sys.argv else main()
    if COMM.rank == 0:
        print(f"{count} passed, 0 failed")
