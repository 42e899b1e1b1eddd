"""Limits of the memory that the runtime holds, its usage, and the callback for when memory is short.

    tl.set_memory_limit("cpu", hard=4 << 30)
    tl.memory_usage("cpu").reserved

    def let_go(device, nbytes, attempt):
        cache.clear()
        return attempt == 1             # try again, once

    tl.set_out_of_memory_callback(let_go)

A device is given by name ("cuda:0") or number; "total" means the sum of all, and "own" means memory pools over
allocators of the program's own.
"""

from __future__ import annotations

import atexit
import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _abi
from .._binding import deferred
from .._binding.callbacks import answering, need_main_interpreter
from .._binding.library import check, lib
from .._tensor.devices import device_number

OutOfMemoryCallback = Callable[[int, int, int], object]

_ACCOUNTS = {"total": int(_abi.MemAccount.MEM_TOTAL), "own": int(_abi.MemAccount.MEM_OWN_ALLOCATORS)}


@dataclass(frozen=True)
class MemoryUsage:
    """What the runtime holds of a device, in bytes: reserved == in_use + cached."""

    in_use: int  # live objects and blocks
    cached: int  # kept tensors, free slots and blocks
    reserved: int  # what the limits bound
    peak: int  # the most that reserved ever was
    soft_limit: int  # 0: no limit
    hard_limit: int  # 0: no limit
    relieved: int  # how often caches were asked to give memory back
    failed: int  # how often that was not enough
    largest_free_block: int
    waiting_bytes: int  # in use by objects that wait for the threads that made them, see tl_mem_usage_info
    waiting_objects: int


@dataclass(frozen=True)
class TensorPoolKey:
    """What the tensor pool or a device tensor cache keeps under one key."""

    elements: int
    dtype: int
    device: int
    tensors: int
    nbytes: int  # of all of them


def _account(which: str | int) -> int:
    found = _ACCOUNTS.get(which) if isinstance(which, str) else None
    return device_number(which) if found is None else found


def set_memory_limit(which: str | int = "total", *, soft: int = 0, hard: int = 0) -> None:
    """Bounds the memory of a device, or of all; 0 means no limit.

    Above the soft limit caches are emptied. A request that would exceed the hard limit raises LimitError if
    emptied caches and the out-of-memory callback were not enough.
    """
    if min(soft, hard) < 0 or max(soft, hard) >= 1 << 64:
        raise ValueError("a limit is between 0 and 2 to the power of 64")
    check(lib.tl_mem_set_limit(_account(which), soft, hard))


def memory_limit(which: str | int = "total") -> tuple[int, int]:
    """Returns the soft and the hard limit; 0 means no limit."""
    soft, hard = ctypes.c_uint64(), ctypes.c_uint64()
    check(lib.tl_mem_get_limit(_account(which), ctypes.byref(soft), ctypes.byref(hard)))
    return soft.value, hard.value


def memory_usage(which: str | int = "total") -> MemoryUsage:
    """Returns what is held of a device, or of all; exact while no other thread changes it."""
    info = _abi.tl_mem_usage_info()
    info.struct_size = ctypes.sizeof(info)
    check(lib.tl_mem_usage(_account(which), ctypes.byref(info)))
    return MemoryUsage(**{name: getattr(info, name) for name, *_ in info._fields_ if name != "struct_size"})


def set_tensor_pool_limits(per_key: int = 32, nbytes: int = 256 << 20) -> None:
    """Bounds how many tensors the tensor pool and each device tensor cache keep under one key, and how many bytes in
    all; with 0 they keep none."""
    if min(per_key, nbytes) < 0:
        raise ValueError("a limit is not negative")
    check(lib.tl_pool_set_limits(per_key, nbytes))


def tensor_pool_keys() -> list[TensorPoolKey]:
    """Returns what the tensor pool and the device tensor caches keep, the key with the most bytes first."""
    keys: list[TensorPoolKey] = []
    while True:
        key = _abi.tl_pool_key_stats()
        key.struct_size = ctypes.sizeof(key)
        check(lib.tl_pool_key_stats_get(len(keys), ctypes.byref(key)))
        if key.tensors == 0:
            return keys
        keys.append(TensorPoolKey(key.elements, key.dtype, key.device, key.tensors, key.bytes))


def _deny(device: int, requested: int, attempt: int) -> bool:
    return False


_answer: Callable[..., bool] = _deny
_callback: OutOfMemoryCallback | None = None


def _again(result: object) -> bool:
    """Whether to try again, which finds more memory where deleters have run."""
    again = bool(result)
    deferred.drain()
    return again


def set_out_of_memory_callback(callback: OutOfMemoryCallback | None) -> None:
    """Sets the function that is called last before a request for memory fails; None removes it.

    The thread that needs the memory calls it with the number of the device, the bytes and the number of the
    attempt, from 1 on. The function can release what the program can do without, and returns whether to try
    again. An exception in it means no, and is shown like those in destructors (sys.unraisablehook).
    """
    global _answer, _callback
    need_main_interpreter("an out-of-memory callback")
    if callback is not None and not callable(callback):
        raise TypeError(f"{callback!r} is no function to call when memory is short")
    _answer = _deny if callback is None else answering(callback, _again, False)
    _callback = callback
    check(lib.tl_mem_set_out_of_memory_callback(_NONE if callback is None else _ask, None))


def out_of_memory_callback() -> OutOfMemoryCallback | None:
    """Returns the function that set_out_of_memory_callback was given last."""
    return _callback


def _asked(device: int, requested: int, attempt: int, _: Any) -> bool:
    return _answer(device, requested, attempt)


# The one function that C ever gets: a thread may be about to call it when it is replaced.
_ask = _abi.tl_out_of_memory_callback(_asked)

_NONE = _abi.tl_out_of_memory_callback()


@atexit.register
def _forget() -> None:
    """No thread may call Python when the interpreter has ended."""
    if _answer is not _deny:
        lib.tl_mem_set_out_of_memory_callback(_NONE, None)
