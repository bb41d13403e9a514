"""Contractions of PyTorch tensors, and their gradients."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import einsum_dist as ed  # noqa: E402
import einsum_dist.torch  # noqa: E402

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
# Expressions with the kinds of reductions that PyTorch does before the contraction.
EXPRESSIONS = {
    "ij,jk->ik": [(3, 4), (4, 5)],
    "ij,jk": [(3, 4), (4, 5)],
    "ij,kj->": [(3, 4), (2, 4)],
    "iij,jk->ik": [(3, 3, 4), (4, 5)],
    "iii,i->i": [(3, 3, 3), (3,)],
    "ijm,jk->ik": [(3, 4, 2), (4, 5)],
    "ij,jk->ikj": [(3, 4), (4, 5)],
    "ij,kl->ijkl": [(3, 4), (2, 5)],
    "...ij,...jk->...ik": [(2, 1, 3, 4), (6, 4, 5)],
    "...ij,jk": [(2, 3, 4), (4, 5)],
    "...ij,jk,kl->...il": [(2, 3, 4), (4, 5), (5, 2)],
    "bij,bjk->bik": [(1, 3, 4), (6, 4, 5)],
    "ij,jk,kl->il": [(3, 4), (4, 5), (5, 2)],
    "ij,jk,kl,li->": [(3, 4), (4, 5), (5, 2), (2, 3)],
    "ai,bi,ci->abc": [(2, 3), (4, 3), (5, 3)],
    "ij,j,j->i": [(3, 4), (4,), (4,)],
    "ij,ab,jk->ik": [(3, 4), (2, 2), (4, 5)],
    ",ij->ji": [(), (3, 4)],
    ",->": [(), ()],
    "ij->ji": [(3, 4)],
    "iij->j": [(3, 3, 4)],
    "ij,jk->ki": [(0, 4), (4, 5)],
    "ij,jk->kj": [(3, 0), (0, 5)],
}


def tensors(shapes, dtype, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=dtype, generator=generator, requires_grad=grad) for shape in shapes]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_gradients(expression, dtype):
    ours, theirs = (tensors(EXPRESSIONS[expression], dtype, grad=True) for _ in range(2))
    result = ed.torch.einsum(expression, *ours)
    expected = torch.einsum(expression, *theirs)
    close = dict(rtol=1e-4, atol=1e-4) if dtype in DTYPES[::2] else dict(rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(result, expected, **close)
    weights = torch.randn(expected.shape, dtype=dtype)
    for out in (result, expected):
        loss = (out * weights).sum()
        (loss.real if loss.is_complex() else loss).backward()
    for mine, other in zip(ours, theirs):
        torch.testing.assert_close(mine.grad, other.grad, **close)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("expression", ["ij,jk->ik", "iij,jk->ik", "ij,jk,kl->il", "bij,bjk->bik", "ai,bi,ci->abc"])
def test_second_derivatives(expression, dtype):
    operands = tensors(EXPRESSIONS[expression], dtype, grad=True)
    function = lambda *args: ed.torch.einsum(expression, *args)  # noqa: E731
    assert torch.autograd.gradcheck(function, operands)
    assert torch.autograd.gradgradcheck(function, operands)
    # The batched checks call `torch.autograd.grad(..., is_grads_batched=True)`.
    quick = dict(fast_mode=True, check_batched_grad=True)
    assert torch.autograd.gradcheck(function, operands, check_forward_ad=True, check_batched_forward_grad=True, **quick)
    assert torch.autograd.gradgradcheck(function, operands, check_fwd_over_rev=True, **quick)


@pytest.mark.parametrize("conj", [(0,), (1,), (0, 1), (0, 2)])
def test_lazy_conjugation_is_a_flag(conj, monkeypatch):
    flags = []
    original = ed.torch._einsum_dist.contract
    monkeypatch.setattr(ed.torch._einsum_dist, "contract", lambda *args: flags.append(args[-1]) or original(*args))
    plain = tensors([(3, 4), (4, 5), (5, 2)], torch.complex128, grad=True)
    other = [tensor.detach().clone().requires_grad_() for tensor in plain]
    for einsum, operands in ((ed.torch.einsum, plain), (torch.einsum, other)):
        marked = [tensor.conj() if at in conj else tensor for at, tensor in enumerate(operands)]
        result = einsum("ij,jk,kl->il", *marked)
        if einsum is ed.torch.einsum:
            assert sum(len(flag) for flag in flags) == len(conj)
        result.abs().sum().backward()
        if einsum is ed.torch.einsum:
            with torch.no_grad():
                result = einsum("ij,jk,kl->il", *marked)
            assert flags[-1] == list(conj)
            torch.testing.assert_close(result, torch.einsum("ij,jk,kl->il", *marked))
    for mine, expected in zip(plain, other):
        torch.testing.assert_close(mine.grad, expected.grad)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_lazily_negated_and_conjugated_tensors(dtype):
    pair = []
    for einsum in (ed.torch.einsum, torch.einsum):
        z, w = tensors([(3, 4), (4, 5)], torch.complex128, grad=True)
        left, right = (z.conj().imag, w.conj().imag) if dtype == torch.float64 else (z.conj(), w)
        assert dtype == torch.complex128 or left.is_neg()
        result = einsum("ij,jk->ik", left, right)
        # The gradients of these arrive conjugated or negated.
        if dtype == torch.complex128:
            loss = (result.conj() * torch.arange(5)).sum().real + result.mH.abs().sum()
        else:
            loss = (torch.complex(result * 2, result).conj() * (2 + 1j)).sum().real
        loss.backward()
        pair.append((result.detach().clone(), z.grad, w.grad))
    torch.testing.assert_close(*pair)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_forward_mode(dtype):
    a, b, c, tangent = tensors([(3, 4), (4, 5), (5, 2), (3, 4)], dtype)
    forward = torch.autograd.forward_ad
    for plain, direction in ((a, tangent), (a.clone().requires_grad_(), tangent.conj())):
        with forward.dual_level():
            result = ed.torch.einsum("ij,jk,kl->il", forward.make_dual(plain, direction), b.conj(), c)
            torch.testing.assert_close(forward.unpack_dual(result).tangent, direction @ b.conj() @ c)
    # A gradient that is recorded outside of the level, and whose cotangent has a tangent.
    result = ed.torch.einsum("ij,jk->ik", plain, b)
    with forward.dual_level():
        cotangent = forward.make_dual(torch.ones_like(result), torch.ones_like(result) * 2)
        (gradient,) = torch.autograd.grad(result, plain, cotangent)
        torch.testing.assert_close(forward.unpack_dual(gradient).tangent, 2 * torch.ones_like(result) @ b.mH)


def test_forward_mode_of_the_operator_itself_is_an_error():
    torch._dynamo.reset()
    a, b, tangent = tensors([(3, 4), (4, 5), (3, 4)], torch.float64)
    compiled = torch.compile(lambda a: ed.torch.einsum("ij,jk->ik", a, b), backend="aot_eager")
    torch.testing.assert_close(compiled(a), a @ b)
    operator = lambda a: torch.ops.einsum_dist.contract("ij,jk->ik", [a, b], "auto", [False, False])  # noqa: E731
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        for function in (operator, compiled):
            torch.testing.assert_close(function(a), a @ b)
            with pytest.raises(NotImplementedError):
                function(forward.make_dual(a, tangent))


def test_forward_mode_contracts_only_where_there_are_tangents(monkeypatch):
    equations = []
    original = ed.torch._einsum_dist.contract
    monkeypatch.setattr(ed.torch._einsum_dist, "contract", lambda *args: equations.append(args[0]) or original(*args))
    a, b, tangent = tensors([(3, 4), (4, 5), (3, 4)], torch.float64)
    torch.func.jvp(lambda a: ed.torch.einsum("ij,jk->ik", a, b), (a,), (tangent,))
    assert equations == ["ij,jk->ik"] * 2


def test_tracing_is_that_of_torch():
    a, b, tangent = tensors([(3, 4), (4, 5), (3, 4)], torch.float64)
    traced = torch.jit.trace(lambda a, b: ed.torch.einsum("ij,jk->ik", a, b), (a, b))
    torch.testing.assert_close(traced(tangent, b), tangent @ b)


def test_a_path_with_gradients():
    operands = tensors([(3, 4), (4, 5), (5, 2)], torch.float64, grad=True)
    result = ed.torch.einsum("ij,jk,kl->il", *operands, optimize=[(1, 2), (0, 1)])
    torch.testing.assert_close(result, torch.einsum("ij,jk,kl->il", *operands))


def test_operands_are_not_copied(monkeypatch):
    pointers = []
    original = ed.torch._einsum_dist.contract
    monkeypatch.setattr(
        ed.torch._einsum_dist,
        "contract",
        lambda text, arrays, *rest: pointers.extend(array.ctypes.data for array in arrays) or original(text, arrays, *rest),
    )
    left, right = torch.rand(6, 8)[::2, 1:], torch.rand(5, 7).T
    result = ed.torch.einsum("ij,jk->ik", left, right)
    assert pointers == [left.data_ptr(), right.data_ptr()]
    torch.testing.assert_close(result, left @ right)


def test_the_operator_is_registered_completely():
    left, right = tensors([(3, 4), (4, 5)], torch.complex128, grad=True)
    for conj in ([False, False], [True, False]):
        torch.library.opcheck(torch.ops.einsum_dist.contract.default, ("ij,jk->ik", [left, right], "auto", conj))


def test_torch_func():
    left, right = tensors([(6, 3, 4), (4, 5)], torch.float64)
    for einsum in (ed.torch.einsum, torch.einsum):
        product = lambda a, b: einsum("ij,jk->ik", a, b)  # noqa: E731
        batched = torch.func.vmap(product, in_dims=(0, None))(left, right)
        torch.testing.assert_close(batched, left @ right)
        gradient = torch.func.vmap(torch.func.grad(lambda a: product(a, right).sum()))(left)
        torch.testing.assert_close(gradient, right.sum(1).expand(6, 3, 4))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_second_derivatives_of_torch_func(dtype):
    x, y = tensors([(3, 2), (2, 3)], torch.float64)
    factor = tensors([()], dtype)[0]
    func = torch.func
    results = []
    for einsum in (ed.torch.einsum, torch.einsum):
        product = lambda x, y: einsum("ij,jk->ik", (x * factor).conj(), y * factor)  # noqa: B023, E731
        norm = lambda x, y: product(x, y).abs().square().sum()  # noqa: B023, E731
        first, second = (func.jacfwd, func.jacrev), (func.jacfwd, func.jacrev)
        found = [outer(inner(norm, argnums=1))(x, y) for outer in first for inner in second]
        results.append((found, func.jvp(product, (x, y), (x * 2, y + 1))))
    torch.testing.assert_close(*results)


def test_batched_gradients():
    jacobian, hessian = torch.autograd.functional.jacobian, torch.autograd.functional.hessian
    a, b = tensors([(3, 4), (4, 5)], torch.complex128)
    batch = tensors([(3, 2, 1, 3, 5)], torch.complex128)[0]
    vmap = torch._vmap_internals._vmap
    results = []
    for einsum in (ed.torch.einsum, torch.einsum):
        x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
        product = einsum("ij,jk->ik", x.conj(), y)
        single = lambda v: torch.autograd.grad(product, (x, y), v, retain_graph=True)  # noqa: B023, E731
        nested = [vmap(vmap(single))(batch[:, :, 0]), vmap(single)(batch[0, 0]), vmap(vmap(single), in_dims=1)(batch[0])]
        (once,) = torch.autograd.grad(
            einsum("ij,jk->ik", x, y).pow(3), x, batch[:, 0, 0], is_grads_batched=True, create_graph=True
        )
        twice = torch.autograd.grad(once.abs().sum(), (x, y))
        real = lambda x: einsum("ij,jk->ik", x, b.real).pow(3)  # noqa: B023, E731
        modes = [jacobian(real, a.real, vectorize=True, strategy=mode) for mode in ("reverse-mode", "forward-mode")]
        hessians = hessian(lambda x: real(x).sum(), a.real, vectorize=True)  # noqa: B023
        results.append((nested, once, twice, modes, hessians))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("expression", ["ij,jk->ik", "ij,jk,kl->il", "...ij,...jk->...ik", "iij,jk->ik"])
@pytest.mark.parametrize("how", ["dynamic", "marked"])
def test_torch_compile_for_any_shapes(expression, how):
    torch._dynamo.reset()
    count = 0

    def backend(graph, example):
        nonlocal count
        count += 1
        return torch._dynamo.backends.debugging.aot_eager(graph, example)

    einsum = lambda *args: ed.torch.einsum(expression, *args).sin()  # noqa: E731
    function = torch.compile(einsum, backend=backend, fullgraph=True, dynamic=True if how == "dynamic" else None)
    for stretch in (1, 2, 3):
        # The extent of k is another one in each call.
        labels = expression.split("->")[0].replace("...", "ab").split(",")
        shapes = [
            [extent * stretch if label == "k" else extent for label, extent in zip(term, shape)]
            for term, shape in zip(labels, EXPRESSIONS[expression])
        ]
        operands = tensors(shapes, torch.float64, grad=True)
        if how == "marked":
            for term, operand in zip(labels, operands):
                if "k" in term:
                    torch._dynamo.mark_dynamic(operand, term.index("k"))
        outs = function(*operands), torch.einsum(expression, *operands).sin()
        torch.testing.assert_close(*outs)
        torch.testing.assert_close(*(torch.autograd.grad(out.sum(), operands) for out in outs))
    assert count == 1


@pytest.mark.parametrize("expression", ["ij,jk->ik", "ij,jk,kl->il"])
def test_graphs_with_symbolic_shapes(expression):
    make_fx = pytest.importorskip("torch.fx.experimental.proxy_tensor").make_fx
    operands = tensors(EXPRESSIONS[expression], torch.float64)
    longer = [torch.cat([operands[0], operands[0]]), *operands[1:]]
    graph = make_fx(lambda *args: ed.torch.einsum(expression, *args), tracing_mode="symbolic")(*operands)
    torch.testing.assert_close(graph(*longer), torch.einsum(expression, *longer))


@pytest.mark.parametrize("expression", ["ij,jk->ik", "ij,jk,kl->il"])
def test_derivatives_inside_of_compiled_code(expression):
    first, *rest = tensors(EXPRESSIONS[expression], torch.float64)
    for einsum in (ed.torch.einsum, torch.einsum):
        product = lambda x: einsum(expression, x, *rest)  # noqa: B023, E731
        transformed = [
            lambda x: torch.func.jvp(product, (x,), (x * 2,))[1],  # noqa: B023
            lambda x: torch.func.grad(lambda x: product(x).sum())(x),  # noqa: B023
            lambda x: torch.func.vmap(product)(x[None])[0],  # noqa: B023
        ]
        if einsum is ed.torch.einsum:
            found = [torch.compile(function, backend="aot_eager", fullgraph=True)(first) for function in transformed]
    torch.testing.assert_close(found, [function(first) for function in transformed])


@pytest.mark.parametrize("axes", [1, ([1], [0]), (1, 0)])
def test_torch_compile_of_tensordot(axes):
    a, b = tensors([(3, 4), (4, 5)], torch.float64)
    function = torch.compile(lambda a, b: ed.torch.tensordot(a, b, axes), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(function(a, b), a @ b)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("expression", ["ijm,jk->ik", "ij->i", "ij->", "iij,jk->ik", "iij,jk->k", "iimi,k->k", "ij,jk->ik"])
def test_gradients_of_the_operator_itself(expression, dtype):
    extents = dict(i=3, j=4, k=5, m=2)
    terms = expression.split("->")[0].split(",")
    operands = tensors([[extents[label] for label in term] for term in terms], dtype, grad=True)
    operator = lambda *args: torch.ops.einsum_dist.contract(expression, args, "auto", [False] * len(args))  # noqa: E731
    torch.testing.assert_close(operator(*operands), torch.einsum(expression, *operands))
    assert torch.autograd.gradcheck(operator, operands)
    assert torch.autograd.gradgradcheck(operator, operands)


@pytest.mark.parametrize("equation", ["ij,jk->iz", "...ij,jk->...ik", "ij, jk -> ik", "ijm,jk->im"])
def test_wrong_equations_of_the_operator_itself(equation):
    operands = tensors([(3, 4), (4, 5)], torch.float64)
    with pytest.raises(ValueError):
        torch.ops.einsum_dist.contract(equation, operands, "auto", [False, False])


@pytest.mark.parametrize("dtype", DTYPES)
def test_misaligned_tensors(dtype):
    (plain,) = tensors([(3, 4)], dtype)
    data = bytearray(b"-" + plain.numpy().tobytes())
    shifted = torch.frombuffer(data, dtype=dtype, offset=1).reshape(3, 4)
    assert shifted.data_ptr() % plain.element_size()
    expected = plain @ plain.mT.conj()
    torch.testing.assert_close(ed.torch.einsum("ij,kj->ik", shifted, shifted.conj()), expected)
    torch.testing.assert_close(ed.torch.tensordot(shifted, plain.conj(), ([1], [1])), expected)
    shifted.requires_grad_()
    ed.torch.einsum("ij,kj->ik", shifted, plain.conj()).abs().sum().backward()
    other = plain.clone().requires_grad_()
    torch.einsum("ij,kj->ik", other, plain.conj()).abs().sum().backward()
    torch.testing.assert_close(shifted.grad, other.grad)


@pytest.mark.parametrize("dtype", DTYPES)
def test_autocast_is_that_of_torch(dtype):
    a, b = tensors([(3, 4), (4, 5)], dtype)
    with torch.autocast("cpu", torch.bfloat16):
        assert ed.torch.einsum("ij,jk->ik", a, b).dtype == torch.einsum("ij,jk->ik", a, b).dtype
        assert ed.torch.tensordot(a, b, 1).dtype == torch.tensordot(a, b, 1).dtype


@pytest.mark.parametrize("expression", ["ij,jk->ik", "ij,jk,kl->il", "...ij,...jk->...ik", "iij,jk->ik"])
def test_torch_compile(expression):
    operands = tensors(EXPRESSIONS[expression], torch.float64, grad=True)
    function = torch.compile(lambda *args: ed.torch.einsum(expression, *args).sin(), backend="aot_eager", fullgraph=True)
    expected = torch.einsum(expression, *operands).sin()
    torch.testing.assert_close(function(*operands), expected)
    gradients = [torch.autograd.grad(out.sum(), operands) for out in (function(*operands), expected)]
    torch.testing.assert_close(*gradients)


def test_other_calls_are_those_of_torch():
    integers = torch.arange(6).reshape(2, 3)
    assert torch.equal(ed.torch.einsum("ij,kj->ik", integers, integers), integers @ integers.T)
    half = torch.ones(2, 3, dtype=torch.bfloat16)
    assert ed.torch.einsum("ij,kj->ik", half, half).dtype == torch.bfloat16
    a, b = torch.rand(2, 3), torch.rand(3, 4)
    torch.testing.assert_close(ed.torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b)
    torch.testing.assert_close(ed.torch.einsum("ij,jk->ik", [a, b]), a @ b)
    torch.testing.assert_close(ed.torch.tensordot(a, b, 1), a @ b)
    torch.testing.assert_close(ed.torch.tensordot(a, b, ([-1], [0])), a @ b)
    assert ed.torch.transpose(a).shape == (3, 2)
    for wrong in (lambda: ed.torch.einsum("ij,kj->ik", a, b), lambda: ed.torch.einsum("ij,jk->iz", a, b)):
        with pytest.raises(RuntimeError):
            wrong()
    with pytest.raises(ValueError):
        ed.torch.einsum("ij,jk->ik", a, b, optimize="quickest")


@pytest.mark.parametrize(
    "axes",
    [
        ([0], [0]),
        ([0, 0], [0, 0]),
        ([0, -3], [0, 0]),
        ([3], [0]),
        ([-4], [0]),
        ([0, 1], [0]),
        ([0], [0], [0]),
        ([0.0], [0]),
        (None, None),
        -1,
        4,
        1.5,
        "01",
    ],
)
def test_wrong_axes_of_tensordot(axes):
    a, b = tensors([(3, 4, 5), (4, 3, 3)], torch.float64)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as theirs:
        torch.tensordot(a, b, axes)
    with pytest.raises(theirs.type):
        ed.torch.tensordot(a, b, axes)


def test_axes_of_tensordot():
    a, b = tensors([(3, 4, 5), (4, 5, 2)], torch.float64)
    expected = torch.tensordot(a, b, 2)
    for axes in (2, np.int64(2), torch.tensor(2), [[1, 2], [0, 1]], ((-1, 1), [1, 0]), torch.tensor([[2, 1], [1, 0]])):
        torch.testing.assert_close(ed.torch.tensordot(a, b, axes), expected)
    torch.testing.assert_close(ed.torch.tensordot(a, b, (1, 0)), torch.tensordot(a, b, ([1], [0])))
    torch.testing.assert_close(ed.torch.tensordot(a, b, 0), torch.tensordot(a, b, 0))
    # PyTorch broadcasts summed axes of extent 1.
    torch.testing.assert_close(ed.torch.tensordot(a[:, :, :1], b, 2), torch.tensordot(a[:, :, :1], b, 2))
    # More dimensions than there are letters.
    many = torch.ones([1] * 60)
    assert ed.torch.tensordot(many, many, 60).shape == ()


@pytest.mark.parametrize("expression", ["...i...,i->i", "i,i->......", "ij,jk->i->k", "i-,>j", "..i,i->i", "i.j,jk->ik", "ij,é->i"])
def test_expressions_that_torch_refuses(expression):
    operands = tensors([(3, 3), (3,)], torch.float64)
    with pytest.raises(RuntimeError):
        torch.einsum(expression, *operands)
    with pytest.raises(RuntimeError):
        ed.torch.einsum(expression, *operands)


def test_backend_of_opt_einsum():
    oe = pytest.importorskip("opt_einsum")
    operands = tensors([(3, 4, 5), (5, 6), (6, 3, 7), (7, 4)], torch.float64)
    expected = oe.contract("abc,cd,dae,eb->", *operands)
    torch.testing.assert_close(oe.contract("abc,cd,dae,eb->", *operands, backend="einsum_dist.torch"), expected)


def test_random_expressions():
    rng = np.random.default_rng(8)
    for seed in range(200):
        extents = {label: int(rng.integers(1, 6)) for label in "abcdef"}
        terms = ["".join(rng.choice(list(extents), rng.integers(0, 4))) for _ in range(rng.integers(1, 5))]
        used = sorted(set("".join(terms)))
        output = "".join(rng.permutation(used)[: rng.integers(0, len(used) + 1)])
        text = ",".join(terms) + "->" + output
        shapes = [[1 if rng.random() < 0.1 and term.count(label) == 1 else extents[label] for label in term] for term in terms]
        ours = tensors(shapes, torch.complex128, seed, grad=True)
        theirs = [tensor.detach().clone().requires_grad_() for tensor in ours]
        pair = [einsum(text, *operands) for einsum, operands in ((ed.torch.einsum, ours), (torch.einsum, theirs))]
        torch.testing.assert_close(*pair, msg=lambda message: f"{text} {shapes}: {message}")
        for out in pair:
            out.abs().sum().backward()
        for mine, expected in zip(ours, theirs):
            torch.testing.assert_close(mine.grad, expected.grad, msg=lambda message: f"{text} {shapes}: {message}")
