"""Contraction orders: translates what NumPy, opt_einsum and users write into the names and lists of the planner."""

import json
import operator
from collections.abc import Mapping

from . import _einsum_dist

# The names of the planner, and those of NumPy and opt_einsum that mean a search of our own choice.
_NAMES = {
    "auto": "auto",
    "greedy": "greedy",
    "optimal": "optimal",
    "anneal": "anneal",
    "left-to-right": "left-to-right",
    "auto-hq": "optimal",
    "dp": "optimal",
    "dynamic-programming": "optimal",
    "branch-all": "optimal",
    "branch-2": "auto",
    "branch-1": "auto",
    "eager": "greedy",
    "opportunistic": "greedy",
    "random-greedy": "greedy",
    "random-greedy-128": "greedy",
}


def planner_path(optimize, operands=None):
    """Returns the planner's text for `optimize`, or None if it is neither a known name nor a path of `operands` tensors.

    A list is followed as a path if every step is a pair; a first element "einsum_path" is skipped, as in NumPy. Steps of
    other lengths cannot be planned, because the planner contracts pairs only; for such a path, the result is "auto".
    """
    if optimize is None or optimize is True or optimize is False:
        return "auto"
    if isinstance(optimize, str):
        return _NAMES.get(optimize)
    try:
        steps = list(optimize)
        if steps and isinstance(steps[0], str):
            if steps[0] != "einsum_path":
                # NumPy's pair of a name and the size of the largest intermediate.
                return _NAMES.get(steps[0]) if len(steps) == 2 else None
            steps = steps[1:]
        steps = [tuple(int(position) for position in step) for step in steps]
    except (TypeError, ValueError):
        return None
    if operands is not None and operands - sum(len(step) - 1 for step in steps) != 1:
        return None
    if not steps or any(len(step) != 2 for step in steps):
        return "auto"
    return ",".join(f"({first},{second})" for first, second in steps)


def optimized(optimizer, subscripts, shapes):
    """Returns "auto", or a dict of the path and the slices that an optimizer finds.

    The optimizer is a callable as in opt_einsum, or has the method `search` of cotengra.
    """
    inputs, output, sizes = _einsum_dist.terms(subscripts, shapes)
    if len(inputs) < 3:
        return "auto"
    # cotengrust reads only names of one character.
    letters = {name: chr(0x100 + number) for number, name in enumerate(sizes)}
    if all(len(name) == 1 for name in sizes):
        letters = {name: name for name in sizes}
    inputs, output = [[letters[name] for name in term] for term in inputs], [letters[name] for name in output]
    sizes = {letters[name]: extent for name, extent in sizes.items()}
    if not hasattr(optimizer, "search"):
        return {"path": optimizer([frozenset(term) for term in inputs], frozenset(output), sizes, None)}
    tree = optimizer.search(inputs, output, sizes)
    names = {letter: name for name, letter in letters.items()}
    return {"path": tree.get_path(), "sliced_inds": [names[letter] for letter in tree.sliced_inds]}


def plan_path(path, subscripts="", shapes=()):
    """Returns the text of a path for :func:`plan`, with the slices that belong to it; None for an unknown name.

    Besides what `planner_path` reads, `path` may be an optimizer, a tree of cotengra, what `contract_path` of opt_einsum
    returns, a dict, or text with positions or JSON. Steps may contract any number of operands.
    """
    if callable(path):
        path = optimized(path, subscripts, shapes)
    if isinstance(path, str) and path.lstrip()[:1] in tuple("([{"):
        return path
    if hasattr(path, "get_ssa_path"):
        # cotengra may have renamed the indices.
        terms = subscripts.split("->")[0].replace(" ", "").split(",")
        names = {old: new for inds, term in zip(path.inputs, terms) for old, new in zip(inds, term)}
        fits = len(terms) == len(path.inputs) and "." not in subscripts
        fits = fits and all(len(term) == len(inds) for inds, term in zip(path.inputs, terms))
        sliced = [names.get(name, name) if fits else name for name in path.sliced_inds]
        path = {"ssa_path": path.get_ssa_path(), "sliced_inds": sliced}
    if isinstance(path, tuple) and len(path) == 2 and hasattr(path[1], "path"):
        path = path[1]
    path = getattr(path, "path", path)
    if hasattr(path, "tolist"):
        path = path.tolist()
    if isinstance(path, (list, tuple)) and not (path and isinstance(path[0], str) and path[0] != "einsum_path"):
        path = {"path": [step for step in path if not isinstance(step, str)]}
    if not isinstance(path, Mapping):
        return planner_path(path)
    path = dict(path)
    for form in {"path", "ssa_path"} & path.keys():
        path[form] = [[operator.index(position) for position in step] for step in path[form]]
    path["sliced_inds"] = [str(name) for name in path.get("sliced_inds", ())]
    return json.dumps(path)
