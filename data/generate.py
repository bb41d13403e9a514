"""Writes the arrays in data/, and the expressions and operand lists of the circuit. Needs only NumPy.

    python3 data/generate.py [FOLDER]

Results are computed in double precision, and differently from the expressions with which they are compared. Random
numbers are the same on every machine; the last digits of isometries and results may depend on how NumPy was built.
"""

import math
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent


def save(name, array):
    np.save(FOLDER / f"{name}.npy", array)


def write(name, text):
    (FOLDER / name).write_text(text + "\n")


def operands():
    """Writes the operands that the demo and the first examples contract."""
    rng = np.random.default_rng(2024)

    def normal(*shape, dtype="float32"):
        return rng.standard_normal(shape).astype(dtype)

    save("left", normal(512, 384))
    save("right", normal(384, 640))
    save("left_fortran", np.asfortranarray(normal(120, 90, dtype="float64")))
    save("right_f64", normal(90, 70, dtype="float64"))
    save("left_complex", normal(48, 40, dtype="complex64") + 1j * normal(48, 40))
    save("right_complex", normal(40, 56, dtype="complex64") + 1j * normal(40, 56))
    save("query", normal(2, 48, 4, 16))
    save("key", normal(2, 64, 4, 16))
    save("thesis_left", normal(8, 4, 12, 7, 6))
    save("thesis_right", normal(9, 4, 12, 5, 7))
    for number, shape in enumerate([(24, 32), (32, 24, 32), (32, 24, 32), (32, 24)]):
        save(f"train_{number}", normal(*shape))


def load(name):
    array = np.load(FOLDER / f"{name}.npy")
    return array.astype("complex128" if array.dtype.kind == "c" else "float64")


def attention():
    """Writes the values, the weights and the result of attention, computed for every head one query after the other."""
    rng = np.random.default_rng(1)
    save("value", rng.standard_normal((2, 64, 4, 16)).astype("float32"))
    query, key, value = load("query"), load("key"), load("value")
    (batches, queries, heads, depth), keys = query.shape, key.shape[1]
    weights = np.empty((batches, heads, queries, keys))
    attended = np.empty(query.shape)
    for b, h, q in np.ndindex(batches, heads, queries):
        scores = (key[b, :, h] * query[b, q, h]).sum(axis=1) / math.sqrt(depth)
        exponentials = np.exp(scores - scores.max())
        weights[b, h, q] = exponentials / exponentials.sum()
        attended[b, q, h] = (weights[b, h, q, :, None] * value[b, :, h]).sum(axis=0)
    save("attention_weights", weights.astype("float32"))
    save("attention_result", attended)


def tensor_train():
    """Writes two results for the tensor train. The first is every fourth element in each dimension, each computed as a
    product of matrices. The second is the norm of the whole tensor, computed core by core."""
    first, second, third, last = (load(f"train_{number}") for number in range(4))
    sample = np.empty((6, 6, 6, 6))
    for a, b, c, d in np.ndindex(sample.shape):
        sample[a, b, c, d] = first[4 * a] @ second[:, 4 * b] @ third[:, 4 * c] @ last[:, 4 * d]
    save("tensor_train_sample", sample)
    gram = first.T @ first
    for core in (second, third):
        gram = sum(core[:, i].T @ gram @ core[:, i] for i in range(core.shape[1]))
    save("tensor_train_norm", np.sqrt((last * (gram @ last)).sum()))


def mera():
    """Writes two layers of a ternary MERA, and the expectations of operators on two sites, computed from the top down."""
    rng = np.random.default_rng(2)

    def isometry(rows, columns):
        return np.linalg.qr(rng.standard_normal((rows, columns)))[0]

    dims = [4, 8, 8]
    disentanglers, isometries = [], []
    for layer, (below, above) in enumerate(zip(dims, dims[1:])):
        disentanglers.append(isometry(below**2, below**2).reshape([below] * 4))
        isometries.append(isometry(below**3, above).reshape([below] * 3 + [above]))
        save(f"mera_disentangler_{layer}", disentanglers[-1])
        save(f"mera_isometry_{layer}", isometries[-1])
    top = rng.standard_normal((dims[-1], dims[-1]))
    top /= np.linalg.norm(top)
    save("mera_top", top)
    # The first operator is the identity, so its expectation is 1.
    matrices = rng.standard_normal((6, 16, 16))
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    matrices[0] = np.eye(16)
    operators = matrices.reshape(6, 4, 4, 4, 4)
    save("mera_operators", operators)

    # Density matrices of two sites, at the top, below the first layer and below the second layer.
    (u0, u1), (w0, w1) = disentanglers, isometries
    density = np.einsum("rs,RS->rsRS", top, top)
    left = np.einsum("klmr,klMR->mrMR", w1, w1)
    right = np.einsum("npqs,NpqS->nsNS", w1, w1)
    density = np.einsum("mrMR,rsRS->mMsS", left, density)
    below = np.einsum("hefj,HefJ->hjHJ", w0, w0)
    steps = [
        ("mMsS,nsNS->mnMN", right),
        ("mnMN,ijmn->ijMN", u1),
        ("ijMN,IJMN->ijIJ", u1),
        ("ijIJ,hjHJ->ihIH", below),
        ("ihIH,abgi->abghIH", w0),
        ("abghIH,aBGI->bghBGH", w0),
        ("bghBGH,cdgh->bcdBGH", u0),
        ("bcdBGH,CdGH->bcBC", u0),
    ]
    for step, tensor in steps:
        density = np.einsum(step, density, tensor)
    save("mera_result", np.einsum("oBCbc,bcBC->o", operators, density))


def circuit():
    """Writes a circuit with twelve layers of gates on 20 qubits. In each layer, every qubit has a random root of a
    Pauli matrix, followed by gates on pairs of neighbouring qubits."""
    rng = np.random.default_rng(3)
    qubits, layers = 20, 12
    pauli_x, pauli_y = np.array([[0, 1], [1, 0]]), np.array([[0, -1j], [1j, 0]])
    paulis = {"x": pauli_x, "y": pauli_y, "w": (pauli_x + pauli_y) / math.sqrt(2)}
    for axis, pauli in paulis.items():
        save(f"gate_root_{axis}", ((np.eye(2) - 1j * pauli) / math.sqrt(2)).astype("complex64"))
    swap = np.zeros((2, 2, 2, 2), dtype="complex128")
    swap[0, 0, 0, 0], swap[0, 1, 1, 0], swap[1, 0, 0, 1] = 1, -1j, -1j
    swap[1, 1, 1, 1] = np.exp(-1j * math.pi / 6)
    save("gate_swap", swap.astype("complex64"))
    for bit in range(2):
        save(f"qubit_{bit}", np.eye(2, dtype="complex64")[bit])

    gates = []
    for layer in range(layers):
        gates += [(f"gate_root_{rng.choice(list(paulis))}", [qubit]) for qubit in range(qubits)]
        gates += [("gate_swap", [qubit, qubit + 1]) for qubit in range(layer % 2, qubits - 1, 2)]

    # A qubit has a new label after each gate.
    names = [f"q{qubit}_0" for qubit in range(qubits)]
    terms, files = [f"[{name}]" for name in names], ["qubit_0"] * qubits
    state = np.zeros([2] * qubits, dtype="complex128")
    state[(0,) * qubits] = 1
    for gate, on in gates:
        before = [names[qubit] for qubit in on]
        for qubit in on:
            names[qubit] = f"q{qubit}_{int(names[qubit].split('_')[1]) + 1}"
        terms.append(f"[{','.join([names[qubit] for qubit in on] + before)}]")
        files.append(gate)
        state = np.tensordot(load(gate), state, axes=(range(len(on), 2 * len(on)), on))
        state = np.moveaxis(state, range(len(on)), on)
    write("circuit_state.einsum", f"{','.join(terms)}->[{','.join(names)}]")
    write_operands("circuit_state", files)

    # Odd qubits are projected onto one state each, and even qubits stay open.
    bits = rng.integers(2, size=qubits // 2)
    terms += [f"[{name}]" for name in names[1::2]]
    files += [f"qubit_{bit}" for bit in bits]
    write("circuit.einsum", f"{','.join(terms)}->[{','.join(names[::2])}]")
    write_operands("circuit", files)
    chosen = tuple(slice(None) if qubit % 2 == 0 else int(bits[qubit // 2]) for qubit in range(qubits))
    save("circuit_result", state[chosen])


def write_operands(name, files):
    write(f"{name}.operands", "\n".join(f"data/{file}.npy" for file in files))


if __name__ == "__main__":
    operands()
    attention()
    tensor_train()
    mera()
    circuit()
