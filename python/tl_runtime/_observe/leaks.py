"""What has leaked: the library's report, as an object.

The library cannot see who holds a reference. It is told those of this package's handles, and so reports what is left:
memory that neither a scope nor a variable of Python's will release.
"""

from __future__ import annotations

import ast
import ctypes
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

from .. import _abi
from .._binding import deferred
from .._binding.library import c_string, last_error, lib
from .._binding.numbers import size
from . import holders

# The built-in open() is gone when a __del__ at the interpreter's exit asks for a report.
_ALL = 2**64 - 1  # the mark that leaves nothing out
_HEAD = re.compile(
    r"(Direct leak of|Indirect leak of|No leak, handed back to the host:) (\d+) byte\(s\) in (\d+) object\(s\) "
    r"allocated from:$"
)
# A file or module with blanks in its name, a type or tag with a semicolon, and what is not printable stand in quotes.
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_FRAME = re.compile(
    rf"    #\d+(?: 0x(?P<address>[0-9a-f]+))?(?: in (?P<function>{_QUOTED}|.*))? "
    rf'(?:(?P<file>{_QUOTED}|[^\s"]+):(?P<line>\d+)|\((?:{_QUOTED}|\S+)\+0x[0-9a-f]+\)|\(<unknown module>\))$'
)
_TAIL = re.compile(
    rf"    (?P<type>{_QUOTED}|[^;]*); (?P<reason>.*?)(?:; tag (?P<tag>{_QUOTED}|[^;]*))?"
    r"(?:; sampled, for about \d+ such .*)?$"
)


class LeakFrame(NamedTuple):
    """A frame of the call stack of an allocation."""

    address: int  # 0 of a frame of Python
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
    a tensor by DLPack. With handles=True the latter counts. Arrays are found where a container, an array of objects, an
    iterator of NumPy's or a variable has them; those that only C code has, and tensors that other libraries have by
    DLPack or Arrow, are seen by nobody and count. Other threads may go on meanwhile.

    With a path the text is written to that file as well. With a mark, only allocations that were recorded since
    track_count() had returned it.
    """
    deferred.drain()
    mark = _ALL if since is None else min(size(since, "since"), _ALL - 1)
    caller = None if handles else sys._getframe(1)
    if path is not None and (os.path.isfile(path) or not os.path.exists(path)):
        return _written(path, mark, caller)
    file, name = tempfile.mkstemp(prefix="tl_leaks_")
    os.close(file)
    try:
        report = _written(name, mark, caller)
    finally:
        os.unlink(name)
    if path is not None:  # a pipe, a terminal: not read again
        with io.open(path, "w", encoding="utf-8") as out:
            out.write(str(report))
    return report


class _Asked:
    """Tells the library what Python holds, after it has listed what is live: so what other threads make meanwhile is no
    leak. The holders are kept, so that no other thread ends one before the report is complete."""

    def __init__(self, caller: FrameType) -> None:
        self.caller: FrameType | None = caller
        self.holders: list[Any] = []
        self.array: Any = None
        self.error: BaseException | None = None

    def answer(self, _: Any, out: int) -> int:
        try:
            assert self.caller is not None
            self.holders, held = holders.held(self.caller)
            self.array = (ctypes.c_void_p * len(held))(*held)
            ctypes.c_void_p.from_address(out).value = ctypes.addressof(self.array)
            return len(held)
        except BaseException as error:  # no exception may pass through frames of C
            self.error = error
            return 0

    def end(self) -> None:
        """Lets go of everything, as ctypes keeps functions for C in cycles; raises what has gone wrong."""
        error, self.error = self.error, None
        self.caller, self.holders, self.array = None, [], None
        if error is not None:
            raise error


def _written(path: str | os.PathLike[str], mark: int, caller: FrameType | None) -> LeakReport:
    name = c_string(path)
    if caller is None:
        count = int(lib.tl_leak_report_except(name, mark, None, 0))
    else:
        asked = _Asked(caller)
        count = int(lib.tl_leak_report_asking(name, mark, _abi.tl_leak_holders(asked.answer), None))
        asked.end()
    if count < 0:
        raise last_error()
    with io.open(path, encoding="utf-8", errors="replace") as file:
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
            type=_plain(type_),
            reason=reason,
            tag=None if tag is None else _plain(tag),
            frames=tuple(frames),
            is_direct=head[1].startswith("Direct"),
            is_leak=not head[1].startswith("No"),
        )


def _frame(found: re.Match[str]) -> LeakFrame:
    function, file = (None if name is None else _plain(name) for name in found.group("function", "file"))
    return LeakFrame(int(found["address"] or "0", 16), function, file, int(found["line"] or 0))


def _plain(name: str) -> str:
    """A name without the quotes that it may have in a report, which are those of Go and of Python alike."""
    return str(ast.literal_eval(name)) if name.startswith('"') else name
