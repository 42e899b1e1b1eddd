"""Tensors beside NumPy's arrays on Dask: what moves how fast, how often it is copied, and what more processes bring.

    scale_dask.py OUTPUT

Writes one JSON object a line. Every round does the same with tensors and with arrays, in an order of its own, on the
same cluster of processes on loopback; the figures are medians over the rounds. Copies are counted in rounds of their own
by the pages that the processes touch for the first time (minor faults), over the pages of what is moved. Nobody keeps
memory for the next use in those rounds, neither malloc nor the tensor pool.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Of the pages of an array each is a fault, and a task computes on one processor.
os.environ.update(
    NUMPY_MADVISE_HUGEPAGE="0",
    TL_HUGE_PAGES="0",
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    MALLOC_TRIM_THRESHOLD_="65536",
)

# Dask would take this folder's sparse.py for the package of that name.
sys.path[:] = [
    folder
    for folder in sys.path
    if folder != os.path.dirname(os.path.abspath(__file__))
]

import dask
import dask.array as da
import distributed
import numpy

import tl_runtime as tl
import tl_runtime.dask  # noqa: F401

MB = 1_000_000
NBYTES = 100 * MB
ROUNDS = int(os.environ.get("TL_BENCH_REPETITIONS", "7"))
COUNTED = 3
KINDS = ("tensor", "array")
SECONDS = 300


@contextmanager
def cluster(workers: int) -> Iterator[Any]:
    with (
        dask.config.set(
            {
                "distributed.admin.low-level-log-length": 0,
                "distributed.worker.memory.target": False,
            }
        ),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            scheduler_port=0,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            memory_limit=0,
            silence_logs=50,
        ) as made,
        distributed.Client(made, timeout=SECONDS) as client,
    ):
        client.run(prepare)
        yield client


def prepare() -> None:
    import tl_runtime.dask  # noqa: F401


def keep(kept: bool) -> None:
    """Whether the tensor pool keeps memory."""
    if kept:
        tl.set_tensor_pool_limits()
    else:
        tl.set_tensor_pool_limits(0, 0)
        tl.purge()


def make(kind: str, value: int = 0) -> Any:
    array = numpy.full(NBYTES // 8, value, "float64")
    return tl.from_numpy(array, copy=False) if kind == "tensor" else array


def last(given: Any) -> float:
    return float(numpy.asarray(given)[-1])


def faults(dask_worker: Any = None) -> int:
    """The pages that this process has touched for the first time."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


class Clock:
    """The seconds of an operation, and the faults of all processes meanwhile."""

    def __init__(self, client: Any) -> None:
        self.client, self.seconds, self.faults = client, 0.0, 0

    def _all_faults(self) -> int:
        return faults() + sum(self.client.run(faults).values())

    @contextmanager
    def running(self) -> Iterator[None]:
        before = self._all_faults()
        started = time.perf_counter()
        yield
        self.seconds = time.perf_counter() - started
        self.faults = self._all_faults() - before


def scatter(client: Any, kind: str, clock: Clock, direct: bool = False) -> None:
    given = make(kind)
    with clock.running():
        future = client.scatter(given, hash=False, direct=direct)
        distributed.wait(future)
    assert client.submit(last, future, pure=False).result(SECONDS) == 0


def scatter_direct(client: Any, kind: str, clock: Clock) -> None:
    scatter(client, kind, clock, direct=True)


def gather(client: Any, kind: str, clock: Clock) -> None:
    future = client.submit(make, kind, 3, pure=False)
    distributed.wait(future)
    with clock.running():
        got = client.gather(future, direct=True)
    assert last(got) == 3


def between(client: Any, kind: str, clock: Clock) -> None:
    first, second = sorted(client.scheduler_info()["workers"])[:2]
    future = client.submit(make, kind, 5, workers=first, pure=False)
    distributed.wait(future)
    with clock.running():
        assert (
            client.submit(last, future, workers=second, pure=False).result(SECONDS) == 5
        )


def blocks(kind: str) -> Any:
    """100 MB in ten chunks of rows."""
    rows = da.arange(NBYTES // 8, chunks=NBYTES // 80, dtype="float64").reshape(
        10, NBYTES // 80
    )
    rows = rows.rechunk((1, -1))
    if kind == "tensor":
        rows = rows.map_blocks(
            lambda a: tl.from_numpy(a, copy=False), meta=numpy.empty((0, 0))
        )
    return rows


def shuffled(method: str) -> Callable[[Any, str, Clock], None]:
    def shuffle(client: Any, kind: str, clock: Clock) -> None:
        rows = blocks(kind).persist()
        distributed.wait(rows)
        with clock.running():
            columns = rows.rechunk((-1, NBYTES // 800), method=method).persist()
            distributed.wait(columns)
        assert float(columns[3, 7].compute()) == 3 * (NBYTES // 80) + 7

    return shuffle


WAYS: dict[str, tuple[str, Callable[[Any, str, Clock], None]]] = {
    "scatter": ("scatter, through the scheduler", scatter),
    "scatter-direct": ("scatter, direct", scatter_direct),
    "gather": ("gather, direct", gather),
    "between": ("from worker to worker", between),
    "shuffle": ("shuffle of ten chunks by tasks", shuffled("tasks")),
    "shuffle-p2p": ("shuffle of ten chunks by p2p", shuffled("p2p")),
}


def moved() -> Iterator[dict[str, Any]]:
    """Each way of moving 100 MB, tensors beside arrays."""
    with cluster(2) as client:
        clock = Clock(client)
        seconds: dict[tuple[str, str], list[float]] = {}
        copies: dict[tuple[str, str], list[int]] = {}
        for number in range(-COUNTED, ROUNDS):
            client.run(keep, number >= 0)
            keep(number >= 0)
            for way, (_, run) in WAYS.items():
                for kind in random.sample(KINDS, 2):
                    run(client, kind, clock)
                    if number >= 0:
                        seconds.setdefault((way, kind), []).append(clock.seconds)
                    elif number > -COUNTED:  # the first round is for imports
                        copies.setdefault((way, kind), []).append(clock.faults)
    pages = NBYTES / os.sysconf("SC_PAGE_SIZE")
    for way, (what, _) in WAYS.items():
        line: dict[str, Any] = {
            "kind": "moved",
            "way": way,
            "what": what,
            "bytes": NBYTES,
        }
        for kind in KINDS:
            line[kind] = statistics.median(seconds[way, kind])
            line[f"{kind}_copies"] = statistics.median(copies[way, kind]) / pages
        pairs = zip(seconds[way, "tensor"], seconds[way, "array"])
        line["ratio"] = statistics.median(tensor / array for tensor, array in pairs)
        yield line


SIDE, TASKS, EMPTY = 500, 64, 1000


def work(kind: str, number: int) -> float:
    """A tenth of a second or so of one processor, on memory of a tensor or of an array."""
    array = numpy.random.default_rng(number).random((SIDE, SIDE))
    given = tl.from_numpy(array, copy=False).numpy() if kind == "tensor" else array
    for _ in range(8):
        given = given @ array
        given /= given.max()
    return float(given[0, 0])


def scaled() -> Iterator[dict[str, Any]]:
    """The same tasks on one, two and four processes."""
    for workers in (1, 2, 4):
        seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        with cluster(workers) as client:
            client.gather(client.map(work, ["array"] * 8, range(8), pure=False))
            for _ in range(max(3, ROUNDS // 2)):
                for kind in random.sample(KINDS, 2):
                    started = time.perf_counter()
                    client.gather(
                        client.map(work, [kind] * TASKS, range(TASKS), pure=False)
                    )
                    seconds[kind].append(time.perf_counter() - started)
        line: dict[str, Any] = {
            "kind": "scaled",
            "processes": workers,
            "processors": len(os.sched_getaffinity(0)),
        }
        yield line | {
            kind: TASKS / statistics.median(taken) for kind, taken in seconds.items()
        }


def empty() -> Iterator[dict[str, Any]]:
    """Tasks that do nothing: how many the client, the scheduler and two workers hand on."""
    seconds = []
    with cluster(2) as client:
        for _ in range(max(3, ROUNDS // 2) + 1):
            started = time.perf_counter()
            client.gather(client.map(abs, range(EMPTY), pure=False))
            seconds.append(time.perf_counter() - started)
    yield {"kind": "empty", "tasks": EMPTY / statistics.median(seconds[1:])}


def main() -> None:
    with open(sys.argv[1], "w") as output:
        for lines in (moved, scaled, empty):
            for line in lines():
                print(json.dumps(line), file=output, flush=True)
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
