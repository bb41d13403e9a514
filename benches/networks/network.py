"""Tensor networks in files: `name`, `expression`, `sizes` (label to extent) and `dtype`. Also the name of this machine."""

import json
import math
import os
import pathlib
import string
from dataclasses import dataclass

FIRST_IDEOGRAPH = 0x4E00


@dataclass
class Network:
    """A tensor network. `inputs` and `output` contain tuples of labels."""

    name: str
    inputs: list
    output: tuple
    sizes: dict
    dtype: str

    @property
    def expression(self):
        return ",".join(map("".join, self.inputs)) + "->" + "".join(self.output)

    @property
    def itemsize(self):
        return {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}[self.dtype]

    def elements(self, labels):
        return math.prod(self.sizes[label] for label in labels)


def read(file):
    content = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
    terms, _, output = content["expression"].partition("->")
    inputs = [tuple(term) for term in terms.split(",")]
    return Network(content["name"], inputs, tuple(output), content["sizes"], content["dtype"])


def write(folder, name, inputs, output, sizes, dtype="float32"):
    """Writes a network whose labels are any hashable values, and whose `sizes` are a dict or one number for all labels."""
    labels = list(dict.fromkeys(label for term in inputs for label in term))
    letter = {label: character(number) for number, label in enumerate(labels)}
    expression = ",".join("".join(letter[label] for label in term) for term in inputs)
    content = {
        "name": name,
        "expression": expression + "->" + "".join(letter[label] for label in output),
        "sizes": {letter[label]: sizes[label] if isinstance(sizes, dict) else sizes for label in labels},
        "dtype": dtype,
    }
    text = json.dumps(content, ensure_ascii=False)
    (pathlib.Path(folder) / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def character(number):
    """The letters, then characters that no notation of expressions uses."""
    letters = string.ascii_letters
    return letters[number] if number < len(letters) else chr(FIRST_IDEOGRAPH + number - len(letters))


def multiply_adds(network, path, sliced=(), ssa=False):
    """Counts the multiply-adds of a path of pairs over all slices: for each pair, the product of the extents of all labels
    that one of the two tensors has. Sums over a label of a single tensor are not counted, and are made first.

    Both programs count so. This count is independent of theirs.
    """
    sizes = {label: 1 if label in sliced else extent for label, extent in network.sizes.items()}
    uses = {label: 0 for label in sizes}
    for term in network.inputs:
        for label in set(term):
            uses[label] += 1
    for label in network.output:
        uses[label] += 1
    tensors = {number: {label for label in term if uses[label] > 1} for number, term in enumerate(network.inputs)}
    order, total = list(tensors), 0
    for number, step in enumerate(path, len(tensors)):
        chosen = list(step) if ssa else [order[at] for at in step]
        terms = [tensors.pop(key) for key in chosen]
        if not ssa:
            for at in sorted(step, reverse=True):
                del order[at]
            order.append(number)
        union = set().union(*terms)
        if len(terms) > 1:
            total += math.prod(sizes[label] for label in union)
        for label in union:
            uses[label] -= sum(label in term for term in terms) - 1
        tensors[number] = {label for label in union if uses[label] > 1}
    return total * math.prod(network.sizes[label] for label in sliced)


def cores():
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def machine():
    """The name of the processor, and the number of its cores that this process may use."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown processor'}, {cores()} cores"
