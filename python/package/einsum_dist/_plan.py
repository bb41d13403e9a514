"""Makes plans from arrays or shapes, and converts the options to what the native module reads."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from . import _einsum_dist
from ._normalize import conjugated
from ._path import plan_path


def plan(
    subscripts: str,
    *operands: ArrayLike,
    dtype: DTypeLike | None = None,
    path: Any = "auto",
    sliced: Iterable[str] | Mapping[str, SupportsIndex] | None = None,
    path_cache: str | os.PathLike[str] | None = None,
    path_seconds: float | np.floating[Any] | np.integer[Any] | None = None,
    runs: SupportsIndex = 1,
    memory_limit: SupportsIndex | None = None,
    slice_groups: SupportsIndex | None = None,
    ranks: SupportsIndex | None = None,
    threads: SupportsIndex | None = None,
    machine: str | os.PathLike[str] | None = None,
    algorithm: str = "auto",
    kernel: str = "auto",
    objective: str = "time",
    constant: Iterable[SupportsIndex] = (),
    conj: Iterable[SupportsIndex | np.bool_] = (),
    accumulate: bool = False,
    distributions: str | None = None,
) -> _einsum_dist.Plan:
    """Plan the contraction of an expression, without computing it.

    Parameters
    ----------
    subscripts : str
        The expression, as in :func:`einsum`.
    *operands : array_like or shape
        One for each term of the expression: an array, whose values are not read, or its shape as a tuple or list.
    dtype : dtype, optional
        Element type: float32, float64, complex64 or complex128. The default is the common type of the arrays, or float64
        if there are only shapes, integers or bool.
    path : str, list of pairs or object, optional
        The order of contractions: ``"auto"``, ``"greedy"``, ``"optimal"``, ``"anneal"``, ``"left-to-right"``, positions as in
        opt_einsum and NumPy, a `PathInfo` of opt_einsum, a `ContractionTree` of cotengra with its slices, a dict or JSON
        text with ``path`` or ``ssa_path``, and ``sliced_inds``, or an optimizer of opt_einsum or cotengra, which is called.
    sliced : iterable of str or dict, optional
        The dimensions to slice, if the path does not say: names, or a dict from a name to its extent in one slice.
    path_cache : str or path, optional
        Directory that keeps the orders of searches. An order is used for the same expression and shapes if its search was
        at least as long.
    path_seconds : float, optional
        Time budget, in seconds, of the search for the order of contractions.
    runs : int, optional
        How often the plan will run. With more runs, ``"auto"`` searches longer.
    memory_limit : int, optional
        Maximum number of bytes per rank. A contraction that needs more is divided into slices. The default is none, or
        most of the free memory if a plan for this process needs more.
    slice_groups : int, optional
        Number of groups of ranks that contract different slices at the same time. The default is the planner's choice.
    ranks : int, optional
        Number of ranks to plan for. The default is that of ``machine`` if it is given, or else 1.
    threads : int, optional
        Number of threads per rank. The default is that of ``machine`` if it is given, or else :func:`get_num_threads`.
    machine : str or path, optional
        Description of the machine to plan for: the path of a TOML file, or the text of such a file.
    algorithm, kernel : str, optional
        Names as on the command line, for ``--algorithm`` and ``--kernel``. ``"auto"`` leaves the choice to the planner.
    objective : str, optional
        What the planner minimises: ``"time"``, predicted seconds, or ``"bytes"``, those that the busiest rank receives.
    constant : iterable of int, optional
        Positions of the operands whose values stay the same in all calls of a compiled program. Intermediates that depend
        only on these operands are kept between calls.
    conj : iterable of int or of bool, optional
        The operands, by index, whose complex conjugates are contracted, or a flag for every operand.
    accumulate : bool, optional
        Plan for calls that add to existing values (``beta`` is not 0). Programs of other plans also accept such calls.
    distributions : str, optional
        Distributions of the operands and the result, as for ``--distribution`` on the command line, for example
        ``"m:2; *; m:2 n:3"``. The planner chooses those that are ``*``.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import einsum_dist
    >>> plan = einsum_dist.plan("ij,jk,kl->il", (10, 1000), (1000, 20), (20, 500))
    >>> plan.path
    [(0, 1), (1, 0)]
    >>> plan.output_shape
    (10, 500)
    """
    shapes, dtypes = [], []
    for operand in operands:
        if isinstance(operand, (tuple, list)) and all(hasattr(extent, "__index__") for extent in operand):
            shapes.append([int(extent) for extent in operand])
        else:
            array = operand if hasattr(operand, "shape") and hasattr(operand, "dtype") else np.asarray(operand)
            shapes.append([int(extent) for extent in array.shape])
            dtypes.append(array.dtype)
    if dtype is None:
        dtype = np.result_type(*dtypes) if dtypes else np.float64
        dtype = np.float64 if np.dtype(dtype).kind in "biu" else dtype
    if path_seconds is not None and not 0 <= path_seconds < float("inf"):
        raise ValueError(f"the time budget is {path_seconds} seconds, but must be finite and not negative")
    constant = [operator.index(index) for index in constant]
    for index in constant:
        if not 0 <= index < len(operands):
            raise IndexError(f"operand {index} of {len(operands)} is declared constant")
    order = plan_path(path, subscripts, shapes)
    if order is None:
        raise ValueError(f"unknown order of contractions: {path!r}")
    if sliced is not None:
        sliced = sliced.items() if isinstance(sliced, Mapping) else [(name, 1) for name in sliced]
        sliced = [(str(name), operator.index(piece)) for name, piece in sliced]
    options = {
        "dtype": np.dtype(dtype).name,
        "path": order,
        "sliced": sliced,
        "path_cache": path_cache if path_cache is None else os.fspath(path_cache),
        "path_seconds": path_seconds,
        "runs": _count("runs", operator.index(runs), 1),
        "memory_limit": _count("memory_limit", memory_limit, 0),
        "slice_groups": _count("slice_groups", slice_groups, 1),
        "ranks": _count("ranks", ranks, 1),
        "threads": _count("threads", threads, 1),
        "machine": _machine(machine),
        "algorithm": algorithm,
        "kernel": kernel,
        "objective": objective,
        "constant": constant,
        "conjugate": conjugated(conj, len(operands)),
        "accumulate": bool(accumulate),
        "distributions": distributions,
    }
    return _einsum_dist.plan(subscripts, shapes, options)


def _count(name, value, least):
    """Returns an integer that the native module can read, or None."""
    if value is None:
        return None
    value = operator.index(value)
    if not least <= value <= sys.maxsize:
        raise ValueError(f"{name} is {value}, but must be from {least} to {sys.maxsize}")
    return value


def _machine(machine):
    """Returns the TOML text that describes the machine."""
    if machine is None or (isinstance(machine, str) and "\n" in machine):
        return machine
    with open(os.fspath(machine), encoding="utf-8") as file:
        return file.read()
