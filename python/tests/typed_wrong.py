"""Calls that mypy must reject, in every line that says so (test_types.py); it is not run."""

import numpy as np

import einsum_dist as ed

a, b = np.ones((2, 3)), np.ones((3, 4))
ed.einsum("ij,jk->ik", a, b, order="Q")  # wrong
ed.contract("ij,jk->ik", a, b, out=3)  # wrong
ed.plan(3, a, b)  # wrong
ed.plan("ij,jk->ik", a, b, memory_limit="1 GiB")  # wrong
ed.set_num_threads("2")  # wrong
number: int = ed.plan("ij,jk->ik", a, b).explain()  # wrong
ed.DistTensor.zeros(2, (2, 3), ed.Distribution("m:2", "mn"))  # wrong
