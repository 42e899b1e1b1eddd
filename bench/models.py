"""Whole models planned, compiled and run by `tl run`, beside onnxruntime with one thread.

    models.py TL OUTPUT

Writes one line of JSON for each model. Weights are random where a model makes them up when it runs. Each side runs in a
process of its own, in turns; times are medians over the rounds. onnxruntime's process is Python: its resident memory is
told as a whole, and as what loading and running the model added to it.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python" / "tests"))

import models  # noqa: E402

ROUNDS = max(3, int(os.environ.get("TL_BENCH_REPETITIONS", "7")) // 2)
RUNS = 10  # in a round

NAMES = ["mnist", "ultraface_rfb320", "light_squeezenet", "light_inception_v1", "light_resnet50", "light_densenet121"]


def resident(key: str) -> int:
    """Resident memory of this process in bytes, now (VmRSS) or at its highest (VmHWM)."""
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith(key))


def peer(model: str) -> None:
    """One round of onnxruntime, in this process."""
    import numpy as np
    import onnxruntime  # noqa: F401

    before = resident("VmRSS")
    start = time.perf_counter()
    session = models.session(model)
    random = np.random.default_rng(1)
    given = {value.name: random.standard_normal(value.shape).astype(np.float32) for value in session.get_inputs()}
    session.run(None, given)
    first = time.perf_counter() - start
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        session.run(None, given)
        times.append(time.perf_counter() - start)
    peak = resident("VmHWM")
    print(json.dumps({"first": first, "run": statistics.median(times), "peak": peak, "added": peak - before}))


def ours(tl: str, model: pathlib.Path, cache: str) -> dict:
    start = time.perf_counter()
    done = subprocess.run(
        [tl, "run", str(model), "--json", "--repeat", str(RUNS + 1)],
        check=True, capture_output=True, text=True, env={**os.environ, "TL_CACHE": cache},
    )  # fmt: skip
    return {"whole": time.perf_counter() - start, **json.loads(done.stdout)}


def frame(tl: str, model: pathlib.Path) -> dict:
    """The frame with inputs and outputs in it, as other planners count it."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.json"
        start = time.perf_counter()
        subprocess.run([tl, "plan", str(model), "--place-inputs", "--place-outputs", "-o", str(file)], check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - start
        plan = json.loads(file.read_text())["frame"]
    return {"plan_seconds": took, "frame": plan["bytes"], "bound": plan["lower_bound"], "optimal": plan["optimal"]}


def measure(tl: str, name: str, folder: pathlib.Path) -> dict | None:
    import numpy as np
    import onnx

    found = models.find(f"{name}.onnx")
    if found is None:
        print(f"skipped: {name}: TL_TEST_DATA names no folder with models in onnx/")
        return None
    model = folder / f"{name}.onnx"
    onnx.save(models.with_weights(found, np.random.default_rng(6)) if name.startswith("light_") else onnx.load(found), model)
    rounds = []
    for number in range(ROUNDS):
        here = ours(tl, model, str(folder / "cache"))
        there = subprocess.run([sys.executable, __file__, "--peer", str(model)], check=True, capture_output=True, text=True)
        rounds.append((here, json.loads(there.stdout), number))
    mine, theirs = [r[0] for r in rounds], [r[1] for r in rounds]
    return {
        "name": name.removeprefix("light_"),
        **frame(tl, model),
        "compile_and_first": mine[0]["whole"],  # the cache was empty
        "cached_and_first": statistics.median(m["whole"] for m in mine[1:]),
        "run": statistics.median(m["run"]["median_ns"] for m in mine) / 1e9,
        "peak": max(m["run"]["peak_resident_bytes"] for m in mine),
        "allocations": mine[-1]["run"]["allocations"] + mine[-1]["run"]["mallocs"],
        "own_frame": mine[0]["frame_bytes"],
        "naive": mine[0]["naive_bytes"],
        "peer_first": statistics.median(t["first"] for t in theirs),
        "peer_run": statistics.median(t["run"] for t in theirs),
        "peer_peak": min(t["peak"] for t in theirs),
        "peer_added": min(t["added"] for t in theirs),
    }


def main(tl: str, output: str) -> None:
    with open(output, "w") as lines:
        for name in NAMES:
            with tempfile.TemporaryDirectory() as folder:
                figures = measure(tl, name, pathlib.Path(folder))
            if figures:
                print(json.dumps(figures), file=lines, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--peer":
        peer(sys.argv[2])
    else:
        main(*sys.argv[1:])
