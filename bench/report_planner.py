"""The planner's part of RESULTS.md: whole models, and placement of buffers at offsets."""

from __future__ import annotations

import statistics

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


def offsets_section(lines_read: list[dict], score, table) -> list[str]:
    """Placement of buffers at offsets: frames over the lower bound, proofs and times."""
    lines = ["## Placing buffers at offsets", "", "Frame over the lower bound (the most bytes that are alive at once, or a sharper one). Peers are "
             "re-implemented in a few lines (bench/planner/peers.go). Every answer passed the independent checker. Times and budgets are CPU time.", ""]  # fmt: skip
    peers = sorted({name for entry in lines_read for name in entry.get("peers", {})})
    rows = [offsets_row(entry, peers, score) for entry in sorted(lines_read, key=lambda e: (e.get("capacity", 0) == 0, e["instance"]))]
    columns = ["instance", "buffers", "without a budget", "ms", "with a budget", "proof", "ms", "into the capacity, ms (worst of 5 seeds)",
               "target", "met", *peers]  # fmt: skip
    return lines + table(columns, rows)


def offsets_row(entry: dict, peers: list[str], score) -> list[str]:
    name, bound = entry["instance"], entry["lower_bound"]
    quick, frame = entry["quick_bytes"] / bound, entry["bytes"] / bound
    target, reached = targets.offsets_target(entry)
    met = score.judge(f"offsets of {name}", reached, f"{frame:.4f}") if target else ""
    into = f"{1e3 * entry['reach_seconds']:.0f} ({1e3 * entry['reach_worst_seconds']:.0f})" if entry.get("reach_seconds") else ""
    searched = [f"{frame:.4f}", "optimal" if entry["optimal"] else "", f"{1e3 * entry['seconds']:.3g}"]
    if "resident_kib" in entry:
        searched = ["", "", ""]
    return [
        name, f"{entry['buffers']:,}", f"{quick:.4f}", f"{1e3 * entry['quick_seconds']:.3g}", *searched, into, target, met,
        *(f"{entry['peers'][peer]:.2f}" if peer in entry.get("peers", {}) else "" for peer in peers),
    ]  # fmt: skip


def shapes_section(lines_read: list[dict], score, table) -> list[str]:
    """Large instances: frames over the lower bound, time and memory, beside the best of the peers' rules."""
    if not lines_read:
        return []
    lines = ["## Placing up to a million buffers", "", "Instances of each shape (tests_go/problems/large.go), and the lifetimes of a training (bench/data). "
             "Frame over the lower bound; times and budgets are CPU time; peak memory of the process with a budget. "
             "The peer is the best of those that place such an instance in minutes; each answer passed a checker.", ""]  # fmt: skip
    rows = []
    for entry in lines_read:
        name, bound = f"{entry['instance']}, {entry['buffers']:,}", entry["lower_bound"]
        frame = entry["bytes"] / bound
        peer, least = min(entry.get("peers", {"": 0}).items(), key=lambda item: item[1])
        target, reached = targets.shapes_target(entry)
        met = score.judge(f"offsets of {name}", reached, f"{frame:.4f}")
        rows.append([
            entry["instance"], f"{entry['buffers']:,}", f"{entry['quick_bytes'] / bound:.4f}", f"{entry['quick_cpu_seconds']:.2f}",
            f"{frame:.4f}", f"{entry['seconds']:.2f}", f"{entry['resident_kib'] / 1024:.0f}", f"{least:.4f} {peer}" if least else "", target, met,
        ])  # fmt: skip
    columns = ["shape", "buffers", "no budget", "CPU, s", "5 s", "s", "MiB", "best peer", "target", "met"]
    return lines + table(columns, rows)


def sets_section(lines_read: list[dict], score, table) -> list[str]:
    """Training steps that were recorded from PyTorch, beside the best of the peers' rules."""
    if not lines_read:
        return []
    lines = ["## Placing the buffers of training steps", "", "Training steps of real models, recorded from PyTorch (bench/data/sets): forward, backward and the optimiser, "
             "several micro-batches. Frame over the lower bound; times and budgets are CPU time. The peer is the best of the rules that place once.", ""]  # fmt: skip
    rows = []
    for entry in lines_read:
        bound, frame = entry["lower_bound"], entry["bytes"] / entry["lower_bound"]
        peer, least = min(entry["peers"].items(), key=lambda item: item[1])
        met = score.judge(f"offsets of {entry['instance']}", targets.sets_target(entry), f"{frame:.4f}")
        rows.append([
            entry["instance"], f"{entry['buffers']:,}", f"{entry['quick_bytes'] / bound:.4f}", f"{entry['quick_cpu_seconds']:.2f}",
            f"{frame:.4f}", f"{entry['seconds']:.2f}", f"{least:.4f} {peer}", targets.SETS_TARGET, met,
        ])  # fmt: skip
    columns = ["training step", "buffers", "no budget", "CPU, s", "5 s", "s", "best peer", "target", "met"]
    return lines + table(columns, rows)


def packings_section(lines_read: list[dict], score, table) -> list[str]:
    """Perfect packings: the mean of several of each kind and size."""
    if not lines_read:
        return []
    lines = ["## Placing pieces of a rectangle", "", "A rectangle of time and bytes, cut into pieces, so that the optimum is the most bytes alive at any step and no byte is "
             "free at any time. *Guillotine* cuts go across a whole piece, *pinwheels* leave one piece in the middle of four. Means of frames over the optimum.", ""]  # fmt: skip
    groups: dict[tuple[str, int], list[dict]] = {}
    for entry in lines_read:
        groups.setdefault((entry["instance"], entry["buffers"]), []).append(entry)
    rows = []
    for (name, pieces), entries in groups.items():
        quick, frame = (statistics.mean(e[key] / e["lower_bound"] for e in entries) for key in ("quick_bytes", "bytes"))
        peer = statistics.mean(min(e["peers"].values()) for e in entries)
        met = score.judge(f"{name}, {pieces} pieces", all(targets.packings_target(e) for e in entries), f"{frame:.4f}")
        solved = sum(e["bytes"] == e["lower_bound"] for e in entries)
        target = "optimal" if pieces <= targets.SOLVED_PIECES else "no peer below"
        rows.append([name, str(pieces), f"{quick:.4f}", f"{frame:.4f}", f"{solved} of {len(entries)}",
                     f"{statistics.mean(e['seconds'] for e in entries):.2f}", f"{peer:.4f}", target, met])  # fmt: skip
    columns = ["packing", "pieces", "no budget", "5 s", "optimal", "s", "best peer", "target", "met"]
    return lines + table(columns, rows)


def ablation_section(lines_read: list[dict], table) -> list[str]:
    """What each part of the search for offsets is good for: frames without it."""
    if not lines_read:
        return []
    lines = ["## What each part of the placement buys", "", "Each part left out in turn (`bench/planner -ablation`): frame over the lower bound without a budget, then with a second of CPU time. "
             "Means over the instances of a group, in parentheses their number, and three seeds each.", ""]  # fmt: skip
    groups = {entry["group"]: entry["instances"] for entry in lines_read}
    parts = list(dict.fromkeys(entry["without"] for entry in lines_read))
    cells = {(entry["without"], entry["group"]): f"{entry['quick']:.4f}, {entry['frame']:.4f}" for entry in lines_read}
    rows = [[part or "nothing", *(cells.get((part, group), "") for group in groups)] for part in parts]
    return lines + table(["without", *(f"{group} ({count})" for group, count in groups.items())], rows)
