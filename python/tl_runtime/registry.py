"""The registry: counted foreign memory, as NumPy arrays.

    array = tl.registry.zeros((1000, 3))             # registered, aligned to 64 bytes
    columns = tl.registry.columns(pointer, (rows, 100), "float32", tl.registry.Kind.MALLOC)
    tl.registry.total_bytes()

An array holds one reference to its address, in a capsule whose destructor is a C function. So the memory is
freed with the last view of the last array, on any thread, even while the interpreter ends. A caller that hands
memory out as arrays has no reference left to drop.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
from _ctypes import CFuncPtr
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from . import _abi
from ._binding import deferred
from ._binding.library import check, check_pointer, last_error, lib, uninterrupted
from ._errors import InvalidArgumentError
from ._tensor import dlpack
from ._tensor.arrays import numpy_module

if TYPE_CHECKING:
    import numpy
    import numpy.typing

    Array = numpy.typing.NDArray[Any]

__all__ = [
    "Kind",
    "Workspace",
    "add_alias",
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

assert dlpack.CPU  # importing it tells the library about this interpreter

_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("tl_python_registered", lib))


class Kind(IntEnum):
    """tl_alloc_kind: how a block is freed."""

    MALLOC = 1
    NEW_ARRAY = 2
    NEW_SCALAR = 3
    ALIGNED = 4
    CUSTOM = 5


class _Memory:
    """What an array is made from: the description of its elements, and its reference once it has one."""

    __slots__ = ("__array_interface__", "held")

    def __init__(self, interface: dict[str, Any], held: Any = None) -> None:
        self.__array_interface__ = interface
        self.held = held


def _number(value: Any, what: str) -> int:
    """Returns an integer that C takes as it is: ctypes would truncate a larger one silently."""
    number = operator.index(value)
    if not 0 <= number < 1 << 64:
        raise InvalidArgumentError(f"{what} of {number} is not between 0 and 2**64 - 1")
    return number


def _address(pointer: int) -> int:
    if _number(pointer, "an address") == 0:
        raise InvalidArgumentError("NULL is no address of registered memory")
    return operator.index(pointer)


def _kind(kind: Kind | int) -> int:
    if not 0 <= operator.index(kind) <= max(Kind):
        raise InvalidArgumentError(f"{kind} is no kind of memory; there are {', '.join(map(str, Kind))}")
    return operator.index(kind)


def _extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    extents = tuple(map(operator.index, shape)) if isinstance(shape, Iterable) else (operator.index(shape),)
    if any(n < 0 for n in extents):
        raise InvalidArgumentError(f"a shape of {extents} has a negative extent")
    return extents


def _dtype(dtype: Any) -> numpy.dtype[Any]:
    kind: numpy.dtype[Any] = numpy_module().dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"elements of type {kind} are references of Python's and cannot lie in foreign memory")
    if kind.itemsize == 0 or kind.subdtype is not None:
        raise TypeError(f"elements of type {kind} have no size, or a shape, which belongs to the array's")
    return kind


def _describe(
    pointer: int, shape: int | Sequence[int], dtype: Any, strides: Sequence[int] | None = None
) -> tuple[_Memory, Array]:
    """Returns an array that holds no reference yet; an invalid description raises here."""
    extents, kind = _extents(shape), _dtype(dtype)
    steps = None if strides is None else tuple(map(operator.index, strides))
    if steps is not None and len(steps) != len(extents):
        raise InvalidArgumentError(f"strides {steps} are not one for each extent of {extents}")
    data = (_address(pointer), False)
    memory = _Memory({"version": 3, "data": data, "shape": extents, "typestr": kind.str, "strides": steps})
    array = numpy_module().asarray(memory)
    return memory, array if array.dtype == kind else array.view(kind)  # fields are not in the typestr


def _hold(described: tuple[_Memory, Array]) -> Array:
    """Gives the array one reference of the caller's at its address; on failure the reference is dropped."""
    memory, array = described
    pointer = memory.__array_interface__["data"][0]
    made: list[Any] = []
    try:
        uninterrupted(made, partial(_capsule, pointer))
        memory.held = made[0]
    except BaseException:
        if not made:  # else the capsule drops it
            lib.tl_registry_unregister(pointer)
        raise
    return array


def empty(shape: int | Sequence[int], dtype: Any = "float64") -> Array:
    """Returns an array of undefined elements in registered memory, aligned to 64 bytes."""
    extents, kind = _extents(shape), _dtype(dtype)
    nbytes = _number(math.prod(extents) * kind.itemsize, "an array's size")
    pointer = check_pointer(lib.tl_registry_new_array(max(nbytes, 1), 1))
    try:
        described = _describe(pointer, extents, kind)
    except BaseException:
        lib.tl_registry_unregister(pointer)
        raise
    return _hold(described)


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

    An address that is not registered raises, and so does an invalid description; the reference stays the
    caller's then. Shape and strides are not checked against the memory.
    """
    described = _describe(pointer, shape, dtype, strides)
    _known(pointer)
    return _hold(described)


def view(pointer: int, shape: int | Sequence[int], dtype: Any, strides: Sequence[int] | None = None) -> Array:
    """Returns an array over registered memory with a reference of its own."""
    described = _describe(pointer, shape, dtype, strides)
    _known(pointer)
    check(lib.tl_ptr_inc_ref(pointer))
    return _hold(described)


def _check_inside(array: Array, pointer: int, nbytes: int) -> None:
    """Refuses an array that reaches beyond its block."""
    if array.size == 0:
        return
    reach = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)]
    low = array.ctypes.data + sum(r for r in reach if r < 0)
    high = array.ctypes.data + sum(r for r in reach if r > 0) + array.itemsize
    if low < pointer or high > pointer + nbytes:
        raise InvalidArgumentError(
            f"an array from {low:#x} to {high:#x} does not lie in the block of {nbytes} bytes at {pointer:#x}"
        )


def _function(deleter: Any) -> Any:
    """Returns a C function, given by its address or as ctypes has it."""
    if isinstance(deleter, CFuncPtr):
        deleter = ctypes.cast(deleter, ctypes.c_void_p).value or 0
    return ctypes.cast(ctypes.c_void_p(_address(deleter)), _abi.tl_deleter)


def _freed_by(deleter: Any, ctx: int, owner: Any, call: Callable[[Any, int], int]) -> None:
    """Makes a call that registers a block for a deleter and its context; an owner is kept for it."""
    if owner is None:
        check(call(_function(deleter), _number(ctx, "a context")))
        return
    if deleter is not None:
        raise InvalidArgumentError("a block has a deleter or an owner, not both")
    kept = deferred.keep(owner)
    if call(deferred.DELETER, kept) != 0:
        error = last_error()
        deferred.forget(kept)
        raise error


def share(
    pointer: int,
    nbytes: int,
    views: Iterable[tuple[int, Any, Any] | tuple[int, Any, Any, Any]],
    kind: Kind | int = Kind.MALLOC,
    *,
    deleter: Any = None,
    ctx: int = 0,
    owner: Any = None,
) -> list[Array]:
    """Registers a block and returns it as arrays: (address, shape, dtype[, strides]) for each.

    Instead of a kind the block may have a deleter, a C function (its address, or from ctypes) that is called with
    the pointer and ctx when the last array goes, on any thread. Or it belongs to an owner, such as an mmap, a
    Python object that is kept until then, and released by the next call into this package after that.

    The arrays take over the main reference: the memory is freed with the last array. When the call raises,
    nothing is registered and the block stays the caller's. The one exception is MemoryError, when Python has no
    room for an array's reference: the block is freed then.
    """
    block, size = _address(pointer), _number(nbytes, "a block's size")
    described = [_describe(*one) for one in views]
    if not described:
        raise InvalidArgumentError("a block that is handed out needs an array at least")
    for _, array in described:
        _check_inside(array, block, size)
    names = (ctypes.c_void_p * len(described))(*(m.__array_interface__["data"][0] for m, _ in described))
    buffer = (block, size, names, len(described))
    if deleter is None and owner is None:
        check(lib.tl_registry_register_buffer(*buffer, _kind(kind), None))
    else:
        _freed_by(deleter, ctx, owner, lambda f, c: lib.tl_registry_register_custom_buffer(*buffer, f, c, None))
    lib.tl_registry_unregister(block)
    arrays: list[Array] = []
    try:
        for one in described:
            arrays.append(_hold(one))
    except BaseException:
        for memory, _ in described[len(arrays) + 1 :]:  # _hold has dropped the one that failed
            lib.tl_registry_unregister(memory.__array_interface__["data"][0])
        raise
    return arrays


def columns(
    pointer: int,
    shape: Sequence[int],
    dtype: Any,
    kind: Kind | int = Kind.MALLOC,
    *,
    deleter: Any = None,
    ctx: int = 0,
    owner: Any = None,
) -> list[Array]:
    """Returns the columns of a matrix in column-major order, one array each; see share."""
    rows, count = _extents(shape)
    step = _dtype(dtype).itemsize * rows
    views = [(pointer + i * step, rows, dtype) for i in range(count)]
    return share(pointer, step * count, views, kind, deleter=deleter, ctx=ctx, owner=owner)


def add_alias(
    buffer_id: int, pointer: int, shape: int | Sequence[int], dtype: Any, strides: Sequence[int] | None = None
) -> Array:
    """Returns one more array of a shared block, at any address inside it.

    info(address)["buffer_id"] is the number of the block. The array may not reach beyond the block.
    """
    described = _describe(pointer, shape, dtype, strides)
    check(lib.tl_registry_add_alias(_number(buffer_id, "a number"), pointer))
    try:
        known = info(pointer)
        _check_inside(described[1], known["block"], known["bytes"])
    except BaseException:
        lib.tl_registry_unregister(pointer)
        raise
    return _hold(described)


def register(
    pointer: int,
    nbytes: int,
    kind: Kind | int = Kind.MALLOC,
    *,
    deleter: Any = None,
    ctx: int = 0,
    owner: Any = None,
) -> None:
    """Registers a block; the caller holds one reference. For deleter, ctx and owner see share."""
    block = (_number(pointer, "an address"), _number(nbytes, "a block's size"))
    if deleter is None and owner is None:
        check(lib.tl_registry_register(*block, _kind(kind)))
    else:
        _freed_by(deleter, ctx, owner, lambda f, c: lib.tl_registry_register_custom(*block, f, c))


def unregister(pointer: int) -> None:
    """Drops one reference; the last one frees the block."""
    check(lib.tl_registry_unregister(_number(pointer, "an address")))


def is_registered(pointer: int) -> bool:
    """Tells whether somebody holds a reference at exactly this address."""
    return bool(lib.tl_registry_is_registered(_number(pointer, "an address")))


def _new_info() -> Any:
    details = _abi.tl_alloc_info()
    details.struct_size = ctypes.sizeof(details)
    return details


def info(pointer: int) -> dict[str, int]:
    """Describes a registered pointer, in numbers; tl.allocation_info has the names, too."""
    details = _new_info()
    check(lib.tl_registry_info(_number(pointer, "an address"), ctypes.byref(details)))
    names = [name for name, kind, *_ in details._fields_ if name != "struct_size" and kind is not ctypes.c_char_p]
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
    name = None if path is None else os.fsencode(path)
    if name is not None and b"\0" in name:
        raise InvalidArgumentError(f"{path!r} is not the name of a file")
    check(lib.tl_registry_print_statistics(name))


class Workspace:
    """Scratch memory: a block for each worker, no two on one cache line.

    Arrays of its blocks keep the memory alive; the object itself need not outlive them.
    """

    def __init__(self, threads: int, nbytes: int, alignment: int = 64) -> None:
        self._threads = _number(threads, "a number of threads")
        self.nbytes = _number(nbytes, "a block's size")
        alignment = _number(alignment, "an alignment")
        self._handle = ctypes.POINTER(_abi.tl_workspace)()
        check(lib.tl_workspace_create(self._threads, self.nbytes, alignment, ctypes.byref(self._handle)))
        self._held = _capsule(ctypes.addressof(self._handle.contents))

    def __reduce__(self) -> Any:
        raise TypeError("a Workspace is memory of this process and cannot be pickled or copied; make another one")

    def __len__(self) -> int:
        return self._threads

    def array(self, rank: int, dtype: Any = "uint8") -> Array:
        """Returns the block of a worker: as many elements as fit."""
        if not 0 <= operator.index(rank) < self._threads:
            raise InvalidArgumentError(f"rank {rank} is not below the {self._threads} blocks")
        pointer = check_pointer(lib.tl_workspace_get(self._handle, rank))
        memory, array = _describe(pointer, self.nbytes // _dtype(dtype).itemsize, dtype)
        memory.held = self._held
        return array
