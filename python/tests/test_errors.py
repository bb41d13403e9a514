"""Wrong calls raise the right exceptions."""

import numpy as np
import pytest

import einsum_dist as ed

A, B = np.ones((2, 3)), np.ones((3, 4))
READ_ONLY = np.ones((2, 4))
READ_ONLY.flags.writeable = False
PLAN = ed.plan("ij,jk->ik", A, B)


def program():
    return PLAN.compile()


WRONG = {
    "no arguments": (lambda: ed.einsum(), (TypeError, ValueError)),
    "no operands": (lambda: ed.einsum("ij"), (TypeError, ValueError)),
    "too few operands": (lambda: ed.einsum("ij,jk->ik", A), ValueError),
    "too many operands": (lambda: ed.einsum("ij,jk->ik", A, B, B), ValueError),
    "extents that differ": (lambda: ed.einsum("ij,kj->ik", A, B), ValueError),
    "too few dimensions": (lambda: ed.einsum("ijk,jk->ik", A, B), ValueError),
    "too many dimensions": (lambda: ed.einsum("i,jk->ik", A, B), ValueError),
    "unknown label in the output": (lambda: ed.einsum("ij,jk->il", A, B), ValueError),
    "label twice in the output": (lambda: ed.einsum("ij,jk->ii", A, B), ValueError),
    "two arrows": (lambda: ed.einsum("ij,jk->ik->i", A, B), ValueError),
    "half an arrow": (lambda: ed.einsum("ij,jk-ik", A, B), ValueError),
    "two dots": (lambda: ed.einsum("..ij,jk->ik", A, B), ValueError),
    "an open bracket": (lambda: ed.einsum("[ij,jk->ik", A, B), ValueError),
    "a diagonal of unequal extents": (lambda: ed.einsum("ii,ij->i", A, A), ValueError),
    "an operand that is no array": (lambda: ed.einsum("ij,jk->ik", A, "text"), (TypeError, ValueError)),
    "an operand that is None": (lambda: ed.einsum("ij,jk->ik", A, None), (TypeError, ValueError)),
    "a ragged list": (lambda: ed.einsum("ij,jk->ik", A, [[1.0], [1.0, 2.0]]), ValueError),
    "out of the wrong shape": (lambda: ed.einsum("ij,jk->ik", A, B, out=np.ones((4, 2))), ValueError),
    "out that is a list": (lambda: ed.einsum("ij,jk->ik", A, B, out=[1.0]), TypeError),
    "out that is read-only": (lambda: ed.einsum("ij,jk->ik", A, B, out=READ_ONLY), ValueError),
    "out of a narrower type": (lambda: ed.einsum("ij,jk->ik", A, B, out=np.ones((2, 4), "f4")), TypeError),
    "an unknown keyword": (lambda: ed.einsum("ij,jk->ik", A, B, precision=3), TypeError),
    "an unknown order of memory": (lambda: ed.einsum("ij,jk->ik", A, B, order="Q"), ValueError),
    "an unknown casting": (lambda: ed.einsum("ij,jk->ik", A, B, casting="maybe"), ValueError),
    "a dtype that loses digits": (lambda: ed.einsum("ij,jk->ik", A, B, dtype="f4"), TypeError),
    "an unknown path": (lambda: ed.contract("ij,jk->ik", A, B, optimize="quickest"), ValueError),
    "a path out of range": (lambda: ed.einsum("ij,jk,kl->il", A, B, np.ones((4, 2)), optimize=[(0, 5), (0, 1)]), ValueError),
    "beta without out": (lambda: ed.contract("ij,jk->ik", A, B, beta=1), ValueError),
    "a complex factor of real numbers": (lambda: ed.contract("ij,jk->ik", A, B, alpha=1j), TypeError),
    "conjugation of an operand that does not exist": (lambda: ed.contract("ij,jk->ik", A, B, conj=[2]), IndexError),
    "a flag of conjugation too few": (lambda: ed.contract("ij,jk->ik", A, B, conj=[True]), ValueError),
    "a plan that conjugates too much": (lambda: ed.plan("ij,jk->ik", A, B, conj=[0, 2]), IndexError),
    "contract of objects": (lambda: ed.contract("ij,jk->ik", A.astype(object), B), TypeError),
    "contract into integers": (lambda: ed.contract("ij,jk->ik", A, B, out=np.ones((2, 4), int)), TypeError),
    "tensordot of unequal extents": (lambda: ed.tensordot(A, B, axes=([0], [0])), ValueError),
    "tensordot over too many axes": (lambda: ed.tensordot(A, B, axes=3), ValueError),
    "tensordot over a missing axis": (lambda: ed.tensordot(A, B, axes=([5], [0])), (ValueError, IndexError)),
    "matmul of a scalar": (lambda: ed.matmul(A, 2.0), ValueError),
    "matmul of unequal extents": (lambda: ed.matmul(A, A), ValueError),
    "no threads": (lambda: ed.set_num_threads(0), ValueError),
    "fewer than no threads": (lambda: ed.set_num_threads(-1), (ValueError, OverflowError)),
    "half a thread": (lambda: ed.set_num_threads(1.5), TypeError),
    "a plan of integers": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), dtype="i4"), ValueError),
    "a plan of unequal extents": (lambda: ed.plan("ij,jk->ik", (2, 3), (2, 4)), ValueError),
    "a plan of negative extents": (lambda: ed.plan("ij,jk->ik", (2, -3), (-3, 4)), (ValueError, OverflowError)),
    "a plan without ranks": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), ranks=0), ValueError),
    "a plan by an unknown algorithm": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), algorithm="best"), ValueError),
    "a plan by an unknown kernel": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), kernel="best"), ValueError),
    "a plan for an unknown objective": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), objective="joy"), ValueError),
    "a plan within no memory": (lambda: ed.plan("ij,jk->ik", (200, 300), (300, 400), memory_limit=10), ValueError),
    "a machine that does not exist": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), machine="/no/machine.toml"), OSError),
    "a machine that is no machine": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), machine="ranks = 'three'\n"), ValueError),
    "a constant operand that does not exist": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), constant=[7]), (ValueError, IndexError)),
    "constant operands before the first": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), constant=[-1]), IndexError),
    "a negative memory limit": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), memory_limit=-1), ValueError),
    "half a byte": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), memory_limit=2.5), TypeError),
    **{
        f"{name} of {value}": (lambda option={name: value}: ed.plan("ij,jk->ik", (2, 3), (3, 4), **option), error)
        for name in ("runs", "memory_limit", "slice_groups", "ranks", "threads")
        for value, error in [(-1, ValueError), (2**70, ValueError), (1.5, TypeError), ("1", TypeError)]
    },
    "no runs": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), runs=0), ValueError),
    "an endless search": (lambda: ed.plan("ij,jk->ik", (2, 3), (3, 4), path_seconds=float("nan")), ValueError),
    "labels that are halves": (lambda: ed.einsum(A, [0, 0.5], B, [0.5, 1]), TypeError),
    "labels that are bool": (lambda: ed.einsum(A, [0, True], B, [True, 2]), (TypeError, ValueError)),
    "a program without operands": (lambda: program()(), ValueError),
    "a program into integers": (lambda: program()(A, B, out=np.ones((2, 4), int)), TypeError),
    "a program that adds to complex numbers": (lambda: program()(A, B, out=np.ones((2, 4), complex), beta=1), TypeError),
    "a program with too few operands": (lambda: program()(A), ValueError),
    "a program with other shapes": (lambda: program()(B, A), ValueError),
    "a program with another dtype": (lambda: program()(A * 1j, B), TypeError),
    "a program with a wrong out": (lambda: program()(A, B, out=np.ones((4, 2))), ValueError),
    "a program with beta, without out": (lambda: program()(A, B, beta=2), ValueError),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_raise(name):
    call, kinds = WRONG[name]
    with pytest.raises(kinds) as raised:
        call()
    assert str(raised.value), "the message says what is wrong"
    # The next call is not affected.
    assert ed.einsum("ij,jk->ik", A, B)[0, 0] == 3.0


def test_messages_show_the_position():
    with pytest.raises(ValueError) as raised:
        ed.einsum("ij,jk->iq", A, B)
    assert "^" in str(raised.value) and "q" in str(raised.value)
    with pytest.raises(ValueError) as raised:
        ed.einsum("ij,kj->ik", A, B)
    assert "^" in str(raised.value)


def test_calls_do_not_leak():
    """The memory of the process stays constant over 10^5 calls, correct and wrong ones."""
    resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096  # noqa: E731

    def calls(count):
        for index in range(count):
            ed.einsum("ij,jk->ik", A, B)
            if index % 10 == 0:
                with pytest.raises(ValueError):
                    ed.einsum("ij,kj->ik", A, B)
                ed.einsum("ij,jk->ik", A.tolist(), B)

    calls(5000)
    before = resident()
    calls(100_000)
    assert resident() - before < 4 << 20
