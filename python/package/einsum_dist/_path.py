"""Contraction orders: translates what NumPy, opt_einsum and users write into the names and lists of the planner."""

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
