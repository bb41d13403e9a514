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
    assert torch.autograd.gradcheck(lambda *args: ed.torch.einsum(expression, *args), operands)
    assert torch.autograd.gradgradcheck(lambda *args: ed.torch.einsum(expression, *args), operands)


@pytest.mark.parametrize("conj", [(0,), (1,), (0, 1), (0, 2)])
def test_lazy_conjugation_is_a_flag(conj, monkeypatch):
    flags = []
    original = ed.torch._normalize._contract
    monkeypatch.setattr(ed.torch._normalize, "_contract", lambda *args: flags.append(args[-1]) or original(*args))
    plain = tensors([(3, 4), (4, 5), (5, 2)], torch.complex128, grad=True)
    other = [tensor.detach().clone().requires_grad_() for tensor in plain]
    for einsum, operands in ((ed.torch.einsum, plain), (torch.einsum, other)):
        marked = [tensor.conj() if at in conj else tensor for at, tensor in enumerate(operands)]
        einsum("ij,jk,kl->il", *marked).abs().sum().backward()
        if einsum is ed.torch.einsum:
            assert sum(len(flag) for flag in flags) >= len(conj)
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


def test_forward_mode_and_tracing_are_those_of_torch():
    a, b, tangent = tensors([(3, 4), (4, 5), (3, 4)], torch.float64)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        result = ed.torch.einsum("ij,jk->ik", forward.make_dual(a, tangent), b)
        torch.testing.assert_close(forward.unpack_dual(result).tangent, tangent @ b)
    traced = torch.jit.trace(lambda a, b: ed.torch.einsum("ij,jk->ik", a, b), (a, b))
    torch.testing.assert_close(traced(tangent, b), tangent @ b)


def test_a_path_with_gradients():
    operands = tensors([(3, 4), (4, 5), (5, 2)], torch.float64, grad=True)
    result = ed.torch.einsum("ij,jk,kl->il", *operands, optimize=[(1, 2), (0, 1)])
    torch.testing.assert_close(result, torch.einsum("ij,jk,kl->il", *operands))


def test_operands_are_not_copied(monkeypatch):
    pointers = []
    original = ed.torch._normalize._contract
    monkeypatch.setattr(
        ed.torch._normalize,
        "_contract",
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
