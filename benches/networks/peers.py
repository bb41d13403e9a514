"""Runs cotengra in a process of its own, with a pool of worker processes: `Peers` asks, `python peers.py serve THREADS` answers.

A search of cotengra checks its time only between trials, and a trial can take minutes. So the process that asks gives up after
a limit, and then ends this process and its pool. Imports, the start of the pool and the first call of each configuration are not
part of any measured time: a small network is searched and contracted first.
"""

import importlib.metadata
import importlib.util
import json
import math
import os
import select
import signal
import statistics
import subprocess
import sys
import time

from network import multiply_adds, read

PACKAGES = ("cotengra", "cotengrust", "kahypar", "optuna", "cmaes", "numpy", "torch", "quimb")
MISSING = "(not installed)"
START_SECONDS = 600
# After an answer, the pool may still be busy with trials that the search no longer waits for.
IDLE_SECONDS = 5
# A tree is found in the budget if the search, or for cotengra the trial, ends after at most this many times the budget.
TOLERANCE = 1.1
# Elements of the largest intermediate, for searches with slices.
SLICED_ELEMENTS = 2**26
# For contractions: elements of the largest intermediate (slices beyond it), and multiply-adds.
RUN_ELEMENTS = 2**28
RUN_MULTIPLY_ADDS = 10**12
# Contractions that take less are repeated.
SHORT_SECONDS, ROUNDS = 2.0, 5

RANDOM_GREEDY = "random-greedy"
TARGET = {"target_size": SLICED_ELEMENTS}
# Arguments of HyperOptimizer, for searches without and with slices. By default, the methods are greedy and kahypar, and the only
# refinement is subtree reconfiguration.
CONFIGURATIONS = {
    False: {
        "default": {},
        "kahypar": {"methods": ["kahypar"], "reconf_opts": {}},
        "annealing": {"simulated_annealing_opts": {}},
        RANDOM_GREEDY: None,
    },
    True: {
        "slice, reconf": {"slicing_opts": TARGET, "reconf_opts": {}},
        "slice-reconf": {"slicing_reconf_opts": TARGET},
        "annealing": {"simulated_annealing_opts": TARGET},
    },
}


def installed(package):
    return importlib.util.find_spec(package) is not None


def versions():
    """Name and version of each peer."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = MISSING
    return found


def configurations(sliced):
    """The configurations that the installed packages permit."""
    needs = {"kahypar": "kahypar", RANDOM_GREEDY: "cotengrust"}
    return [name for name in CONFIGURATIONS[sliced] if name not in needs or installed(needs[name])]


class Peers:
    """Asks the process of cotengra, which is started when it is needed."""

    def __init__(self, threads):
        self.threads = threads
        self.process = None
        missing = [package for package, version in versions().items() if version == MISSING]
        if missing:
            print(f"not installed, so rows that need them are left out: {', '.join(missing)}", file=sys.stderr)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "COTENGRA_NUM_WORKERS")
        self.process = subprocess.Popen(
            [sys.executable, __file__, "serve", str(self.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(names, str(self.threads))},
            start_new_session=True,
        )
        if self.answer(START_SECONDS) != "ready":
            raise SystemExit("cotengra's process did not start")

    def stop(self):
        if self.process is not None:
            # The pool is in the same process group.
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def ask(self, job, seconds):
        """Returns the answer, or a dict with `note` if there is none after `seconds`."""
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(job).encode() + b"\n")
        self.process.stdin.flush()
        answer = self.answer(seconds)
        if answer is None or self.answer(IDLE_SECONDS) != "idle":
            self.stop()
        return answer if answer is not None else {"note": f"no result after {seconds:g} s"}

    def answer(self, seconds):
        """The next line, or None."""
        end, text = time.monotonic() + seconds, b""
        while not text.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            # Byte by byte, because the following line is another answer.
            byte = os.read(self.process.stdout.fileno(), 1)
            if not byte:
                return None
            text += byte
        return json.loads(text)


def described(network, tree):
    """The cost of a tree of cotengra. The number of multiply-adds is checked."""
    cost = tree.total_flops(dtype=None)
    counted = multiply_adds(network, tree.get_ssa_path(), tuple(tree.sliced_inds), ssa=True)
    assert math.isclose(cost, counted, rel_tol=1e-9), f"cotengra counts {cost} multiply-adds, we count {counted}"
    log2 = {name: math.log2(value) for name, value in (("largest", tree.max_size()), ("peak", tree.peak_size()))}
    return {"multiply_adds": math.log10(cost), **log2, "slices": int(tree.multiplicity)}


def hyper_optimizer(threads, **arguments):
    """An optimizer that uses optuna if it is installed, and records when it gets which trial."""
    import cotengra

    class Recording(cotengra.HyperOptimizer):
        """Records the seconds and the trial of each improvement, of trials with at most `elements` elements."""

        def __init__(self, **arguments):
            self.start, self.improvements, self.elements = time.perf_counter(), [], math.inf
            super().__init__(**arguments)

        def _maybe_report_result(self, setting, trial):
            # Failed trials have infinite costs.
            best = self.improvements[-1][1]["flops"] if self.improvements else math.inf
            if trial["size"] <= self.elements and trial["flops"] < best:
                self.improvements.append((time.perf_counter() - self.start, trial))
            super()._maybe_report_result(setting, trial)

    if installed("optuna"):
        arguments = {"optlib": "optuna", "sampler_opts": {"seed": 0}, **arguments}
    return Recording(minimize="flops", parallel=threads, on_trial_error="ignore", **arguments)


def search(network, configuration, sliced, budget, threads):
    """Returns the best tree within the budget and the tree that the search returns, both described."""
    if configuration == RANDOM_GREEDY:
        return search_randomly(network, budget)
    arguments = CONFIGURATIONS[sliced][configuration]
    optimizer = hyper_optimizer(threads, max_repeats=10**6, max_time=budget, **arguments)
    if sliced:
        optimizer.elements = SLICED_ELEMENTS
    tree = optimizer.search(network.inputs, network.output, network.sizes)
    seconds = time.perf_counter() - optimizer.start
    answer = {"returned": described(network, tree), "seconds": seconds, "trials": len(optimizer.scores)}
    within = [(found, trial) for found, trial in optimizer.improvements if found <= TOLERANCE * budget]
    if within:
        found, trial = within[-1]
        answer.update(within=described(network, trial["tree"]), found_seconds=found)
    return answer


def search_randomly(network, budget):
    """Calls cotengra's optimizer without hyper-parameters again and again, until the budget is used."""
    import cotengra

    start = time.perf_counter()
    optimizer = cotengra.RandomGreedyOptimizer(seed=0, parallel="threads")
    best, within, repeats, trials, seconds = math.inf, None, 4, 0, 0.0
    while seconds < budget:
        optimizer.max_repeats = repeats
        path = optimizer.ssa_path(network.inputs, network.output, network.sizes)
        took, seconds = time.perf_counter() - start - seconds, time.perf_counter() - start
        trials += repeats
        if optimizer.best_flops < best:
            best = optimizer.best_flops
            within = (seconds, path) if seconds <= TOLERANCE * budget else within
        # Calls become longer, but the last one should end at the end of the budget.
        repeats = max(2, min(16 * repeats, int(0.9 * repeats * (budget - seconds) / took)))
    answer = {"seconds": seconds, "trials": trials}
    for name, path in [("returned", optimizer.best_ssa_path)] + ([("within", within[1])] if within else []):
        tree = cotengra.ContractionTree.from_path(network.inputs, network.output, network.sizes, ssa_path=path)
        answer[name] = described(network, tree)
    if within:
        answer["found_seconds"] = within[0]
    return answer


def contract(network, budget, files, result, threads):
    """Searches a tree and contracts it by NumPy and by torch. The result of NumPy is written to the file `result`.

    Without a budget, the search is that of the preset "auto".
    """
    import cotengra
    import numpy as np

    start = time.perf_counter()
    arguments = network.inputs, network.output, network.sizes
    if budget:
        tree = hyper_optimizer(threads, max_time=budget).search(*arguments)
    else:
        tree = cotengra.array_contract_tree(*arguments, optimize="auto", canonicalize=False)
    if tree.max_size() > RUN_ELEMENTS:
        tree = tree.slice(target_size=RUN_ELEMENTS)
    seconds = time.perf_counter() - start
    answer = {"returned": described(network, tree), "seconds": seconds, "runs": {}}
    if tree.total_flops(dtype=None) > RUN_MULTIPLY_ADDS:
        return {**answer, "note": f"not contracted: more than {RUN_MULTIPLY_ADDS:g} multiply-adds"}
    arrays = [np.load(file) for file in files]
    answer["runs"]["NumPy"], value = timed(tree, arrays)
    np.save(result, value)
    if installed("torch"):
        import torch

        answer["runs"]["torch"], value = timed(tree, [torch.from_numpy(array) for array in arrays])
    return answer


def timed(tree, arrays):
    """Seconds of the first contraction and the median, and the result."""
    # A copy shares no compiled contraction with the tree.
    tree, times = tree.copy(), []
    while not times or (len(times) < ROUNDS and times[0] < SHORT_SECONDS):
        start = time.perf_counter()
        value = tree.contract(arrays)
        times.append(time.perf_counter() - start)
    return {"first": times[0], "median": statistics.median(times), "rounds": len(times)}, value


def worker_id():
    """Imports everything that a trial needs. The rest lets the other workers get their call."""
    import cotengra.pathfinders.path_simulated_annealing  # noqa: F401

    if installed("kahypar"):
        import cotengra.pathfinders.path_kahypar  # noqa: F401
        import kahypar  # noqa: F401
    time.sleep(0.03)
    return os.getpid()


def wait_for_workers(threads):
    """Returns when all worker processes are started and idle."""
    from cotengra.parallel import get_pool, submit

    seen = set()
    while len(seen) < threads:
        seen |= {call.result() for call in [submit(get_pool(threads), worker_id) for _ in range(threads)]}


def warm_up(threads):
    import cotengra
    import numpy as np
    from network import Network

    inputs, output, shapes, sizes = cotengra.utils.rand_equation(20, 3, seed=1)
    network = Network("warm-up", inputs, output, sizes, "float32")
    for sliced in CONFIGURATIONS:
        for configuration in configurations(sliced):
            search(network, configuration, sliced, 0.2, threads)
            wait_for_workers(threads)
    # The preset "auto" searches small networks in another way.
    large_inputs, large_output, _, large_sizes = cotengra.utils.rand_equation(60, 3, seed=1)
    cotengra.array_contract_tree(large_inputs, large_output, large_sizes, optimize="auto")
    tree = cotengra.array_contract_tree(inputs, output, sizes, optimize="auto")
    arrays = [np.ones(shape, "float32") for shape in shapes]
    tree.contract(arrays)
    if installed("torch"):
        import torch

        torch.set_num_threads(threads)
        tree.contract([torch.from_numpy(array) for array in arrays])


def serve(threads):
    # Libraries that print do not disturb the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    wait_for_workers(threads)
    warm_up(threads)
    answers.write('"ready"\n')
    for line in sys.stdin:
        job = json.loads(line)
        function = {"search": search, "contract": contract}[job.pop("call")]
        # Workers end when they have been idle for some seconds.
        wait_for_workers(threads)
        try:
            answer = function(read(job.pop("file")), threads=threads, **job)
        except Exception as error:  # noqa: BLE001
            answer = {"note": f"{type(error).__name__}: {error}"[:200]}
        answers.write(json.dumps(answer) + "\n")
        wait_for_workers(threads)
        answers.write('"idle"\n')


if __name__ == "__main__":
    assert sys.argv[1:2] == ["serve"], __doc__
    serve(int(sys.argv[2]))
