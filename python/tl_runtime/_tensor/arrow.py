"""Tensors as arrays of Arrow, through its PyCapsule interface.

The structs and what ends them are C of the library, because consumers release them from any thread, even after the
interpreter has ended.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from .._binding.library import lib
from .devices import name_of
from .info import in_reach

if TYPE_CHECKING:
    from .tensor import TensorMethods

_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_bool)(("tl_python_arrow", lib))


def capsules(tensor: TensorMethods) -> tuple[Any, Any]:
    """Returns what __arrow_c_array__ is to return: a capsule with the type, and one with the elements."""
    if not in_reach(tensor.device):
        where = name_of(tensor.device)
        raise TypeError(f"the tensor is on {where}, whose memory the CPU cannot use; copy it with cpu() first")
    if tensor.dtype.typestr[1] in "Vc":
        raise TypeError(f"Arrow has no elements of the type {tensor.dtype}; convert the tensor's array")
    if not tensor.shape:
        raise TypeError("a tensor of rank 0 is no array of Arrow's; give it an axis with reshape(1)")
    return _capsule(tensor.address, True), _capsule(tensor.address, False)
