"""The programs whose sizes vary, as a section of the report."""

from __future__ import annotations

import statistics

import targets_varying as targets


def median(runs: list[dict], key: str) -> float:
    return statistics.median(run[key] for run in runs)


def bounds(program: str, found: dict[str, dict[str, float]]) -> list[tuple[str, float, float]]:
    """What is bounded, ours, and the bound."""
    ours, out = found["tl"], []
    programs = ("shapes", "shapes-wide", "decode", "decode-wide")
    if "mimalloc" in found:
        factor = targets.TIME if program in programs else targets.TIME_LIVE if program == "live" else None
        if factor:
            out.append((f"time <= {factor:g} x mimalloc", ours["ns"], factor * found["mimalloc"]["ns"]))
        if program in programs:
            limit = targets.PEAK * found["mimalloc"]["peak"] + targets.PEAK_MORE
            out.append((f"peak <= {targets.PEAK:g} x mimalloc + 16 MiB", ours["peak"], limit))
    if program in programs and "tcmalloc" in found and found["tcmalloc"]["peak"] <= ours["peak"]:
        limit = targets.TIME_TCMALLOC * found["tcmalloc"]["ns"]
        out.append((f"time <= {targets.TIME_TCMALLOC:g} x tcmalloc", ours["ns"], limit))
    if "resize" in found and "copy" in found:
        limit = targets.GROWN * found["copy"]["ns"]
        out.append((f"tl_tensor_resize <= {targets.GROWN:g} x copy", found["resize"]["ns"], limit))
    if program == "burst":
        out.append(("stays after a second <= 24 MiB", ours["after"], targets.BURST_STAYS))
    return out


def section(lines_read: list[dict], score, table) -> list[str]:
    if not lines_read:
        return []
    lines = ["### Programs whose sizes vary", "", "Processor time of all threads, and resident memory above the start: its peak, "]
    lines[-1] += "and what stays of a burst a second after it. Every page is written to. The peers replace malloc; a tensor is a "
    lines[-1] += "header and a block to them. `copy` writes the final memory of decode once; `resize` grows 16 tensors by tl_tensor_resize, with room for all from the beginning or without. Medians of five processes."
    rows = []
    for program, what in targets.PROGRAMS.items():
        runs = [entry for entry in lines_read if entry["program"] == program]
        ways = dict.fromkeys(entry["way"] for entry in runs)
        found = {
            way: {key: median([e for e in runs if e["way"] == way], key) for key in ("ns", "peak", "after")} for way in ways
        }
        for way, of in found.items():
            after = f"{of['after'] / targets.MIB:.1f}" if program == "burst" else ""
            cells = [f"{what}: {'ours' if way == 'tl' else way}", f"{of['ns']:,.0f}", f"{of['peak'] / targets.MIB:.1f}", after]
            judged = bounds(program, found) if way == "tl" else []
            met = [score.judge(f"{what}, {name}", value <= limit, f"{value / limit:.2f} of it") for name, value, limit in judged]
            rows.append([*cells, "; ".join(name for name, _, _ in judged), ", ".join(met)])
    return lines + [""] + table(["", "ns", "peak MiB", "stays MiB", "targets", "met"], rows)
