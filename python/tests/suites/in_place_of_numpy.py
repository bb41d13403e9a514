"""A plugin for pytest that replaces `numpy.einsum` by ours.

    cd python/tests/suites
    PYTHONPATH=. python -m pytest -p in_place_of_numpy --pyargs numpy._core.tests.test_einsum
"""

import numpy

import einsum_dist


def pytest_configure(config):
    numpy.einsum = einsum_dist.einsum
