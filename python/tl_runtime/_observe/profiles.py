"""Where memory goes, in the formats of pprof, of trace viewers and of PyTorch's page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from types import TracebackType
from typing import Any, Optional

from .._binding import deferred
from .._binding.library import c_string, check, lib
from .tracking import recording


def profile_write(path: str | os.PathLike[str]) -> None:
    """Writes live allocations by call stack, as a heap profile for `go tool pprof`.

    Sites are known while TL_TRACK or TL_TRACK_SAMPLE is on; a line of Python is the innermost frame.
    """
    deferred.drain()
    check(lib.tl_profile_write(c_string(path)))


_Type = Optional[type[BaseException]]
_Exception = Optional[BaseException]
_Traceback = Optional[TracebackType]


@contextmanager
def profile(path: str | os.PathLike[str], *, sample: str | int | None = None) -> Iterator[None]:
    """`with tl.profile("heap.pb.gz"):` records allocations in the block, and writes a heap profile at its end.

    In-use figures are what the block has left; alloc_space is what it allocated in all. With sample, such as
    "64K", one allocation in so many bytes is recorded instead of all. If blocks nest or overlap the last value
    holds. Allocations of threads that are in the block before it begins are recorded from their next slow call
    on.
    """
    with recording(*(("TL_TRACK", "1") if sample is None else ("TL_TRACK_SAMPLE", str(sample)))):
        try:
            yield
        finally:
            profile_write(path)


class trace(ContextDecorator):
    """`with tl.trace("run.json"):` writes what the memory does in the block, for ui.perfetto.dev and `tl report`.

    There is one trace at a time, of all threads; a thread joins it at its next slow call.
    """

    __slots__ = ("path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path

    def __enter__(self) -> trace:
        deferred.drain()
        check(lib.tl_trace_start(c_string(self.path)))
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        deferred.drain()
        check(lib.tl_trace_stop())


def trace_mark(name: str) -> None:
    """Writes a mark and the current counters into the trace that runs; does nothing without one."""
    deferred.drain()
    check(lib.tl_trace_mark(c_string(name)))


def dump_memory_snapshot(path: str | os.PathLike[str]) -> None:
    """Writes where memory lies now for pytorch.org/memory_viz, with the history of the trace that runs."""
    deferred.drain()
    check(lib.tl_snapshot_write(c_string(path)))


def memory_snapshot() -> dict[str, Any]:
    """Returns what dump_memory_snapshot writes: segments with their blocks, and the events of each device."""
    import pickle
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "snapshot.pickle"
        dump_memory_snapshot(path)
        snapshot: dict[str, Any] = pickle.loads(path.read_bytes())
        return snapshot
