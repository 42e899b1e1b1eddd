"""Python objects that the runtime keeps alive, and releases from any thread.

A deleter runs on the thread that drops the last reference. Python may not know that thread, or the thread may
run after the interpreter has ended; a Python callback there could deadlock or crash. So the deleter is a
function of the library that puts a node on a list and returns. The next call into this package, which holds the
interpreter's lock anyway, releases the objects on the list. Nodes that arrive after the interpreter has ended
stay on the list. For the same reason list and nodes are raw memory that no finalisation frees.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import _abi
from .library import lib


class _Node(_abi.tl_deferred):
    """tl_deferred, followed by the object that is kept."""

    _fields_ = [("kept", ctypes.c_void_p)]


# Prototypes of our own: the functions of ctypes.pythonapi are shared with all code that sets their types.
_malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("PyMem_RawMalloc", ctypes.pythonapi))
_free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyMem_RawFree", ctypes.pythonapi))
_incref = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_decref = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("Py_DecRef", ctypes.pythonapi))

DELETER = ctypes.cast(lib.tl_deferred_push, _abi.tl_deleter)
_take = lib.tl_deferred_take


def _new_list() -> ctypes.c_void_p:
    address = _malloc(ctypes.sizeof(ctypes.c_void_p))
    if not address:
        raise MemoryError
    anchor = ctypes.c_void_p.from_address(address)
    anchor.value = None
    return anchor


head = _new_list()


def forever(text: bytes) -> int:
    """Returns the address of a C string that no finalisation frees."""
    address = _malloc(len(text) + 1)
    if not address:
        raise MemoryError
    ctypes.memmove(address, text + b"\0", len(text) + 1)
    return int(address)


def keep(kept: Any) -> int:
    """Keeps an object alive until DELETER or forget is called with the returned context."""
    address = _malloc(ctypes.sizeof(_Node))
    if not address:
        raise MemoryError
    _incref(kept)
    node = _Node.from_address(address)
    node.next, node.list, node.kept = None, ctypes.addressof(head), id(kept)
    return int(address)


# The defaults of these two stay reachable while the interpreter takes modules apart.
def forget(context: int, _node: Any = _Node.from_address, _free: Any = _free, _decref: Any = _decref) -> None:
    """Undoes keep for a context that the runtime has not taken or has given back."""
    kept = _node(context).kept
    _free(context)
    _decref(kept)


def drain(
    _list: int = ctypes.addressof(head), _take: Any = _take, _node: Any = _Node.from_address, _forget: Any = forget
) -> None:
    """Releases the objects whose deleter the runtime has called since the last call."""
    address = _take(_list)
    while address:
        following = _node(address).next
        _forget(address)
        address = following
