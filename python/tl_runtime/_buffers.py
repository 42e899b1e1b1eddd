"""Tensors as buffers (PEP 688): memoryviews, bytes() and everything that takes a buffer."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._tensor import TensorMethods

# The types that memoryview has a letter for; NumPy makes the buffers of the others.
_FORMATS: dict[str, Any] = {
    "<f4": "f",
    "<f8": "d",
    "<i4": "i",
    "<i8": "l",
    "|u1": "B",
    "|b1": "?",
    "|i1": "b",
    "<i2": "h",
    "<u2": "H",
    "<u4": "I",
    "<u8": "L",
}


def view(tensor: TensorMethods) -> memoryview:
    """Returns the memory of a tensor, which the buffer keeps."""
    interface = tensor._interface
    if not hasattr(tensor, "__array_interface__"):
        raise BufferError("the CPU cannot use the memory of the tensor's device; copy it with cpu() first")
    letter, shape = _FORMATS.get(interface["typestr"]), interface["shape"]
    if letter is None or interface["strides"] is not None or 0 in shape:
        return memoryview(_array(tensor))
    data, read_only = interface["data"]
    block: Any = (ctypes.c_uint8 * tensor.nbytes).from_address(data)
    block.tensor = tensor
    memory: memoryview = memoryview(block).cast("B").cast(letter, shape)
    return memory.toreadonly() if read_only else memory


def _array(tensor: TensorMethods) -> Any:
    try:
        return tensor.numpy()
    except ImportError:
        raise BufferError("a buffer of these elements, or with gaps between them, needs NumPy") from None
