"""Tensors: counted memory of the runtime that NumPy uses without a copy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, final

from .. import _abi
from .._binding import deferred
from .._binding.library import error_for, last_error, lib, recorder, unchecked
from .._binding.native import fast
from .._dtype import BY_NAME, BY_NUMBER, FORMAT, TYPESTR, DType, DTypeLike, to_dtype
from . import dlpack, info, traced
from .arrays import array_api, numpy_module
from .devices import DeviceLike, device_number, name_of
from .info import NOT_OWNED, array_interface, borrow, hold, info_of, interface_of
from .methods import TensorMethods
from .sharing import in_reach
from .views import shape_array

_release = unchecked("tl_tensor_release")
_data = unchecked("tl_tensor_data")
_device = unchecked("tl_tensor_device")
_empty = unchecked("tl_tensor_empty")
_zeros = unchecked("tl_tensor_new_zeroed")
_DEFAULT = int(_abi.Device.DEFAULT)


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
        found = info_of(address)
        return _made(address, interface_of(found, address), found.device)

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
        found = info_of(tensor._address)
        traced.trace(tensor, 0 if found.flags & NOT_OWNED else found.nbytes)
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


def own(address: int | None) -> Tensor:
    """Makes a Tensor of what a function of the library returned, and the current scope holds; None raises."""
    return hold(address, _wrap_traced)


def _fresh(address: int | None, shape: tuple[int, ...], dtype: DType, device: int) -> Tensor:
    """Wraps a new contiguous tensor, of which everything is known except the address of its data."""
    if fast is not None:
        return own(address)

    def wrap(held: int) -> Tensor:
        interface = array_interface(shape, dtype, _data(held) or held, False, None)
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
    borrowed: Tensor = borrow(array)
    return borrowed


def from_dlpack(source: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Returns a tensor over the memory of another library's array, which it keeps alive.

    It takes anything with the DLPack protocol, and DLPack capsules. copy=True always copies; copy=False raises
    BufferError if the producer would have to copy. device is the device of the result: memory of another device
    is copied there.
    """
    number = None if device is None else dlpack.number_of(device)
    tensor = own(dlpack.take(source, copy))
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
            "itemsizes": bytes(0 if t is None else t.itemsize for t in types),
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
    own = fast.own
    empty, zeros, from_dlpack = fast.empty, fast.zeros, fast.from_dlpack

info.wrap, info.own = Tensor._wrap, own
