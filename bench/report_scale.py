"""The sections of RESULTS.md about several processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Table = Callable[[list[str], list[list[str]]], list[str]]
KINDS = {"tensor": "tensor", "pooled": "tensor of a pool, huge pages", "numpy": "NumPy's array"}
NOTE = (
    "Processes of one machine, by mpi4py; messages of 100 MB. Each time is the best of nine in which the kinds take turns; "
    "ratio is that of the times to NumPy's. Memory is what the peak of the first and of the last process grew by, in "
    "messages: a copy that is made shows there, a received object does, and a buffer that was there does not."
)


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.1f}"


def _moved(name: str, lines: list[dict[str, Any]]) -> list[list[str]]:
    theirs = next(line["seconds"] for line in lines if line["kind"] == "numpy")
    return [
        [f"{name}: {KINDS[line['kind']]}", milliseconds(line["seconds"]), f"{line['seconds'] / theirs:.2f}",
         f"{line['sender']:.2f}", f"{line['receiver']:.2f}"]
        for line in lines
    ]


def _efficiency(lines: list[dict[str, Any]]) -> list[list[str]]:
    names = {"exact": "digits in C, gathered in order", "reduced": "digits in C, reduced", None: "a step with work"}
    rows = []
    for way, name in names.items():
        runs = {line["processes"]: line for line in lines if line["part"] in ("digits", "step") and line.get("way") == way}
        for processes, line in runs.items():
            shown = runs[1]["seconds"] / (processes * line["seconds"])
            waited = f"{100 * line['waited'] / line['seconds']:.0f} %" if "waited" in line else ""
            rows.append([f"{name}, {processes}", milliseconds(line["seconds"]), f"{100 * shown:.0f} %", waited])
    return rows


def _model(lines: list[dict[str, Any]]) -> list[list[str]]:
    def cell(seconds: float | None) -> str:
        return "" if seconds is None else milliseconds(seconds)

    return [
        [str(line["processes"]), f"{1e3 * line['reduction']:.2f}", cell(line["seconds"]), cell(line["measured"]),
         f"{100 * line['weak']:.0f} %"]
        for line in lines if line["part"] == "model"
    ]


def mpi_section(lines: list[dict[str, Any]], table: Table) -> list[str]:
    if not lines:
        return []
    cores = next(line["cores"] for line in lines if line["part"] == "machine")
    link = next(line for line in lines if line["part"] == "link")
    rows = []
    for way in dict.fromkeys(line["way"] for line in lines if line["part"] == "message"):
        rows += _moved(way, [line for line in lines if line.get("way") == way and line["part"] == "message"])
    for processes in dict.fromkeys(line["processes"] for line in lines if line["part"] == "allreduce"):
        these = [line for line in lines if line["part"] == "allreduce" and line["processes"] == processes]
        rows += _moved(f"Allreduce in place, {processes} processes", these)
    said = ["## Several processes: MPI", "", NOTE, ""]
    said += table(["what", "ms", "ratio", "memory, first", "memory, last"], rows)
    said += [f"### The same work by more processes, on {cores} cores", "", "Efficiency is the time of one process over that "
             "of all together; waiting is the share of the time after a process's own work. More processes than cores "
             "share them, so that 4 can reach half of what 2 reach.", ""]
    said += table(["what, processes", "ms", "efficiency", "waiting"], _efficiency(lines))
    said += ["### By latency, bandwidth and the rate of adding", "", f"A message of 8 bytes takes {1e6 * link['latency']:.1f} us, "
             f"and adding a byte {1e9 * link['adding']:.3f} ns. docs/scale.md has the model. Weak: a shard and a gradient of "
             "1 MiB for each process, nothing overlapped, a core and such a link for each.", ""]
    return said + table(["processes", "reduction of 1 MiB, ms", "step, ms", "measured, ms", "weak efficiency"], _model(lines))


# How much longer than with NumPy's arrays these may take, in the same run.
SLOWER = {"scatter": 1.0, "scatter-direct": 1.0, "shuffle": 1.0, "shuffle-p2p": 1.0}


def _dask_model(scaled: list[dict], handed_on: float, table: Table) -> list[str]:
    """Tasks a second by docs/scale.md's model: where they were measured, and on more processes."""
    task, cores = 1 / scaled[0]["tensor"], scaled[0]["processors"]
    measured = {line["processes"]: line["tensor"] for line in scaled}
    rows = []
    for n in (*measured, 64, 1024):
        own = min(n / task, 1 / handed_on)  # a processor for each process
        rate = min(own, cores / (task + handed_on)) if n in measured else own
        rows.append([str(n), f"{rate:.1f}", f"{measured[n]:.1f}" if n in measured else "", f"{100 * rate * task / n:.0f} %"])
    said = [f"By the time of a task on one process, {1e3 * task:.1f} ms, and the time for which one is handed on, "
            f"{1e3 * handed_on:.2f} ms ({1 / handed_on:.0f} empty tasks a second on two processes). docs/scale.md has the model. More "
            "processes than were measured have a processor each.", ""]  # fmt: skip
    return said + table(["processes", "tasks a second, by the model", "measured", "efficiency, by the model"], rows)


def dask_section(lines_read: list[dict], score, table) -> list[str]:
    """What moves between Dask's processes, and what more of them bring."""
    if not lines_read:
        return ["## Dask", "", "Skipped: distributed is missing.", ""]
    lines = ["## Dask", "", "100 MB of float64 between processes on loopback, a tensor beside an array of NumPy's: medians of rounds that "
             "alternate; the ratio is the median of each round's. Copies are pages that processes touch for the first time over "
             "the pages that move: with a copy of the receiver's into fresh memory, 1.0.", ""]  # fmt: skip
    rows = []
    for entry in (line for line in lines_read if line["kind"] == "moved"):
        bound = SLOWER.get(entry["way"])
        ratio = entry["ratio"]
        met = score.judge(f"Dask: {entry['what']}", ratio <= bound, f"{ratio:.2f}") if bound else ""
        rows.append([
            entry["what"], f"{1e3 * entry['tensor']:.0f}", f"{1e3 * entry['array']:.0f}", f"{ratio:.2f}",
            f"<= {bound:g}" if bound else "", met, f"{entry['tensor_copies']:.2f}", f"{entry['array_copies']:.2f}",
        ])  # fmt: skip
    lines += table(["way", "tensor, ms", "NumPy, ms", "ratio", "target", "met", "copies, tensor", "copies, NumPy"], rows)
    scaled = [line for line in lines_read if line["kind"] == "scaled"]
    empty = [line["tasks"] for line in lines_read if line["kind"] == "empty"]
    if scaled:
        one = scaled[0]
        rows = [
            [str(entry["processes"]), f"{entry['tensor']:.1f}", f"{entry['array']:.1f}",
             f"{100 * entry['tensor'] / one['tensor'] / entry['processes']:.0f} %"]
            for entry in scaled
        ]  # fmt: skip
        lines += [f"The same tasks of eight products of matrices on processes of one thread; {one['processors']} processors.", ""]
        lines += table(["processes", "tasks a second, tensors", "NumPy", "efficiency"], rows)
    if scaled and empty:
        lines += _dask_model(scaled, 1 / empty[0], table)
    return lines
