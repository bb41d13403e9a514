"""Contracts einsum expressions and tensor networks on all cores of a machine.

>>> import numpy as np
>>> import einsum_dist as ed
>>> a, b = np.ones((2, 3)), np.ones((3, 4))
>>> ed.einsum("mk,kn->mn", a, b)
array([[3., 3., 3., 3.],
       [3., 3., 3., 3.]])

==============================================  ====================================================
to                                              use
==============================================  ====================================================
contract arrays                                 :func:`einsum`, :func:`tensordot`, :func:`matmul`
scale a contraction, or add it to an array      :func:`contract`
see how an expression is contracted             :func:`plan`, :meth:`Plan.explain`
contract changing arrays with one plan          :meth:`Plan.compile`
contract a cotengra tree                        :mod:`einsum_dist.cotengra`
run PySCF with this library                     :mod:`einsum_dist.pyscf`
contract PyTorch tensors, with gradients        :mod:`einsum_dist.torch`
contract on several ranks, also with mpi4py     :class:`World`, :class:`DistTensor`
set the number of threads                       :func:`set_num_threads`, :func:`num_threads`
==============================================  ====================================================
"""

import os as _os
from typing import Any as _Any

import numpy as _numpy

from ._einsum_dist import (
    DistTensor,
    Distribution,
    Plan,
    Program,
    World,
    WorldProgram,
    __version__,
    einsum,
    get_num_threads,
    set_num_threads,
)
from ._einsum_dist import after_fork_in_child as _after_fork_in_child
from ._normalize import contract
from ._plan import plan
from ._products import matmul, tensordot, transpose, vecdot
from ._threadpool import register as _register
from ._threads import num_threads

_register()

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_after_fork_in_child)

__all__ = [
    "DistTensor",
    "Distribution",
    "Plan",
    "Program",
    "World",
    "WorldProgram",
    "__version__",
    "contract",
    "einsum",
    "get_num_threads",
    "matmul",
    "num_threads",
    "plan",
    "set_num_threads",
    "tensordot",
    "transpose",
    "vecdot",
]


def __getattr__(name: str) -> _Any:
    # Libraries that look up all functions of an array in one module (quimb, autoray) find the rest of NumPy here.
    if name in _numpy.__all__:
        return getattr(_numpy, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
