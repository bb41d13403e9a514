"""Contracts a whole cotengra tree with one plan, along the tree's path and with its slices.

cotengra contracts a tree pair by pair. :class:`Contractor` plans all steps of the tree together instead: the order of
dimensions of every intermediate, the buffers, and which steps run at the same time.

>>> import cotengra, numpy as np, einsum_dist.cotengra
>>> inputs, output, shapes, sizes = cotengra.utils.lattice_equation([3, 3])
>>> tree = cotengra.array_contract_tree(inputs, output, sizes)
>>> arrays = [np.ones(shape) for shape in shapes]
>>> contract = einsum_dist.cotengra.Contractor(tree)
>>> bool(np.isclose(contract(*arrays), tree.contract(arrays)))
True

To let cotengra contract pair by pair with the functions of this package, pass them as its `implementation`. quimb can also
pass this argument to cotengra:

>>> bool(np.isclose(tree.contract(arrays, implementation=einsum_dist.cotengra.implementation), contract(*arrays)))
True
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from ._einsum_dist import Plan, einsum
from ._normalize import converted
from ._plan import plan
from ._products import tensordot

implementation = (einsum, tensordot)


class Contractor:
    """Contracts the operands of a `cotengra.ContractionTree` in the order of the tree, and slice by slice.

    Parameters
    ----------
    tree : cotengra.ContractionTree
        A complete tree. Its slices are contracted one after another, and each is added to its part of the result.
    **options
        Options of :func:`einsum_dist.plan`, such as ``threads`` and ``constant``.

    Notes
    -----
    The tree is planned in the first call with each element type. Several Python threads may call a contractor at the same
    time.
    """

    def __init__(self, tree: Any, **options: Any) -> None:
        if tree.has_preprocessing():
            # Steps with one operand are part of our own planning.
            equation, path = tree.get_eq(), None
            if tree.sliced_inds:
                raise ValueError("a tree with preprocessing cannot be sliced here: slice a tree without it")
        else:
            equation, path = tree.get_eq_sliced(), tree.get_path()
        if not tree.is_complete():
            raise ValueError("the tree is not complete: some operands are in no contraction")
        self._tree = tree
        self._equation = equation
        self._options = {"path": path or "auto", **options}
        if tree.sliced_inds:
            # Operands with a sliced index are others in every slice.
            same = [number for number, term in enumerate(tree.inputs) if not set(term) & set(tree.sliced_inds)]
            self._options["constant"] = [number for number in options.get("constant", ()) if number in same]
        self._programs = {}

    def plan(self, dtype: DTypeLike = np.float64) -> Plan:
        """Return the plan of one slice for an element type."""
        return self._program(np.dtype(dtype)).plan

    def _program(self, dtype):
        program = self._programs.get(dtype)
        if program is None:
            shapes = self._tree.get_shapes_sliced()
            # All slices but the first are added to the result.
            summed = self._tree.nslices > 1
            program = plan(self._equation, *map(tuple, shapes), dtype=dtype, accumulate=summed, **self._options).compile()
            self._programs[dtype] = program
        return program

    def __call__(self, *arrays: ArrayLike, strip_exponent: bool = False) -> Any:
        """Contract arrays, in the order of the tree's inputs.

        With ``strip_exponent=True``, return a mantissa and an exponent, like :func:`einsum_dist.contract`. The sum of several
        slices may have a smaller mantissa than 0.5.
        """
        arrays = [np.asarray(array) for array in arrays]
        program = self._program(np.result_type(*arrays))
        if not self._tree.sliced_inds:
            return program(*arrays, strip_exponent=True) if strip_exponent else program(*arrays)[()]
        tree = self._tree
        result = np.zeros([tree.size_dict[index] for index in tree.output], program.plan.dtype)
        scale = None
        for number in range(tree.nslices):
            key = tree.slice_key(number)
            part = tuple(key.get(index, slice(None)) for index in tree.output)
            target = result[(..., *part)] if part else result
            if strip_exponent:
                mantissa, exponent = program._run_with_exponent(converted(tree.slice_arrays(arrays, number), result.dtype))
                # All slices get the largest scale.
                if np.any(mantissa):
                    before, scale = scale, exponent if scale is None else max(scale, exponent)
                    if before is not None and before < scale:
                        result *= result.dtype.type(math.ldexp(1.0, max(before - scale, -2000)))
                    target += mantissa * result.dtype.type(math.ldexp(1.0, max(exponent - scale, -2000)))
                continue
            program(*tree.slice_arrays(arrays, number), out=target, beta=1)
        return (result[()], (scale or 0) * math.log10(2)) if strip_exponent else result[()]
