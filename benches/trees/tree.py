"""Trees of contractions in einsum_ir's notation: `[[0,1],[1,2]->[0,2]],[2,3]->[0,3]` and the extents of 0, 1, 2, 3.

A file contains the two, each in quotation marks. Dimensions are numbers. A node with two children is a contraction, one with
one child is a permutation, and the others are operands.
"""

import math
import pathlib
import shlex
from dataclasses import dataclass


@dataclass
class Node:
    """A tensor: `labels` are its dimensions in the order of memory, `children` the tensors from which it is computed."""

    labels: tuple
    children: tuple = ()


@dataclass
class Tree:
    """`sizes` maps each dimension to its extent; `extents` is the list as text."""

    name: str
    text: str
    extents: str
    sizes: dict
    root: Node

    def nodes(self, node=None):
        """All nodes, children before their parents, in the order of the text."""
        node = node or self.root
        for child in node.children:
            yield from self.nodes(child)
        yield node

    @property
    def inputs(self):
        return [node.labels for node in self.nodes() if not node.children]

    def elements(self, labels):
        return math.prod(self.sizes[label] for label in labels)

    @property
    def operations(self):
        """Two for each multiply-add."""
        pairs = [node.children for node in self.nodes() if len(node.children) == 2]
        return sum(2 * self.elements({*left.labels, *right.labels}) for left, right in pairs)

    @property
    def ssa_path(self):
        """The pairs of tensors to contract: operands have the numbers of their order, and each contraction the next number."""
        inputs, path, numbers = 0, [], {}
        count = len(self.inputs)
        for node in self.nodes():
            if not node.children:
                numbers[id(node)], inputs = inputs, inputs + 1
            else:
                numbers[id(node)] = numbers[id(node.children[0])]
            if len(node.children) == 2:
                path.append(tuple(numbers[id(child)] for child in node.children))
                numbers[id(node)] = count + len(path) - 1
        return path


def parse(text):
    """The root of the tree."""
    text = "[" + text.replace(" ", "") + "]"

    def node(at):
        # `at` follows an opening bracket.
        if text[at] != "[":
            end = text.index("]", at)
            return Node(tuple(map(int, filter(None, text[at:end].split(","))))), end + 1
        children = []
        while not text.startswith("->", at):
            child, at = node(at + (text[at] == ",") + 1)
            children.append(child)
        end = text.index("]", at)
        return Node(tuple(map(int, filter(None, text[at + 3 : end].split(",")))), tuple(children)), end + 2

    root, end = node(1)
    if end != len(text):
        raise ValueError(f"unexpected text after the root: {text[end:]}")
    return root


def read(file):
    path = pathlib.Path(file)
    text, extents = shlex.split(path.read_text(encoding="utf-8"))
    root = parse(text)
    labels = sorted({label for node in Tree("", "", "", {}, root).nodes() for label in node.labels})
    sizes = dict(zip(labels, map(int, extents.split(",")), strict=True))
    return Tree(path.stem, text, extents, sizes, root)
