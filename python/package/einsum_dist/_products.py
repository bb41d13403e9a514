"""`tensordot`, `matmul`, `vecdot` and `transpose`, with the arguments and results of NumPy's functions."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._einsum_dist import einsum
from ._normalize import _foreign, contract

# More labels than two arrays can have dimensions.
_LABELS = [chr(code) for code in (*range(ord("a"), ord("z") + 1), *range(ord("A"), ord("Z") + 1), *range(0x4E00, 0x4E80))]


# The axes of one operand.
_Axes = SupportsIndex | Sequence[SupportsIndex] | NDArray[np.integer[Any]]


def tensordot(
    a: ArrayLike, b: ArrayLike, axes: SupportsIndex | Sequence[_Axes] | NDArray[np.integer[Any]] = 2
) -> Any:
    """Sum products over given axes, as `numpy.tensordot` does.

    Parameters
    ----------
    a, b : array_like
    axes : int or (2,) array_like
        A number N, to sum over the last N axes of ``a`` and the first N axes of ``b``; or two lists, with the axes of
        ``a`` and the axes of ``b`` to sum over.

    Examples
    --------
    >>> import numpy as np, einsum_dist
    >>> einsum_dist.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
    (2, 5)
    """
    if _foreign((a, b)):
        return np.tensordot(a, b, axes)
    summed = _summed_axes(axes, (np.shape(a), np.shape(b)))
    return np.asarray(einsum(_known_dot_subscripts(np.ndim(a), np.ndim(b), *summed), a, b))


def matmul(x1: ArrayLike, x2: ArrayLike, /, out: NDArray[Any] | None = None) -> Any:
    """Multiply matrices or stacks of matrices, as `numpy.matmul` does.

    Examples
    --------
    >>> import numpy as np, einsum_dist
    >>> einsum_dist.matmul(np.ones((7, 2, 3)), np.ones((3, 4))).shape
    (7, 2, 4)
    """
    if isinstance(out, tuple):
        (out,) = out
    if _foreign((x1, x2, out)):
        return np.matmul(x1, x2, out=out)
    ndims = np.ndim(x1), np.ndim(x2)
    if 0 in ndims:
        raise ValueError("matmul: an operand has no dimensions, but needs at least one")
    shapes = np.shape(x1), np.shape(x2)
    if shapes[0][-1] != shapes[1][-2 if ndims[1] > 1 else -1]:
        raise ValueError(f"matmul: the summed extents of shapes {shapes[0]} and {shapes[1]} differ")
    terms = ["k" if ndims[0] == 1 else "...mk", "k" if ndims[1] == 1 else "...kn"]
    rest = ("..." if max(ndims) > 1 else "") + ("m" if ndims[0] > 1 else "") + ("n" if ndims[1] > 1 else "")
    subscripts = ",".join(terms) + "->" + rest
    return einsum(subscripts, x1, x2) if out is None else einsum(subscripts, x1, x2, out=out, casting="same_kind")


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: SupportsIndex = -1) -> Any:
    """Sum products of the conjugates of ``x1`` with ``x2`` over one axis.

    This is the function of the array API standard: `numpy.vecdot` without its further arguments.

    Examples
    --------
    >>> import numpy as np, einsum_dist
    >>> einsum_dist.vecdot(np.array([1j, 2]), np.array([[1j, 1], [2, 3]]))
    array([3.+0.j, 6.-2.j])
    """
    if _foreign((x1, x2)):
        # NumPy before 2.0 raises an AttributeError.
        return np.vecdot(x1, x2, axis=axis)
    arrays = [np.asarray(x) for x in (x1, x2)]
    if 0 in (array.ndim for array in arrays):
        raise ValueError("vecdot: an operand has no dimensions, but needs at least one")
    first, second = (np.moveaxis(array, axis, -1) for array in arrays)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"vecdot: the summed extents of shapes {arrays[0].shape} and {arrays[1].shape} differ")
    if first.dtype.char in "FD" and second.dtype.char in "fdFD":
        return contract("...k,...k->...", first, second, conj=[0])[()]
    # The conjugates of bools would be integers.
    return einsum("...k,...k->...", np.conj(first) if first.dtype.kind in "cO" else first, second)


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> NDArray[Any]:
    """Permute the axes of an array. The result is a view, as in NumPy."""
    return np.transpose(a, axes)


def _summed_axes(axes, shapes):
    """Returns the axes of each operand that `tensordot` sums, counted from 0."""
    ndims = [len(shape) for shape in shapes]
    if hasattr(axes, "__len__"):
        first, second = axes
        summed = _axes(first, ndims[0]), _axes(second, ndims[1])
    else:
        count = operator.index(axes)
        if count < 0 or count > min(ndims):
            raise ValueError(f"tensordot cannot sum over {count} axes of arrays with {ndims[0]} and {ndims[1]}")
        summed = tuple(range(ndims[0] - count, ndims[0])), tuple(range(count))
    extents = [[shape[axis] for axis in axes] for shape, axes in zip(shapes, summed)]
    if extents[0] != extents[1]:
        raise ValueError(f"shape-mismatch for sum: axes {summed[0]} of {shapes[0]} and axes {summed[1]} of {shapes[1]}")
    return summed


def _axes(axes, ndim):
    # `torch.compile` cannot trace `np.ndim`.
    if isinstance(axes, int) or (not isinstance(axes, (list, tuple)) and np.ndim(axes) == 0):
        axes = (axes,)
    axes = tuple(operator.index(axis) for axis in axes)
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise IndexError(f"axis {axis} is out of bounds for an array of dimension {ndim}")
    axes = tuple(axis % ndim for axis in axes)
    if len(set(axes)) < len(axes):
        raise ValueError(f"axes {axes} contain an axis twice")
    return axes


def _dot_subscripts(first_ndim, second_ndim, first_axes, second_axes):
    letters = iter(_LABELS)
    first = [next(letters) for _ in range(first_ndim)]
    shared = dict(zip(second_axes, (first[axis] for axis in first_axes)))
    second = [shared[axis] if axis in shared else next(letters) for axis in range(second_ndim)]
    kept = [letter for axis, letter in enumerate(first) if axis not in first_axes]
    kept += [letter for axis, letter in enumerate(second) if axis not in second_axes]
    return "".join(first) + "," + "".join(second) + "->" + "".join(kept)


_known_dot_subscripts = functools.lru_cache(maxsize=1024)(_dot_subscripts)
