"""Tensors as buffers (PEP 688): memoryviews, bytes() and everything that takes a buffer."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._dtype import FORMAT

if TYPE_CHECKING:
    from .methods import TensorMethods

# The types that memoryview has no letter for; NumPy makes buffers of them.
_WITHOUT_LETTER = ("e", "2x", "Zf", "Zd")

# Whether Python calls __buffer__, and NumPy asks for a buffer before it looks at the array interface.
ARE_ASKED_FIRST = sys.version_info >= (3, 12)


class _Asking(threading.local):
    """The tensor of which the thread makes an array."""

    tensor: Any = None


_asking = _Asking()


def array(tensor: TensorMethods, asarray: Callable[[Any], Any]) -> Any:
    """Returns NumPy's array over a tensor, by the array interface: a buffer would have to be made of an array."""
    outer, _asking.tensor = _asking.tensor, tensor
    try:
        return asarray(tensor)
    finally:
        _asking.tensor = outer


def view(tensor: TensorMethods) -> memoryview:
    """Returns the memory of a tensor, which the buffer keeps."""
    interface = tensor._interface
    if _asking.tensor is tensor:
        raise BufferError("the array interface has the elements")
    if not hasattr(tensor, "__array_interface__"):
        raise BufferError("the CPU cannot use the memory of the tensor's device; copy it with cpu() first")
    letter: Any = FORMAT[tensor.dtype]
    shape = interface["shape"]
    if letter in _WITHOUT_LETTER or interface["strides"] is not None or 0 in shape:
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
