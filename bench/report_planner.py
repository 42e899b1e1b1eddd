"""The planner's part of RESULTS.md: whole models, and placement of buffers at offsets."""

from __future__ import annotations

import targets


def mib(count: float) -> str:
    return f"{count / 2**20:.1f}"


def models_section(lines_read: list[dict], score, table) -> list[str]:
    """Frames of whole models against their targets, then times and memory beside onnxruntime."""
    if not lines_read:
        return ["## Whole models", "", "Skipped: build/tl or onnxruntime is missing.", ""]
    lines = ["## Whole models: frames", "", "Bytes of one frame for all activations, the model's inputs and outputs among them, at multiples of 64.", ""]
    rows = []
    for entry in lines_read:
        wanted = targets.FRAMES_OF_MODELS.get(entry["name"])
        met = score.judge(f"frame of {entry['name']}", entry["frame"] <= wanted, f"{entry['frame']:,}") if wanted else ""
        rows.append([entry["name"], f"{entry['frame']:,}", f"{entry['bound']:,}", "proved" if entry["optimal"] else "no",
                     f"{entry['naive']:,}", f"{1e3 * entry['plan_seconds']:.0f}", f"<= {wanted:,}" if wanted else "", met])  # fmt: skip
    columns = ["model", "frame", "lower bound", "optimal", "a buffer for each value", "`tl plan`, ms", "target", "met"]
    return lines + table(columns, rows) + beside_section(lines_read, score, table)


def beside_section(lines_read: list[dict], score, table) -> list[str]:
    lines = [
        "## Whole models: runs beside onnxruntime",
        "",
        "One thread each. Peak memory is resident memory of the whole process; of onnxruntime's, which is Python, also what "
        "loading and running the model added. `first` is from the model's file to the first result: ours with compiling, and "
        "with what was compiled before.",
        "",
    ]
    rows = []
    for entry in lines_read:
        name = entry["name"]
        met = score.judge(f"peak memory of {name}", entry["peak"] < entry["peer_added"], f"{mib(entry['peak'])} MiB")
        none = score.judge(f"allocations while {name} runs", entry["allocations"] == 0, str(entry["allocations"]))
        rows.append([
            name, f"{1e3 * entry['run']:.3g}", f"{1e3 * entry['peer_run']:.3g}", f"{entry['run'] / entry['peer_run']:.2f}",
            f"{entry['compile_and_first']:.2f} / {entry['cached_and_first']:.2f}", f"{entry['peer_first']:.2f}",
            f"{entry['compile_and_first'] / entry['peer_first']:.0f}", mib(entry["peak"]),
            f"{mib(entry['peer_peak'])} / {mib(entry['peer_added'])}", met, f"{entry['allocations']} ({none})",
        ])  # fmt: skip
    columns = ["model", "a run, ms", "onnxruntime", "ratio", "first, s", "onnxruntime", "ratio", "peak, MiB", "onnxruntime",
               "below what it added", "allocations of a run"]  # fmt: skip
    return lines + table(columns, rows)
