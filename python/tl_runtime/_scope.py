"""Scopes, frames and the arena of the calling thread, as context managers.

Each of them remembers the scope depth at its entry and closes down to it, so an
exception, a generator that was abandoned or generated code that forgot an exit
leaves nothing open behind it. They belong to the thread that entered them.
"""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType
from typing import Optional

from ._library import check, check_pointer, lib

_depth = lib.tl_get_scope_depth
_enter_scope = lib.tl_mem_enter_scope
_exit_scopes_to = lib.tl_mem_exit_scopes_to

_Type = Optional[type[BaseException]]
_Exception = Optional[BaseException]
_Traceback = Optional[TracebackType]


def scope_depth() -> int:
    """Returns how many scopes the calling thread has open; 0 at rest."""
    return int(_depth())


class scope(ContextDecorator):
    """`with tl.scope():` releases at its end what was registered in it.

    Also a decorator. A Tensor is not affected: it holds a reference of its own.
    """

    __slots__ = ("_depths",)

    def __init__(self) -> None:
        self._depths: list[int] = []

    def __enter__(self) -> scope:
        depth = _depth()
        check(_enter_scope())
        self._depths.append(depth)
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        check(_exit_scopes_to(self._depths.pop()))


class function_frame:
    """A function's frame: a scope and numbered slots whose buffers live until it ends."""

    __slots__ = ("_depth", "slots")

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._depth = -1

    def __enter__(self) -> function_frame:
        depth = scope_depth()
        check(lib.tl_mem_function_enter(self.slots))
        self._depth = depth
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        check(_exit_scopes_to(self._depth))

    def buffer(self, slot: int, nbytes: int) -> int:
        """Returns the address of a slot's buffer, at least nbytes long and 64-byte aligned.

        The same slot gives the same buffer for as long as it suffices. Slots are
        those of the thread's newest frame. 0 for zero bytes.
        """
        return check_pointer(lib.tl_mem_get_buffer(slot, nbytes))


class frame:
    """A planned frame: one block, 64-byte aligned, with offsets that the caller has chosen."""

    __slots__ = ("_depth", "address", "nbytes")

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.address = 0
        self._depth = -1

    def __enter__(self) -> frame:
        self._depth = scope_depth()
        self.address = check_pointer(lib.tl_mem_frame_enter(self.nbytes))
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        self.address = 0
        check(_exit_scopes_to(self._depth))  # a function left open inside hides the frame
        check(lib.tl_mem_frame_exit())


class arena:
    """The thread's arena: active inside the block, then as it was before.

    A capacity of 0 means all that TL_ARENA_BYTES reserved.
    """

    __slots__ = ("capacity", "_offset", "_was_active")

    def __init__(self, capacity: int = 0) -> None:
        self.capacity = capacity
        self._was_active = False
        self._offset = 0

    def __enter__(self) -> arena:
        self._was_active = bool(lib.tl_arena_is_active())
        self._offset = lib.tl_arena_get_offset()
        check(lib.tl_arena_init(self.capacity))
        self.capacity = lib.tl_arena_get_capacity()
        return self

    def __exit__(self, kind: _Type, error: _Exception, trace: _Traceback) -> None:
        if not self._was_active:
            check(lib.tl_arena_free())
        elif lib.tl_arena_get_offset() > self._offset:
            check(lib.tl_arena_set_offset(self._offset))

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
