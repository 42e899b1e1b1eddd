"""A worker of Dask on the runtime: NumPy's memory, one limit for both, and the runtime's statistics.

Threads. A plugin's methods run in the thread of the worker's event loop, and so does every change of a worker's data
here. The out-of-memory callback runs on whatever thread needs memory. It hands the work to the event loop and waits,
except on the event loop's own thread, which must never wait: there the request is let through, and the spilling begins
as soon as the event loop is free.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
from dask.utils import format_bytes, parse_bytes
from distributed import Worker, WorkerPlugin
from distributed.http.utils import RequestHandler, get_handlers

from .._binding import deferred
from .._memory.allocator import serve_numpy
from .._memory.limits import (
    OutOfMemoryCallback,
    memory_limit,
    memory_usage,
    out_of_memory_callback,
    set_memory_limit,
    set_out_of_memory_callback,
)
from .._observe.stats import memory_summary, openmetrics, stats
from .dask_frames import register

logger = logging.getLogger("distributed.worker.tl_runtime")

PATIENCE = 30.0  # seconds for which a thread waits for the event loop to make room
SLAB = 1 << 20  # bytes that a small request may be charged: it comes with others of its size


@dataclass(frozen=True)
class _Share:
    """What a worker contributes to the limits of its process, in bytes; 0: no limit."""

    soft: int
    hard: int


def _of_worker(worker: Worker) -> _Share:
    """The limit that Dask knows: above the one fraction of it a worker spills, above the other it is ended."""
    memory = worker.memory_manager
    if not memory.memory_limit:
        return _Share(0, 0)
    fraction = dask.config.get("distributed.worker.memory.terminate") or 1.0
    return _Share(int(memory.memory_limit * (memory.memory_spill_fraction or 0)), int(memory.memory_limit * fraction))


class _Process:
    """What the workers of this process share: the limits of the runtime, and the last resort before a request fails.

    Its methods run in the threads of event loops, except for make_room.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # the collector may run anything within
        self._workers: dict[Plugin, _Share] = {}
        self._limits_before = (0, 0)
        self._callback_before: OutOfMemoryCallback | None = None
        self._other = 0  # bytes of the process that the runtime does not hold
        self._lent = 0

    def add(self, plugin: Plugin, share: _Share, process_bytes: int) -> None:
        with self._lock:
            if not self._workers:
                self._limits_before = memory_limit()
                self._callback_before = out_of_memory_callback()
                self._other = max(0, process_bytes - memory_usage().reserved)
            self._workers[plugin] = share
            try:
                self._apply()
            except BaseException:
                self._drop(plugin)
                raise
            set_out_of_memory_callback(self.make_room)

    def remove(self, plugin: Plugin) -> None:
        with self._lock:
            self._drop(plugin)

    def _drop(self, plugin: Plugin) -> None:
        if self._workers.pop(plugin, None) is None:
            return
        if self._workers:
            self._apply()
            return
        soft, hard = self._limits_before
        set_memory_limit(soft=soft, hard=hard)
        if out_of_memory_callback() == self.make_room:
            set_out_of_memory_callback(self._callback_before)

    def _apply(self) -> None:
        """Sets the runtime's limits: the sum of the workers', less what the process holds besides, and no more than
        was set before."""
        shares = list(self._workers.values())
        soft = sum(share.soft for share in shares) if all(share.soft for share in shares) else 0
        hard = sum(share.hard for share in shares) if all(share.hard for share in shares) else 0
        if hard:
            if hard <= self._other:
                raise ValueError(
                    f"tl_runtime.dask.Plugin: the worker may take {format_bytes(hard)}, and its process holds "
                    f"{format_bytes(self._other)} besides the runtime's memory; raise the worker's memory_limit, or "
                    "pass memory_limit= to the plugin"
                )
            hard -= self._other
            soft = min(max(0, soft - self._other), hard)
        limits = [min(filter(None, pair), default=0) for pair in zip((soft, hard), self._limits_before)]
        soft, hard = limits[0], limits[1] + self._lent if limits[1] else 0
        set_memory_limit(soft=min(soft, hard) if hard else soft, hard=hard)

    def lend(self, nbytes: int) -> None:
        """Raises the hard limit by what an event loop's thread needs now."""
        with self._lock:
            self._lent += nbytes
            self._apply()

    def excess(self) -> int:
        """The bytes that the runtime holds above the limit without what was lent."""
        usage = memory_usage()
        return usage.reserved - (usage.hard_limit - self._lent) if usage.hard_limit else 0

    def settle(self) -> None:
        """Takes back what was lent."""
        with self._lock:
            self._lent = 0
            self._apply()

    def make_room(self, device: int, requested: int, attempt: int) -> bool:
        """The out-of-memory callback: asks each worker in turn to spill, then whoever was asked before."""
        with self._lock:
            plugins, before = list(self._workers), self._callback_before
        for plugin in plugins:
            if plugin.make_room(requested, attempt):
                return True
        return bool(before and before(device, requested, attempt))


_process = _Process()


async def _spill(worker: Worker, wanted: int) -> int:
    """Evicts the values that were used longest ago until the runtime holds so many bytes less, or none is left.

    Returns how many values went. Between two of them the event loop does what else there is.
    """
    data: Any = worker.data
    if not hasattr(data, "evict") or not hasattr(data, "fast"):
        return 0  # a worker that does not spill
    enough = memory_usage().in_use - wanted
    gone = 0
    while data.fast and data.evict() != -1:
        gone += 1
        deferred.drain()
        if memory_usage().in_use <= enough:
            break
        await asyncio.sleep(0)
    return gone


class Statistics(RequestHandler):  # type: ignore[misc]
    """The runtime's memory as a table for people: tl-runtime on a worker's dashboard."""

    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.write(memory_summary())


class Metrics(RequestHandler):  # type: ignore[misc]
    """All statistics for Prometheus: tl-runtime/metrics."""

    def get(self) -> None:
        self.set_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.write(openmetrics())


# As the modules that distributed.worker.http.routes lists.
routes: list[tuple[str, type, dict[str, Any]]] = [("/tl-runtime", Statistics, {}), ("/tl-runtime/metrics", Metrics, {})]

_METRICS: dict[str, Callable[[Any], int]] = {
    "tl_in_use": lambda _: memory_usage().in_use,
    "tl_cached": lambda _: memory_usage().cached,
    "tl_peak": lambda _: memory_usage().peak,
    "tl_hard_limit": lambda _: memory_usage().hard_limit,
    "tl_tensors": lambda _: stats()["tensors_live"],
}

_served: weakref.WeakSet[Any] = weakref.WeakSet()  # the HTTP applications that have the routes


class Plugin(WorkerPlugin):  # type: ignore[misc]
    """Makes a worker and the runtime in its process know of each other.

    numpy: tasks allocate the memory of their arrays from the runtime. memory_limit: "auto" ties the runtime's limits to
    the worker's, a number of bytes or "4GiB" is the hard limit of this worker's share, None sets no limit. spill: a
    request for memory that would fail makes the worker spill its oldest values first. statistics: the worker tells the
    scheduler what the runtime holds, and serves tl-runtime and tl-runtime/metrics over HTTP.
    """

    name = "tl_runtime"

    def __init__(
        self,
        *,
        numpy: bool = True,
        memory_limit: str | int | None = "auto",
        spill: bool = True,
        statistics: bool = True,
    ) -> None:
        if memory_limit not in ("auto", None):
            memory_limit = int(parse_bytes(memory_limit))
            if memory_limit <= 0:
                raise ValueError("tl_runtime.dask.Plugin: memory_limit is above 0; None sets no limit")
        self.numpy, self.memory_limit, self.spill, self.statistics = numpy, memory_limit, spill, statistics
        self._worker: Worker | None = None

    def __reduce__(self) -> Any:
        names = ("numpy", "memory_limit", "spill", "statistics")
        return _plugin, ({name: getattr(self, name) for name in names},)

    def setup(self, worker: Worker) -> None:
        """Called in the thread of the worker's event loop, as all of these."""
        register()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._one_at_a_time = asyncio.Lock()
        self._later: asyncio.Task[None] | None = None
        self._spilled = 0
        if self.numpy:
            serve_numpy()
        share = _Share(0, 0)
        if self.memory_limit == "auto":
            share = _of_worker(worker)
        elif self.memory_limit is not None:
            share = _Share(0, int(self.memory_limit))
        _process.add(self, share, worker.monitor.get_process_memory() if self.memory_limit == "auto" else 0)
        self._worker = worker
        if self.statistics:
            worker.metrics.update(_METRICS, tl_spilled=lambda _: self._spilled)
            self._serve(worker)

    def teardown(self, worker: Worker) -> None:
        """Undoes setup, except for arrays' memory and the routes, which stay as long as the worker."""
        self._worker = None
        _process.remove(self)
        for name in (*_METRICS, "tl_spilled"):
            worker.metrics.pop(name, None)

    def _serve(self, worker: Worker) -> None:
        if worker.http_application not in _served:
            _served.add(worker.http_application)
            prefix = getattr(worker, "_http_prefix", None) or "/"
            worker.http_application.add_handlers(".*$", get_handlers(worker, [__name__], prefix))

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Puts NumPy on the runtime's memory in the context that a task of Dask's event loop, and then the thread that
        executes the task of the user, inherits."""
        if self.numpy and finish == "executing":
            serve_numpy()

    def make_room(self, requested: int, attempt: int) -> bool:
        """Whether memory was released that a request may now find; called on the thread that needs the memory."""
        worker = self._worker
        if not self.spill or worker is None or self._loop.is_closed():
            return False
        if threading.get_ident() == self._thread:
            return self._let_through(worker, requested, attempt)
        waiting = asyncio.run_coroutine_threadsafe(self._spill_in_turn(worker, requested), self._loop)
        try:
            return waiting.result(PATIENCE) > 0
        except concurrent.futures.CancelledError:
            return False
        except concurrent.futures.TimeoutError:
            waiting.cancel()
            logger.warning("the event loop did not spill within %s s; the request fails", PATIENCE)
            return False

    async def _spill_in_turn(self, worker: Worker, requested: int) -> int:
        async with self._one_at_a_time:
            gone = await _spill(worker, requested)
        self._spilled += gone
        if gone:
            logger.debug("%d values went to disk for a request of %s", gone, format_bytes(requested))
        return gone

    def _let_through(self, worker: Worker, requested: int, attempt: int) -> bool:
        """The event loop's own requests exceed the limit for a moment instead of waiting for the event loop."""
        if attempt > 1:
            return False  # what the system refuses, no limit grants
        _process.lend(requested + SLAB)
        if self._later is None or self._later.done():
            self._later = self._loop.create_task(self._catch_up(worker))
        return True

    async def _catch_up(self, worker: Worker) -> None:
        try:
            while (over := _process.excess()) > 0 and await self._spill_in_turn(worker, over):
                pass
        finally:
            _process.settle()


def _plugin(arguments: dict[str, Any]) -> Plugin:
    return Plugin(**arguments)
