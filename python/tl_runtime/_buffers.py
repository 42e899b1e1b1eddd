"""Tensors as buffers (PEP 688): memoryviews, bytes() and everything that takes a buffer."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tensor import Tensor

# What memoryview and ctypes have a format for; NumPy makes the others.
_CTYPES: dict[str, Any] = {
    "<f4": ctypes.c_float,
    "<f8": ctypes.c_double,
    "<i4": ctypes.c_int32,
    "<i8": ctypes.c_int64,
    "|u1": ctypes.c_uint8,
    "|b1": ctypes.c_bool,
    "|i1": ctypes.c_int8,
    "<i2": ctypes.c_int16,
    "<u2": ctypes.c_uint16,
    "<u4": ctypes.c_uint32,
    "<u8": ctypes.c_uint64,
}


def view(tensor: Tensor) -> memoryview:
    """Returns the memory of a tensor. Python keeps the tensor as long as the buffer is used."""
    interface = tensor.__array_interface__
    element = _CTYPES.get(interface["typestr"])
    if element is None or interface["strides"] is not None or 0 in interface["shape"]:
        return memoryview(_array(tensor))
    kind = element
    for extent in reversed(interface["shape"]):
        kind = kind * extent
    data, read_only = interface["data"]
    memory = memoryview(kind.from_address(data))
    return memory.toreadonly() if read_only else memory


def _array(tensor: Tensor) -> Any:
    try:
        return tensor.numpy()
    except ImportError:
        raise BufferError("a buffer of these elements, or with gaps between them, needs NumPy") from None
