"""Counters of the runtime, and its upkeep."""

from __future__ import annotations

import ctypes

from . import _abi, _deferred
from ._library import check, lib


def stats() -> dict[str, int]:
    """Returns the counters of tl_stats by name; exact while no other thread allocates."""
    _deferred.drain()
    counters = _abi.tl_stats()
    counters.struct_size = ctypes.sizeof(counters)
    check(lib.tl_stats_get(ctypes.byref(counters)))
    return {name: getattr(counters, name) for name, *_ in counters._fields_ if name != "struct_size"}


def live_count() -> int:
    """Returns how many objects, tensors and registered foreign pointers are live."""
    _deferred.drain()
    return int(lib.tl_get_refcount_count())


def purge() -> None:
    """Gives idle memory back to the system: free objects, the tensor pool, unused stacks."""
    _deferred.drain()
    check(lib.tl_mem_purge())


def configure(key: str, value: str) -> None:
    """Sets an option by the name of its environment variable, for example ("TL_ON_ERROR", "log")."""
    check(lib.tl_configure(key.encode(), value.encode()))


def shutdown() -> None:
    """Closes the calling thread's scopes and gives idle memory back; tensors stay valid, later calls work."""
    _deferred.drain()
    check(lib.tl_shutdown())
