"""Tensors: counted memory of the runtime that NumPy uses without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, final

from .. import _abi
from .._binding import deferred
from .._binding.library import check, error_for, last_error, lib, recorder, unchecked
from .._binding.native import fast
from .._binding.numbers import shape_for_c, size
from .._dtype import BY_NAME, BY_NUMBER, FORMAT, TYPESTR, DType, DTypeLike, from_typestr, to_dtype
from . import arrow, buffers, dlpack, traced
from .arrays import array_api, lent, numpy_module
from .devices import DeviceLike, device_number, name_of
from .info import NOT_OWNED, READ_ONLY, hold, hold_again, in_reach, info_of, interface_of
from .pickling import reduce_tensor
from .sharing import SharedTensor
from .values import Values
from .views import Viewable, shape_array

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

_release = unchecked("tl_tensor_release")
_data = unchecked("tl_tensor_data")
_device = unchecked("tl_tensor_device")
_empty = unchecked("tl_tensor_empty")
_zeros = unchecked("tl_tensor_new_zeroed")
_DEFAULT = int(_abi.Device.DEFAULT)
_asarray: Any = None


def _find_asarray() -> Any:
    global _asarray
    _asarray = numpy_module().asarray
    return _asarray


View = TypeVar("View", bound="TensorMethods")


class TensorMethods(Values, Viewable):
    """A tensor of the runtime.

    It holds one counted reference, whatever scopes are opened and closed
    meanwhile, and drops it when Python drops the Tensor. Arrays made from it keep
    it alive, so its memory is freed with the last of them, on any thread. Make one with empty, zeros,
    from_numpy or from_address.
    """

    # What Tensor has in both ways, over what either class keeps: the classes in C and for ctypes inherit from this one.
    __slots__ = ()

    _device: int

    def __new__(cls) -> Any:
        raise TypeError("make a Tensor with tl.empty, tl.zeros, tl.from_numpy or Tensor.from_address")

    @classmethod
    def from_address(cls, address: int) -> Tensor:
        """Takes a reference to the tensor at an address that other code of the process has.

        The address is validated: the call raises unless a live tensor is there.
        """
        info_of(size(address, "an address"))
        if not address:
            raise ValueError("NULL is no tensor")
        return hold_again(address, cls._wrap)

    @staticmethod
    def _wrap(address: int) -> Tensor:
        """Makes a Tensor that takes over a reference of the caller's."""
        raise NotImplementedError

    def __reduce__(self) -> Any:
        return reduce_tensor(self)

    @property
    def address(self) -> int:
        """The address to hand to generated code, which borrows it."""
        return self._address

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        shape: tuple[int, ...] = self._interface["shape"]
        return shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance between neighbours in each dimension, in bytes as NumPy counts them."""
        size = self.itemsize
        return tuple(stride * size for stride in info_of(self._address).strides[: self.ndim])

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return from_typestr(self._interface["typestr"])

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
        return self._device

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one after another in row-major order."""
        return bool(lib.tl_tensor_is_contiguous(self._address))

    @property
    def is_read_only(self) -> bool:
        """Whether the memory is borrowed and its lender does not allow writes."""
        return bool(self._interface["data"][1])

    @property
    def base(self) -> Tensor | None:
        """The tensor whose memory a view shares; None for a tensor that is not a view."""
        address = info_of(self._address).base
        return None if address is None else self.from_address(address)

    @property
    def refcount(self) -> int:
        """The number of references: this one, and those of other code."""
        return int(lib.tl_ptr_refcount(self._address))

    def __sizeof__(self) -> int:
        """What sys.getsizeof counts: this object, and the elements if the tensor owns their memory, on any device.

        The memory of a view belongs to its base, that of a borrowed buffer to its lender; neither counts here.
        """
        info = info_of(self._address)
        return object.__sizeof__(self) + (0 if info.flags & NOT_OWNED else int(info.nbytes))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self.shape[0]

    def numpy(self) -> Array:
        """Returns an array over the same memory, which it keeps alive; writable unless the tensor is not.

        Memory of a device that the CPU cannot use has no arrays: cpu() copies it.
        """
        asarray = _asarray or _find_asarray()
        made: Array = buffers.array(self, asarray) if buffers.ARE_ASKED_FIRST else asarray(self)
        return made

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """What NumPy calls when there is no array interface."""
        if not hasattr(self, "__array_interface__"):
            where = name_of(self.device)
            raise TypeError(f"the tensor is on {where}, whose memory the CPU cannot use; copy it with cpu() first")
        array = self.numpy() if dtype is None else self.numpy().astype(dtype, copy=False)
        return array.copy() if copy else array

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule for another array library, over the same memory unless copy is true.

        dl_device may be the CPU, (1, 0), for a tensor of any device, which is then copied. For CUDA, stream is
        that of the consumer, which waits for the tensor's streams; -1 means no wait.
        """
        where = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != where:
            return dlpack.export_to_cpu(self, where, dl_device, max_version, copy)
        dlpack.synchronize(self._address, where, stream)
        return dlpack.export(self._address, max_version, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device as DLPack numbers it."""
        return dlpack.CPU if self._device == 0 else dlpack.device_of(self._address)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """The capsules of a type and of elements for Arrow: numbers of one axis, lists of a fixed size of more."""
        return arrow.capsules(self)

    def __buffer__(self, flags: int) -> memoryview:
        """The memory as a buffer, for Python 3.12 and newer."""
        return buffers.view(self)

    def clone(self: View) -> View:
        """Returns a contiguous copy on the same device."""
        return self._view(lib.tl_tensor_clone(self._address))

    @property
    def capacity(self) -> int:
        """The first extent up to which resize makes no copy."""
        return int(lib.tl_tensor_capacity(self._address))

    def reserve(self, capacity: int) -> Tensor:
        """Returns this tensor with room for a first extent: itself where it has that, else a copy.

        The system brings memory as it is written to, so a large capacity costs only address space.
        """
        check(lib.tl_tensor_reserve(self._address, min(capacity, 0)))  # whether it may grow
        if capacity <= self.capacity:
            return self.from_address(self._address)
        return self._grown(int(lib.tl_tensor_dim(self._address, 0)), capacity, capacity, False)

    def resize(self, extent: int, *, zero: bool = False) -> Tensor:
        """Returns this tensor with another first extent, in the place of this object: cache = cache.resize(n).

        It has the same memory while its capacity lasts, and else a copy with room for half as much more. Arrays that
        were made before keep what they show, but for rows that a smaller extent leaves out. New elements are undefined,
        or 0. While another object, a view or a DLPack capsule holds the tensor, it raises.
        """
        check(lib.tl_tensor_reserve(self._address, 0))
        if extent > self.capacity:
            return self._grown(extent, self.capacity * 3 // 2, extent, zero)
        check((lib.tl_tensor_resize_zeros if zero else lib.tl_tensor_resize)(self._address, extent))
        return self.from_address(self._address)

    def _grown(self, extent: int, capacity: int, least: int, zero: bool) -> Tensor:
        """A copy with room for a capacity, or for the least where that is refused: nobody else has it, so it may move."""
        grown = empty((0, *self.shape[1:]), self.dtype, 0)
        if capacity <= least or lib.tl_tensor_reserve(grown._address, capacity):
            check(lib.tl_tensor_reserve(grown._address, least))
        rows = lib.tl_tensor_dim(self._address, 0)  # self.shape is older where a resize has replaced this object
        check(lib.tl_tensor_resize(grown._address, rows))
        nbytes = lib.tl_tensor_nbytes(grown._address)
        if nbytes:
            ctypes.memmove(lib.tl_tensor_data(grown._address), lib.tl_tensor_data(self._address), nbytes)
        check((lib.tl_tensor_resize_zeros if zero else lib.tl_tensor_resize)(grown._address, extent))
        return self.from_address(grown._address)

    def to(self: View, device: DeviceLike) -> View:
        """Returns a contiguous copy on a device ("cuda:0"); the tensor itself when it is there already."""
        number = device_number(device)
        return self if number == self.device else self._view(lib.tl_tensor_to(self._address, number))

    def cpu(self: View) -> View:
        """Returns a copy on the CPU; the tensor itself when it is there already."""
        return self.to(0)

    def share(self, *, read_only: bool = False) -> SharedTensor:
        """Returns a descriptor with which another process opens this tensor, of the device "shared".

        With read_only no process maps the memory for writing from now on; those that have it mapped so, this one too,
        go on writing. multiprocessing sends tensors of that device by itself.
        """
        return SharedTensor._of(self._address, read_only)

    def record_stream(self, stream: int) -> None:
        """Records that work in a stream of the device uses the tensor: its memory is not reused before that
        work is done."""
        check(lib.tl_tensor_record_stream(self._address, stream))

    def register(self: View) -> View:
        """Gives the current scope a reference of its own, as generated code would."""
        check(lib.tl_tensor_register(self._address))
        return self


@final
class Tensor(TensorMethods):
    """The class Tensor where all calls go through ctypes."""

    __slots__ = ("__array_interface__", "__weakref__", "_address", "_device", "_interface")
    __doc__ = TensorMethods.__doc__

    __array_interface__: dict[str, Any]  # not set where the CPU cannot use the memory
    _interface: dict[str, Any]
    _address: int
    _device: int

    @staticmethod
    def _wrap(address: int) -> Tensor:
        info = info_of(address)
        return _made(address, interface_of(info, address), info.device)

    def _view(self, address: int | None) -> Tensor:
        return hold(address, _wrap_traced)

    def __del__(
        self,
        _release: Any = _release,
        _deferred: Any = deferred.head,
        _drain: Any = deferred.drain,
        _is_tracing: Any = traced.is_tracing,
        _untrace: Any = traced.untrace,
    ) -> None:
        # The defaults stay reachable while the interpreter takes modules apart.
        # A failure has no caller to report to; it can only be that of a forked child.
        try:
            address = self._address
        except AttributeError:  # an exception has ended the construction
            return
        _release(address)
        if _is_tracing():
            _untrace(self)
        if _deferred.value:
            _drain()


CtypesTensor = Tensor


def _traced_by(tensor: Tensor) -> Tensor:
    """Tells tracemalloc, if it is tracing, of a new tensor with the memory that it owns."""
    if traced.is_tracing():
        info = info_of(tensor._address)
        traced.trace(tensor, 0 if info.flags & NOT_OWNED else info.nbytes)
    return tensor


def _made(address: int, interface: dict[str, Any], device: int) -> Tensor:
    """Wraps a reference that the caller holds. The properties are set once, so that numpy() is one lookup."""
    tensor: Tensor = object.__new__(CtypesTensor)
    tensor._address = address
    tensor._interface = interface
    tensor._device = device
    if device == 0 or in_reach(device):
        tensor.__array_interface__ = interface
    return tensor


def _wrap_traced(held: int) -> Tensor:
    return _traced_by(CtypesTensor._wrap(held))


def _own(address: int | None) -> Tensor:
    """Makes a Tensor of what a function of the library returned, and the current scope holds; None raises."""
    return hold(address, _wrap_traced)


def _fresh(address: int | None, shape: tuple[int, ...], dtype: DType, device: int) -> Tensor:
    """Wraps a new contiguous tensor, of which everything is known except the address of its data."""
    if fast is not None:
        return _own(address)

    def wrap(held: int) -> Tensor:
        data = (_data(held) or held, False)  # NumPy 1.21 refuses NULL, even for no elements
        interface = {"version": 3, "shape": shape, "typestr": TYPESTR[dtype], "data": data, "strides": None}
        return _traced_by(_made(held, interface, device if device >= 0 else _device(held)))

    return hold(address, wrap)


def _number(device: DeviceLike | None) -> int:
    return _DEFAULT if device is None else device_number(device)


def empty(
    shape: int | Sequence[int], dtype: DTypeLike = DType.FLOAT32, device: DeviceLike | None = None
) -> Tensor:
    """Returns a tensor with undefined contents, on the device that the option TL_DEVICE names unless one is given."""
    kind, number = to_dtype(dtype), _number(device)
    extents, array = shape_array(shape)
    return _fresh(_empty(kind, number, len(extents), array), extents, kind, number)


def zeros(
    shape: int | Sequence[int], dtype: DTypeLike = DType.FLOAT32, device: DeviceLike | None = None
) -> Tensor:
    """Returns a tensor whose elements are 0, on the device that the option TL_DEVICE names unless one is given."""
    kind, number = to_dtype(dtype), _number(device)
    extents, array = shape_array(shape)
    return _fresh(_zeros(kind, number, len(extents), array), extents, kind, number)


def from_numpy(array: Any, *, copy: bool = True) -> Tensor:
    """Returns a tensor with the elements of an array.

    With copy=False it is a tensor over the array's own memory, read-only if the
    array is, for arrays and anything else with an array interface. The array lives as long as the tensor does;
    the next call into this package after that releases it.
    """
    if copy:
        numpy = numpy_module()
        source = numpy.asarray(array)
        plain = numpy.ascontiguousarray(source, dtype=source.dtype.newbyteorder("="))
        tensor = empty(source.shape, source.dtype, 0)
        if plain.nbytes:
            ctypes.memmove(tensor.data, plain.ctypes.data, plain.nbytes)
        return tensor
    return _borrow(array)


def _borrow(given: Any) -> Tensor:
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
    return _own(made)


def _element_strides(strides: Sequence[int], itemsize: int) -> ctypes.Array[ctypes.c_int64]:
    if any(stride % itemsize for stride in strides):
        raise ValueError("the array's strides are no multiples of its element size; copy it")
    return shape_for_c([stride // itemsize for stride in strides])


def from_dlpack(source: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Returns a tensor over the memory of another library's array, which it keeps alive.

    It takes anything with the DLPack protocol, and DLPack capsules. copy=True always copies; copy=False raises
    BufferError if the producer would have to copy. device is the device of the result: memory of another device
    is copied there.
    """
    number = None if device is None else dlpack.number_of(device)
    tensor = _own(dlpack.take(source, copy))
    if number is None or number == tensor.device:
        return tensor.clone() if copy else tensor
    if copy is False:
        where, wanted = name_of(tensor.device), name_of(number)
        raise BufferError(f"the array is on {where}, and not copied to {wanted} with copy=False")
    return tensor.to(number)


def _arrays() -> tuple[Any, type, tuple[Any, ...]]:
    """NumPy's table of C functions, its class of arrays, and its dtypes by the number of ours."""
    numpy = numpy_module()
    types = (BY_NUMBER.get(number) for number in range(_DTYPES))
    return array_api(numpy), numpy.ndarray, tuple(None if t is None else numpy.dtype(TYPESTR[t]) for t in types)


_DTYPES = 24


def _start() -> Any:
    """Gives the extension module what it needs of the package, and returns its class Tensor."""
    types = [BY_NUMBER.get(number) for number in range(_DTYPES)]
    return fast.start(
        {
            "symbols": ctypes.cast(lib.tl_symbols, ctypes.c_void_p).value,
            "deferred": ctypes.addressof(deferred.head),
            "raw_free": ctypes.cast(ctypes.pythonapi.PyMem_RawFree, ctypes.c_void_p).value,
            "vectorcall_method": ctypes.cast(ctypes.pythonapi.PyObject_VectorcallMethod, ctypes.c_void_p).value,
            "vectorcall": ctypes.cast(ctypes.pythonapi.PyObject_Vectorcall, ctypes.c_void_p).value,
            **traced.addresses,
            "domain": traced.TRACEMALLOC_DOMAIN,
            "methods": TensorMethods,
            "dtypes": tuple(types),
            "typestrs": tuple(None if t is None else TYPESTR[t] for t in types),
            "formats": tuple(None if t is None else FORMAT[t] for t in types),
            "names": {name: int(t) for name, t in BY_NAME.items()},
            "to_dtype": to_dtype,
            "empty": empty,
            "zeros": zeros,
            "from_dlpack": from_dlpack,
            "take": dlpack.take_capsule,
            "last_error": last_error,
            "error_for": error_for,
            "refuse": dlpack.refuse,
            "tell": None if recorder.reads_frames else recorder.tell,
            "reaches": in_reach,
            "arrays": _arrays,
            "cpu": dlpack.CPU,
            "dlpack_version": dlpack.VERSION,
        }
    )


# What the extension module calls for all that is rare, and tests compare it with.
TWINS: dict[str, Callable[..., Any]] = {"empty": empty, "zeros": zeros, "from_dlpack": from_dlpack}

if fast is not None:
    Tensor = _start()  # type: ignore[misc]
    _own = fast.own
    empty, zeros, from_dlpack = fast.empty, fast.zeros, fast.from_dlpack
