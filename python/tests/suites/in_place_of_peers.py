"""A plugin for pytest that runs the test suites of opt_einsum, cotengra and quimb with our functions.

    cd python/tests/suites
    PYTHONPATH=. python -m pytest -p in_place_of_peers --pyargs opt_einsum.tests
    cd cotengra-VERSION     # the unpacked source distribution, which contains the tests
    PYTHONPATH=.../python/tests/suites python -m pytest -p in_place_of_peers tests

At the end, it prints how often each function was called.
"""

import collections

import einsum_dist

CALLS = collections.Counter()


def counted(name):
    function = getattr(einsum_dist, name)

    def call(*args, **kwargs):
        CALLS[name] += 1
        return function(*args, **kwargs)

    return call


def pytest_configure(config):
    functions = {name: counted(name) for name in ("einsum", "tensordot", "transpose")}
    try:
        import opt_einsum.backends.dispatch
    except ImportError:
        pass
    else:
        for name, function in functions.items():
            opt_einsum.backends.dispatch._cached_funcs[name, "numpy"] = function
    try:
        import cotengra.contract
    except ImportError:
        pass
    else:
        cotengra.contract.set_default_implementation((functions["einsum"], functions["tensordot"]))
    try:
        import quimb.tensor
    except ImportError:
        pass
    else:
        for name, function in functions.items():
            setattr(einsum_dist, name, function)
        quimb.tensor.set_contract_backend("einsum_dist")


def pytest_unconfigure(config):
    print("calls:", dict(CALLS))
