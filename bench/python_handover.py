"""What Python pays: NumPy's arrays in the runtime's memory, and tensors handed over as arrays.

    python_handover.py OUTPUT

Writes figures in the form of Google Benchmark. Every round times each operation once, in an order of its own, and the
report takes medians over the rounds; ours and NumPy's stand next to each other in each of them.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import sys
import threading
import timeit
from collections.abc import Callable
from typing import Any

ROUNDS = 60 * int(os.environ.get("TL_BENCH_REPETITIONS", "7")) // 7
CALLS = 2000  # of an operation in a round: a fraction of a millisecond

SIZES = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
SHAPES = {"16": (4, 4), "4194304": (2048, 2048)}


def allocations(numpy: Any) -> dict[str, str]:
    """np.empty by number of elements, and an operation on arrays."""
    made = {f"python/empty/{size}": f"np.empty({size})" for size in SIZES}
    made["python/add/1000"] = "a + b"
    return made


def handovers() -> dict[str, str]:
    made = {}
    for name in SHAPES:
        made[f"python/numpy/{name}"] = f"t{name}.numpy()"
        made[f"python/from_dlpack/{name}"] = f"np.from_dlpack(t{name})"
        made[f"python/import/{name}"] = f"tl.from_dlpack(a{name})"
        made[f"python/view/{name}"] = f"t{name}.T"
    return made


class Figures:
    """Seconds for each call, by operation."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.timers: list[tuple[str, timeit.Timer, Callable[[], Any] | None]] = []
        self.entries: list[dict[str, Any]] = []

    def add(self, name: str, statement: str, around: Callable[[], Any] | None = None) -> None:
        self.timers.append((name, timeit.Timer(statement, globals=self.names), around))

    def round(self) -> None:
        random.shuffle(self.timers)
        for name, timer, around in self.timers:
            if around is None:
                seconds = timer.timeit(CALLS)
            else:
                with around():
                    seconds = timer.timeit(CALLS)
            entry = {"run_type": "iteration", "run_name": name, "items_per_second": CALLS / seconds}
            self.entries.append(entry)


def measure() -> list[dict[str, Any]]:
    import numpy

    import tl_runtime as tl

    names: dict[str, Any] = {"np": numpy, "tl": tl, "a": numpy.ones(1000), "b": numpy.ones(1000)}
    for name, shape in SHAPES.items():
        names["t" + name] = tl.zeros(shape)
        names["a" + name] = numpy.zeros(shape, "float32")
    figures = Figures(names)
    for name, statement in allocations(numpy).items():
        figures.add(name + "/numpy", statement)
        figures.add(name + "/tl", statement, tl.numpy_allocator)
    for name, statement in handovers().items():
        figures.add(name + "/tl", statement)
    figures.round()
    figures.entries.clear()  # the first one has filled the caches
    for _ in range(ROUNDS):
        figures.round()
    return figures.entries


def main() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: what Python pays (NumPy is not installed)")
        return
    threading.Thread(target=threading.Event().wait, daemon=True).start()  # as in the other programs
    pathlib.Path(sys.argv[1]).write_text(json.dumps({"benchmarks": measure()}))


main()
