"""Memory resources that stand on another one and limit, count or log what it hands out, with RMM's names.

    pool = tl.MemoryPool("cuda:0")
    counted = tl.mr.StatisticsResourceAdaptor(pool)
    limited = tl.mr.LimitingResourceAdaptor(counted, 1 << 30)
    block = limited.block(1 << 20)
    print(counted.statistics.peak_bytes)

Each adaptor is a MemoryResource, so they stand on each other in any order, and a MemoryPool stands on them where they
stand on a DeviceResource: what they then see are the chunks of the pool.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TextIO, TypeVar, Union

from ._binding.numbers import size
from ._errors import LimitError, UnknownPointerError
from ._memory.pool import Block, DeviceResource, MemoryPool, MemoryPoolStatistics, MemoryResource
from ._tensor.devices import Device

__all__ = [
    "Block",
    "DeviceResource",
    "FailureCallbackResourceAdaptor",
    "LimitingResourceAdaptor",
    "LoggingResourceAdaptor",
    "MemoryPool",
    "MemoryPoolStatistics",
    "MemoryResource",
    "Statistics",
    "StatisticsResourceAdaptor",
]

Adaptor = TypeVar("Adaptor", bound="ResourceAdaptor")


class ResourceAdaptor(MemoryResource):
    """A resource that asks another one, upstream, for its blocks."""

    def __init__(self, upstream: MemoryResource) -> None:
        if not isinstance(upstream, MemoryResource):
            raise TypeError(
                f"upstream: {upstream!r} is no memory resource; tl.mr.DeviceResource(device) is one, and so is a "
                "tl.MemoryPool"
            )
        self.upstream = upstream
        self._lock = threading.Lock()
        self._live: dict[int, int] = {}  # bytes of each block that is out, by address

    def __repr__(self) -> str:
        return f"tl.mr.{type(self).__name__}({self.upstream!r})"

    @property
    def name(self) -> str:
        return self.upstream.name

    @property
    def alignment(self) -> int:
        return self.upstream.alignment

    @property
    def device(self) -> Device | None:
        return self.upstream.device

    def allocate(self, nbytes: int, stream: int | None = None) -> int:
        nbytes = size(nbytes, "nbytes")
        if nbytes == 0:
            return 0
        self._before(nbytes)
        try:
            address = self._obtain(nbytes, stream)
        except BaseException:
            self._failed(nbytes, stream)
            raise
        with self._lock:
            self._live[address] = nbytes
        self._after(address, nbytes, stream)
        return address

    def deallocate(self, address: int, nbytes: int | None = None, stream: int | None = None) -> None:
        if address == 0:
            return
        with self._lock:
            had = self._live.get(address)
            if had is None:
                raise UnknownPointerError(
                    f"deallocate: {address:#x} is no live block of this {type(self).__name__}; give each block back "
                    "once, to the resource that it came from"
                )
            if nbytes is not None and nbytes != had:
                raise ValueError(f"deallocate: nbytes is {nbytes}, and the block at {address:#x} has {had}")
            del self._live[address]  # before another thread may get the address
        try:
            self.upstream.deallocate(address, had, stream)
        except BaseException:
            with self._lock:
                self._live[address] = had
            raise
        self._returned(address, had, stream)

    def _obtain(self, nbytes: int, stream: int | None) -> int:
        return self.upstream.allocate(nbytes, stream)

    def _before(self, nbytes: int) -> None:
        """Called before upstream is asked; may refuse."""

    def _failed(self, nbytes: int, stream: int | None) -> None:
        """Called when upstream has failed."""

    def _after(self, address: int, nbytes: int, stream: int | None) -> None:
        """Called with a new block."""

    def _returned(self, address: int, nbytes: int, stream: int | None) -> None:
        """Called with a block that upstream has taken back."""


class LimitingResourceAdaptor(ResourceAdaptor):
    """Refuses what would be more than allocation_limit bytes at a time, with LimitError."""

    def __init__(self, upstream: MemoryResource, allocation_limit: int) -> None:
        super().__init__(upstream)
        self.allocation_limit = size(allocation_limit, "allocation_limit")
        self._allocated = 0

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the blocks that are out."""
        return self._allocated

    def _before(self, nbytes: int) -> None:
        with self._lock:
            if self._allocated + nbytes > self.allocation_limit:
                raise LimitError(
                    f"allocate: {nbytes} bytes beside {self._allocated} that are out are more than the limit of "
                    f"{self.allocation_limit} bytes over {self.name}"
                )
            self._allocated += nbytes

    def _failed(self, nbytes: int, stream: int | None) -> None:
        with self._lock:
            self._allocated -= nbytes

    def _returned(self, address: int, nbytes: int, stream: int | None) -> None:
        with self._lock:
            self._allocated -= nbytes


@dataclass(frozen=True)
class Statistics:
    """What a StatisticsResourceAdaptor has counted; bytes are those that were requested."""

    current_bytes: int = 0
    current_count: int = 0
    peak_bytes: int = 0
    peak_count: int = 0
    total_bytes: int = 0
    total_count: int = 0


class StatisticsResourceAdaptor(ResourceAdaptor):
    """Counts blocks and bytes: those that are out now, the most that ever were, and all that were given out."""

    def __init__(self, upstream: MemoryResource) -> None:
        super().__init__(upstream)
        self._counted = Statistics()

    @property
    def statistics(self) -> Statistics:
        """The counters, all at one moment."""
        return self._counted

    def reset_peak(self) -> None:
        """Lets the peaks begin at what is out now."""
        with self._lock:
            now = self._counted
            self._counted = replace(now, peak_bytes=now.current_bytes, peak_count=now.current_count)

    def _after(self, address: int, nbytes: int, stream: int | None) -> None:
        with self._lock:
            was = self._counted
            out, count = was.current_bytes + nbytes, was.current_count + 1
            most, highest = max(was.peak_bytes, out), max(was.peak_count, count)
            self._counted = Statistics(out, count, most, highest, was.total_bytes + nbytes, was.total_count + 1)

    def _returned(self, address: int, nbytes: int, stream: int | None) -> None:
        with self._lock:
            was = self._counted
            self._counted = replace(
                was, current_bytes=was.current_bytes - nbytes, current_count=was.current_count - 1
            )


class LoggingResourceAdaptor(ResourceAdaptor):
    """Writes a line of CSV for each call, with RMM's columns: Thread, Time, Action, Pointer, Size, Stream.

    log is the name of a file, which close() ends, or a text file that stays open.
    """

    def __init__(self, upstream: MemoryResource, log: Union[str, os.PathLike[str], TextIO]) -> None:
        super().__init__(upstream)
        self._owns = isinstance(log, (str, os.PathLike))
        self._file: Any = open(log, "w", encoding="utf-8") if isinstance(log, (str, os.PathLike)) else log
        self._file.write("Thread,Time,Action,Pointer,Size,Stream\n")

    def _write(self, action: str, address: int, nbytes: int, stream: int | None) -> None:
        now = time.time()
        clock = time.strftime("%H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1e6):06d}"
        line = f"{threading.get_native_id()},{clock},{action},{address:#x},{nbytes},{stream or 0:#x}\n"
        with self._lock:
            if self._file is not None:
                self._file.write(line)

    def _failed(self, nbytes: int, stream: int | None) -> None:
        self._write("allocate failure", 0, nbytes, stream)

    def _after(self, address: int, nbytes: int, stream: int | None) -> None:
        self._write("allocate", address, nbytes, stream)

    def _returned(self, address: int, nbytes: int, stream: int | None) -> None:
        self._write("free", address, nbytes, stream)

    def flush(self) -> None:
        """Writes what is still in the file's buffer."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Ends the log. Blocks can still be given back; nothing is written for them."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close() if self._owns else file.flush()

    def __enter__(self: Adaptor) -> Adaptor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_owns", False) and self._file is not None:
            self.close()


class FailureCallbackResourceAdaptor(ResourceAdaptor):
    """Calls callback(nbytes) when upstream has no memory, and asks again as long as that returns true."""

    def __init__(self, upstream: MemoryResource, callback: Callable[[int], object]) -> None:
        super().__init__(upstream)
        if not callable(callback):
            raise TypeError(f"callback: {callback!r} is no function to call when memory is short")
        self._callback = callback

    def _obtain(self, nbytes: int, stream: int | None) -> int:
        while True:
            try:
                return self.upstream.allocate(nbytes, stream)
            except MemoryError:
                if not self._callback(nbytes):
                    raise
