"""DLPack: tensors from and to other array libraries, without a copy where they are on one device.

The deleters are C functions of the library, also those of capsules that no consumer has opened, because
consumers call them from any thread, even after the interpreter has ended.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any, NoReturn

from .._binding import deferred
from .._binding.library import check, last_error, lib, unchecked, uninterrupted
from .._errors import Error
from .devices import device_number

CPU = (1, 0)  # kDLCPU; there is one CPU
_CUDA = 2
_FAMILIES = {1: "cpu", _CUDA: "cuda", 3: "cpu", 4: "opencl", 8: "metal"}  # pinned memory is the CPU's
_CPUS = (1, 3)  # whose ordinals say nothing
_LEGACY_STREAM = 1  # what None means to a consumer on CUDA
VERSION = (1, 3)
_FLAGS, _COPIED = 24, 2  # of a versioned struct

_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", ctypes.pythonapi))
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_bool)(
    ("tl_python_capsule", lib)
)
_VERSIONED = b"dltensor_versioned"
# A capsule's name, where it stands, where the name of an emptied capsule stands, and what takes the tensor.
_KINDS = tuple(
    (name, deferred.forever(name), deferred.forever(b"used_" + name), take_out)
    for name, take_out in (
        (_VERSIONED, unchecked("tl_tensor_from_dlpack")),
        (b"dltensor", unchecked("tl_tensor_from_dlpack_legacy")),
    )
)
_GONE = "the capsule holds no DLPack tensor, or its tensor was taken out before"


def device_of(address: int) -> tuple[int, int]:
    """Returns the device of a tensor as DLPack numbers it."""
    kind, ordinal = ctypes.c_int32(), ctypes.c_int32()
    if lib.tl_tensor_dlpack_device(address, ctypes.byref(kind), ctypes.byref(ordinal)):
        refuse()
    return kind.value, ordinal.value


def refuse() -> NoReturn:
    """Raises the calling thread's last failure as the exception that DLPack asks for."""
    error = last_error()
    raise BufferError(str(error)) from error


def number_of(device: Any) -> int:
    """Returns the number of a device by number, name or the numbers that DLPack has for it."""
    if isinstance(device, tuple):
        kind, ordinal = device
        if kind not in _FAMILIES:
            raise BufferError(f"DLPack device {device} is none that is known here")
        device = 0 if kind in _CPUS else f"{_FAMILIES[kind]}:{ordinal}"
    try:
        return device_number(device)
    except Error as error:
        raise BufferError(str(error)) from error


def synchronize(address: int, where: tuple[int, int], stream: Any) -> None:
    """Makes the consumer's stream wait for those of the tensor, as the array API specifies."""
    if where[0] != _CUDA:
        if stream is not None:
            raise BufferError(f"a tensor on DLPack device {where} belongs to no stream; pass stream=None")
    elif stream == 0:
        raise BufferError("stream 0 may mean two things; 1 is the legacy default stream, 2 that of the thread")
    elif stream != -1:
        check(lib.tl_tensor_sync_stream(address, _LEGACY_STREAM if stream is None else int(stream)))


def _major(max_version: Any) -> int:
    return 0 if max_version is None or max_version[0] < 1 else 1


def export(address: int, max_version: Any, copy: Any) -> Any:
    """Returns the capsule that __dlpack__ is to return."""
    return _capsule(address, _major(max_version), bool(copy))


def export_to_cpu(tensor: Any, where: tuple[int, int], dl_device: Any, max_version: Any, copy: Any) -> Any:
    """Returns a capsule with a copy of a tensor on the CPU."""
    if tuple(dl_device) != CPU:
        raise BufferError(f"a tensor on DLPack device {where} cannot be exported to device {tuple(dl_device)}")
    if copy is False:
        raise BufferError(f"a tensor on DLPack device {where} comes to the CPU by a copy, and copy is False")
    if where[0] == _CUDA:
        check(lib.tl_tensor_sync_stream(tensor.address, None))  # where the copy is made
    major, here = _major(max_version), tensor.cpu()
    capsule = _capsule(here.address, major, False)
    if major:
        flags = ctypes.c_uint64.from_address(_get_pointer(capsule, _VERSIONED) + _FLAGS)
        flags.value |= _COPIED
    return capsule


def take(source: Any, copy: bool | None) -> int:
    """Returns the address of a tensor over the memory of source, which the current scope holds."""
    return take_capsule(source if type(source).__name__ == "PyCapsule" else _ask(source, copy))


def take_capsule(capsule: Any) -> int:
    """Returns the address of a tensor over the memory of a capsule, which the current scope holds."""
    for name, kept, used, take_out in _KINDS:
        if _is_valid(capsule, name):
            return _take_out(capsule, name, kept, used, take_out)
    raise BufferError(_GONE)


def _take_out(capsule: Any, name: bytes, kept: int, used: int, take_out: Any) -> int:
    """Takes the tensor out of a capsule. Whoever renames the capsule has the tensor, and gives it back by its name."""
    done: list[Any] = []
    try:
        uninterrupted(done, partial(_get_pointer, capsule, name), partial(_set_name, capsule, used))
        if name == _VERSIONED:
            _check_version(done[0])
        uninterrupted(done, partial(take_out, done[0]))
        if done[2] is None:
            refuse()
        return int(done[2])
    except ValueError:
        raise BufferError(_GONE) from None  # another thread was faster
    finally:
        if done and done[2:] in ([], [None]):
            _set_name(capsule, kept)


def _ask(source: Any, copy: bool | None) -> Any:
    """Gets a capsule from an object with the DLPack protocol, for the default stream, where the runtime copies."""
    if not hasattr(source, "__dlpack_device__"):
        raise TypeError(
            f"from_dlpack: source is a {type(source).__name__}, which has no __dlpack__; "
            "tl.asarray takes lists, numbers and everything that NumPy takes"
        )
    number_of(tuple(source.__dlpack_device__()))  # raises where there is no such device
    asked: dict[str, Any] = {"copy": False} if copy is False else {}  # this package makes the copy
    try:
        return source.__dlpack__(max_version=VERSION, **asked)
    except TypeError:  # a producer that uses DLPack before 1.0
        return source.__dlpack__()


def _check_version(managed: int) -> None:
    """Refuses a later version. The library would release the tensor, and the capsule does so too."""
    major = ctypes.c_uint32.from_address(managed).value
    if major != VERSION[0]:
        raise BufferError(f"the tensor comes as DLPack {major}, and only version {VERSION[0]} is understood here")
