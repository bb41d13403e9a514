#!/usr/bin/env python3
"""Writes NumPy's result for every expression in list.txt to expected.txt. Usage: generate.py (needs NumPy).

A line of list.txt consists of an expression and the shapes of its operands (`2x3`, or `.` for a scalar); `#` starts a
group. Elements of operands are small integers that depend only on the number of the operand and the position (`value`
here and in mod.rs), so every sum is exact in single precision and independent of its order. A line of expected.txt
consists of an expression, shapes, the shape of the result, its values for real operands, and its values for complex
operands (real and imaginary parts alternate).

NumPy does not support ellipses that are summed (opt_einsum sums them), brackets, or more than 52 labels. This script
rewrites such expressions.
"""
import pathlib
import numpy as np


def value(operand, place, part):
    return (1, -1, 2, 0, 1, -1, -2)[(3 * place + 5 * operand + part * (2 * place + 1)) % 7]


def operand(index, shape, dtype):
    places = range(int(np.prod(shape, dtype=int)))
    real = np.array([value(index, place, 0) for place in places], dtype=dtype)
    if dtype == np.complex128:
        real = real + 1j * np.array([value(index, place, 1) for place in places])
    return real.reshape(shape)


def split(text, separator):
    """Splits a text at separators outside brackets."""
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c == "[") - (c == "]")
        if depth == 0 and text.startswith(separator, at):
            parts.append(text[start:at])
            start = at + len(separator)
    return parts + [text[start:]]


def is_list(term):
    return term.startswith("[") and "->" not in term


def letters(text):
    """Rewrites an einsum_ir tree so that each name is one letter."""
    names = {}
    out, name = "", ""
    for c in text:
        if c.isalnum() or c == "_":
            name += c
            continue
        if name:
            out += names.setdefault(name, "abcdefghijklmnopqrstuvwxyz"[len(names)])
            name = ""
        out += c
    return out


def indices(term):
    """Removes the brackets and commas from a list of names."""
    return term.strip("[]").replace(",", "") if is_list(term) else term


def call(terms, arrays, output):
    """Calls numpy.einsum with integer labels, because its text form allows ASCII only. `output` is None if it is
    implicit."""
    labels = sorted(set("".join(terms).replace(".", "")))
    numbered = lambda term: [
        Ellipsis if part == "..." else labels.index(part)
        for whole in split(term.replace("...", ",...,"), ",")
        for part in ([whole] if whole == "..." else whole)
    ]
    arguments = [argument for array, term in zip(arrays, terms) for argument in (array, numbered(term))]
    return np.einsum(*arguments, *([] if output is None else [numbered(output)]))


def einsum(text, operands):
    """Computes the einsums in brackets and then the einsum itself. Removes its operands from the front of the list."""
    sides = split(text, "->")
    terms, arrays = [], []
    for term in split(sides[0], ","):
        if term.startswith("[") and not is_list(term):
            inner = term[1:-1]
            terms.append(indices(split(inner, "->")[1]))
            arrays.append(einsum(inner, operands))
        else:
            terms.append(indices(term))
            arrays.append(operands.pop(0))
    if len(sides) == 1:
        return call(terms, arrays, None)
    output = indices(sides[1])
    if len(set("".join(terms))) > 50:
        return squeezed(terms, arrays, output)
    if any("..." in term for term in terms) and "..." not in output:
        whole = call(terms, arrays, "..." + output)
        return whole.sum(axis=tuple(range(whole.ndim - len(output))))
    return call(terms, arrays, output)


def squeezed(terms, arrays, output):
    """Computes an einsum without labels of extent 1, because NumPy supports only 52 labels."""
    extents = {label: n for term, array in zip(terms, arrays) for label, n in zip(term, array.shape)}
    kept = lambda term: "".join(label for label in term if extents[label] > 1)
    result = call([kept(term) for term in terms], [array.squeeze() for array in arrays], kept(output))
    return result.reshape([extents[label] for label in output])


def magnitude(text, operands):
    """Returns the largest sum of absolute values. If it is below 2^24, all sums are exact."""
    result = einsum(text, [np.abs(operand.real) + np.abs(operand.imag) for operand in operands])
    return result.max() if result.size else 0


def numbers(result):
    return " ".join(str(int(x)) for x in result.ravel())


def main():
    here = pathlib.Path(__file__).parent
    lines = []
    for line in (here / "list.txt").read_text().splitlines():
        if line.startswith("#") or not line:
            lines.append(line)
            continue
        text, shapes = line.split(" | ")
        shapes = [tuple(int(n) for n in s.split("x")) if s != "." else () for s in shapes.split()]
        bare = text.replace(" ", "")
        if "[" in bare and "->" not in bare[bare.rindex("[", 0, bare.index("]")):bare.index("]")]:
            bare = letters(bare)
        operands = lambda dtype: [operand(i, s, dtype) for i, s in enumerate(shapes)]
        assert magnitude(bare, operands(np.complex128)) < 2**24, line
        real, both = einsum(bare, operands(np.float64)), einsum(bare, operands(np.complex128))
        parts = np.stack([both.real, both.imag], -1)
        shape = "x".join(map(str, real.shape)) or "."
        lines.append(f"{line} | {shape} | {numbers(real)} | {numbers(parts)}")
    (here / "expected.txt").write_text("\n".join(lines) + "\n")


main()
