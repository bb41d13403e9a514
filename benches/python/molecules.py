"""Coupled cluster of water and benzene by PySCF: python benches/python/molecules.py

The module `pyscf.cc.rccsd` does most of its work in `lib.einsum`. It runs with PySCF's own function on NumPy, with PySCF's
hook for pytblis, and with ours. The energies must agree to 1e-9. The correction (T) is C code of PySCF in all three.
"""

import numpy as np
import pyscf
import pyscf.lib
from pyscf import cc, gto, lib, scf
from timing import compare, same_threads

import einsum_dist as ed
import einsum_dist.pyscf

MOLECULES = {
    "water, cc-pVDZ": ("O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692", "cc-pvdz"),
    "benzene, 6-31G": (
        "".join(
            f"{atom} {radius * np.cos(angle)} {radius * np.sin(angle)} 0;"
            for atom, radius in (("C", 1.396), ("H", 2.483))
            for angle in np.arange(6) * np.pi / 3
        ),
        "6-31g",
    ),
}


def energies(mean_field, backend):
    """Total correlation energies of CCSD and CCSD(T)."""

    def run():
        solver = cc.rccsd.RCCSD(mean_field)
        solver.conv_tol, solver.conv_tol_normt = 1e-10, 1e-7
        solver.kernel()
        assert solver.converged
        return np.array([solver.e_corr, solver.ccsd_t()])

    if backend == "einsum-dist":
        with ed.pyscf.patched():
            return run()
    before = lib.numpy_helper.EINSUM_BACKEND
    lib.numpy_helper.EINSUM_BACKEND = backend
    try:
        return run()
    finally:
        lib.numpy_helper.EINSUM_BACKEND = before


def main():
    lib.num_threads(same_threads())
    for case, (atoms, basis) in MOLECULES.items():
        mean_field = scf.RHF(gto.M(atom=atoms, basis=basis, verbose=0)).run(conv_tol=1e-12)
        backends = {"einsum-dist": "einsum-dist", "PySCF, NumPy": "numpy", "PySCF, pytblis": "pytblis"}
        functions = {name: lambda backend=backend: energies(mean_field, backend) for name, backend in backends.items()}
        compare("molecules", case, functions, seconds=20, rounds=(3, 9), rtol=1e-9)


if __name__ == "__main__":
    main()
