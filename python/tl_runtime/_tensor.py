"""Tensors: counted memory of the runtime that NumPy uses without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _deferred
from ._dtype import BY_NUMBER, TYPESTR, DType, DTypeLike, from_typestr, to_dtype
from ._library import check, error_for, last_error, lib

if TYPE_CHECKING:
    import numpy

_acquire = lib.tl_tensor_acquire
_end_scope_reference = lib.tl_tensor_free
_release = lib.tl_tensor_release
_data = lib.tl_tensor_data
_dtype = lib.tl_tensor_dtype
_is_contiguous = lib.tl_tensor_is_contiguous
_rank = lib.tl_tensor_rank
_shape = lib.tl_tensor_shape
_asarray: Any = None


def _numpy() -> Any:
    """Imports NumPy at its first use; everything else here works without it."""
    try:
        import numpy
    except ImportError as error:
        raise ImportError("this needs NumPy, which is not installed") from error
    return numpy


def _find_asarray() -> Any:
    global _asarray
    _asarray = _numpy().asarray
    return _asarray


class Tensor:
    """A tensor of the runtime.

    It holds one counted reference, whatever scopes are opened and closed
    meanwhile, and drops it when Python drops the Tensor. Arrays made from it keep
    it alive, so its memory returns with the last of them, on whichever thread
    that is. Make one with empty, zeros, from_numpy or from_address.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_address")

    __array_interface__: dict[str, Any]
    _address: int

    def __new__(cls) -> Tensor:
        raise TypeError("make a Tensor with tl.empty, tl.zeros, tl.from_numpy or Tensor.from_address")

    @classmethod
    def from_address(cls, address: int) -> Tensor:
        """Takes a reference to the tensor at an address that other code of the process has.

        The address is checked: what is no live tensor raises.
        """
        rank = _rank(address)
        if rank < 0:
            raise last_error()
        if not address:
            raise ValueError("NULL is no tensor")
        return _describe(_acquire(address), rank)

    def __del__(self, _release: Any = _release, _deferred: Any = _deferred.head, _drain: Any = _deferred.drain) -> None:
        # The defaults stay reachable while the interpreter takes modules apart.
        # A failure has nobody to tell; it can only be that of a forked child.
        _release(self._address)
        if _deferred.value:
            _drain()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return self.clone()

    def __reduce__(self) -> Any:
        raise TypeError("a Tensor is memory of this process and cannot be pickled or copied; use numpy() or clone()")

    def __repr__(self) -> str:
        return f"tl.Tensor({self._address:#x}, shape={self.shape}, dtype={self.dtype})"

    @property
    def address(self) -> int:
        """The address to hand to generated code, which borrows it."""
        return self._address

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        shape: tuple[int, ...] = self.__array_interface__["shape"]
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance between neighbours in each dimension, in bytes as NumPy counts them."""
        return tuple(stride * self.itemsize for stride in _extents(lib.tl_tensor_strides, self._address, self.ndim))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return from_typestr(self.__array_interface__["typestr"])

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(lib.tl_tensor_nbytes(self._address))

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(lib.tl_tensor_numel(self._address))

    @property
    def data(self) -> int:
        """The address of the first element; 0 when there is none."""
        return _data(self._address) or 0

    @property
    def device(self) -> int:
        """The number of the device that holds the data; 0 is the CPU."""
        return int(lib.tl_tensor_device(self._address))

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another in row-major order."""
        return bool(lib.tl_tensor_is_contiguous(self._address))

    @property
    def refcount(self) -> int:
        """The number of references: this one, and those of other code."""
        return int(lib.tl_ptr_refcount(self._address))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def numpy(self) -> numpy.ndarray[Any, Any]:
        """Returns a writable array over the same memory, which it keeps alive."""
        return (_asarray or _find_asarray())(self)  # type: ignore[no-any-return]

    def clone(self) -> Tensor:
        """Returns a contiguous copy."""
        return _own(lib.tl_tensor_clone(self._address))

    def register(self) -> Tensor:
        """Gives the current scope a reference of its own, as generated code would."""
        check(lib.tl_tensor_register(self._address))
        return self


def _extents(getter: Any, address: int, rank: int) -> tuple[int, ...]:
    return tuple(getter(address)[:rank]) if rank else ()


def _describe(address: int, rank: int) -> Tensor:
    """Wraps a reference that the caller holds, with what the runtime says about the tensor."""
    dtype = BY_NUMBER[_dtype(address)]
    strides = None
    if not _is_contiguous(address):
        strides = tuple(step * dtype.itemsize for step in _extents(lib.tl_tensor_strides, address, rank))
    return _wrap(address, _extents(_shape, address, rank), dtype, strides)


def _wrap(address: int, shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None = None) -> Tensor:
    """Wraps a reference that the caller holds. The interface is made once, so that numpy() is one look-up."""
    tensor: Tensor = object.__new__(Tensor)
    tensor._address = address
    tensor.__array_interface__ = {
        "version": 3,
        "shape": shape,
        "typestr": TYPESTR[dtype],
        "data": (_data(address) or address, False),  # NumPy 1.21 refuses NULL, even for no elements
        "strides": strides,
    }
    return tensor


def _hold(address: int | None) -> int:
    """Turns the current scope's reference to a new tensor into one of the caller's.

    Not by unregistering: that reference would float, and the next code that
    registers the tensor would sink it into a scope of its own.
    """
    if address is None:
        raise last_error()
    if _deferred.head.value:
        _deferred.drain()
    _acquire(address)
    status = _end_scope_reference(address)
    if status:
        error = error_for(status)
        _release(address)
        raise error
    return address


def _own(address: int | None) -> Tensor:
    held = _hold(address)
    return _describe(held, _rank(held))


def _shape_array(shape: int | Sequence[int]) -> tuple[tuple[int, ...], ctypes.Array[ctypes.c_int64]]:
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    return extents, (ctypes.c_int64 * len(extents))(*extents)


def empty(shape: int | Sequence[int], dtype: DTypeLike = DType.FLOAT32, device: int = 0) -> Tensor:
    """Returns a tensor with undefined contents."""
    kind = to_dtype(dtype)
    extents, array = _shape_array(shape)
    return _wrap(_hold(lib.tl_tensor_empty(kind, device, len(extents), array)), extents, kind)


def zeros(shape: int | Sequence[int], dtype: DTypeLike = DType.FLOAT32, device: int = 0) -> Tensor:
    """Returns a tensor whose elements are 0."""
    kind = to_dtype(dtype)
    extents, array = _shape_array(shape)
    return _wrap(_hold(lib.tl_tensor_zeros(kind, device, len(extents), array)), extents, kind)


def from_numpy(array: Any, *, copy: bool = True) -> Tensor:
    """Returns a tensor with the elements of an array.

    With copy=False it is a tensor over the array's own memory, for writable
    arrays or anything else with an array interface. The array lives as long as
    the tensor does and is let go of by the next call into this package after that.
    """
    if copy:
        numpy = _numpy()
        source = numpy.asarray(array)
        plain = numpy.ascontiguousarray(source, dtype=source.dtype.newbyteorder("="))
        tensor = empty(source.shape, source.dtype)
        if plain.nbytes:
            ctypes.memmove(tensor.data, plain.ctypes.data, plain.nbytes)
        return tensor
    return _borrow(array)


def _borrow(array: Any) -> Tensor:
    interface = array.__array_interface__
    address, readonly = interface["data"]
    if readonly:
        raise ValueError("the array is read-only and a tensor is not; copy it")
    dtype = from_typestr(interface["typestr"])
    extents, shape = _shape_array(interface["shape"])
    strides = interface.get("strides")
    steps = _element_strides(strides, dtype.itemsize) if strides else None
    context = _deferred.keep(array)
    made = lib.tl_tensor_from_buffer(dtype, 0, len(extents), shape, address, steps, _deferred.DELETER, context)
    if made is None:
        error = last_error()
        _deferred.forget(context)
        raise error
    return _wrap(_hold(made), extents, dtype, strides)


def _element_strides(strides: Sequence[int], itemsize: int) -> ctypes.Array[ctypes.c_int64]:
    if any(stride % itemsize for stride in strides):
        raise ValueError("the array's strides are no multiples of its element size; copy it")
    return (ctypes.c_int64 * len(strides))(*(stride // itemsize for stride in strides))
