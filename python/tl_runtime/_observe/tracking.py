"""Where live memory came from."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from types import TracebackType
from typing import NamedTuple, Optional

from .. import _abi
from .._binding import deferred
from .._binding.library import c_string, check, last_error, lib, recorder
from .stats import config, configure


class AllocationInfo(NamedTuple):
    """Describes a live allocation. The fields from file on hold what tracking recorded; 0, None or () if it did
    not."""

    block: int
    nbytes: int
    count: int  # type: ignore[assignment]  # tuple.count, which nobody looks for here
    type: str | None
    file: str | None
    line: int
    stack: tuple[int, ...]  # return addresses, innermost first; a number from 2**56 on stands for a frame of Python
    time: float  # seconds since 1970
    thread: int
    tag: str | None
    number: int


def _text(value: bytes | None) -> str | None:
    return None if value is None else os.fsdecode(value)


def allocation_info(address: int) -> AllocationInfo:
    """Describes the live allocation at an address: an object, a tensor, a registered pointer, a block."""
    info = _abi.tl_alloc_info()
    info.struct_size = ctypes.sizeof(info)
    check(lib.tl_mem_allocation_info(address, ctypes.byref(info)))
    frames = (ctypes.c_void_p * info.frames).from_address(info.stack) if info.frames else ()
    return AllocationInfo(
        block=info.block or 0,
        nbytes=info.bytes,
        count=info.count,
        type=_text(info.type),
        file=_text(info.file),
        line=info.line,
        stack=tuple(frame or 0 for frame in frames),
        time=info.time / 1e9,
        thread=info.thread,
        tag=_text(info.tag),
        number=info.number,
    )


def track_count() -> int:
    """Returns how many allocations were recorded so far: a mark for leak_report."""
    return int(recorder.count.value)


def check_all() -> int:
    """Checks all memory that TL_DEBUG=1 guards, and returns how many objects and blocks are damaged.

    Each is reported once, on standard error. Without TL_DEBUG the call raises UnsupportedError.
    """
    deferred.drain()
    damaged = int(lib.tl_mem_check_all())
    if damaged < 0:
        raise last_error()
    return damaged


class _Setting:
    """An option that is set while at least one of several blocks needs it, and restored after the last."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._lock = threading.Lock()
        self._users = 0
        self._before = ""

    def enter(self, value: str) -> None:
        with self._lock:
            before = config()[self._key][0]
            configure(self._key, value)  # also if it is set already, so that this thread follows at once
            if self._users == 0:
                self._before = before
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                configure(self._key, self._before)


_settings = {key: _Setting(key) for key in ("TL_TRACK", "TL_TRACK_SAMPLE")}


@contextmanager
def recording(key: str, value: str) -> Iterator[None]:
    """Sets TL_TRACK or TL_TRACK_SAMPLE in the block; blocks may nest, and overlap on threads."""
    setting = _settings[key]
    setting.enter(value)
    try:
        yield
    finally:
        setting.leave()


_Type = Optional[type[BaseException]]
_Exception = Optional[BaseException]
_Traceback = Optional[TracebackType]


class tag(ContextDecorator):
    """`with tl.tag("load"):` gives what the thread allocates in the block a tag that reports group by; tags nest.

    Names are kept for ever: a tag is for a phase, not for the number of a step.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> tag:
        check(lib.tl_tag_push(c_string(self.name)))
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        check(lib.tl_tag_pop())
