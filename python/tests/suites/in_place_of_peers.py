"""A plugin for pytest that runs the test suites of opt_einsum, cotengra and quimb with our functions.

    cd python/tests/suites
    PYTHONPATH=. python -m pytest -p in_place_of_peers --pyargs opt_einsum.tests
    cd cotengra-VERSION     # the unpacked source distribution, which contains the tests
    PYTHONPATH=.../python/tests/suites python -m pytest -p in_place_of_peers tests
    cd quimb-VERSION
    PYTHONPATH=.../python/tests/suites python -m pytest -p in_place_of_peers tests/test_tensor

`einsum`, `tensordot` and `transpose` are replaced for NumPy arrays and for PyTorch tensors, wherever these libraries look them up:
in opt_einsum's table of backends, in autoray, which cotengra and quimb use, and in cotengra's own implementation. quimb contracts
NumPy arrays with the backend `einsum_dist`. Arrays of other libraries are left to the replaced functions.

At the end, it prints how often each function was called, and how many calls of `einsum` NumPy computed for us.
"""

import collections
import functools
import importlib

import numpy as np

import einsum_dist
from einsum_dist import _normalize

try:
    import torch

    import einsum_dist.torch
except ImportError:
    torch = None

CALLS = collections.Counter()
NAMES = ("einsum", "tensordot", "transpose")


def counted(label, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        CALLS[label] += 1
        return function(*args, **kwargs)

    return call


OURS = {name: counted(name, getattr(einsum_dist, name)) for name in NAMES}
TORCH = {name: counted("torch." + name, getattr(einsum_dist.torch, name)) for name in NAMES} if torch else {}


def dispatched(name, original):
    """Our function for NumPy arrays and PyTorch tensors, and the original one for other arrays."""

    def call(*args, **kwargs):
        arrays = [arg for arg in args[1 if name == "einsum" else 0 : None if name == "einsum" else 2] if arg is not None]
        if torch and any(isinstance(array, torch.Tensor) for array in arrays):
            ours = TORCH[name]
        elif all(isinstance(array, (np.ndarray, np.generic, int, float, complex)) for array in arrays):
            ours = OURS[name]
        else:
            return original(*args, **kwargs)
        kwargs.pop("backend", None)
        return ours(*args, **kwargs)

    return call


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def pytest_configure(config):
    _normalize._numpy_einsum = counted("computed by NumPy", _normalize._numpy_einsum)
    # cotengra registers its optimizers with opt_einsum when it is imported, and some tests of opt_einsum fail with them.
    others = not any("opt_einsum" in str(arg) for arg in config.args)
    opt_einsum = module("opt_einsum.backends.dispatch")
    autoray, cotengra, quimb = (others and module(name) for name in ("autoray", "cotengra.contract", "quimb.tensor.contraction"))
    for backend, functions in (("numpy", OURS), ("torch", TORCH)):
        for name, function in functions.items():
            if opt_einsum:
                opt_einsum._cached_funcs[name, backend] = function
            if autoray:
                autoray.register_function(backend, name, function)
    if cotengra:
        for name in ("einsum", "tensordot"):
            setattr(cotengra, name, dispatched(name, getattr(cotengra, name)))
    if quimb:
        for name, function in OURS.items():
            setattr(einsum_dist, name, function)
        contract = quimb.array_contract

        @functools.wraps(contract)
        def array_contract(arrays, *args, backend=None, **kwargs):
            arrays = tuple(arrays)
            if backend is None and quimb.get_contract_backend() is None and all(isinstance(array, np.ndarray) for array in arrays):
                backend = "einsum_dist"
                CALLS["quimb's array_contract"] += 1
            return contract(arrays, *args, backend=backend, **kwargs)

        quimb.array_contract = importlib.import_module("quimb.tensor.tensor_core").array_contract = array_contract


def pytest_unconfigure(config):
    print("calls:", dict(CALLS))
