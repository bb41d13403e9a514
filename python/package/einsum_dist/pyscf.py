"""Lets PySCF contract with this library.

PySCF's modules call `pyscf.lib.einsum`, and many keep a reference to it. `pyscf.lib.einsum` contracts each pair of operands
with `pyscf.lib.numpy_helper.contract`. :func:`patched` replaces the latter function, and so affects all these modules.

>>> from pyscf import gto, scf, cc
>>> import einsum_dist.pyscf
>>> molecule = gto.M(atom="H 0 0 0; F 0 0 1.1", basis="6-31g", verbose=0)
>>> mean_field = scf.RHF(molecule).run()
>>> with einsum_dist.pyscf.patched():
...     energy = cc.rccsd.RCCSD(mean_field).run().e_corr
>>> bool(abs(energy - cc.rccsd.RCCSD(mean_field).run().e_corr) < 1e-9)
True
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ._normalize import DTYPES
from ._normalize import contract as _contract

# PySCF itself passes smaller operands to NumPy, whose calls are quicker.
_SMALL = 500


@contextlib.contextmanager
def patched() -> Iterator[None]:
    """Let PySCF contract pairs of operands with this library inside a ``with`` block.

    PySCF's own function still contracts operands of fewer than 500 elements, element types that this library does not
    contract, and calls whose ``out`` has another element type than the result.
    """
    from pyscf import lib
    from pyscf.lib import numpy_helper

    before = numpy_helper.contract, lib.contract, numpy_helper.EINSUM_BACKEND
    original = numpy_helper.contract

    def contract(subscripts, A, B, alpha=1, beta=0, out=None, **kwargs):
        A, B = np.asarray(A), np.asarray(B)
        dtype = np.result_type(A, B, alpha, beta)
        fits = out is None or out.dtype == dtype
        if dtype not in DTYPES or not fits or A.size < _SMALL or B.size < _SMALL:
            return original(subscripts, A, B, alpha=alpha, beta=beta, out=out, **kwargs)
        if np.iscomplexobj(alpha) or np.iscomplexobj(beta):
            A = A.astype(dtype, copy=False)
        return _contract(subscripts, A, B, alpha=alpha, beta=beta if out is not None else 0, out=out)

    numpy_helper.contract = lib.contract = contract
    # Other contraction libraries take whole expressions before `contract` is called.
    numpy_helper.EINSUM_BACKEND = None
    try:
        yield
    finally:
        numpy_helper.contract, lib.contract, numpy_helper.EINSUM_BACKEND = before
