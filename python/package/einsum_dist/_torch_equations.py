"""Rewrites einsum equations for `einsum_dist.torch`: what PyTorch does first, the steps of a path, gradients, and batches.

The functions below :func:`reductions` take equations with a ``->`` and neither ``...`` nor spaces, and do not check them. Labels are
letters; digits stand for the dimensions of ``...``, and Greek letters for batches.
"""

import ast
import functools
import itertools
import typing

from ._plan import plan


class Reduction(typing.NamedTuple):
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


def reductions(equation, shapes):
    """Returns terms and output after reductions, and the reduction of each operand, or None if PyTorch has to see the call."""
    equation = equation.replace(" ", "")
    inputs, arrow, output = equation.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes) or not all(_is_term(term) for term in (*terms, output)):
        return None
    if not arrow:
        labels = inputs.replace("...", "").replace(",", "")
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
    found = []
    for at, (term, shape) in enumerate(zip(terms, shapes)):
        squeezed = [axis for axis, label in enumerate(term) if shape[axis] != extents[label]]
        if any(term.count(term[axis]) > 1 for axis in squeezed):
            return None
        term = "".join(label for axis, label in enumerate(term) if axis not in squeezed)
        terms[at], diagonals = _without_diagonals(term)
        found.append((tuple(reversed(squeezed)), diagonals))
    for at, term in enumerate(terms):
        elsewhere = set(output).union(*terms[:at], *terms[at + 1 :])
        summed = tuple(axis for axis, label in enumerate(term) if label not in elsewhere)
        # Sums of other operands do not depend on this one: only this term has the labels.
        found[at] = Reduction(*found[at], summed)
    kept = [
        "".join(label for axis, label in enumerate(term) if axis not in reduction.summed)
        for term, reduction in zip(terms, found)
    ]
    return kept, output, found


known_reductions = functools.lru_cache(1024)(reductions)


def _is_term(text):
    letters = text.replace("...", "", 1)
    return not letters or (letters.isascii() and letters.isalpha())


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


@functools.lru_cache(1024)
def planned_steps(terms, output, shapes, path):
    """The contractions of pairs: positions in the list of tensors that are left, axes to sum of each, and the equation."""
    given = ast.literal_eval(f"[{path}]") if path.startswith("(") else path
    steps, terms = [], list(terms)
    for positions in plan(join(terms, output), *shapes, path=given).path:
        pair = [terms[at] for at in positions]
        for at in sorted(positions, reverse=True):
            del terms[at]
        kept = set(output).union(*terms)
        result = "".join(label for label in dict.fromkeys("".join(pair)) if label in kept) if terms else output
        # A label may be left in one operand of the pair only, because all other operands with it are contracted.
        needed = set(result) | set(pair[0]) & set(pair[1])
        sums = tuple(tuple(axis for axis, label in enumerate(term) if label not in needed) for term in pair)
        pair = ["".join(label for label in term if label in needed) for term in pair]
        steps.append((positions, sums, join(pair, result)))
        terms.append(result)
    return steps


@functools.lru_cache(1024)
def gradient_rule(equation, at):
    """The contraction for the gradient of an operand, the axes that it lacks, its labels, and the diagonals that it is."""
    terms, output = split(equation)
    term, diagonals = _without_diagonals(terms[at])
    inputs = [output, *terms[:at], *terms[at + 1 :]]
    found = "".join(label for label in term if label in "".join(inputs))
    missing = [axis for axis, label in enumerate(term) if label not in found]
    return join(inputs, found), missing, term, diagonals


@functools.lru_cache(1024)
def sources(equation):
    """For every dimension of the output, an operand and its dimension with that label."""
    terms, output = split(equation)
    sources = {label: (at, axis) for at, term in enumerate(terms) for axis, label in enumerate(term)}
    if not set(output) <= set(sources):
        raise ValueError(f"{equation!r} has a label in the output that is in no term")
    return [sources[label] for label in output]


def batched(equation, dims):
    """Adds a batch dimension to some operands, before the given one of theirs, and as the first one to the output."""
    terms, output = split(equation)
    batch = next(label for label in map(chr, itertools.count(ord("α"))) if label not in equation)
    terms = [term if dim is None else term[:dim] + batch + term[dim:] for term, dim in zip(terms, dims)]
    return join(terms, batch + output)


def join(terms, output):
    return ",".join(terms) + "->" + output


def split(equation):
    inputs, _, output = equation.partition("->")
    return inputs.split(","), output
