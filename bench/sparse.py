"""Sparse matrices beside SciPy: slices and conversions of the same matrices, and memory over payload.

    sparse.py OUTPUT MEMORY_OUTPUT

Writes figures in the form of Google Benchmark, and one line of JSON for each matrix whose memory was looked at. Every
round times each operation once, in an order of its own; ours and SciPy's stand next to each other in each of them.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import sys
import threading
import time
import timeit
from typing import Any

ROUNDS = max(3, 12 * int(os.environ.get("TL_BENCH_REPETITIONS", "7")) // 7)
SLICE_SECONDS = 0.03  # of an operation in a round

# Rows and nonzeros of a row: small enough for the caches, and far larger.
SIZES = {"1e5": (1000, 100), "1e7": (100_000, 100)}
LARGE = (1_000_000, 100)  # the matrix whose memory is looked at

# What is timed, ours and SciPy's, of a matrix m and s.
OPERATIONS = {
    "slice-half": ("m[n // 4:-n // 4]", "s[n // 4:-n // 4]"),
    "slice-10": ("m[n // 2:n // 2 + 10]", "s[n // 2:n // 2 + 10]"),
    "row": ("m.row(n // 2)", "s[n // 2:n // 2 + 1]"),
    "transpose": ("m.T", "s.T"),
    "from-csr": ("take(s.shape, d, i, o)", "csr((d, i, o), shape=s.shape, copy=True)"),
    "from-csr-checked": ("take(s.shape, d, i, o)", "csr((d, i, o), shape=s.shape, copy=True).has_canonical_format"),
    "to-csr": ("m.to_contiguous()", "s.copy()"),
    "wrap": ("take(s.shape, d, i, o, copy=False)", "csr((d, i, o), shape=s.shape).has_canonical_format"),
    "one-block": ("w.to_scipy()", "csr((d, i, o), shape=s.shape)"),
}


def sample(rows: int, length: int, columns: int = 100_000) -> Any:
    """A CSR matrix of f32 with 32-bit indices whose rows ascend."""
    import numpy
    import scipy.sparse

    steps = numpy.random.default_rng(1).integers(1, columns // length, (rows, length), dtype="int32")
    indices = numpy.cumsum(steps, axis=1, dtype="int32").reshape(-1)
    offsets = numpy.arange(0, rows * length + 1, length, dtype="int32")
    values = numpy.ones(rows * length, "float32")
    return scipy.sparse.csr_array((values, indices, offsets), shape=(rows, columns))


def timers_of(size: str) -> list[tuple[str, timeit.Timer, int]]:
    """Each operation with as many calls as fill a slice of time."""
    import scipy.sparse

    import tl_runtime as tl

    s = sample(*SIZES[size])
    take = tl.SparseMatrix.from_arrays
    arrays = (s.data, s.indices, s.indptr)
    m, w = take(s.shape, *arrays), take(s.shape, *arrays, copy=False)
    names = {"s": s, "m": m, "w": w, "take": take, "csr": scipy.sparse.csr_array, "n": s.shape[0]}
    names |= dict(zip("dio", arrays))
    made = []
    for name, statements in OPERATIONS.items():
        for who, statement in zip(("tl", "scipy"), statements):
            timer = timeit.Timer(statement, globals=names)
            timer.timeit(1)
            calls = max(1, int(SLICE_SECONDS / max(timer.timeit(1), 1e-7)))
            made.append((f"sparse/{name}/{size}/{who}", timer, min(calls, 2000)))
    return made


def measure() -> list[dict[str, Any]]:
    timers = [timer for size in SIZES for timer in timers_of(size)]
    entries = []
    for _ in range(ROUNDS):
        random.shuffle(timers)
        for name, timer, calls in timers:
            timer.timeit(1)  # what another operation has taken from the caches, and the clock from idle memory
            entries.append({"run_type": "iteration", "run_name": name, "items_per_second": calls / timer.timeit(calls)})
    return entries


def resident() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory() -> list[dict[str, Any]]:
    """The bytes of a matrix of 1e8 nonzeros, as counted and as the system sees them."""
    import tl_runtime as tl

    s = sample(*LARGE)
    before, start = resident(), time.perf_counter()
    matrix = tl.SparseMatrix.from_scipy(s, copy=True)
    seconds = time.perf_counter() - start
    ours = {"matrix": "1e6 rows, 1e8 nonzeros", "blocks": matrix.block_count, "payload": matrix.payload_bytes}
    return [ours | {"counted": matrix.nbytes, "resident": resident() - before, "seconds": seconds}]


def main() -> None:
    try:
        import scipy.sparse  # noqa: F401
    except ImportError:
        print("skipped: sparse matrices (SciPy is not installed)")
        return
    threading.Thread(target=threading.Event().wait, daemon=True).start()  # as in the other programs
    lines = memory()
    pathlib.Path(sys.argv[2]).write_text("".join(json.dumps(line) + "\n" for line in lines))
    pathlib.Path(sys.argv[1]).write_text(json.dumps({"benchmarks": measure()}))


main()
