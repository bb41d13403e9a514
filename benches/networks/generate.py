"""Writes the tensor networks of `make bench-networks` as files: python benches/networks/generate.py FOLDER

Seeds are fixed. The two circuits need quimb, and are left out without it; the networks of another version of quimb may differ.
"""

import argparse
import itertools
import pathlib
import random
import sys

from network import write

# Depth of a circuit: each layer has a random gate on every qubit, and one of four sets of disjoint pairs of neighbours.
CIRCUITS = {(6, 6): 14, (7, 7): 16}
LITERALS = 3


def regular(count, degree, seed):
    """The edges of a random simple connected graph in which each of `count` vertices has `degree` edges."""
    rng = random.Random(seed)
    while True:
        ends = [vertex for vertex in range(count) for _ in range(degree)]
        rng.shuffle(ends)
        edges = [tuple(sorted(pair)) for pair in zip(ends[::2], ends[1::2])]
        if len(set(edges)) == len(edges) and all(one != other for one, other in edges) and connected(count, edges):
            return edges


def connected(count, edges):
    neighbours = {vertex: set() for vertex in range(count)}
    for one, other in edges:
        neighbours[one].add(other)
        neighbours[other].add(one)
    reached, stack = {0}, [0]
    while stack:
        new = neighbours[stack.pop()] - reached
        reached |= new
        stack += new
    return len(reached) == count


def lattice(*lengths):
    """The points of an open lattice, and the pairs of neighbours."""
    points = list(itertools.product(*map(range, lengths)))
    steps = [tuple(int(axis == at) for at in range(len(lengths))) for axis in range(len(lengths))]
    pairs = [(point, tuple(map(sum, zip(point, step)))) for point in points for step in steps]
    return points, [(one, other) for one, other in pairs if all(map(int.__lt__, other, lengths))]


def graph(vertices, edges):
    """One tensor for each vertex, and one label for each edge."""
    terms = {vertex: [] for vertex in vertices}
    for edge in edges:
        for vertex in edge:
            terms[vertex].append(edge)
    return list(terms.values())


def peps_norm(length, bond, physical):
    """A projected entangled pair state of `length` x `length` sites, and its conjugate."""
    points, edges = lattice(length, length)
    layers = [graph(points, edges) for _ in "kb"]
    sites = [(layer, point, term) for layer, terms in enumerate(layers) for point, term in zip(points, terms)]
    inputs = [[(layer, *edge) for edge in term] + [point] for layer, point, term in sites]
    return inputs, {label: physical if label in points else bond for term in inputs for label in term}


def matrix_product_overlap(length, bond, operator_bond, physical):
    """A matrix product state, a matrix product operator and another state."""
    layers = ("state", ["up"], bond), ("operator", ["up", "down"], operator_bond), ("other", ["down"], bond)
    inputs, sizes = [], {}
    for site in range(length):
        for layer, legs, extent in layers:
            bonds = [(layer, at) for at in (site - 1, site) if 0 <= at < length - 1]
            inputs.append([(leg, site) for leg in legs] + bonds)
            sizes.update({(leg, site): physical for leg in legs})
            sizes.update(dict.fromkeys(bonds, extent))
    return inputs, sizes


def satisfiability(variables, clauses, seed):
    """Random clauses of three variables. A label is a variable, and is in every clause that has the variable."""
    rng = random.Random(seed)
    return [rng.sample(range(variables), LITERALS) for _ in range(clauses)]


def ising(length):
    """A matrix for each pair of neighbours, and a vector for the field of each spin. A label is a spin."""
    points, edges = lattice(length, length)
    return [list(edge) for edge in edges] + [[point] for point in points]


def open_legs(count, legs, extent, seed):
    """A random graph, some of whose tensors have one label more, which the result has too."""
    edges = regular(count, 3, seed)
    inputs, sizes = graph(range(count), edges), dict.fromkeys(edges, 2)
    output = [("open", vertex) for vertex in sorted(random.Random(seed).sample(range(count), legs))]
    for label in output:
        inputs[label[1]].append(label)
        sizes[label] = extent
    return inputs, output, sizes


def disconnected():
    """Three networks without a common label."""
    parts = [graph(range(50), regular(50, 3, 50)), graph(range(30), regular(30, 4, 51)), graph(*lattice(5, 5))]
    inputs = [[(part, label) for label in term] for part, terms in enumerate(parts) for term in terms]
    return inputs, {label: 3 if label[0] == 2 else 2 for term in inputs for label in term}


def circuit(rows, columns, depth, seed):
    """The amplitude of a random bit string after a random circuit, simplified by quimb."""
    import numpy as np
    import quimb.tensor as qtn

    rng = random.Random(seed)
    points, edges = lattice(rows, columns)
    qubit = {point: number for number, point in enumerate(points)}
    found = qtn.Circuit(len(points))
    previous = {}
    for layer in range(depth):
        for point in points:
            previous[point] = rng.choice([gate for gate in ("X_1_2", "Y_1_2", "W_1_2") if gate != previous.get(point)])
            found.apply_gate(previous[point], qubit[point])
        for one, other in edges:
            axis = int(one[0] == other[0])
            if 2 * axis + (one[axis] + one[1 - axis]) % 2 == (0, 2, 1, 3)[layer % 4]:
                found.apply_gate("CZ", qubit[one], qubit[other])
    state = found.psi
    for number in range(len(points)):
        state &= qtn.Tensor(np.eye(2)[rng.randrange(2)], inds=(f"k{number}",))
    state = state.full_simplify("ADCRS", output_inds=())
    tensors = [tensor for tensor in state if tensor.inds]
    sizes = {label: tensor.ind_size(label) for tensor in tensors for label in tensor.inds}
    return [tensor.inds for tensor in tensors], sizes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for count in (100, 220):
        write(folder, f"regular3_{count}", graph(range(count), regular(count, 3, count)), (), 2)
    for lengths in ((16, 16), (100, 100), (4, 4, 4), (5, 5, 5)):
        write(folder, f"lattice_{'x'.join(map(str, lengths))}", graph(*lattice(*lengths)), (), 2)
    for length, bond in ((7, 3), (10, 4)):
        write(folder, f"peps_{length}x{length}_d{bond}", graph(*lattice(length, length)), (), bond)
    for length in (6, 8):
        inputs, sizes = peps_norm(length, bond=3, physical=2)
        write(folder, f"peps_norm_{length}x{length}_d3", inputs, (), sizes)
    write(folder, "ksat_40", satisfiability(variables=40, clauses=100, seed=1), (), 2)
    write(folder, "ising_32x32", ising(32), (), 2)
    inputs, sizes = matrix_product_overlap(length=60, bond=64, operator_bond=12, physical=3)
    write(folder, "mps_mpo_mps_60", inputs, (), sizes)
    inputs, output, sizes = open_legs(80, legs=6, extent=3, seed=41)
    write(folder, "open_80", inputs, output, sizes)
    inputs, sizes = disconnected()
    write(folder, "disconnected_3", inputs, (), sizes)
    try:
        for (rows, columns), depth in CIRCUITS.items():
            inputs, sizes = circuit(rows, columns, depth, seed=depth)
            write(folder, f"circuit_{rows}x{columns}_{depth}", inputs, (), sizes, "complex64")
    except ImportError as error:
        print(f"the circuits are left out: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
