"""Python functions that are called when objects of a type have died.

The thread that drops the last reference may be none that Python knows, may not hold the interpreter's lock, or may run
after the interpreter has ended, and the object is gone when its destructor has returned. So the library copies the
object onto a list (tl_type_define_deferred), and the next call into this package that looks at _deferred, on whatever
thread, calls the function with the copy:

* in the order in which the objects died, each once, and never two at the same time;
* an exception in one is shown like those in destructors (sys.unraisablehook), and the next one is called;
* an object for whose copy there was no memory is counted, and a MemoryError with the number is shown likewise;
* at the interpreter's exit atexit calls for all that are dead by then; those that die later are not told of;
* a child made by fork() forgets what its parent has not been told of yet: that stays the parent's to handle. In the
  child itself no object with a destructor dies (TL_E_FORKED).
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections import deque
from collections.abc import Callable
from typing import Any

from .. import _abi
from .._binding import deferred
from .._binding.callbacks import answering, show
from .._binding.library import check, lib

Destructor = Callable[[bytes], object]

# What the library has malloc'ed; its own malloc is the process's.
_free = ctypes.CDLL(None).free
_free.argtypes, _free.restype = [ctypes.c_void_p], None
_take = lib.tl_deferred_take


class _Kind:
    """A type and its function. It lives for ever, as the type does."""

    def __init__(self, nbytes: int, destructor: Destructor) -> None:
        address = deferred.forever(bytes(ctypes.sizeof(_abi.tl_deferred_dead)))
        self.dead = _abi.tl_deferred_dead.from_address(address)
        self.dead.bytes = nbytes
        self.call = answering(destructor, lambda _: None, None)
        self.destructor, self.lost = destructor, 0  # of which the program has been told
        self.ended = False
        self.arm()

    @property
    def copies(self) -> int:
        """The address of the list."""
        return ctypes.addressof(self.dead) + _abi.tl_deferred_dead.copies.offset

    def arm(self) -> None:
        """Has the next copy put a node on the list of _deferred: releasing what it keeps calls for the dead."""
        self.dead.waker = deferred.keep(_Waker(self))

    def collect(self) -> None:
        """Moves the copies to the waiting calls, the oldest first."""
        found = []
        address = _take(self.copies)
        while address:
            node = _abi.tl_deferred_copy.from_address(address)
            found.append(ctypes.string_at(address + ctypes.sizeof(node), node.bytes))
            following = node.next
            _free(address)
            address = following
        _waiting.extend((self.call, contents) for contents in reversed(found))
        self.tell_lost()

    def tell_lost(self) -> None:
        """Shows how many more objects have died without a copy."""
        lost = int(self.dead.lost)
        if lost != self.lost:
            more, self.lost = lost - self.lost, lost
            what = f"not called for {more} dead object(s), of which there was no memory for copies"
            show(self.destructor, MemoryError(what))


class _Waker:
    """Calls for the dead of a type when it goes itself."""

    def __init__(self, kind: _Kind) -> None:
        self.kind = kind

    def __del__(self) -> None:
        if self.kind.ended:
            return
        self.kind.arm()  # before the list is looked at: what comes later wakes again
        self.kind.collect()
        _call_waiting()


_kinds: list[_Kind] = []
_waiting: deque[tuple[Callable[[bytes], None], bytes]] = deque()
_calling = False


def _call_waiting() -> None:
    """Makes the calls that wait, unless a call of this function is at work below or on another thread."""
    global _calling
    while _waiting and not _calling:
        _calling = True
        try:
            while _waiting:
                call, contents = _waiting.popleft()
                call(contents)
        finally:
            _calling = False


def define(description: Any, destructor: Destructor) -> int:
    """Defines a type whose dead objects are told to a function."""
    if not callable(destructor):
        raise TypeError(f"{destructor!r} is no function to call with dead objects")
    kind = _Kind(description.size, destructor)
    number = ctypes.c_uint32()
    check(lib.tl_type_define_deferred(ctypes.byref(description), ctypes.addressof(kind.dead), ctypes.byref(number)))
    _kinds.append(kind)
    return number.value


@atexit.register
def _at_exit() -> None:
    """Calls for what is dead by now, and has nothing wake this module from then on."""
    deferred.drain()
    for kind in _kinds:
        kind.tell_lost()
        kind.ended, kind.dead.waker = True, None


def _in_child() -> None:
    global _calling
    for kind in _kinds:
        kind.collect()
    _waiting.clear()
    _calling = False


os.register_at_fork(after_in_child=_in_child)
