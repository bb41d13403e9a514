"""Sets the number of threads for a block of code."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import SupportsIndex

from ._einsum_dist import get_num_threads, set_num_threads


@contextlib.contextmanager
def num_threads(threads: SupportsIndex) -> Iterator[None]:
    """Set the number of threads inside a ``with`` block, for contractions in all Python threads of the process.

    >>> import einsum_dist as ed
    >>> with ed.num_threads(1):
    ...     ed.get_num_threads()
    1
    """
    before = get_num_threads()
    set_num_threads(threads)
    try:
        yield
    finally:
        set_num_threads(before)
