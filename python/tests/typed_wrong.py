"""Calls that mypy must reject, in every line that says so (test_types.py); it is not run."""

import numpy as np

import einsum_dist as ed

a, b = np.ones((2, 3)), np.ones((3, 4))
ed.einsum("ij,jk->ik", a, b, order="Q")  # wrong
ed.einsum("ij,jk->ik", a, b, casting="SAFE")  # wrong
ed.contract("ij,jk->ik", a, b, out=3)  # wrong
ed.contract("ij,jk->ik", a, b, alpha="2")  # wrong
ed.contract("ij,jk->ik", a, b, beta=None)  # wrong
ed.contract("ij,jk->ik", a, b, conj=0)  # wrong
ed.contract("ij,jk->ik", a, b, conj=[0.0])  # wrong
ed.contract("ij,jk->ik", a, b, conj="0")  # wrong
ed.tensordot(a, b, axes=1.0)  # wrong
ed.tensordot(a, b, axes="10")  # wrong
ed.tensordot(a, b, axes=([1.0], [0.0]))  # wrong
ed.tensordot(a, b, axes=({1}, {0}))  # wrong
ed.plan(3, a, b)  # wrong
ed.plan("ij,jk->ik", a, b, memory_limit="1 GiB")  # wrong
ed.plan("ij,jk->ik", a, b, memory_limit=2.0**30)  # wrong
ed.plan("ij,jk->ik", a, b, ranks=2.0)  # wrong
ed.plan("ij,jk->ik", a, b, path_seconds="1")  # wrong
ed.plan("ij,jk->ik", a, b, constant=[0.0])  # wrong
ed.plan("ij,jk->ik", a, b).compile()(a, b, alpha="2")  # wrong
ed.set_num_threads("2")  # wrong
number: int = ed.plan("ij,jk->ik", a, b).explain()  # wrong
ed.DistTensor.zeros(2, (2, 3), ed.Distribution("m:2", "mn"))  # wrong
ed.Distribution("m:2", {"m", "n"})  # wrong
ed.Distribution("m:2", (name for name in "mn"))  # wrong
ed.Distribution("m:2", {"m": 1, "n": 2})  # wrong
with ed.World.in_process(2) as world:
    rows = ed.Distribution("m:2", "mn")
    tensor = ed.DistTensor.zeros(world, (2, 3), rows)
    where: tuple[slice, ...] = tensor.local[0][0]  # wrong
    ed.DistTensor.zeros(world, iter((2, 3)), rows)  # wrong
    ed.DistTensor.from_local(world, (2, 3), rows, iter([a]))  # wrong
