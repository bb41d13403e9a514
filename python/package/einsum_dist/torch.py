"""Contracts PyTorch tensors in the memory of the CPU, with gradients.

>>> import torch, einsum_dist.torch
>>> a, b = torch.rand(2, 3, requires_grad=True), torch.rand(3, 4)
>>> einsum_dist.torch.einsum("mk,kn->mn", a, b).sum().backward()
>>> bool(torch.allclose(a.grad, b.sum(1).expand(2, 3)))
True

Tensors are read in place, with any strides; only misaligned tensors are copied. Where PyTorch conjugates lazily, as in
``einsum("ij,kj->ik", a, b.conj())``, the contraction conjugates, and no tensor is copied.

The contraction is the custom operator ``einsum_dist::contract``. Autograd in reverse and forward mode, `torch.func` and
`torch.compile` work with :func:`einsum`, also with dynamic shapes. Its derivatives are contractions by the same operator, also
for complex numbers; PyTorch computes derivatives by `torch.func`, and in forward mode, inside of compiled code. Before the
operator is called, PyTorch takes diagonals, sums dimensions that only one operand has, and drops broadcast dimensions of
extent 1.

``torch.ops.einsum_dist.contract(equation, operands, path, conj)`` is the operator itself. Its equation has a ``->`` and neither
``...`` nor spaces. It has no derivative in forward mode, for which it raises an error; inside of `torch.func.jvp`, which it cannot
detect, its results are constants.
"""

import typing
from collections.abc import Sequence

import torch
from torch.fx.experimental import symbolic_shapes

from . import _einsum_dist, _normalize
from . import _torch_equations as equations
from ._path import planner_path
from ._products import _dot_subscripts, _known_dot_subscripts, _summed_axes

_has_static_value = getattr(symbolic_shapes, "has_static_value", None)
_DTYPES = frozenset((torch.float32, torch.float64, torch.complex64, torch.complex128))


def einsum(
    equation: typing.Any, *operands: typing.Any, optimize: bool | str | Sequence[typing.Any] | None = "auto"
) -> torch.Tensor:
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
    PyTorch itself computes calls with tensors on other devices, with element types other than float32, float64, complex64 and
    complex128, and with float32 under `torch.autocast`. It also raises the errors of wrong calls.

    If a derivative is required, more than two tensors are contracted pair by pair, so that the gradients share intermediates.
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
    network = _network(equation, operands) if _usable(operands) else None
    if network is None:
        return torch.einsum(*given)
    terms, output, tensors = network
    if len(tensors) == 1:
        return tensors[0].permute([terms[0].index(label) for label in output])
    if len(tensors) > 2 and _is_differentiated(tensors) and all(map(_is_static, tensors)):
        return _pair_by_pair(terms, output, tensors, path)
    return _call(equations.join(terms, output), tensors, path)


def tensordot(a: torch.Tensor, b: torch.Tensor, axes: typing.Any = 2) -> torch.Tensor:
    """Sum products over given axes, as `torch.tensordot` does.

    Parameters
    ----------
    a, b : torch.Tensor
    axes : int, or two lists of int
        A number N, to sum over the last N axes of ``a`` and the first N axes of ``b``; or the axes of ``a`` and the axes of
        ``b`` to sum over. As in NumPy, an int stands for a list of one axis.

    Returns
    -------
    torch.Tensor
        Its dimensions are those of ``a`` and then those of ``b`` that are not summed.

    Raises
    ------
    RuntimeError
        If extents or the lengths of the lists differ, an axis is repeated, or element types differ, as in `torch.tensordot`.
    IndexError
        If an axis is out of range.
    TypeError, ValueError
        If ``axes`` is neither an int nor two lists of int.

    Notes
    -----
    PyTorch computes the calls that :func:`einsum` leaves to it, and calls with summed axes of extent 1 that are broadcast.
    """
    try:
        first, second = _summed_axes(axes, (tuple(a.shape), tuple(b.shape)))
    except (IndexError, TypeError, ValueError):
        return torch.tensordot(a, b, axes)
    if not _usable((a, b)):
        return torch.tensordot(a, b, (first, second))
    subscripts = _dot_subscripts if torch.compiler.is_compiling() else _known_dot_subscripts
    return _call(subscripts(a.ndim, b.ndim, first, second), [a, b], "auto")


def transpose(a: torch.Tensor, axes: Sequence[int] | None = None) -> torch.Tensor:
    """Permute the dimensions of a tensor, by default into the reverse order. The result is a view."""
    return a.permute(tuple(range(a.ndim))[::-1] if axes is None else tuple(axes))


def _usable(operands):
    """Whether the operands are CPU tensors of one of our element types, and PyTorch does not have to see the call itself."""
    if not operands or not all(isinstance(operand, torch.Tensor) for operand in operands):
        return False
    dtype = operands[0].dtype
    if dtype not in _DTYPES or not all(operand.dtype == dtype and operand.is_cpu for operand in operands):
        return False
    if any(operand.layout != torch.strided for operand in operands):
        return False
    # Autocast changes the element type of these only.
    if dtype == torch.float32 and torch.is_autocast_enabled("cpu"):
        return False
    return not (_is_compiled_derivative() if torch.compiler.is_compiling() else torch.jit.is_tracing())


def _network(equation, operands):
    """Returns terms, output and tensors after all reductions, or None if PyTorch has to see the call."""
    shapes = tuple(operand.shape for operand in operands)
    if torch.compiler.is_compiling():
        found = equations.reductions(equation, shapes)
    else:
        found = _known(equations.known_reductions, equation, shapes)
    if found is None:
        return None
    terms, output, reductions = found
    return terms, output, [reduction.apply(operand) for reduction, operand in zip(reductions, operands)]


def _known(cached, *key):
    """Calls a function with a cache, without the cache if extents are symbolic: these cannot be hashed."""
    try:
        return cached(*key)
    except TypeError:
        return cached.__wrapped__(*key)


def _is_static(tensor):
    """Whether the extents are known. Those of code that is compiled for any shapes are not; it plans when it runs."""
    if not torch.compiler.is_compiling():
        return not any(isinstance(extent, torch.SymInt) for extent in tensor.shape)
    return _has_static_value is not None and all(_has_static_value(extent) for extent in tensor.shape)


def _is_differentiated(tensors):
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return True
    return not torch.compiler.is_compiling() and _is_in_forward_mode()


# In code that is compiled, only the custom operator can be called, whose derivatives these transformations cannot take. A
# constant, because compiled code may contain the transformation: its guards are tested outside of it.
@torch.compiler.assume_constant_result
def _is_compiled_derivative():
    """Whether code is compiled inside a derivative by `torch.func` or in forward mode."""
    stack = torch._C._functorch.get_interpreter_stack() or ()
    return _is_in_forward_mode() or any(level.key() != torch._C._functorch.TransformType.Vmap for level in stack)


def _is_in_forward_mode():
    return getattr(torch.autograd.forward_ad, "_current_level", 0) >= 0


def _call(equation, tensors, path):
    # PyTorch would copy a tensor that is conjugated lazily before it passes it to a custom operator. Code that is compiled
    # cannot ask whether a tensor is.
    if torch.compiler.is_compiling():
        return _contract(equation, tensors, path, [False] * len(tensors))
    return _apply(equation, *_without_conjugation(tensors, [False] * len(tensors)), path)


def _without_conjugation(tensors, conj):
    """Returns tensors that are not conjugated lazily, and the flags with which they are conjugated."""
    lazily = [tensor.is_conj() for tensor in tensors]
    tensors = [tensor.conj() if is_conj else tensor for tensor, is_conj in zip(tensors, lazily)]
    return tensors, [flag != is_conj for flag, is_conj in zip(conj, lazily)]


def _pair_by_pair(terms, output, tensors, path):
    tensors = list(tensors)
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    for positions, sums, equation in _steps(tuple(terms), output, shapes, path):
        pair = [tensors[at] for at in positions]
        for at in sorted(positions, reverse=True):
            del tensors[at]
        pair = [tensor.sum(axes) if axes else tensor for tensor, axes in zip(pair, sums)]
        tensors.append(_call(equation, pair, "auto"))
    return tensors[0]


@torch.compiler.assume_constant_result
def _steps(terms, output, shapes, path):
    return equations.planned_steps(terms, output, shapes, path)


def _run(equation, operands, path, conj):
    out = _empty(equation, operands)
    flagged = [at for at, is_conj in enumerate(conj) if is_conj]
    _einsum_dist.contract(equation, [_array(operand) for operand in operands], 1, 0, out.numpy(), path, flagged)
    return out


def _array(tensor):
    # What is negated lazily is copied here. For what is conjugated lazily, callers set a flag; direct calls of the operator
    # have their operands copied.
    array = tensor.detach().resolve_neg().resolve_conj().numpy()
    return array if array.flags.aligned else array.copy()


# The schema is written out, because PyTorch 2.5 cannot infer it from the types in `collections.abc`.
@torch.library.custom_op(
    "einsum_dist::contract", mutates_args=(), schema="(str equation, Tensor[] operands, str path, bool[] conj) -> Tensor"
)
def _contract(equation, operands, path, conj):
    # PyTorch would drop the tangents silently. Those of `torch.func` cannot be seen here.
    unpack = torch.autograd.forward_ad.unpack_dual
    if _is_in_forward_mode() and any(unpack(operand).tangent is not None for operand in operands):
        raise NotImplementedError("the operator has no derivative in forward mode: call einsum_dist.torch.einsum, not compiled")
    return _run(equation, operands, path, conj)


@_contract.register_fake
def _empty(equation, operands, path="auto", conj=()):
    try:
        return operands[0].new_empty([operands[at].shape[axis] for at, axis in equations.sources(equation)])
    except IndexError:
        raise ValueError(f"{equation!r} does not fit the dimensions of the operands") from None


def _gradients(equation, conj, operands, needed, gradient):
    # PyTorch's gradient of a complex number z is the derivative with respect to its conjugate. For out = z * w, it is
    # conj(w) * gradient; if the contraction conjugates z, it is the conjugate of that.
    if 0 in gradient.stride():
        # A contraction with a broadcast operand takes longer than the copy.
        gradient = gradient.contiguous()
    return [_gradient(equation, conj, operands, at, gradient) if needs else None for at, needs in enumerate(needed)]


def _gradient(equation, conj, operands, at, gradient):
    contraction, missing, term, diagonals = equations.gradient_rule(equation, at)
    flags = [conj[at], *(flag == conj[at] for flag in (*conj[:at], *conj[at + 1 :]))]
    result = _derivative(contraction, [gradient, *operands[:at], *operands[at + 1 :]], flags, "auto")
    if missing:
        extents = dict(zip(equations.split(equation)[0][at], operands[at].shape))
        for axis in missing:
            result = result.unsqueeze(axis)
        result = result.expand([extents[label] for label in term])
    for first, second in reversed(diagonals):
        result = result.diag_embed(dim1=first, dim2=second)
    return result


def _derivative(equation, tensors, conj, path):
    if any(map(_is_legacy_batched, tensors)):
        level = torch._C._vmapmode_increment_nesting() - 1
        torch._C._vmapmode_decrement_nesting()
        return _unbatched(equation, tensors, conj, path, level)
    return _apply(equation, *_without_conjugation(tensors, conj), path)


# The batched tensors of `torch.autograd.grad(..., is_grads_batched=True)`, which custom operators cannot read.
_is_legacy_batched = getattr(torch._C._functorch, "is_legacy_batchedtensor", lambda tensor: False)


def _unbatched(equation, tensors, conj, path, level):
    """Contracts the tensors behind batched tensors, of this level of nesting and all outer ones."""
    if level == 0:
        return _apply(equation, *_without_conjugation(tensors, conj), path)
    # The batch is the first dimension, of extent 1 if a tensor is not batched at this level.
    tensors = [torch._remove_batch_dim(tensor, level, 1, 0) for tensor in tensors]
    dims = [None if tensor.shape[0] == 1 else 0 for tensor in tensors]
    tensors = [tensor.squeeze(0) if dim is None else tensor for tensor, dim in zip(tensors, dims)]
    if all(dim is None for dim in dims):
        result = _unbatched(equation, tensors, conj, path, level - 1).unsqueeze(0)
    else:
        result = _unbatched(equations.batched(equation, dims), tensors, conj, path, level - 1)
    return torch._add_batch_dim(result, 0, level)


def _save(ctx, inputs, output):
    ctx.equation, operands, _, ctx.conj = inputs
    ctx.save_for_backward(*operands)


def _backward(ctx, gradient):
    return None, _gradients(ctx.equation, ctx.conj, ctx.saved_tensors, ctx.needs_input_grad[1], gradient), None, None


_contract.register_autograd(_backward, setup_context=_save)


def _apply(equation, operands, conj, path):
    if _is_observed(operands):
        return _ObservedContraction.apply(equation, path, conj, *operands)
    if _is_differentiated(operands):
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
    """The contraction with its derivatives, for calls that only autograd sees."""

    @staticmethod
    def forward(ctx, equation, path, conj, *operands):
        _remember(ctx, (equation, path, conj, *operands))
        return _run(equation, operands, path, conj)

    @staticmethod
    def backward(ctx, gradient):
        needed = ctx.needs_input_grad[3:]
        if gradient is None:
            return None, None, None, *(None for _ in needed)
        return None, None, None, *_gradients(ctx.equation, ctx.conj, ctx.saved_tensors, needed, gradient)

    @staticmethod
    def jvp(ctx, *tangents):
        parts = []
        for at, tangent in enumerate(tangents[3:]):
            if tangent is not None:
                tensors = [*ctx.saved_tensors[:at], tangent, *ctx.saved_tensors[at + 1 :]]
                parts.append(_derivative(ctx.equation, tensors, ctx.conj, ctx.path))
        return sum(parts[1:], parts[0])


def _remember(ctx, inputs):
    ctx.equation, ctx.path, ctx.conj, *operands = inputs
    ctx.save_for_backward(*operands)
    ctx.save_for_forward(*operands)
    # Without this, operands that have no tangent would get one of zeros.
    ctx.set_materialize_grads(False)


class _ObservedContraction(_Contraction):
    """The same for `torch.func`, modes and subclasses of tensors. PyTorch takes longer for functions with `setup_context`."""

    @staticmethod
    def forward(equation, path, conj, *operands):
        return (_contract if _is_observed(operands) else _run)(equation, operands, path, conj)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _remember(ctx, inputs)

    @staticmethod
    def vmap(info, in_dims, equation, path, conj, *operands):
        return _ObservedContraction.apply(equations.batched(equation, in_dims[3:]), path, conj, *operands), 0


@_contract.register_vmap
def _vmap(info, in_dims, equation, operands, path, conj):
    return _contract(equations.batched(equation, in_dims[1]), operands, path, conj), 0
