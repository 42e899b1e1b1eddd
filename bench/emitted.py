"""Whole programs as a compiler emits them (bench/emitted): instructions, time and memory of each way to count.

    emitted.py BUILD_DIRECTORY    compiles them there and prints a line of JSON for each program and model
"""

from __future__ import annotations

import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
PEER = "libmimalloc.so.2"
MODELS = {"CALLED": "objects, by calls", "INLINED": "objects, inlined", "CELLS": "cells, inlined", "COUNTED": "a count on mimalloc"}
# What it is, its file, what it is compiled with, the size that is counted, and that which is timed.
PROGRAMS = {
    "trees": ("trees with sharing", "trees.c", [], 12, 16),
    "map": ("persistent map", "map.c", [], 20_000, 200_000),
    "map-reuse": ("persistent map, with reuse", "map.c", ["-DWITH_REUSE"], 20_000, 200_000),
    "derivative": ("symbolic derivative", "derivative.c", [], 6, 9),
    "queens": ("queens", "queens.c", [], 7, 12),
    "json": ("a JSON tree", "json.c", [], 3, 30),
    "strings": ("strings in lists", "strings.c", [], 3_000, 100_000),
}
ROUNDS = 5

CELLS, CELLS_MEAN = {"json": 1.3, "map-reuse": 1.10}, 1.10
CELLS_EACH = 1.25
INLINED = {"trees": 2.6, "map-reuse": 1.8}
TIME, MEMORY, MEMORY_MORE = 1.15, 1.2, 8 << 20
TWO_THREADS = 1.7


def compiler() -> str:
    found = (shutil.which(name) for name in (os.environ.get("CC", "clang"), "clang-19", "clang-15", "clang-14", "cc"))
    return next(path for path in found if path)


def compiled(build: pathlib.Path, program: str, model: str, threaded: bool = False) -> pathlib.Path:
    _, source, flags, _, _ = PROGRAMS[program]
    to = build / "bench" / f"emitted_{program}_{model.lower()}{'_threads' if threaded else ''}"
    library = [] if model == "COUNTED" else [f"-L{build}", f"-Wl,-rpath,{build}", "-ltl_runtime"]
    command = [compiler(), "-O3", "-std=gnu11", "-pthread", f"-DMODEL_{model}", *flags, *(["-DWITH_THREADS"] * threaded), f"-I{HERE.parent / 'include'}"]
    subprocess.run([*command, str(HERE / "emitted" / source), "-o", str(to), *library], check=True)
    return to


def environment(model: str) -> dict[str, str]:
    return dict(os.environ, LD_PRELOAD=PEER) if model == "COUNTED" else dict(os.environ)


def counted(program: pathlib.Path, model: str, times: int, size: int) -> int:
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", program, times, size]
    shown = subprocess.run([str(part) for part in command], env=environment(model), check=True, capture_output=True, text=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", shown.stderr)
    assert found
    return int(found[1].replace(",", ""))


def used(program: pathlib.Path, model: str, times: int, size: int) -> tuple[float, int]:
    """Seconds of the processor, and bytes at the peak."""
    child = subprocess.Popen([str(program), str(times), str(size)], env=environment(model), stdout=subprocess.PIPE, text=True)
    with child.stdout as shown:
        peak = int(shown.read().rsplit("peak", 1)[1])
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime, peak * 1024


def throughput(build: pathlib.Path, model: str) -> float:
    """How much more trees two threads build and drop than one, in the same time."""
    program = compiled(build, "trees", model, threaded=True)
    times, size = "20", str(PROGRAMS["trees"][4])

    def seconds(threads: int) -> float:
        shown = subprocess.run([str(program), times, size, str(threads)], env=environment(model), check=True, capture_output=True)
        return float(shown.stdout.split()[1])

    return statistics.median(2 * seconds(1) / seconds(2) for _ in range(ROUNDS))


def measure(build: pathlib.Path) -> None:
    for name, (_, _, _, size, timed) in PROGRAMS.items():
        programs = {model: compiled(build, name, model) for model in MODELS}
        runs: dict[str, list[tuple[float, int]]] = {model: [] for model in MODELS}
        for _ in range(ROUNDS):
            for model, program in programs.items():
                start, least = used(program, model, 0, timed)
                seconds, peak = used(program, model, 1, timed)
                runs[model].append((seconds - start, peak - least))
        for model, program in programs.items():
            instructions = (counted(program, model, 3, size) - counted(program, model, 1, size)) / 2
            seconds, peak = (statistics.median(run[i] for run in runs[model]) for i in (0, 1))
            line = {"program": name, "model": model, "instructions": instructions, "seconds": seconds, "peak": peak}
            print(json.dumps(line), flush=True)
    for model in ("CELLS", "COUNTED"):
        print(json.dumps({"program": "threads", "model": model, "throughput": throughput(build, model)}), flush=True)


def bounds(name: str, of: dict[str, dict]) -> list[tuple[str, float, float]]:
    """What is bounded, what it is, and its bound."""
    peer, cells = of["COUNTED"], of["CELLS"]
    most = CELLS.get(name, CELLS_EACH)
    out = [(f"instructions of cells <= {most:g} x", cells["instructions"] / peer["instructions"], most)]
    out.append((f"their time <= {TIME:g} x", cells["seconds"] / peer["seconds"], TIME))
    out.append((f"their memory <= {MEMORY:g} x + 8 MiB", cells["peak"], MEMORY * peer["peak"] + MEMORY_MORE))
    if name in INLINED:
        ratio = of["INLINED"]["instructions"] / peer["instructions"]
        out.append((f"objects, inlined <= {INLINED[name]:g} x", ratio, INLINED[name]))
    return out


def section(lines_read: list[dict], score, table) -> list[str]:
    if not lines_read:
        return []
    text = "Values are owned, consumed by what they are given to, and their drops are specialised (Perceus). Instructions of a "
    text += "run, in thousands; processor time and the peak above a run of nothing, of larger ones, medians of five processes. "
    text += "The peer is a count in front of malloc's memory, inlined, with mimalloc preloaded."
    rows, ratios = [], []
    for name, (what, _, _, _, _) in PROGRAMS.items():
        of = {entry["model"]: entry for entry in lines_read if entry["program"] == name}
        if "COUNTED" not in of:
            continue
        ratios.append(of["CELLS"]["instructions"] / of["COUNTED"]["instructions"])
        for model, how in MODELS.items():
            if model not in of:
                continue
            entry, peer = of[model], of["COUNTED"]
            judged = bounds(name, of) if model == "CELLS" else []
            met = [score.judge(f"{what}, {bound}", value <= most, f"{value / most:.2f} of it") for bound, value, most in judged]
            cells = [f"{what}: {how}", f"{entry['instructions'] / 1000:,.0f}", f"{entry['instructions'] / peer['instructions']:.2f}"]
            cells += [f"{1000 * entry['seconds']:,.1f}", f"{entry['seconds'] / peer['seconds']:.2f}", f"{entry['peak'] / (1 << 20):.1f}"]
            rows.append([*cells, "; ".join(bound for bound, _, _ in judged), ", ".join(met)])
    mean = math.prod(ratios) ** (1 / len(ratios))
    met = score.judge(f"cells, geometric mean <= {CELLS_MEAN:g} x", mean <= CELLS_MEAN, f"{mean:.3f}")
    columns = ["", "instructions", "ratio", "ms", "ratio", "peak MiB", "targets", "met"]
    found = f"Cells, geometric mean of the instructions: {mean:.3f} (target <= {CELLS_MEAN:g}): {met}."
    two = {entry["model"]: entry["throughput"] for entry in lines_read if entry["program"] == "threads"}
    if two:
        met = score.judge(f"two threads with cells >= {TWO_THREADS:g} x one", two["CELLS"] >= TWO_THREADS, f"{two['CELLS']:.2f}")
        found += f" Two threads that each build and drop trees of cells do {two['CELLS']:.2f} times the work of one (target >= "
        found += f"{TWO_THREADS:g}): {met}; with a count on mimalloc {two['COUNTED']:.2f}."
    return ["## Whole programs as a compiler emits them", "", text, "", found, "", *table(columns, rows)]


if __name__ == "__main__":
    measure(pathlib.Path(sys.argv[1]).resolve())
