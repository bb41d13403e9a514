"""Calls from several Python threads, after a fork, and beside other libraries with threads."""

import concurrent.futures
import gc
import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import einsum_dist as ed

RNG = np.random.default_rng(1)
A, B = RNG.random((150, 80)), RNG.random((80, 120))
LARGE = RNG.random((400, 400))


def contracted(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        m, n, k = (int(extent) for extent in rng.integers(1, 200, 3))
        a, b = rng.random((m, k)), rng.random((k, n))
        if not np.allclose(ed.einsum("mk,kn->mn", a, b), a @ b):
            return False
    return True


def test_python_threads_at_once():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(contracted, range(32)))


def test_threads_share_a_program():
    program = ed.plan("ij,jk,kl->il", A, B, (120, 60), dtype="f8").compile()

    def call(seed):
        c = np.random.default_rng(seed).random((120, 60))
        return np.allclose(program(A, B, c), A @ B @ c)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(64)))


def test_the_gil_is_released():
    """While one thread contracts, another thread runs Python code."""
    done = False
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        big = RNG.random((1200, 1200))
        ed.einsum("ij,jk->ik", big, big)
        future = pool.submit(lambda: [ed.einsum("ij,jk->ik", big, big) for _ in range(5)])
        steps = 0
        while not future.done():
            steps += 1
        done = future.result() is not None
    assert done and steps > 100


def test_number_of_threads():
    before = ed.get_num_threads()
    with ed.num_threads(3):
        assert ed.get_num_threads() == 3
        assert np.allclose(ed.einsum("ij,jk->ik", LARGE, LARGE), LARGE @ LARGE)
        with pytest.raises(ZeroDivisionError), ed.num_threads(2):
            1 / 0
        assert ed.get_num_threads() == 3
    assert ed.get_num_threads() == before
    for name in ("EINSUM_DIST_NUM_THREADS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS"):
        others = {key: value for key, value in os.environ.items() if not key.endswith("NUM_THREADS")}
        command = [sys.executable, "-c", "import einsum_dist; print(einsum_dist.get_num_threads())"]
        assert subprocess.check_output(command, env={**others, name: "5"}, text=True).strip() == "5"


def test_threadpoolctl():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    infos = [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "einsum_dist"]
    assert len(infos) == 1 and infos[0]["num_threads"] == ed.get_num_threads()
    with threadpoolctl.threadpool_limits(limits=1):
        assert ed.get_num_threads() == 1
    assert ed.get_num_threads() == infos[0]["num_threads"]


def in_child(program):
    small = np.allclose(ed.einsum("ij,jk->ik", A, B), A @ B)
    large = np.allclose(ed.einsum("ij,jk->ik", LARGE, LARGE), LARGE @ LARGE)
    compiled = all(np.allclose(p(LARGE, LARGE), LARGE @ LARGE) for p in program)
    return small and large and compiled


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_contracts():
    """The child has no workers of its parent's pools, and must not wait for them."""
    plans = [ed.plan("ij,jk->ik", LARGE, LARGE, ranks=ranks, threads=2) for ranks in (1, 3)]
    programs = [plan.compile() for plan in plans]
    with ed.num_threads(3):
        assert in_child(programs)
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            assert pool.apply_async(in_child, (programs[:0],)).get(timeout=60)
        child = os.fork()
        if child == 0:
            # Programs that the parent has compiled work in the child, also those with ranks.
            os._exit(0 if in_child(programs) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert in_child(programs)


def test_spawned_processes_contract():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(in_child, []).result(timeout=120)


def test_results_outlive_their_program():
    program = ed.plan("ij,jk->ik", A, B).compile()
    result = program(A, B)
    plan = program.plan
    del program
    gc.collect()
    assert np.allclose(result, A @ B) and plan.output_shape == (150, 120)


def test_a_finalizer_may_contract():
    """Python code that runs while an array is allocated may contract as well."""

    class Contracts:
        def __init__(self):
            self.me = self

        def __del__(self):
            assert ed.einsum("ij,jk->ik", A, B).shape == (150, 120)

    for _ in range(2000):
        Contracts()
        ed.einsum("ij,jk->ik", A[:2, :3], B[:3, :2])
    gc.collect()
