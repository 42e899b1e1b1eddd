"""Scopes, frames and the arena of the calling thread, as context managers.

Each of them remembers the scope depth at its entry and closes down to it, so an
exception, a generator that was abandoned or generated code that forgot an exit
leaves nothing open behind it. They belong to the thread that entered them.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import ContextDecorator
from functools import partial
from types import MethodType, TracebackType
from typing import Any, Optional, TypeVar

from .._binding import deferred
from .._binding.library import check, check_pointer, error_for, lib, unchecked, uninterrupted
from .._binding.native import fast
from .._binding.numbers import int64, size

_depth = lib.tl_get_scope_depth
_enter_scope = lib.tl_mem_enter_scope
_exit_scopes_to = unchecked("tl_mem_exit_scopes_to")
_frame_enter, _frame_exit = unchecked("tl_mem_frame_enter"), lib.tl_mem_frame_exit
_function_enter, _arena_init = unchecked("tl_mem_function_enter"), unchecked("tl_arena_init")
_last_status = lib.tl_last_status
# Calls a function without arguments. C does not look at the three that __exit__ gets beside it.
_call = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.py_object] * 4)(("PyObject_CallNoArgs", ctypes.pythonapi))

_Self = TypeVar("_Self", bound="Block")
_Type = Optional[type[BaseException]]
_Exception = Optional[BaseException]
_Traceback = Optional[TracebackType]
_Call = partial[Any]
_Calls = list[_Call]


def scope_depth() -> int:
    """Returns how many scopes the calling thread has open; 0 at rest."""
    return int(_depth())


class _Entry:
    """A block that a thread has entered: what it knows, the calls that close it, and what they have returned."""

    __slots__ = ("block", "calls", "closed", "known")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.known: Any = None
        self.calls: _Calls = [partial(block._leave)]  # until it is entered
        self.closed: list[Any] = []


class _Entries(threading.local):
    """The blocks that a thread has entered and not left, the newest last, and what the next entry of a block is.

    Those that the extension module enters are apart.
    """

    def __init__(self) -> None:
        self.scopes: list[tuple[Any, int]] = []
        self.open: list[_Entry] = []
        self.next: _Entry | None = None


_entries = _Entries()


class _Exit:
    """__exit__ of a block, which closes it whatever signal handlers raise meanwhile.

    Python runs handlers between bytecodes, the first time before the first one of a function. So a `with` statement gets
    a function in C that makes the calls in C, as uninterrupted does. It asks for that before it enters the block, which
    then puts the calls into the list.
    """

    def __get__(self, block: Block | None, owner: Any = None) -> Any:
        if block is None:
            return owner._leave  # for contextlib.ExitStack
        entry = _entries.next = _Entry(block)
        return MethodType(_call, partial(entry.closed.extend, map(partial.__call__, entry.calls)))


class Block:
    """A context manager that any number of threads may enter, and each of them more than once."""

    __slots__ = ("__weakref__",)
    _closes_inner = True  # scopes, and with them what was opened inside

    def _plan(self) -> tuple[_Call, _Calls]:
        """Returns the call that opens the block, and the calls that close it, all of them in C."""
        raise NotImplementedError

    def _status(self, result: Any) -> int:
        """Returns the status of the opening call."""
        return int(result)

    def _known(self, result: Any) -> Any:
        """Returns what an entry has to know of what the opening call has returned."""

    def __enter__(self: _Self) -> _Self:
        opened: list[Any] = []
        calls: _Calls = []
        here = _entries
        entry = here.next
        if entry is None or entry.block is not self:
            entry = _Entry(self)
        here.next = None
        try:
            opening, calls = self._plan()
            uninterrupted(opened, opening)
            if self._status(opened[0]):
                raise error_for(self._status(opened[0]))
            entry.known = self._known(opened[0])
            while here.open and here.open[-1].closed:  # a signal handler has raised after it was closed
                here.open.pop()
            here.open.append(entry)
            entry.calls[:] = [*calls, partial(_left, entry)]
            return self
        except BaseException:
            if opened and not self._status(opened[0]):
                uninterrupted(entry.closed, *calls)
            raise

    __exit__ = _Exit()

    def _leave(self, kind: _Type = None, error: _Exception = None, trace: _Traceback = None) -> None:
        """What __exit__ does outside of a `with` statement."""
        entry = self._newest()
        if entry is None:
            name = type(self).__name__
            raise RuntimeError(f"the calling thread is in no block of this {name}; it cannot leave one")
        uninterrupted(entry.closed, *entry.calls)

    def _newest(self) -> _Entry | None:
        """Returns the thread's newest entry of this block; None outside of it. Generators end their blocks in any order."""
        for entry in reversed(_entries.open):
            if entry.block is self and not entry.closed:
                return entry
        return None


def _left(entry: _Entry) -> None:
    """Forgets an entry that was closed, and what was closed with it; raises why that has failed."""
    entry.calls.clear()
    opened = _entries.open
    if entry in opened:
        at = opened.index(entry)
        if entry.block._closes_inner:
            for inner in opened[at + 1 :]:
                if inner.block._closes_inner:
                    inner.calls.clear()
                    inner.closed.append(0)
        del opened[at]
    for status in entry.closed:
        check(status)
    if deferred.head.value:
        deferred.drain()


class _Scope(Block):
    """The base of scope without the extension module."""

    __slots__ = ()

    def _plan(self) -> tuple[_Call, _Calls]:
        return partial(_enter_scope), [partial(_exit_scopes_to, _depth())]


class scope(_Scope if fast is None else fast.scope_type(_entries), ContextDecorator):  # type: ignore[misc]
    """`with tl.scope():` releases at its end what was registered in it.

    Also a decorator. A Tensor is not affected: it holds a reference of its own.
    """

    __slots__ = ()


class function_frame(Block):
    """A function's frame: a scope and numbered slots whose buffers live until it ends."""

    __slots__ = ("slots",)

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def _plan(self) -> tuple[_Call, _Calls]:
        return partial(_function_enter, int64(self.slots, "a number of slots")), [partial(_exit_scopes_to, _depth())]

    def buffer(self, slot: int, nbytes: int) -> int:
        """Returns the address of a slot's buffer, at least nbytes long and 64-byte aligned.

        The same slot gives the same buffer for as long as it suffices. A larger one
        may stand elsewhere, without contents. Slots are those of the thread's newest
        frame. 0 for zero bytes.
        """
        return check_pointer(lib.tl_mem_get_buffer(slot, nbytes))


class frame(Block):
    """A planned frame: one block, 64-byte aligned, with offsets that the caller has chosen."""

    __slots__ = ("nbytes",)

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes

    def _plan(self) -> tuple[_Call, _Calls]:
        closing = [partial(_exit_scopes_to, _depth()), partial(_frame_exit)]  # a function left open inside hides the frame
        return partial(_frame_enter, size(self.nbytes, "a frame")), closing

    def _status(self, result: int | None) -> int:
        return 0 if result else int(_last_status())

    def _known(self, result: int | None) -> int:
        return check_pointer(result)

    @property
    def address(self) -> int:
        """The address of the calling thread's block; 0 outside of the with block."""
        entry = self._newest()
        return 0 if entry is None else int(entry.known or 0)


def _shorten(offset: int) -> int:
    """Takes back what an arena that was active before has given since."""
    return int(lib.tl_arena_set_offset(offset)) if lib.tl_arena_get_offset() > offset else 0


class arena(Block):
    """The thread's arena: active inside the block, then as it was before.

    A capacity of 0 means all that TL_ARENA_BYTES reserved.
    """

    __slots__ = ("capacity",)
    _closes_inner = False

    def __init__(self, capacity: int = 0) -> None:
        self.capacity = capacity

    def _plan(self) -> tuple[_Call, _Calls]:
        opening = partial(_arena_init, int64(self.capacity, "a capacity"))
        if not lib.tl_arena_is_active():
            return opening, [partial(lib.tl_arena_free)]
        return opening, [partial(_shorten, lib.tl_arena_get_offset())]

    def _known(self, result: int) -> None:
        self.capacity = lib.tl_arena_get_capacity()

    @property
    def offset(self) -> int:
        """Bytes in use."""
        return int(lib.tl_arena_get_offset())

    def alloc(self, nbytes: int) -> int:
        """Returns the address of nbytes that live until the current scope ends; 0 for zero bytes."""
        return check_pointer(lib.tl_arena_alloc(nbytes))

    def reset(self) -> None:
        """Empties the arena; everything in it becomes invalid."""
        check(lib.tl_arena_reset())

    def __contains__(self, address: int) -> bool:
        return bool(lib.tl_arena_contains(address))
