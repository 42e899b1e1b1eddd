"""The part of RESULTS.md on less memory than a model needs: rates, predictions and curves."""

from __future__ import annotations

import report_planner


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def cost_section(lines_read: list[dict], table) -> list[str]:
    """How well the rates of kernels were fitted, and what they say of whole models."""
    if not lines_read:
        return ["## Time that rates predict", "", "Skipped: not measured in this run, or build/tl or a compiler that reads LLVM IR is missing.", ""]
    lines = ["## Time that rates predict", "", "`bench/planner/cost` measures kernels and fits the rates that `--capacity` weighs time by "
             "(docs/planner-capacity.md). Then it runs whole models, and training steps at shares of their memory.", ""]  # fmt: skip
    rows = [[r["class"], str(r["kernels"]), percent(r.get("typical", 0)), percent(r.get("worst", 0))] for r in lines_read if "class" in r]
    lines += table(["class", "kernels", "typically off", "at worst"], rows)
    rows = [[r["model"], f"{r['percent']} %", str(r.get("again", 0)), str(r.get("moved", 0)), f"{1e3 * r['predicted']:.2f}", f"{1e3 * r['measured']:.2f}",
             f"{r['predicted'] / r['measured']:.2f}"] for r in lines_read if "model" in r]  # fmt: skip
    return lines + table(["model", "memory", "operators again", "transfers", "predicted, ms", "measured, ms", "ratio"], rows)


def capacity_section(lines_read: list[dict], table) -> list[str]:
    """Curves of time against memory."""
    if not lines_read:
        return ["## Less memory than a model needs", "", "Skipped: bench/planner/capacity was not run.", ""]
    lines = ["## Less memory than a model needs", "", "Estimated time of a training step over that without a capacity, at shares of the smallest frame "
             "without one. Peers are re-implemented (bench/planner/capacity/peers.go, checkmate.py) and have the same rates, order and planner of "
             "offsets. A peer looks at the bytes that are alive, not at addresses: in parentheses is the cheapest of its answers whose live bytes "
             "fit, and the memory that this takes at addresses, by our offsets and by the best hole in program order. Behind >= is what no plan in the same "
             "order undercuts. -: none was found; none: it is proved that there is none.", ""]  # fmt: skip
    shares = sorted({r["percent"] for r in lines_read}, reverse=True)
    for model in dict.fromkeys(r["model"] for r in lines_read):
        mine = [r for r in lines_read if r["model"] == model]
        rows = []
        for who in dict.fromkeys(r["who"] for r in mine):
            points = {r["percent"]: r for r in mine if r["who"] == who}
            rows.append([who, *(point(points[share]) for share in shares)])
        title = f"{model}: {mine[0]['steps']} steps, {report_planner.mib(mine[0]['frame'])} MiB"
        lines += table([title, *(f"{share} %" for share in shares)], rows)
    return lines


def point(r: dict) -> str:
    cell = f"{r['time']:.3f}" if "time" in r else "none" if r.get("none") else "-"
    if "least" in r:
        cell += f" (>= {r['least']:.3f})"
    if "believed" in r:
        cell += f" ({r['believed']:.3f} needs {percent(r['needs'] / r['frame'])}, {percent(r['simple'] / r['frame'])})"
    return cell
