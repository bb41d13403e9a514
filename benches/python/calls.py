"""Single calls of einsum, beside the libraries that a user would pick instead: python benches/python/calls.py

The first two are the expression of opt_einsum's issue 234, and the third is that of its issue 157, all with sizes of ours.
"""

import numpy as np
import opt_einsum
import pytblis
import torch
from timing import compare, same_threads

import einsum_dist as ed

CASES = {
    "ijkl,jmik,jmil->jm, 20^4": ("ijkl,jmik,jmil->jm", [(20,) * 4] * 3, "c16"),
    "ijkl,jmik,jmil->jm, 50^4": ("ijkl,jmik,jmil->jm", [(50,) * 4] * 3, "c16"),
    "ipx,iqx->pq, 100 x 300 x 300": ("ipx,iqx->pq", [(100, 300, 300)] * 2, "f8"),
    "attention, 8 heads": ("bqhd,bkhd->bhqk", [(4, 256, 8, 64)] * 2, "f4"),
    "particle ladder": ("abcd,ijcd->ijab", [(40,) * 4, (12, 12, 40, 40)], "f8"),
    "ring": ("acik,kbcj->abij", [(40, 40, 12, 12), (12, 40, 40, 12)], "f8"),
    "chain": ("ij,jk,kl,lm->im", [(300, 400), (400, 500), (500, 20), (20, 600)], "f8"),
    "trace": ("abij,abij->", [(40, 40, 12, 12)] * 2, "f8"),
    "batch of 4 x 4": ("bij,bjk->bik", [(20_000, 4, 4)] * 2, "f8"),
    "batch of 4 x 4, complex": ("bij,bjk->bik", [(20_000, 4, 4)] * 2, "c16"),
}


def main():
    same_threads()
    rng = np.random.default_rng(0)
    for case, (text, shapes, dtype) in CASES.items():
        arrays = [np.asarray(rng.random(shape) - 0.5, dtype) for shape in shapes]
        if dtype[0] == "c":
            arrays = [array + np.asarray(1j * rng.random(array.shape), dtype) for array in arrays]
        tensors = [torch.from_numpy(array) for array in arrays]
        functions = {
            "einsum-dist": lambda: ed.einsum(text, *arrays),
            "NumPy": lambda: np.einsum(text, *arrays, optimize=True),
            "opt_einsum": lambda: opt_einsum.contract(text, *arrays),
            "torch": lambda: torch.einsum(text, *tensors),
            "pytblis": lambda: pytblis.einsum(text, *arrays),
        }
        compare("calls", case, functions, rtol=1e-4 if dtype in ("f4", "c8") else 1e-9)


if __name__ == "__main__":
    main()
