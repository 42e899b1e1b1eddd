"""What has leaked: the library's report, as an object.

The library cannot see who holds a reference. It is told those of this package's handles, and so reports what is left:
memory that neither a scope nor a variable of Python's will release.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from . import _deferred, _holders
from ._library import c_string, last_error, lib
from ._numbers import size

_ALL = 2**64 - 1  # the mark that leaves nothing out
_HEAD = re.compile(
    r"(Direct leak of|Indirect leak of|No leak, handed back to the host:) (\d+) byte\(s\) in (\d+) object\(s\) "
    r"allocated from:$"
)
_FRAME = re.compile(r"    #\d+ 0x(?P<address>[0-9a-f]+)(?: in (?P<function>.*?))? (?P<place>\S*:\d+|\(\S.*\)|.*:\d+)$")
_TAIL = re.compile(r"    (?P<type>.*?); (?P<reason>.*?)(?:; tag (?P<tag>.*?))?(?:; sampled, for about \d+ such .*)?$")


class LeakFrame(NamedTuple):
    """A frame of the call stack of an allocation."""

    address: int
    function: str | None
    file: str | None  # None where no line is known
    line: int


class Leak(NamedTuple):
    """Allocations that are alike: of one type, by one call stack, lost in one way."""

    objects: int
    nbytes: int
    type: str  # "tensor", "vec", ..., the name of a type, "plain bytes"
    reason: str  # why it is listed
    tag: str | None
    frames: tuple[LeakFrame, ...]  # innermost first; none without tracking
    is_direct: bool  # else another leak refers to it
    is_leak: bool  # else it was handed back to the host, which may have freed it

    @property
    def file(self) -> str | None:
        """The file of the innermost line that is known."""
        return next((frame.file for frame in self.frames if frame.file is not None), None)

    @property
    def line(self) -> int:
        """The innermost line that is known; 0 where none is."""
        return next((frame.line for frame in self.frames if frame.file is not None), 0)


class LeakCount(NamedTuple):
    """How much of something has leaked."""

    objects: int
    nbytes: int


class LeakReport:
    """What had leaked at one moment. It is true if anything had; str() is the report for people, "" where there is
    nothing to tell; iteration gives each Leak, direct ones first and the largest first."""

    __slots__ = ("_leaks", "_objects", "_text")

    def __init__(self, text: str, objects: int) -> None:
        self._text, self._objects = text, objects
        self._leaks = tuple(_leaks_in(text))

    @property
    def objects(self) -> int:
        """How many allocations have leaked: objects, tensors, blocks."""
        return self._objects

    @property
    def nbytes(self) -> int:
        """The bytes of them."""
        return sum(leak.nbytes for leak in self._leaks if leak.is_leak)

    @property
    def by_kind(self) -> dict[str, LeakCount]:
        """How much has leaked of each type."""
        kinds: dict[str, LeakCount] = {}
        for leak in self._leaks:
            if leak.is_leak:
                objects, nbytes = kinds.get(leak.type, (0, 0))
                kinds[leak.type] = LeakCount(objects + leak.objects, nbytes + leak.nbytes)
        return kinds

    def __bool__(self) -> bool:
        return self._objects > 0

    def __len__(self) -> int:
        return len(self._leaks)

    def __iter__(self) -> Iterator[Leak]:
        return iter(self._leaks)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<tl.LeakReport: {self.objects} allocations leaked, {self.nbytes} bytes>"


def leak_report(
    path: str | os.PathLike[str] | None = None, since: int | None = None, *, handles: bool = False
) -> LeakReport:
    """Looks for memory that nothing will release any more.

    What a scope of a running thread holds is no leak, and neither is what objects of Python's hold: a Tensor or a
    SparseMatrix, an array over one, an array under numpy_allocator() or of the registry, or one that NumPy has made of
    a tensor by DLPack. With handles=True the latter counts. Arrays are found where a container or a variable has them;
    those that only C code has, and tensors that other libraries have by DLPack or Arrow, are seen by nobody and count.

    With a path the text is written to that file as well. With a mark, only allocations that were recorded since
    track_count() had returned it.
    """
    _deferred.drain()
    mark = _ALL if since is None else min(size(since, "since"), _ALL - 1)
    # Holders are kept meanwhile, so that no other thread ends one.
    holders, held = ([], []) if handles else _holders.held(sys._getframe(1))
    if path is not None and (os.path.isfile(path) or not os.path.exists(path)):
        return _written(path, mark, held)
    file, name = tempfile.mkstemp(prefix="tl_leaks_")
    os.close(file)
    try:
        report = _written(name, mark, held)
    finally:
        os.unlink(name)
    if path is not None:  # a pipe, a terminal: not read again
        with open(path, "w", encoding="utf-8") as out:
            out.write(str(report))
    del holders
    return report


def _written(path: str | os.PathLike[str], mark: int, held: Sequence[int]) -> LeakReport:
    array = (ctypes.c_void_p * len(held))(*held)
    count = int(lib.tl_leak_report_except(c_string(path), mark, array, len(held)))
    if count < 0:
        raise last_error()
    with open(path, encoding="utf-8", errors="replace") as file:
        return LeakReport(file.read(), count)


def _leaks_in(text: str) -> Iterator[Leak]:
    lines = iter(text.split("\n"))
    for line in lines:
        head = _HEAD.match(line)
        if head is None:
            continue
        frames = []
        for line in lines:
            frame = _FRAME.match(line)
            if frame is not None:
                frames.append(_frame(frame))
            elif line != "    <empty stack>":
                break
        tail = _TAIL.match(line)
        type_, reason, tag = tail.group("type", "reason", "tag") if tail else (line.strip(), "", None)
        yield Leak(
            objects=int(head[3]),
            nbytes=int(head[2]),
            type=type_,
            reason=reason,
            tag=tag,
            frames=tuple(frames),
            is_direct=head[1].startswith("Direct"),
            is_leak=not head[1].startswith("No"),
        )


def _frame(found: re.Match[str]) -> LeakFrame:
    file, _, line = found["place"].rpartition(":")
    known = bool(file) and line.isdigit()
    return LeakFrame(int(found["address"], 16), found["function"], file if known else None, int(line) if known else 0)
