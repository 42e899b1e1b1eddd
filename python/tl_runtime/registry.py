"""The registry: foreign memory with an owner, as NumPy arrays.

    array = tl.registry.zeros((1000, 3))             # registered, aligned to 64 bytes
    columns = tl.registry.columns(pointer, (rows, 100), "float32", tl.registry.Kind.MALLOC)
    tl.registry.total_bytes()

An array holds one reference to its address, in a capsule that ends in C: memory goes
with the last view of the last array, on whichever thread drops it and as late as when
the interpreter ends. Who hands memory out as arrays has no reference left to drop.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from . import _abi, _dlpack
from ._errors import InvalidArgumentError
from ._library import check, check_pointer, lib

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Array = numpy.typing.NDArray[Any]

__all__ = [
    "Kind",
    "Workspace",
    "adopt",
    "columns",
    "empty",
    "info",
    "is_registered",
    "num_buffers",
    "num_pointers",
    "print_statistics",
    "register",
    "share",
    "total_bytes",
    "unregister",
    "view",
    "zeros",
]

assert _dlpack.CPU  # importing it tells the library about this interpreter

_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("tl_python_registered", lib))


class Kind(IntEnum):
    """tl_alloc_kind: how a block is freed."""

    MALLOC = 1
    NEW_ARRAY = 2
    NEW_SCALAR = 3
    ALIGNED = 4
    CUSTOM = 5


class _Memory:
    """What an array is made from: the description of its elements, and the reference."""

    __slots__ = ("__array_interface__", "_held")

    def __init__(self, interface: dict[str, Any], held: Any) -> None:
        self.__array_interface__ = interface
        self._held = held


def _describe(pointer: int, shape: int | Sequence[int], dtype: Any, strides: Sequence[int] | None) -> dict[str, Any]:
    """Returns the array interface; a description that makes no sense raises before anything is counted."""
    import numpy

    extents = (shape,) if isinstance(shape, int) else tuple(int(n) for n in shape)
    if any(n < 0 for n in extents):
        raise InvalidArgumentError(f"a shape of {extents} has a negative extent")
    kind = numpy.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"elements of type {kind} are references of Python's and cannot lie in foreign memory")
    steps = None if strides is None else tuple(int(n) for n in strides)
    if steps is not None and len(steps) != len(extents):
        raise InvalidArgumentError(f"strides {steps} are not one for each extent of {extents}")
    return {"version": 3, "data": (pointer, False), "shape": extents, "typestr": kind.str, "strides": steps}


def _make(interface: dict[str, Any]) -> Array:
    """Returns the array; it takes over one reference of the caller's at its address, also on failure."""
    import numpy

    pointer = interface["data"][0]
    try:
        held = _capsule(pointer)
    except BaseException:
        lib.tl_registry_unregister(pointer)
        raise
    return numpy.asarray(_Memory(interface, held))


def _bytes(interface: dict[str, Any]) -> int:
    import numpy

    count = 1
    for extent in interface["shape"]:
        count *= extent
    return count * int(numpy.dtype(interface["typestr"]).itemsize)


def empty(shape: int | Sequence[int], dtype: Any = "float64") -> Array:
    """Returns an array of undefined elements in registered memory, aligned to 64 bytes."""
    interface = _describe(0, shape, dtype, None)
    pointer = check_pointer(lib.tl_registry_new_array(max(_bytes(interface), 1), 1))
    return _make({**interface, "data": (pointer, False)})


def zeros(shape: int | Sequence[int], dtype: Any = "float64") -> Array:
    """Returns an array of zeros in registered memory, aligned to 64 bytes."""
    array = empty(shape, dtype)
    array[...] = 0
    return array


def _known(pointer: int) -> None:
    """Raises for an address that is not registered, with what it is instead."""
    if not is_registered(pointer):
        check(lib.tl_registry_info(pointer, ctypes.byref(_new_info())))
        raise InvalidArgumentError(f"{pointer:#x} is no address of registered memory")


def adopt(pointer: int, shape: int | Sequence[int], dtype: Any, strides: Sequence[int] | None = None) -> Array:
    """Returns an array over registered memory that takes over one reference of the caller's.

    An address that is not registered raises, and so does a description that makes no
    sense; the reference is the caller's then. Shape and strides are believed.
    """
    interface = _describe(pointer, shape, dtype, strides)
    _known(pointer)
    return _make(interface)


def view(pointer: int, shape: int | Sequence[int], dtype: Any, strides: Sequence[int] | None = None) -> Array:
    """Returns an array over registered memory with a reference of its own."""
    interface = _describe(pointer, shape, dtype, strides)
    _known(pointer)
    check(lib.tl_ptr_inc_ref(pointer))
    return _make(interface)


def share(
    pointer: int,
    nbytes: int,
    views: Iterable[tuple[int, Any, Any] | tuple[int, Any, Any, Any]],
    kind: Kind | int = Kind.MALLOC,
) -> list[Array]:
    """Registers a block and hands it out as arrays: (address, shape, dtype[, strides]) for each.

    The main reference is consumed: the memory goes with the last array. All or nothing:
    when this raises, nothing is registered and the block is the caller's.
    """
    interfaces = [_describe(v[0], v[1], v[2], v[3] if len(v) > 3 else None) for v in views]
    if not interfaces:
        raise InvalidArgumentError("a block that is handed out needs an array at least")
    names = (ctypes.c_void_p * len(interfaces))(*(i["data"][0] for i in interfaces))
    check(lib.tl_registry_register_buffer(pointer, nbytes, names, len(interfaces), int(kind), None))
    lib.tl_registry_unregister(pointer)
    return [_make(interface) for interface in interfaces]


def columns(pointer: int, shape: Sequence[int], dtype: Any, kind: Kind | int = Kind.MALLOC) -> list[Array]:
    """Hands out the columns of a matrix in column-major order, one array each; see share."""
    import numpy

    rows, count = shape
    step = int(numpy.dtype(dtype).itemsize) * rows
    return share(pointer, step * count, [(pointer + i * step, rows, dtype) for i in range(count)], kind)


def register(pointer: int, nbytes: int, kind: Kind | int = Kind.MALLOC) -> None:
    """Gives a block an owner: the caller, who holds one reference."""
    check(lib.tl_registry_register(pointer, nbytes, int(kind)))


def unregister(pointer: int) -> None:
    """Drops one reference; the last one frees the block."""
    check(lib.tl_registry_unregister(pointer))


def is_registered(pointer: int) -> bool:
    """Tells whether somebody holds a reference at exactly this address."""
    return bool(lib.tl_registry_is_registered(pointer))


def _new_info() -> Any:
    details = _abi.tl_alloc_info()
    details.struct_size = ctypes.sizeof(details)
    return details


def info(pointer: int) -> dict[str, int]:
    """Returns what is known of a registered pointer."""
    details = _new_info()
    check(lib.tl_registry_info(pointer, ctypes.byref(details)))
    names = [name for name, *_ in details._fields_ if name != "struct_size"]
    return {name: int(getattr(details, name) or 0) for name in names}


def total_bytes() -> int:
    """Returns the bytes of all registered blocks, each once."""
    return int(lib.tl_registry_total_bytes())


def num_pointers() -> int:
    """Returns the number of registered addresses."""
    return int(lib.tl_registry_num_pointers())


def num_buffers() -> int:
    """Returns the number of shared buffers."""
    return int(lib.tl_registry_num_buffers())


def print_statistics(path: str | os.PathLike[str] | None = None) -> None:
    """Writes what the registry holds to a file, or to standard error."""
    check(lib.tl_registry_print_statistics(None if path is None else os.fsencode(path)))


class Workspace:
    """Scratch memory: a block for each worker, no two on one line of the cache.

    Arrays of its blocks keep the memory; the object itself need not outlive them.
    """

    def __init__(self, threads: int, nbytes: int, alignment: int = 64) -> None:
        if min(threads, nbytes, alignment) < 0:
            raise InvalidArgumentError("numbers of threads and bytes, and alignments, are not negative")
        self._handle = ctypes.POINTER(_abi.tl_workspace)()
        check(lib.tl_workspace_create(threads, nbytes, alignment, ctypes.byref(self._handle)))
        self._held = _capsule(ctypes.addressof(self._handle.contents))
        self._threads = threads
        self.nbytes = nbytes

    def __len__(self) -> int:
        return self._threads

    def array(self, rank: int, dtype: Any = "uint8") -> Array:
        """Returns the block of a worker: as many elements as fit."""
        import numpy

        if not 0 <= rank < self._threads:
            raise InvalidArgumentError(f"rank {rank} is not below the {self._threads} blocks")
        pointer = check_pointer(lib.tl_workspace_get(self._handle, rank))
        count = self.nbytes // int(numpy.dtype(dtype).itemsize)
        return numpy.asarray(_Memory(_describe(pointer, count, dtype, None), self._held))
