"""Does a contraction run more slowly beside libraries with thread pools of their own? python benches/python/neighbours.py

Threads of OpenMP keep their cores busy for some time after each parallel region, in case another one follows. A contraction
that starts meanwhile shares the cores with them. This file times calls after a rest, right after a call of another library,
and, as a control, right after a call of the same library, whose threads may be awake and whose operands are in the caches.
"""

import csv
import os
import statistics
import subprocess
import sys
import time

SIZES = (256, 512, 1024, 2048)
SECONDS = 12.0
ROUNDS = 9


def measure(policy):
    import numpy as np
    import torch
    from timing import REST_SECONDS, same_threads

    import einsum_dist as ed

    same_threads()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for size in SIZES:
        a, b = np.random.default_rng(0).random((2, size, size))
        tensors = torch.from_numpy(a), torch.from_numpy(b)
        functions = {
            "einsum-dist": lambda: ed.einsum("ij,jk->ik", a, b),
            "NumPy": lambda: a @ b,
            "torch": lambda: tensors[0] @ tensors[1],
        }
        times = {(name, before): [] for name in functions for before in ("nothing", *functions)}
        end, rounds = time.perf_counter() + SECONDS, 0
        while time.perf_counter() < end or rounds < ROUNDS:
            rounds += 1
            for (name, before), samples in times.items():
                time.sleep(REST_SECONDS)
                if before != "nothing":
                    functions[before]()
                start = time.perf_counter()
                functions[name]()
                samples.append(time.perf_counter() - start)
        for (name, before), samples in times.items():
            ratio = statistics.median(samples) / statistics.median(times[name, "nothing"])
            row = [policy, size, name, before, f"{statistics.median(samples) * 1e3:.4g}", f"{ratio:.3f}", rounds]
            writer.writerow(row)
        sys.stdout.flush()


def main():
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    print("OMP_WAIT_POLICY,size,library,right_after,median_ms,ratio,rounds", flush=True)
    for policy in ("", "passive"):
        environment = {**os.environ, **({"OMP_WAIT_POLICY": policy} if policy else {})}
        subprocess.run([sys.executable, __file__, policy or "unset"], env=environment, check=True)


if __name__ == "__main__":
    main()
