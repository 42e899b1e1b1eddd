"""Scopes, frames and the arena of the calling thread, as context managers.

Each of them remembers the scope depth at its entry and closes down to it, so an
exception, a generator that was abandoned or generated code that forgot an exit
leaves nothing open behind it. They belong to the thread that entered them.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from types import TracebackType
from typing import Any, Optional, TypeVar

from . import _deferred
from ._library import check, check_pointer, lib, unchecked
from ._native import fast

_depth = lib.tl_get_scope_depth if fast is None else fast.scope_depth
_enter_scope = lib.tl_mem_enter_scope if fast is None else fast.enter_scope
_exit_scopes_to = unchecked("tl_mem_exit_scopes_to") if fast is None else fast.exit_scopes_to

_Self = TypeVar("_Self", bound="Block")
_Type = Optional[type[BaseException]]
_Exception = Optional[BaseException]
_Traceback = Optional[TracebackType]


def scope_depth() -> int:
    """Returns how many scopes the calling thread has open; 0 at rest."""
    return int(_depth())


class _Entries(threading.local):
    """The blocks that a thread has entered and not left, the newest last, each with what its end needs."""

    def __init__(self) -> None:
        self.open: list[tuple[Block, Any]] = []


_entries = _Entries()


class Block:
    """A context manager that any number of threads may enter, and each of them more than once.

    A block says with _begin what its end needs, and gets that in _end: what the thread's newest entry has said.
    """

    __slots__ = ("__weakref__",)

    def _begin(self) -> Any:
        raise NotImplementedError

    def _end(self, begun: Any) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        begun = self._begin()
        _entries.open.append((self, begun))
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        entered = _entries.open
        at = -1
        if not entered or entered[at][0] is not self:  # generators end their blocks in any order
            at = self._newest(entered)
            if at < 0:
                name = type(self).__name__
                raise RuntimeError(f"the calling thread is in no block of this {name}; it cannot leave one")
        self._end(entered.pop(at)[1])
        if _deferred.head.value:
            _deferred.drain()

    def _newest(self, entered: list[tuple[Block, Any]]) -> int:
        """Returns where the thread's newest entry of this block stands; -1 outside of it."""
        at = len(entered) - 1
        while at >= 0 and entered[at][0] is not self:
            at -= 1
        return at


class scope(Block, ContextDecorator):
    """`with tl.scope():` releases at its end what was registered in it.

    Also a decorator. A Tensor is not affected: it holds a reference of its own.
    """

    __slots__ = ()

    def _begin(self) -> int:
        depth: int = _depth()
        status = _enter_scope()
        if status:
            check(status)
        return depth

    def _end(self, begun: int) -> None:
        status = _exit_scopes_to(begun)
        if status:
            check(status)


class function_frame(Block):
    """A function's frame: a scope and numbered slots whose buffers live until it ends."""

    __slots__ = ("slots",)

    def __init__(self, slots: int) -> None:
        self.slots = slots

    def _begin(self) -> int:
        depth = scope_depth()
        check(lib.tl_mem_function_enter(self.slots))
        return depth

    def _end(self, begun: int) -> None:
        check(_exit_scopes_to(begun))

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

    def _begin(self) -> tuple[int, int]:
        depth = scope_depth()
        return depth, check_pointer(lib.tl_mem_frame_enter(self.nbytes))

    def _end(self, begun: tuple[int, int]) -> None:
        check(_exit_scopes_to(begun[0]))  # a function left open inside hides the frame
        check(lib.tl_mem_frame_exit())

    @property
    def address(self) -> int:
        """The address of the calling thread's block; 0 outside of the with block."""
        entered = _entries.open
        at = self._newest(entered)
        return 0 if at < 0 else int(entered[at][1][1])


class arena(Block):
    """The thread's arena: active inside the block, then as it was before.

    A capacity of 0 means all that TL_ARENA_BYTES reserved.
    """

    __slots__ = ("capacity",)

    def __init__(self, capacity: int = 0) -> None:
        self.capacity = capacity

    def _begin(self) -> int:
        """Returns the offset of the arena that was active, -1 if there was none."""
        before = lib.tl_arena_get_offset() if lib.tl_arena_is_active() else -1
        check(lib.tl_arena_init(self.capacity))
        self.capacity = lib.tl_arena_get_capacity()
        return int(before)

    def _end(self, begun: int) -> None:
        if begun < 0:
            check(lib.tl_arena_free())
        elif lib.tl_arena_get_offset() > begun:
            check(lib.tl_arena_set_offset(begun))

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
