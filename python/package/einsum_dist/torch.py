"""Contracts PyTorch tensors in the memory of the CPU, with gradients.

>>> import torch, einsum_dist.torch
>>> a, b = torch.rand(2, 3, requires_grad=True), torch.rand(3, 4)
>>> einsum_dist.torch.einsum("mk,kn->mn", a, b).sum().backward()
>>> bool(torch.allclose(a.grad, b.sum(1).expand(2, 3)))
True

Tensors are read in place through DLPack, with any strides. Where PyTorch conjugates lazily, as in ``einsum("ij,kj->ik", a,
b.conj())``, the contraction conjugates, and no tensor is copied.

The contraction is the custom operator ``einsum_dist::contract``. Autograd, `torch.func.grad`, `torch.func.vmap` and
`torch.compile` work with it; PyTorch computes calls with forward-mode derivatives. Its gradients are contractions by the same
operator, also for complex numbers. Before it is called, PyTorch takes diagonals, sums dimensions that only one operand has, and
drops broadcast dimensions of extent 1.
"""

import ast
import functools
import itertools
import typing
from collections.abc import Sequence

import numpy as np
import torch

from . import _normalize
from ._path import planner_path
from ._plan import plan

_DTYPES = frozenset((torch.float32, torch.float64, torch.complex64, torch.complex128))


def einsum(equation: typing.Any, *operands: typing.Any, optimize: bool | str | Sequence[typing.Any] = "auto") -> torch.Tensor:
    """Contract tensors as `torch.einsum` does.

    Parameters
    ----------
    equation : str
        The expression, as in `torch.einsum`. Operands and lists of labels may alternate instead.
    *operands : torch.Tensor
    optimize
        The order of contractions, as in :func:`einsum_dist.einsum`.

    Returns
    -------
    torch.Tensor

    Notes
    -----
    PyTorch itself computes calls with tensors on other devices, and with element types other than float32, float64, complex64
    and complex128. It also raises the errors of wrong calls.

    If a gradient is required, more than two tensors are contracted pair by pair, so that the gradients share intermediates.
    """
    given = (equation, *operands)
    if not isinstance(equation, str):
        given = _normalize._from_lists(given) or given
    elif len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        given = (equation, *operands[0])
    equation, *operands = given
    path = planner_path(optimize, len(operands))
    if path is None:
        raise ValueError(f"unknown order of contractions: {optimize!r}")
    usable = _usable(operands) and not _is_recorded() and not any(char.isdigit() for char in equation)
    network = _network(equation, operands) if usable else None
    if network is None:
        return torch.einsum(*given)
    terms, output, tensors = network
    if len(tensors) == 1:
        return tensors[0].permute([terms[0].index(label) for label in output])
    if len(tensors) > 2 and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return _pair_by_pair(terms, output, tensors, path)
    return _call(terms, output, tensors, path)


def tensordot(a: torch.Tensor, b: torch.Tensor, axes: int | Sequence[typing.Any] = 2) -> torch.Tensor:
    """Contract two tensors over the last ``axes`` of ``a`` and the first of ``b``, or over two lists of axes."""
    if isinstance(axes, int):
        axes = range(a.ndim - axes, a.ndim), range(axes)
    summed = [[axis] if isinstance(axis, int) else list(axis) for axis in axes]
    first, second = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for at, to in zip(*summed, strict=True):
        second[to] = first[at]
    kept = [label for label in (*first, *second) if (label in first) != (label in second)]
    return einsum(a, first, b, second, kept)


def transpose(a: torch.Tensor, axes: Sequence[int] | None = None) -> torch.Tensor:
    """Permute the dimensions of a tensor, by default into the reverse order. The result is a view."""
    return a.permute(tuple(range(a.ndim))[::-1] if axes is None else tuple(axes))


def _usable(operands):
    """Whether the operands are tensors of one of our element types in the memory of the CPU."""
    return (
        bool(operands)
        and all(isinstance(operand, torch.Tensor) for operand in operands)
        and all(operand.layout == torch.strided and operand.device.type == "cpu" for operand in operands)
        and operands[0].dtype in _DTYPES
        and all(operand.dtype == operands[0].dtype for operand in operands)
    )


class _Reduction(typing.NamedTuple):
    """What PyTorch does with an operand, so that each of its labels is there once, and in another term or in the output."""

    squeezed: tuple[int, ...]
    diagonals: tuple[tuple[int, int], ...]
    summed: tuple[int, ...]

    def apply(self, tensor):
        for axis in self.squeezed:
            tensor = tensor.squeeze(axis)
        for first, second in self.diagonals:
            tensor = tensor.diagonal(dim1=first, dim2=second)
        return tensor.sum(self.summed) if self.summed else tensor


def _is_recorded():
    """Whether `torch.jit` traces the call, or forward-mode derivatives are taken, which the operator does not have."""
    if torch.compiler.is_compiling():
        return False
    return torch.jit.is_tracing() or getattr(torch.autograd.forward_ad, "_current_level", -1) >= 0


def _network(equation, operands):
    """Returns terms, output and tensors after all reductions, or None if PyTorch has to see the call."""
    find = _reductions if torch.compiler.is_compiling() else _known_reductions
    found = find(equation, tuple(operand.shape for operand in operands))
    if found is None:
        return None
    terms, output, reductions = found
    return terms, output, [reduction.apply(operand) for reduction, operand in zip(reductions, operands)]


def _reductions(equation, shapes):
    equation = equation.replace(" ", "")
    labels = equation.replace("...", "").replace(",", "").replace("->", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes) or not all(label.isascii() and label.isalnum() for label in labels):
        return None
    if not arrow:
        output = "..." + "".join(sorted(label for label in set(labels) if labels.count(label) == 1))
    rest = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes)]
    if any(count < 0 or (count > 0 and "..." not in term) for count, term in zip(rest, terms)):
        return None
    # The dimensions of "..." get digits as labels.
    digits = "0123456789"[: max(rest)]
    terms = [term.replace("...", digits[len(digits) - count :]) for count, term in zip(rest, terms)]
    output = output.replace("...", digits)
    if max(rest) > 10 or len(set(output)) != len(output) or not set(output) <= set("".join(terms)):
        return None
    extents = {}
    for label, extent in ((label, extent) for term, shape in zip(terms, shapes) for label, extent in zip(term, shape)):
        if extents.setdefault(label, extent) == 1:
            extents[label] = extent
        elif extent not in (1, extents[label]):
            return None
    reductions = []
    for at, (term, shape) in enumerate(zip(terms, shapes)):
        squeezed = [axis for axis, label in enumerate(term) if shape[axis] != extents[label]]
        if any(term.count(term[axis]) > 1 for axis in squeezed):
            return None
        term = "".join(label for axis, label in enumerate(term) if axis not in squeezed)
        terms[at], diagonals = _without_diagonals(term)
        reductions.append((tuple(reversed(squeezed)), diagonals))
    for at, term in enumerate(terms):
        elsewhere = set(output).union(*terms[:at], *terms[at + 1 :])
        summed = tuple(axis for axis, label in enumerate(term) if label not in elsewhere)
        # Sums of other operands do not depend on this one: only this term has the labels.
        reductions[at] = _Reduction(*reductions[at], summed)
    terms = ["".join(label for axis, label in enumerate(term) if axis not in reduction.summed) for term, reduction in zip(terms, reductions)]
    return terms, output, reductions


_known_reductions = functools.lru_cache(1024)(_reductions)


def _without_diagonals(term):
    """Returns a term without repeated labels, and the pairs of dimensions of which diagonals are taken, one after another."""
    diagonals = []
    for label in term:
        while term.count(label) > 1:
            first, second = term.index(label), term.rindex(label)
            diagonals.append((first, second))
            # The diagonal is the last dimension.
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + label
    return term, tuple(diagonals)


def _call(terms, output, tensors, path):
    # PyTorch would copy a tensor that is conjugated lazily before it passes it to a custom operator. Code that is compiled
    # cannot ask whether a tensor is.
    conj = [not torch.compiler.is_compiling() and tensor.is_conj() for tensor in tensors]
    plain = [tensor.conj() if is_conj else tensor for tensor, is_conj in zip(tensors, conj)]
    return _apply(_equation(terms, output), plain, path, conj)


def _pair_by_pair(terms, output, tensors, path):
    terms, tensors = list(terms), list(tensors)
    for positions in _pairs(_equation(terms, output), tuple(tuple(tensor.shape) for tensor in tensors), path):
        pair = [tensors[at] for at in positions]
        labels = [terms[at] for at in positions]
        for at in sorted(positions, reverse=True):
            del tensors[at], terms[at]
        kept = set(output).union(*terms)
        result = "".join(label for label in dict.fromkeys("".join(labels)) if label in kept) if terms else output
        # A label may be left in one operand of the pair only, because all other operands with it are contracted.
        labels, result, pair = _network(_equation(labels, result), pair)
        tensors.append(_call(labels, result, pair, "auto"))
        terms.append(result)
    return tensors[0]


@torch.compiler.assume_constant_result
def _pairs(equation, shapes, path):
    """The path of the planner, as positions in the list of tensors that are left."""
    return _planned_path(equation, shapes, path)


@functools.lru_cache(1024)
def _planned_path(equation, shapes, path):
    given = ast.literal_eval(f"[{path}]") if path.startswith("(") else path
    return plan(equation, *shapes, path=given).path


def _equation(terms, output):
    return ",".join(terms) + "->" + output


def _split(equation):
    inputs, _, output = equation.partition("->")
    return inputs.split(","), output


def _run(equation, operands, path, conj):
    out = _empty(equation, operands)
    # What is negated lazily is copied here. For what is conjugated lazily, callers set a flag; direct calls of the operator
    # have their operands copied.
    arrays = [np.from_dlpack(operand.detach().resolve_neg().resolve_conj()) for operand in operands]
    _normalize._contract(equation, arrays, 1, 0, out.numpy(), path, [at for at, is_conj in enumerate(conj) if is_conj])
    return out


@torch.library.custom_op("einsum_dist::contract", mutates_args=())
def _contract(equation: str, operands: Sequence[torch.Tensor], path: str, conj: Sequence[bool]) -> torch.Tensor:
    return _run(equation, operands, path, conj)


@_contract.register_fake
def _shape(equation, operands, path, conj):
    return _empty(equation, operands)


def _empty(equation, operands):
    terms, output = _split(equation)
    extents = {label: extent for term, operand in zip(terms, operands) for label, extent in zip(term, operand.shape)}
    return operands[0].new_empty([extents[label] for label in output])


def _gradients(equation, conj, operands, needed, gradient):
    # PyTorch's gradient of a complex number z is the derivative with respect to its conjugate. For out = z * w, it is
    # conj(w) * gradient; if the contraction conjugates z, it is the conjugate of that.
    terms, output = _split(equation)
    if 0 in gradient.stride():
        # A contraction with a broadcast operand takes longer than the copy.
        gradient = gradient.contiguous()
    lazily = gradient.is_conj()
    gradient = gradient.conj() if lazily else gradient
    gradients = [None] * len(operands)
    for at in (at for at, needs in enumerate(needed) if needs):
        others = [other for other in range(len(terms)) if other != at]
        inputs = [output, *(terms[other] for other in others)]
        flags = [conj[at] != lazily, *(conj[other] == conj[at] for other in others)]
        tensors = [gradient, *(operands[other] for other in others)]
        gradients[at] = _apply(_equation(inputs, terms[at]), tensors, "auto", flags)
    return gradients


def _save(ctx, inputs, output):
    ctx.equation, operands, _, ctx.conj = inputs
    ctx.save_for_backward(*operands)


def _backward(ctx, gradient):
    return None, _gradients(ctx.equation, ctx.conj, ctx.saved_tensors, ctx.needs_input_grad[1], gradient), None, None


_contract.register_autograd(_backward, setup_context=_save)


def _apply(equation, operands, path, conj):
    if torch.compiler.is_compiling():
        return _contract(equation, operands, path, conj)
    has_gradient = torch.is_grad_enabled() and any(operand.requires_grad for operand in operands)
    if has_gradient or _is_observed(operands):
        return _Contraction.apply(equation, path, conj, *operands)
    return _run(equation, operands, path, conj)


def _is_observed(operands):
    """Whether PyTorch must see the operator, because `torch.func`, a mode or a subclass of tensors acts on it."""
    if any(type(operand) not in (torch.Tensor, torch.nn.Parameter) for operand in operands):
        return True
    return any(is_active is None or is_active() for is_active in _OBSERVERS)


_OBSERVERS = [
    getattr(torch._C, name, None)
    for name in ("_are_functorch_transforms_active", "_len_torch_dispatch_stack", "_len_torch_function_stack")
]


class _Contraction(torch.autograd.Function):
    """The operator for `torch.func`, which cannot use the gradients of a custom operator."""

    generate_vmap_rule = True

    @staticmethod
    def forward(equation, path, conj, *operands):
        return (_contract if _is_observed(operands) else _run)(equation, operands, path, conj)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.equation, _, ctx.conj, *operands = inputs
        ctx.save_for_backward(*operands)

    @staticmethod
    def backward(ctx, gradient):
        gradients = _gradients(ctx.equation, ctx.conj, ctx.saved_tensors, ctx.needs_input_grad[3:], gradient)
        return None, None, None, *gradients


@_contract.register_vmap
def _vmap(info, in_dims, equation, operands, path, conj):
    terms, output = _split(equation)
    batch = next(label for label in map(chr, itertools.count(ord("α"))) if label not in equation)
    terms = [term if dim is None else term[:dim] + batch + term[dim:] for term, dim in zip(terms, in_dims[1])]
    return _contract(_equation(terms, batch + output), operands, path, conj), 0
