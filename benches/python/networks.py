"""Tensor networks, with one path for all libraries: python benches/python/networks.py [FILE.json ...]

A file contains `name`, `expression`, `sizes` (label to extent) and `dtype`. Without files, the networks are drawn at random by
cotengra. Its search finds one tree; which one also depends on the speed of the machine. cotengra contracts this tree pair by pair
with NumPy, with PyTorch and with `einsum_dist`, and `einsum_dist.cotengra.Contractor` contracts it as a whole. Each network
runs in a process of its own, so that the first call counts too.
"""

import json
import pathlib
import subprocess
import sys

import cotengra
import numpy as np
import opt_einsum
import torch
from timing import compare, same_threads

import einsum_dist as ed
import einsum_dist.cotengra

SEARCH_SECONDS = 20
# Elements of the largest intermediate: 2 GiB in double precision.
MAX_ELEMENTS = 2**28


def random_networks():
    for name, (inputs, output, _, sizes) in {
        "random, 60 tensors": cotengra.utils.rand_equation(60, 3, seed=1, d_min=2, d_max=4),
        "lattice 8 x 8": cotengra.utils.lattice_equation([8, 8], d_min=3, d_max=3, seed=1),
        "lattice 4 x 4 x 4": cotengra.utils.lattice_equation([4, 4, 4], d_min=2, d_max=2, seed=1),
        "regular graph, 80 tensors": cotengra.utils.randreg_equation(80, 3, d_min=2, d_max=2, seed=1),
        "tree, 100 tensors": cotengra.utils.tree_equation(100, d_min=4, d_max=8, seed=1),
    }.items():
        expression = ",".join("".join(term) for term in inputs) + "->" + "".join(output)
        yield {"name": name, "expression": expression, "sizes": sizes, "dtype": "float64"}


def measure(network):
    inputs, _, output = network["expression"].partition("->")
    inputs = [tuple(term) for term in inputs.split(",")]
    search = cotengra.HyperOptimizer(methods=["greedy"], max_time=SEARCH_SECONDS, parallel=False, progbar=False, seed=0)
    tree = cotengra.array_contract_tree(inputs, tuple(output), network["sizes"], optimize=search)
    if tree.max_size() > MAX_ELEMENTS:
        tree = tree.slice(target_size=MAX_ELEMENTS)
    rng = np.random.default_rng(0)
    dtype = np.dtype(network["dtype"])
    arrays = [rng.standard_normal(shape) for shape in tree.get_shapes()]
    if dtype.kind == "c":
        arrays = [array * np.exp(2j * np.pi * rng.random(array.shape)) for array in arrays]
    # Sums over d products of random numbers grow by a factor of d**0.5; each index is in two tensors.
    arrays = [(array * array.size**-0.25).astype(dtype) for array in arrays]
    tensors = [torch.from_numpy(array) for array in arrays]
    same_threads()
    contractor = ed.cotengra.Contractor(tree)
    functions = {
        "einsum-dist": lambda: contractor(*arrays),
        "cotengra, einsum-dist": lambda: tree.contract(arrays, implementation=ed.cotengra.implementation),
        "cotengra, NumPy": lambda: tree.contract(arrays),
        "cotengra, torch": lambda: tree.contract(tensors),
    }
    # opt_einsum has no slices.
    if tree.nslices == 1:
        path = tree.get_path()
        letters = {label: opt_einsum.get_symbol(number) for number, label in enumerate(network["sizes"])}
        terms = ["".join(letters[label] for label in term) for term in (*inputs, tuple(output))]
        expression = ",".join(terms[:-1]) + "->" + terms[-1]
        functions["opt_einsum"] = lambda: opt_einsum.contract(expression, *arrays, optimize=path)
    rtol = 1e-3 if dtype.name in ("float32", "complex64") else 1e-8
    compare("networks", network["name"], functions, seconds=10, rounds=(3, 100), rtol=rtol)


def main():
    if sys.argv[1:2] == ["--one"]:
        measure(json.load(sys.stdin))
        return
    files = sys.argv[1:]
    networks = [json.loads(pathlib.Path(file).read_text()) for file in files] if files else random_networks()
    for network in networks:
        subprocess.run([sys.executable, __file__, "--one"], input=json.dumps(network), text=True, check=True)


if __name__ == "__main__":
    main()
