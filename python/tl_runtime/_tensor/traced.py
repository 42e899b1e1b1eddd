"""Tells tracemalloc of the memory of tensors, in a domain of its own, while it is tracing."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

from .._binding.callbacks import IN_MAIN_INTERPRETER

TRACEMALLOC_DOMAIN = 0x746C  # "tl"; Python's own is 0, NumPy's 389047


def _never() -> bool:
    return False


is_tracing: Callable[[], bool] = _never  # a Python without tracemalloc
_track: Any = None
_untrack: Any = None
addresses = {"trace": 0, "untrace": 0}  # for the extension module

try:
    # Before 3.12 its functions wait for ever where the thread's first interpreter is another one.
    if not IN_MAIN_INTERPRETER and sys.version_info < (3, 12):
        raise ImportError
    import _tracemalloc
except ImportError:
    pass
else:
    is_tracing = _tracemalloc.is_tracing
    # Prototypes of our own: the functions of ctypes.pythonapi are shared with all code that sets their types.
    _track = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_size_t)(
        ("PyTraceMalloc_Track", ctypes.pythonapi)
    )
    _untrack = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.c_size_t)(
        ("PyTraceMalloc_Untrack", ctypes.pythonapi)
    )
    for _name, _function in (("trace", _track), ("untrace", _untrack)):
        addresses[_name] = ctypes.cast(_function, ctypes.c_void_p).value or 0


def trace(handle: Any, nbytes: int) -> None:
    """Notes that this line of Python has made a tensor, whose memory the handle stands for."""
    if nbytes:
        _track(TRACEMALLOC_DOMAIN, id(handle), nbytes)


def untrace(handle: Any) -> None:
    """Notes that a handle ends; nothing happens where it has no trace."""
    _untrack(TRACEMALLOC_DOMAIN, id(handle))
