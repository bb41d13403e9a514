"""A program that mypy checks (test_types.py); it is not run."""

import os

import numpy as np

import einsum_dist as ed

a, b = np.ones((2, 3)), np.ones((3, 4))
c: np.ndarray = ed.einsum("ij,jk->ik", a, b)
ed.einsum("ij,jk->ik", a, [[1.0]], out=c, optimize=True, order="F")
ed.contract("ij,jk->ik", a, b, alpha=2, beta=1j, out=c, conj=[True, False])
ed.contract("ij,jk->ik", a, b, conj=(0,))
ed.tensordot(a, b, axes=([1], [0]))
plan: ed.Plan = ed.plan("ij,jk->ik", a, (3, 4), dtype="f4", path=[(0, 1)], memory_limit=2**30, conj=[0])
text: str = plan.explain()
steps: list[tuple[int, int]] = plan.path
program: ed.Program = plan.compile()
program(a, b, out=c, alpha=2)
with ed.num_threads(2):
    threads: int = ed.get_num_threads()
with ed.World.in_process(2) as world:
    split = plan.operand_distribution(0)
    tensor = ed.DistTensor.zeros(world, (2, 3), split, dtype=np.complex64)
    for where, block in tensor.local:
        block[...] = len(where)
    whole: np.ndarray = tensor.gather()
    tensor.write_npy(os.devnull)
    result: ed.DistTensor = world.compile(plan).run(tensor, tensor)
