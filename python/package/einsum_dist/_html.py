"""Shows a plan in a notebook."""

import html


def plan_html(plan):
    """Returns a plan's summary, its steps, and the timeline of a simulated run as HTML."""
    rows = {
        "expression": plan.subscripts,
        "element type": plan.dtype,
        "ranks": plan.ranks,
        "operations": f"{plan.flops:.3e}",
        "largest intermediate": f"{plan.largest_intermediate:.3e} elements",
        "memory of the busiest rank": f"{plan.peak_bytes:,} bytes",
        "predicted time": f"{plan.seconds:.3e} s",
    }
    if plan.slices:
        rows["slices"] = ", ".join(f"{name} in {pieces} pieces" for name, pieces in plan.slices.items())
    cells = "".join(f"<tr><th style='text-align:left'>{name}</th><td>{html.escape(str(value))}</td></tr>" for name, value in rows.items())
    timeline = plan.timeline_svg() or ""
    return (
        f"<table>{cells}</table>"
        f"<details><summary>steps</summary><pre>{html.escape(plan.explain())}</pre></details>"
        f"{timeline}"
    )
