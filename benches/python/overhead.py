"""Measures the time of a call with small operands, which need no time to speak of: python benches/python/overhead.py

All functions are called in turn, and the minimum over several rounds is printed, in microseconds.
"""

import statistics
import timeit

import numpy as np
import torch

import einsum_dist as ed
import einsum_dist.torch

ROUNDS, CALLS = 9, 20_000


def main():
    rng = np.random.default_rng(0)
    for extent in (2, 4, 8, 16):
        a, b, out = rng.random((extent, extent)), rng.random((extent, extent)), np.empty((extent, extent))
        tensors = torch.from_numpy(a), torch.from_numpy(b)
        program = ed.plan("mk,kn->mn", a, b).compile()
        functions = {
            "numpy.matmul": lambda: np.matmul(a, b),
            "numpy.einsum": lambda: np.einsum("mk,kn->mn", a, b),
            "einsum": lambda: ed.einsum("mk,kn->mn", a, b),
            "einsum, optimize=True": lambda: ed.einsum("mk,kn->mn", a, b, optimize=True),
            "einsum, out": lambda: ed.einsum("mk,kn->mn", a, b, out=out),
            "tensordot": lambda: ed.tensordot(a, b, 1),
            "numpy.tensordot": lambda: np.tensordot(a, b, 1),
            "Program": lambda: program(a, b),
            "torch.einsum": lambda: torch.einsum("mk,kn->mn", *tensors),
            "einsum_dist.torch.einsum": lambda: ed.torch.einsum("mk,kn->mn", *tensors),
        }
        times = {name: [] for name in functions}
        for _ in range(ROUNDS):
            for name, function in functions.items():
                times[name].append(timeit.timeit(function, number=CALLS) / CALLS * 1e6)
        print(f"{extent} x {extent}:", ", ".join(f"{name} {min(all):.2f}" for name, all in times.items()))
        beyond = statistics.median(ours - theirs for ours, theirs in zip(times["einsum"], times["numpy.matmul"]))
        print(f"    einsum takes {beyond:.2f} us more than numpy.matmul (median)")


if __name__ == "__main__":
    main()
