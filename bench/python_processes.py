"""What it takes to send 100 MB to another process: by the descriptor of a shared tensor, and as arrays are sent.

    python_processes.py OUTPUT

Writes figures in the form of Google Benchmark. The time is from before the object is put into a queue until the child has
it; a shared tensor is mapped then, and nothing has touched its memory. "touched" goes on until the child has read a byte
of each page. A round sends by each way once and has the child touch it, in an order of its own, and then sends the shared
tensor ten times in a row.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pathlib
import random
import sys
import time
from typing import Any

ROUNDS = 3 * int(os.environ.get("TL_BENCH_REPETITIONS", "7"))
BYTES = 100_000_000


def child(queue: Any, answers: Any) -> None:
    import numpy

    while True:
        got, touch = queue.get()
        here = time.monotonic_ns()
        if got is None:
            return
        total = int(numpy.asarray(got)[::4096].sum()) if touch else 0
        answers.put((here, time.monotonic_ns(), total))
        del got


def measure() -> list[dict[str, Any]]:
    import numpy

    import tl_runtime as tl

    context = multiprocessing.get_context("spawn")
    queue, answers = context.Queue(), context.Queue()
    process = context.Process(target=child, args=(queue, answers), daemon=True)
    process.start()
    array = numpy.ones(BYTES, "uint8")
    sent = {"tl": tl.zeros(BYTES, "uint8", device="shared"), "numpy": array, "cpu": tl.from_numpy(array)}
    sent["tl"].numpy()[:] = 1
    figures: list[tuple[str, int]] = []

    def send(way: str, touch: bool) -> None:
        queue.put((0, False))  # the queue's thread lets go of what it has sent last
        answers.get()
        start = time.monotonic_ns()
        queue.put((sent[way], touch))
        mapped, touched, total = answers.get()
        if touch:
            assert total == len(range(0, BYTES, 4096)), (way, total)
            figures.append((f"processes/touched/{way}", touched - start))
        if not touch or way != "tl":
            figures.append((f"processes/mapped/{way}", mapped - start))

    for number in range(ROUNDS + 1):
        if number == 1:
            figures.clear()  # the first round has started threads and filled caches
        for way in random.sample(list(sent), len(sent)):
            send(way, touch=True)
        for _ in range(10):
            send("tl", touch=False)
    queue.put((None, False))
    process.join()
    return [{"run_type": "iteration", "run_name": name, "items_per_second": 1e9 / ns} for name, ns in figures]


def main() -> None:
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: tensors between processes (NumPy is not installed)")
        return
    pathlib.Path(sys.argv[1]).write_text(json.dumps({"benchmarks": measure()}))


if __name__ == "__main__":
    main()
