"""What a Tensor has in both ways, in C and by ctypes."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, TypeVar

from .._binding.library import check, lib, unchecked
from .._binding.numbers import size
from .._dtype import DType, from_typestr
from . import buffers, dlpack
from .arrays import numpy_module
from .devices import DeviceLike, device_number, name_of
from .info import NOT_OWNED, array_interface, hold_again, info_of, uninitialised
from .pickling import reduce_tensor
from .sharing import SharedTensor, in_reach
from .values import Values
from .views import Viewable

if TYPE_CHECKING:
    import numpy

    from .tensor import Tensor

    Array = numpy.ndarray[Any, Any]

_data = unchecked("tl_tensor_data")
_arrow = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_bool)(("tl_python_arrow", lib))
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
    def _interface(self) -> dict[str, Any]:
        strides = None if self.is_contiguous else self.strides
        return array_interface(self.shape, self.dtype, self.data or self._address, self.is_read_only, strides)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The memory as NumPy describes it; no attribute where the CPU cannot use it."""
        if self._device and not in_reach(self._device):
            raise AttributeError("__array_interface__")
        return self._interface

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
        """The capsules of a type and of elements for Arrow: numbers of one axis, lists of a fixed size of more.

        The structs and what ends them are C of the library, because consumers release them from any thread, even after
        the interpreter has ended.
        """
        if not in_reach(self.device):
            where = name_of(self.device)
            raise TypeError(f"the tensor is on {where}, whose memory the CPU cannot use; copy it with cpu() first")
        if self.dtype.typestr[1] in "Vc":
            raise TypeError(f"Arrow has no elements of the type {self.dtype}; convert the tensor's array")
        if not self.shape:
            raise TypeError("a tensor of rank 0 is no array of Arrow's; give it an axis with reshape(1)")
        return _arrow(self._address, True), _arrow(self._address, False)

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
        grown: Tensor = uninitialised((0, *self.shape[1:]), self.dtype)
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
