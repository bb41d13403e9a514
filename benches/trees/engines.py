"""Other libraries, one in a process of its own: python engines.py ENGINE FILE.cfg OPERANDS.npz THREADS SECONDS

Contracts a tree a first time and then again for some seconds. The operands are in memory before, and imports are not measured.
Prints a JSON object: the seconds of `prepare`, of the `first` run and of the later runs (`warm`), the `norm` and some
elements of the result, and the `version`. Whatever a library prepares in its first run is a part of that run.
"""

import importlib
import importlib.metadata
import json
import math
import sys
import time

import numpy as np
from tree import read

# Runs after the first.
MOST = 1000
SAMPLES = 50


def versions(*packages):
    return ", ".join(f"{package} {importlib.metadata.version(package)}" for package in packages)


# opt_einsum and cotengra choose the order of the intermediates' dimensions, and a library that contracts pairs.


def opt_einsum_call(tree, operands):
    import opt_einsum

    terms = [opt_einsum_term(labels) for labels in (*tree.inputs, tree.root.labels)]
    expression = ",".join(terms[:-1]) + "->" + terms[-1]
    path = opt_einsum.paths.ssa_to_linear(tree.ssa_path)
    return lambda: opt_einsum.contract(expression, *operands, optimize=path)


def opt_einsum_term(labels):
    import opt_einsum

    return "".join(map(opt_einsum.get_symbol, labels))


def cotengra_call(tree, operands):
    import cotengra

    # It joins names of dimensions, so they are letters.
    inputs, output = [opt_einsum_term(labels) for labels in tree.inputs], opt_einsum_term(tree.root.labels)
    sizes = {opt_einsum_term([label]): extent for label, extent in tree.sizes.items()}
    found = cotengra.ContractionTree.from_path(inputs, output, sizes, ssa_path=tree.ssa_path)
    return lambda: found.contract(operands)


def etops_call(tree, operands):
    from etops_tree import EtopsTree

    return EtopsTree(tree, operands)


def torch_tensors(operands, threads):
    import torch

    torch.set_num_threads(threads)
    return [torch.from_numpy(operand) for operand in operands]


def numpy_arrays(operands, _):
    return operands


# Name to the packages whose versions are named, the operands of the library, and a function that makes the call.
ENGINES = {
    "torch": (("torch", "opt_einsum"), torch_tensors, opt_einsum_call),
    "NumPy": (("numpy", "opt_einsum"), numpy_arrays, opt_einsum_call),
    "cotengra torch": (("torch", "cotengra", "opt_einsum"), torch_tensors, cotengra_call),
    "cotengra NumPy": (("numpy", "cotengra", "opt_einsum"), numpy_arrays, cotengra_call),
    "etops": (("etops",), numpy_arrays, etops_call),
}


def timed(call):
    """The seconds of a call, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def norm(result):
    parts = np.array_split(result.reshape(-1), max(1, result.size >> 20))
    return math.sqrt(sum(float(np.sum(np.square(part, dtype=np.float64))) for part in parts))


def sample(result):
    """Some elements, in the order of memory of the output."""
    places = np.linspace(0, result.size - 1, SAMPLES).astype(np.int64)
    return result.reshape(-1)[places].tolist()


def measure(engine, file, operands, threads, seconds):
    packages, make_operands, make_call = ENGINES[engine]
    version = versions(*packages)
    for package in packages:
        importlib.import_module(package)
    tree = read(file)
    with np.load(operands) as arrays:
        operands = make_operands([arrays[name] for name in arrays], threads)
    prepare, call = timed(lambda: make_call(tree, operands))
    first, result = timed(call)
    result = np.ascontiguousarray(np.asarray(result))
    answer = {"version": version, "prepare": prepare, "first": first, "norm": norm(result), "sample": sample(result)}
    del result
    warm, spent = [], 0.0
    while spent < seconds and len(warm) < MOST:
        warm.append(timed(call)[0])
        spent += warm[-1]
    return {**answer, "warm": warm}


def main():
    engine, file, operands, threads, seconds = sys.argv[1:]
    try:
        answer = measure(engine, file, operands, int(threads), float(seconds))
    except Exception as error:  # noqa: BLE001
        answer = {"note": f"{type(error).__name__}: {error}"[:200]}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
