"""What a call from Python costs beside the same call of NumPy's, in both ways of the package: _fast and ctypes.

    python_calls.py FIGURES MEMORY

FIGURES gets times in the form of Google Benchmark, MEMORY one line of JSON for each way to allocate arrays. Every round
times each operation once, ours and NumPy's next to each other, in an order of chance; the report takes medians over the
rounds. Imports and trainings are whole processes, which take turns.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from typing import Any

REPETITIONS = int(os.environ.get("TL_BENCH_REPETITIONS", "7"))
ROUNDS = 60 * REPETITIONS // 7
IMPORTS = 21 * REPETITIONS // 7
TRAININGS = 7 * REPETITIONS // 7
CALLS = 2000  # of an operation in a round
DIGITS = pathlib.Path(__file__).resolve().parent.parent / "examples" / "digits.py"

# Statements by operation: ours and NumPy's.
OPERATIONS = {
    "empty": ("tl.empty((64, 64))", "np.empty((64, 64))"),
    "numpy": ("tl.empty((64, 64)).numpy()", "np.empty((64, 64))"),
    "T": ("t.T", "a.T"),
    "slice": ("t[1:5, 2:6]", "a[1:5, 2:6]"),
    "position": ("t[3, 4]", "a[3, 4]"),
    "from_dlpack": ("tl.from_dlpack(a)", "np.from_dlpack(a)"),
    "add": ("t + u", "a + b"),
    "multiply": ("t * 2", "a * 2"),
    "ufunc": ("np.add(t, u)", "np.add(a, b)"),
    "out": ("np.add(t, u, out=v)", "np.add(a, b, out=c)"),
    "set_element": ("t[3, 4] = 1.5", "a[3, 4] = 1.5"),
    "set_row": ("t[3] = 1.5", "a[3] = 1.5"),
    "set_all": ("t[...] = u", "a[...] = b"),
}


def entry(name: str, seconds: float) -> dict[str, Any]:
    return {"run_type": "iteration", "run_name": name, "items_per_second": 1 / seconds}


def calls(way: str) -> list[dict[str, Any]]:
    """The operations in this process, in which the package has the way that the environment says."""
    import numpy

    import tl_runtime as tl

    threading.Thread(target=threading.Event().wait, daemon=True).start()  # as in the other programs
    names: dict[str, Any] = {"np": numpy, "tl": tl}
    for ours, theirs in zip("tuv", "abc"):
        names[ours], names[theirs] = tl.zeros((64, 64)), numpy.zeros((64, 64), "float32")
    pairs = [
        [(f"calls/{name}/{who}", timeit.Timer(call, globals=names)) for who, call in zip((way, f"numpy-{way}"), both)]
        for name, both in OPERATIONS.items()
    ]
    made = []
    for number in range(ROUNDS + 1):
        random.shuffle(pairs)
        for pair in pairs:
            for name, timer in random.sample(pair, 2):
                seconds = timer.timeit(CALLS) / CALLS
                if number:  # the first round has filled the caches
                    made.append(entry(name, seconds))
    return made


DEPTHS = (1, 10, 50)


def called(depth: int, timer: timeit.Timer) -> float:
    """Seconds of a call below so many functions of Python."""
    return called(depth - 1, timer) if depth > 1 else timer.timeit(CALLS) / CALLS


def recorded(way: str) -> list[dict[str, Any]]:
    """What a tensor takes whose call stack is recorded (TL_TRACK=1), by the depth of the stack, and one that is not."""
    import tl_runtime as tl

    timer = timeit.Timer("tl.empty((8, 8))", globals={"tl": tl})
    made = []
    for number in range(ROUNDS + 1):
        for tracked in random.sample("01", 2):
            tl.configure("TL_TRACK", tracked)
            for depth in random.sample(DEPTHS, len(DEPTHS)):
                name = f"recorded/{depth}" if tracked == "1" else f"unrecorded/{depth}"
                seconds = called(depth, timer)
                if number:
                    made.append(entry(f"calls/{name}/{way}", seconds))
    tl.configure("TL_TRACK", "0")
    return made


def asked(arguments: list[str], **environment: str) -> Any:
    command = [sys.executable, *arguments]
    shown = subprocess.run(command, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(shown.stdout)


def imports() -> list[dict[str, Any]]:
    """Seconds of an import in a new process. Bytecode is written, whatever the environment says, and kept apart."""
    made = []
    program = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    with tempfile.TemporaryDirectory() as folder:
        for number in range(IMPORTS + 1):
            for module in random.sample(["numpy", "tl_runtime"], 2):
                command = ["-c", program.format(module)]
                seconds = asked(command, PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=folder)
                if number:  # the first one has written the bytecode
                    made.append(entry(f"calls/import/{'tl' if module == 'tl_runtime' else module}", seconds))
    return made


def trainings() -> list[dict[str, Any]]:
    """The training of the demo: over tensors, of an unchanged program under tl.numpy_allocator(), and NumPy alone."""
    made = []
    for _ in range(TRAININGS):
        for kind in random.sample(["runtime", "allocator", "numpy"], 3):
            made.append(entry(f"calls/digits/{kind}", asked([str(DIGITS), "--time", kind])["seconds"]))
    return made


def churn(kind: str) -> None:
    """Replaces arrays of 64 bytes to 240 KB, 500 of them, in an order of chance, and tells what that took of memory."""
    import contextlib

    import numpy

    import tl_runtime as tl

    draw = random.Random(5)
    steps = 100_000
    sizes = [int(64 * (240_000 / 64) ** draw.random()) for _ in range(steps)]
    before, live = peak(), 500
    start = time.perf_counter()
    with tl.numpy_allocator() if kind == "allocator" else contextlib.nullcontext():
        arrays = [numpy.ones(size, "u1") for size in sizes[:live]]
        for size in sizes:
            arrays[draw.randrange(live)] = numpy.ones(size, "u1")
    print(json.dumps({"kind": kind, "peak": peak(), "grown": peak() - before, "seconds": time.perf_counter() - start}))


def peak() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def main(figures: str, memory: str) -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: calls from Python (NumPy is not installed)")
        return
    made = asked([__file__, "--calls", "ctypes"], TL_PYTHON_FAST="0") + imports() + trainings()
    try:
        made += asked([__file__, "--calls", "tl"], TL_PYTHON_FAST="1")
    except subprocess.CalledProcessError:
        print("skipped: calls through tl_runtime._fast (build it with `make python-fast`)")
    pathlib.Path(figures).write_text(json.dumps({"benchmarks": made}))
    lines = [asked([__file__, "--churn", kind]) for kind in ("allocator", "numpy")]
    pathlib.Path(memory).write_text("".join(json.dumps(line) + "\n" for line in lines))


if sys.argv[1] == "--calls":
    print(json.dumps(calls(sys.argv[2]) + recorded(sys.argv[2])))
elif sys.argv[1] == "--churn":
    churn(sys.argv[2])
else:
    main(*sys.argv[1:])
