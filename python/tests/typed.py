"""A program that mypy checks (test_types.py); it is not run."""

import os

import numpy as np

import einsum_dist as ed

a, b = np.ones((2, 3)), np.ones((3, 4))
c: np.ndarray = ed.einsum("ij,jk->ik", a, b)
ed.einsum("ij,jk->ik", a, [[1.0]], out=c, optimize=True, order="F")
ed.contract("ij,jk->ik", a, b, alpha=2, beta=1j, out=c, conj=[True, False])
ed.contract("ij,jk->ik", a, b, conj=(0,))
ed.einsum("ij,jk->ik", a, b, order="c", optimize=None)
ed.einsum("ij,jk->ik", a, b, order=None)
ed.contract("ij,jk->ik", a, b, alpha=np.float32(2), beta=np.complex128(0), conj=np.array([True, False]))
ed.contract("ij,jk->ik", a, b, alpha=np.int64(2), conj=[np.True_, False])
ed.contract("ij,jk->ik", a, b, conj={np.int64(0)})
mantissa, exponent = ed.contract("ij,jk->ik", a, b, strip_exponent=True)
ed.tensordot(a, b, axes=([1], [0]))
ed.tensordot(a, b, axes=[[1], [0]])
ed.tensordot(a, b, axes=([1], (0,)))
ed.tensordot(a, b, axes=[1, (0,)])
ed.tensordot(a, b, axes=np.int64(1))
ed.tensordot(a, b, axes=np.array([[1], [0]]))
ed.tensordot(a, b, axes=(np.array([1]), range(1)))
plan: ed.Plan = ed.plan("ij,jk->ik", a, (3, 4), dtype="f4", path=[(0, 1)], memory_limit=2**30, conj=[0])
ed.plan("ij,jk->ik", a, b, memory_limit=np.int64(2**30), ranks=np.int64(2), threads=np.int64(1), path_seconds=np.float32(1))
ed.plan("ij,jk->ik", a, b, constant=np.array([0]), conj=np.array([1]), path=None)
text: str = plan.explain()
steps: list[tuple[int, int]] = plan.path
program: ed.Program = plan.compile()
program(a, b, out=c, alpha=2)
program(a, b, strip_exponent=True)
program(a, b, out=c, alpha=np.float64(2), beta=np.complex64(1))
ed.set_num_threads(np.int64(1))
with ed.num_threads(2):
    threads: int = ed.get_num_threads()
with ed.World.in_process(2, timeout=60, overlap=False) as world:
    split = plan.operand_distribution(0)
    tensor = ed.DistTensor.zeros(world, (2, 3), split, dtype=np.complex64)
    for where, block in tensor.local:
        block[...] = len(where)
    whole: np.ndarray = ed.DistTensor.from_array(world, a, split, np.complex64).gather()
    tensor.write_npy(os.devnull)
    result: ed.DistTensor = world.compile(plan).run(tensor, tensor, alpha=np.float32(2))
    rows = ed.Distribution("m:2", ["m", "n"])
    ed.DistTensor.zeros(world, np.array([2, 3]), rows)
    ed.DistTensor.from_local(world, (np.int64(2), 3), ed.Distribution("m:2", ("m", "n")), np.ones((2, 1, 3)))
