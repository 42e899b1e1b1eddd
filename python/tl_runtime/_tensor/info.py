"""The properties of a tensor, read with one call, and how Tensors are made from them."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _abi
from .._binding import deferred
from .._binding.library import error_for, last_error, lib, recorder, unchecked
from .._dtype import BY_NUMBER, TYPESTR

_acquire = unchecked("tl_tensor_acquire")
_end_scope_reference = unchecked("tl_tensor_free")
_release = unchecked("tl_tensor_release")
_made = recorder.made
# By address: a byref object for each call would cost as much as the call.
_fill = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(("tl_tensor_info_get", lib))

READ_ONLY = int(_abi.TensorFlag.READ_ONLY)
CONTIGUOUS = int(_abi.TensorFlag.CONTIGUOUS)
# The elements are in memory of a base, of a lender, of a frame, of a block that matrices share.
NOT_OWNED = int(_abi.TensorFlag.VIEW | _abi.TensorFlag.LENT | _abi.TensorFlag.IN_SLOT | _abi.TensorFlag.BLOCK)


def info_of(address: int) -> _abi.tl_tensor_info:
    """Returns the properties of the tensor at an address; raises if no tensor is there."""
    info = _abi.tl_tensor_info()
    info.struct_size = ctypes.sizeof(info)
    status = _fill(address, ctypes.addressof(info))
    if status:
        raise error_for(status)
    return info


def interface_of(info: _abi.tl_tensor_info, address: int) -> dict[str, Any]:
    """Returns the array interface of a tensor."""
    dtype = BY_NUMBER[info.dtype]
    rank = info.rank
    strides = None
    if not info.flags & CONTIGUOUS:
        size = dtype.itemsize
        strides = tuple([step * size for step in info.strides[:rank]])
    return {
        "version": 3,
        "shape": tuple(info.shape[:rank]),
        "typestr": TYPESTR[dtype],
        "data": (info.data or address, bool(info.flags & READ_ONLY)),  # NumPy 1.21 refuses NULL, even for no elements
        "strides": strides,
    }


_SHARED = int(_abi.Device.SHARED)


@functools.cache
def in_reach(device: int) -> bool:
    """Whether the CPU uses the memory of a device at its addresses. Whoever makes a Tensor of a device asks first."""
    if device == _SHARED:
        from .sharing import join_multiprocessing

        join_multiprocessing()
        return True
    properties = _abi.tl_device_properties()
    properties.struct_size = ctypes.sizeof(properties)
    return device == 0 or (
        lib.tl_device_info(device, ctypes.byref(properties)) == 0 and bool(properties.host_access)
    )


# The tensors to which a thread is acquiring a reference for an object that it makes; leak reports count these references.
in_hand: list[int] = []

Made = TypeVar("Made")


def hold(address: int | None, wrap: Callable[[int], Made]) -> Made:
    """Turns the current scope's reference to a new tensor into one of an object, which wrap makes.

    Not by unregistering: that reference would float, and the next code that
    registers the tensor would sink it into a scope of its own.
    """
    if address is None:
        raise last_error()
    _made(address)
    if deferred.head.value:
        deferred.drain()
    in_hand.append(address)
    try:
        _acquire(address)
        status = _end_scope_reference(address)
        if status:
            error = error_for(status)
            _release(address)
            raise error
        return wrap(address)
    finally:
        in_hand.remove(address)


def hold_again(address: int, wrap: Callable[[int], Made]) -> Made:
    """Acquires one more reference to a live tensor, for an object that wrap makes."""
    in_hand.append(address)
    try:
        return wrap(_acquire(address))
    finally:
        in_hand.remove(address)
