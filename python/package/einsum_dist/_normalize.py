"""Prepares the arguments of calls that the native module cannot compute as they are.

Operands of one of the four element types are converted to the common element type, and copied if they are misaligned
or in non-native byte order. `einsum` passes everything that only NumPy computes (integers, bool, float16, longdouble,
objects, other array types) and everything that is not a contraction (a view of a single operand) to NumPy. NumPy also
raises its own errors for wrong arguments.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from . import _einsum_dist
from ._path import optimized, planner_path

DTYPES = frozenset(np.dtype(code) for code in ("f4", "f8", "c8", "c16"))
# Users may replace `numpy.einsum` by ours.
_EINSUM = np.einsum
_KEYWORDS = frozenset(("out", "dtype", "order", "casting", "optimize"))


def einsum(*args, **kwargs):
    """Computes what `numpy.einsum` would, for any arguments."""
    out, order, casting = kwargs.get("out"), str(kwargs.get("order", "K")).upper(), kwargs.get("casting", "safe")
    if not _KEYWORDS.issuperset(kwargs) or len(args) < 2:
        return _numpy_einsum(args, kwargs)
    texts = args if isinstance(args[0], (str, bytes)) else _from_lists(args)
    if texts is None or _foreign(texts[1:]) or _foreign([out]):
        return _numpy_einsum(args, kwargs)
    path = planner_path(kwargs.get("optimize", True), len(texts) - 1)
    subscripts = texts[0] if isinstance(texts[0], str) else texts[0].decode()
    arrays = [np.asarray(operand) for operand in texts[1:]]
    dtype = kwargs.get("dtype")
    dtype = np.result_type(*arrays) if dtype is None else np.dtype(dtype)
    legal = path is not None and order in ("K", "C", "F", "A")
    legal = legal and all(np.can_cast(array.dtype, dtype, casting) for array in arrays)
    if out is not None:
        legal = legal and isinstance(out, np.ndarray) and np.can_cast(dtype, out.dtype, casting) and out.flags.writeable
    if dtype.newbyteorder("=") not in DTYPES or not legal or (out is None and _is_view(subscripts, arrays)):
        return _numpy_einsum((subscripts, *arrays), kwargs)
    operands = [_usable(array, dtype) for array in arrays]
    result = _contract(subscripts, operands, 1, 0, out, path)
    if out is None and order != "K":
        fortran = order == "F" or (order == "A" and all(array.flags.f_contiguous for array in arrays))
        return np.asarray(result, order="F" if fortran else "C")[()]
    return result


def contract(
    subscripts: Any,
    *operands: Any,
    alpha: complex | np.number[Any] | np.bool_ = 1,
    beta: complex | np.number[Any] | np.bool_ = 0,
    out: NDArray[Any] | None = None,
    optimize: bool | str | Sequence[Any] | Callable[..., Any] | None = "auto",
    conj: Iterable[SupportsIndex | np.bool_] = (),
    strip_exponent: bool = False,
) -> Any:
    """Compute ``alpha`` times the contraction of the operands, plus ``beta`` times ``out``.

    Parameters
    ----------
    subscripts : str
        The expression, as in :func:`einsum`.
    *operands : array_like
        Arrays whose common type is float32, float64, complex64 or complex128. Integers and bool are converted to float64.
    alpha, beta : scalar, optional
        The factors. If ``beta`` is 0, the values in ``out`` are not read.
    out : ndarray, optional
        The array that receives the result. It is required if ``beta`` is not 0, and may have any strides.
    optimize
        The order of contractions, as in :func:`einsum`, or an optimizer of opt_einsum or cotengra, which every call calls.
    conj : iterable of int or of bool, optional
        The operands, by index, whose complex conjugates are contracted, or a flag for every operand. No operand is copied.
    strip_exponent : bool, optional
        Return a mantissa and an exponent, so that no value leaves the range of its element type: neither the result nor
        intermediates. Not with ``alpha``, ``beta`` or ``out``.

    Returns
    -------
    ndarray or scalar
        ``out`` if it is given, otherwise a new array, or a scalar if the result has no dimensions.
    (ndarray or scalar, float)
        With ``strip_exponent``: the result is the first times 10 to the power of the second, as in cotengra. The largest
        absolute value of the mantissa's real and imaginary parts is in [0.5, 1). The exponent is a whole multiple of
        log10(2), because powers of two scale without rounding. It is 0 for a result of zeros. If an operand has infinite
        or NaN elements, only operands are scaled, and the mantissa may have any size.

    Warns
    -----
    RuntimeWarning
        If the result overflowed or underflowed. Results of more than 4,096 elements are not examined if they have fewer
        than 1,024 operations per element, nor is any with ``beta``.

    Notes
    -----
    With ``strip_exponent``, operands are copied. Every intermediate is read once more, and the contraction is repeated if
    intermediates left the range. Elements that are smaller than others of the same tensor by more than the range of the
    type (2^126 in single precision) still underflow.

    Examples
    --------
    >>> import numpy as np, einsum_dist
    >>> c = np.full((2, 2), 100.0)
    >>> einsum_dist.contract("mk,kn->mn", np.ones((2, 3)), np.ones((3, 2)), alpha=2, beta=1, out=c)
    array([[106., 106.],
           [106., 106.]])
    >>> mantissa, exponent = einsum_dist.contract("i,i,i->", *[np.full(2, 1e30, "f4")] * 3, strip_exponent=True)
    >>> round(float(np.log10(mantissa) + exponent), 5)
    90.30103
    """
    if not isinstance(subscripts, str):
        texts = _from_lists((subscripts, *operands))
        if texts is None:
            raise TypeError("contract needs a text, or operands and lists of labels in turn")
        subscripts, *operands = texts
    if not operands:
        raise ValueError("contract needs at least one operand")
    arrays = [np.asarray(operand) for operand in operands]
    if callable(optimize):
        found = optimized(optimize, subscripts, [array.shape for array in arrays])
        if found != "auto":
            if found.get("sliced_inds"):
                raise ValueError("the optimizer slices the contraction, which only plan(path=optimizer) does")
            found = list(found["path"])
        optimize = found
    path = planner_path(optimize, len(operands))
    if path is None:
        raise ValueError(f"unknown order of contractions: {optimize!r}")
    if out is None and beta != 0:
        raise ValueError("beta is not 0, but there is no out to scale")
    if strip_exponent and (alpha, beta, out is None) != (1, 0, True):
        raise ValueError("strip_exponent returns a new array, without alpha, beta and out")
    kinds = [array.dtype for array in arrays]
    if out is not None:
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be an ndarray, not {type(out).__name__}")
        if not out.flags.writeable:
            raise ValueError("output array is read-only")
        if out.dtype.newbyteorder("=") in DTYPES and np.can_cast(np.result_type(*kinds), out.dtype, "same_kind"):
            kinds = [*kinds, out.dtype]
    dtype = np.result_type(*kinds).newbyteorder("=")
    if dtype.kind in "biu":
        dtype = np.dtype("f8")
    if dtype not in DTYPES:
        raise TypeError(f"contract computes float32, float64, complex64 and complex128, not {dtype}")
    factors = [_factor(name, value, dtype) for name, value in (("alpha", alpha), ("beta", beta))]
    if out is not None and not np.can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError(f"the result has type {dtype}, which out of type {out.dtype} cannot hold")
    conj = conjugated(conj, len(arrays))
    arrays = [_usable(array, dtype) for array in arrays]
    if strip_exponent:
        return _decimal(_einsum_dist.contract_with_exponent(subscripts if subscripts.strip() else "->", arrays, path, conj))
    return _contract(subscripts, arrays, *factors, out, path, conj)


def _decimal(result):
    """Returns the mantissa, and the exponent to base 10 instead of 2."""
    mantissa, exponent = result
    return mantissa, exponent * math.log10(2)


def conjugated(conj, operands):
    """Returns the indices in `conj`, which contains indices of operands, or a flag for every operand."""
    conj = list(conj)
    if conj and all(isinstance(flag, (bool, np.bool_)) for flag in conj):
        if len(conj) != operands:
            raise ValueError(f"{len(conj)} flags of conjugation for {operands} operands")
        return [index for index, flag in enumerate(conj) if flag]
    indices = [operator.index(index) for index in conj]
    for index in indices:
        if not 0 <= index < operands:
            raise IndexError(f"operand {index} of {operands} is to be conjugated")
    return indices


def converted(operands, dtype):
    """Returns the operands as arrays of the plan's element type that can be used in place."""
    dtype = np.dtype(dtype)
    arrays = [np.asarray(operand) for operand in operands]
    for index, array in enumerate(arrays):
        if not np.can_cast(array.dtype, dtype, "same_kind"):
            raise TypeError(f"operand {index} has type {array.dtype}, the plan is for {dtype}")
    return [_usable(array, dtype) for array in arrays]


def call(program, operands, out, alpha, beta, strip_exponent=False):
    """Calls a program with any arguments. `alpha` and `beta` are None if they are not given."""
    alpha, beta = (1 if alpha is None else alpha), (0 if beta is None else beta)
    if out is None and beta != 0:
        raise ValueError("beta is not 0, but there is no out to scale")
    if strip_exponent and (alpha, out is None) != (1, True):
        raise ValueError("strip_exponent returns a new array, without alpha, beta and out")
    wanted = len(program.plan.shapes)
    if len(operands) != wanted:
        raise ValueError(f"{len(operands)} operands for a plan of {wanted}")
    dtype = np.dtype(program.plan.dtype)
    arrays = converted(operands, dtype)
    if strip_exponent:
        return _decimal(program._run_with_exponent(arrays))
    if out is not None:
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be an ndarray, not {type(out).__name__}")
        fits = np.can_cast(dtype, out.dtype, "same_kind") and (beta == 0 or np.can_cast(out.dtype, dtype, "same_kind"))
        if not fits:
            raise TypeError(f"the result has type {dtype}, which out of type {out.dtype} cannot hold")
    factors = [_factor(name, value, dtype) for name, value in (("alpha", alpha), ("beta", beta))]
    return _written(lambda target: program._run(arrays, *factors, target), dtype, factors[1], arrays, out)


def _contract(subscripts, operands, alpha, beta, out, path, conj=()):
    # As in NumPy, an empty text is the term of a scalar.
    text = subscripts if subscripts.strip() else "->"

    def run(target):
        return _einsum_dist.contract(text, operands, alpha, beta, target, path, conj)

    return _written(run, operands[0].dtype, beta, operands, out)


def _written(run, dtype, beta, operands, out):
    """Returns `out` after `run` has written it. If `out` cannot be written in place, `run` writes a temporary array."""
    if out is None or (out.dtype == dtype and out.flags.aligned and _in_place(out, operands)):
        return run(out)
    # NumPy permits operands and output to share memory.
    target = np.array(out, dtype) if beta != 0 else np.empty(out.shape, dtype)
    run(target)
    np.copyto(out, target, casting="unsafe")
    return out


def _in_place(out, operands):
    steps = sorted((abs(stride), extent) for stride, extent in zip(out.strides, out.shape) if extent > 1)
    reach = out.itemsize
    for stride, extent in steps:
        if out.size and (stride < reach or stride % out.itemsize):
            return False
        reach += stride * (extent - 1)
    return out.flags.writeable and not any(np.may_share_memory(out, operand) for operand in operands)


def _usable(array, dtype):
    """Returns the array as an ndarray of this element type that the native module can read in place."""
    array = np.asarray(array, dtype.newbyteorder("="))
    whole = all(extent <= 1 or stride % array.itemsize == 0 for extent, stride in zip(array.shape, array.strides))
    return array if array.flags.aligned and whole else array.copy()


def _factor(name, value, dtype):
    value = complex(value)
    if value.imag != 0 and dtype.kind != "c":
        raise TypeError(f"{name} is complex, but the operands are of type {dtype}")
    return value


def _foreign(operands):
    """Whether an operand is of a type that overrides NumPy's functions with `__array_function__`."""
    return any(
        type(operand) is not np.ndarray and hasattr(type(operand), "__array_function__") for operand in operands
    )


def _is_view(subscripts, arrays):
    """Whether NumPy returns a view, because nothing is summed: every label of the only operand is in the output."""
    if len(arrays) != 1:
        return False
    term, arrow, output = subscripts.replace(" ", "").replace("...", "").partition("->")
    if not arrow:
        return len(set(term)) == len(term)
    return set(term) <= set(output)


def _numpy_einsum(args, kwargs):
    optimize = kwargs.get("optimize", False)
    # The names of the planner that NumPy does not know.
    if isinstance(optimize, str) and optimize not in ("greedy", "optimal") and planner_path(optimize) is not None:
        kwargs = {**kwargs, "optimize": True}
    return _EINSUM(*args, **kwargs)


def _from_lists(args):
    """Converts the call `einsum(a, [0, 1], b, [1, 2], [0, 2])` to the form with a text; None if the lists are not valid."""
    pairs = list(args)
    output = pairs.pop() if len(pairs) % 2 else None
    operands, lists = pairs[::2], pairs[1::2]
    try:
        terms = ["".join(_label(label) for label in labels) for labels in lists]
        text = ",".join(terms)
        if output is not None:
            text += "->" + "".join(_label(label) for label in output)
    except (AttributeError, TypeError, ValueError):
        return None
    return (text, *operands)


def _label(label):
    if label is Ellipsis:
        return "..."
    index = label.__index__()
    if isinstance(label, (bool, np.bool_)) or not 0 <= index < 52:
        raise ValueError("NumPy's labels are the integers from 0 to 51")
    return chr(ord("A") + index) if index < 26 else chr(ord("a") + index - 26)
