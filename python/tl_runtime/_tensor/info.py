"""The properties of a tensor, read with one call, and how Tensors are made from them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .. import _abi
from .._binding import deferred
from .._binding.library import error_for, last_error, lib, recorder, unchecked
from .._binding.numbers import shape_for_c
from .._dtype import BY_NUMBER, TYPESTR, DType
from .arrays import lent
from .views import shape_array

_acquire = unchecked("tl_tensor_acquire")
_end_scope_reference = unchecked("tl_tensor_free")
_release = unchecked("tl_tensor_release")
_empty = unchecked("tl_tensor_empty")
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


def array_interface(
    shape: tuple[int, ...], dtype: DType, address: int, read_only: bool, strides: tuple[int, ...] | None
) -> dict[str, Any]:
    """Returns the array interface of a tensor; its own address stands for that of no elements: NumPy 1.21 refuses NULL."""
    return {"version": 3, "shape": shape, "typestr": TYPESTR[dtype], "data": (address, read_only), "strides": strides}


def interface_of(info: _abi.tl_tensor_info, address: int) -> dict[str, Any]:
    """Returns the array interface of a tensor with these properties."""
    dtype = BY_NUMBER[info.dtype]
    rank = info.rank
    strides = None
    if not info.flags & CONTIGUOUS:
        size = dtype.itemsize
        strides = tuple([step * size for step in info.strides[:rank]])
    return array_interface(tuple(info.shape[:rank]), dtype, info.data or address, bool(info.flags & READ_ONLY), strides)


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


# How Tensors are made of addresses: tensor.py, which has the class, sets both.
wrap: Callable[[int], Any]
"""Makes a Tensor that takes over a reference of the caller's."""
own: Callable[[int | None], Any]
"""Makes a Tensor of what a function of the library returned, and the current scope holds; None raises."""


def uninitialised(shape: int | Sequence[int], dtype: DType) -> Any:
    """Makes a Tensor of the CPU with undefined contents."""
    extents, array = shape_array(shape)
    return own(_empty(dtype, 0, len(extents), array))


def borrow(given: Any) -> Any:
    """Makes a Tensor over the memory of anything with an array interface."""
    array = lent(given)
    info = _abi.tl_tensor_info(data=array.address, dtype=array.dtype, rank=len(array.shape))
    info.struct_size = ctypes.sizeof(info)
    info.shape = shape_for_c(array.shape)
    info.flags = READ_ONLY if array.read_only else 0
    if array.strides:
        info.strides = _element_strides(array.strides, array.dtype.itemsize)
    context = deferred.keep(array.kept)
    made = lib.tl_tensor_wrap(ctypes.byref(info), deferred.DELETER, context)
    if made is None:
        error = last_error()
        deferred.forget(context)
        raise error
    return own(made)


def _element_strides(strides: Sequence[int], itemsize: int) -> ctypes.Array[ctypes.c_int64]:
    if any(stride % itemsize for stride in strides):
        raise ValueError("the array's strides are no multiples of its element size; copy it")
    return shape_for_c([stride // itemsize for stride in strides])
