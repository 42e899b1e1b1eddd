"""DLPack: tensors from and to other array libraries, without a copy.

The deleters are C functions of the library, also those of capsules that nobody
has opened: consumers call them from any thread, and as late as when the
interpreter is gone.
"""

from __future__ import annotations

import ctypes
from typing import Any

from . import _abi, _deferred
from ._library import check, last_error, lib

CPU = (1, 0)  # kDLCPU, and the only one of them
_VERSION = (1, 3)

_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", ctypes.pythonapi))
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_bool)(
    ("tl_python_capsule", lib)
)


def _attach() -> None:
    api = _abi.tl_python_api()
    api.struct_size = ctypes.sizeof(api)
    for field, name in (
        ("capsule_new", "PyCapsule_New"),
        ("capsule_is_valid", "PyCapsule_IsValid"),
        ("capsule_get_pointer", "PyCapsule_GetPointer"),
        ("err_set_string", "PyErr_SetString"),
    ):
        setattr(api, field, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p))
    api.buffer_error = id(BufferError)
    check(lib.tl_python_attach(ctypes.byref(api)))


_attach()
_USED = _deferred.forever(b"used_dltensor")
_USED_VERSIONED = _deferred.forever(b"used_dltensor_versioned")


def export(address: int, stream: Any, max_version: Any, dl_device: Any, copy: Any) -> Any:
    """Returns the capsule that __dlpack__ is to return."""
    if stream is not None:
        raise BufferError("a tensor on the CPU belongs to no stream; pass stream=None")
    if dl_device is not None and tuple(dl_device) != CPU:
        raise BufferError(f"a tensor on the CPU, {CPU}, cannot be exported to device {tuple(dl_device)}")
    major = 0 if max_version is None or max_version[0] < 1 else 1
    return _capsule(address, major, bool(copy))


def take(source: Any, device: Any, copy: bool | None) -> int:
    """Returns the address of a tensor over the memory of source, which the current scope holds."""
    if device not in (None, 0, "cpu", CPU):
        raise BufferError(f"there is no device {device!r}; tensors live on the CPU")
    capsule = source if type(source).__name__ == "PyCapsule" else _ask(source, copy)
    for name, used, take_out in (
        (b"dltensor_versioned", _USED_VERSIONED, _take_versioned),
        (b"dltensor", _USED, lib.tl_tensor_from_dlpack_legacy),
    ):
        if _is_valid(capsule, name):
            address = take_out(_get_pointer(capsule, name))
            if address is None:
                error = last_error()  # the capsule keeps what is in it
                raise BufferError(str(error)) from error
            _set_name(capsule, used)
            return int(address)
    raise BufferError("the capsule holds no DLPack tensor, or its tensor was taken out before")


def _ask(source: Any, copy: bool | None) -> Any:
    """Gets a capsule from an object with the DLPack protocol."""
    where = source.__dlpack_device__()
    if tuple(where) != CPU:
        raise BufferError(f"the array is on DLPack device {tuple(where)}, and tensors live on the CPU, {CPU}")
    asked: dict[str, Any] = {"copy": False} if copy is False else {}  # a copy is ours to make
    try:
        return source.__dlpack__(max_version=_VERSION, **asked)
    except TypeError:  # a producer of before DLPack 1.0
        return source.__dlpack__()


def _take_versioned(managed: int) -> int | None:
    # Not left to the library: that would end the tensor, and so will the capsule.
    major = ctypes.c_uint32.from_address(managed).value
    if major != _VERSION[0]:
        raise BufferError(f"the tensor comes as DLPack {major}, and only version {_VERSION[0]} is understood here")
    address: int | None = lib.tl_tensor_from_dlpack(managed)
    return address
