"""Tensors in pickles and copies; sparse matrices are in _sparse/pickling.py.

A pickle holds memory once, however many tensors share it: a tensor is pickled as a layout over a Storage, and a
thread has one Storage for each base, as long as a pickler remembers it. Protocol 5 hands the memory itself to the
pickler (PickleBuffer), and what is loaded is a tensor over the buffer that the unpickler is given. Earlier protocols
copy into the pickle, and out of it into memory of the runtime. multiprocessing sends memory of the device "shared" by
descriptor (sharing.py).
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._binding.library import lib
from .._dtype import BY_NAME, BY_NUMBER, DType
from .._errors import DeviceError, Error, ForkedError, UnsupportedError
from . import info
from .devices import device_number, name_of
from .info import CONTIGUOUS, READ_ONLY, info_of
from .layout import Layout, compacted, lay_out, row_major

if TYPE_CHECKING:
    from .methods import TensorMethods
    from .sharing import SharedTensor
    from .tensor import Tensor

LENT = int(_abi.TensorFlag.LENT)
_SHARED = int(_abi.Device.SHARED)
_RESERVED = 128  # tensors that a child of fork() can be sent, or views that it makes, at a time


class Memory:
    """The memory under an array interface; the interface's object keeps what owns it."""

    __slots__ = ("__array_interface__", "kept")

    def __init__(self, address: int, layout: Layout, dtype: DType, read_only: bool, kept: Any) -> None:
        size = dtype.itemsize
        self.kept = kept
        self.__array_interface__ = {
            "version": 3,
            "shape": layout.shape,
            "typestr": dtype.typestr,
            "data": (address + layout.offset * size, read_only),
            "strides": tuple(stride * size for stride in layout.strides),
        }


class Storage:
    """Elements one after another, in memory that a tensor holds. A pickle holds a storage once; it is loaded as a
    contiguous tensor."""

    __slots__ = ("__weakref__", "address", "dtype", "held", "read_only", "shape")

    def __init__(self, held: TensorMethods, address: int, shape: tuple[int, ...], dtype: DType, read_only: bool) -> None:
        self.held, self.address, self.shape, self.dtype, self.read_only = held, address, shape, dtype, read_only

    def memory(self) -> memoryview:
        """The bytes; the memoryview holds the tensor."""
        nbytes = _bytes_of(self.shape, self.dtype)
        if not nbytes:
            return memoryview(b"")
        block: Any = (ctypes.c_uint8 * nbytes).from_address(self.address)
        block.held = self.held
        memory = memoryview(block).cast("B")
        return memory.toreadonly() if self.read_only else memory

    def __reduce_ex__(self, protocol: Any) -> Any:
        described = (self.dtype.name, self.shape, "cpu")
        memory = self.memory()
        if protocol >= 5 and memory.nbytes:  # Python's own pickler fails on the second buffer of no bytes
            return load_buffer, (PickleBuffer(memory), *described)
        return load_bytes, (bytes(memory), *described)

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorMethods:
        return _filled(self.memory(), self.dtype, self.shape)


class Gathered(Storage):
    """A storage that has to be copied first: elements with gaps between them, or on a device."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        here = self.held.cpu() if self.held.device else self.held.clone()
        load, (memory, *described) = Storage(here, here.data, self.shape, self.dtype, False).__reduce_ex__(protocol)
        return load, (memory, *described[:2], name_of(self.held.device) if self.held.device else "cpu")

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorMethods:
        return self.held.clone()


class SharedStorage(Storage):
    """A storage on the device "shared". Picklers but multiprocessing's copy it, and it comes back to that device."""

    __slots__ = ()

    def shared(self) -> SharedTensor:
        """A new descriptor of the memory."""
        return self.held.share()

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.held.is_contiguous:
            load, (memory, *described) = super().__reduce_ex__(protocol)
        else:
            here = self.held.cpu()
            load, (memory, *described) = Storage(here, here.data, self.shape, self.dtype, False).__reduce_ex__(protocol)
        return load, (memory, *described[:2], "shared")

    def __deepcopy__(self, memo: dict[int, Any]) -> TensorMethods:
        return self.held.clone()


class _Known(threading.local):
    """The storages of the pickles and copies that a thread is making, by where their memory is; and sparse matrices
    whose blocks were put together, by each block."""

    def __init__(self) -> None:
        self.storages: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()
        self.joined: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


known = _Known()


def _bytes_of(shape: tuple[int, ...], dtype: DType) -> int:
    nbytes = dtype.itemsize
    for extent in shape:
        nbytes *= extent
    return nbytes


# ---- out ------------------------------------------------------------------------------------


class Described:
    """A tensor at an address, and where its elements are from its own first one on."""

    def __init__(self, address: int) -> None:
        found = info_of(address)
        self.address, self.base, self.device = address, found.base, found.device
        self.dtype, self.data = BY_NUMBER[found.dtype], found.data or 0
        self.layout = Layout(0, tuple(found.shape[: found.rank]), tuple(found.strides[: found.rank]))
        self.numel, self.flags = found.numel, found.flags

    @property
    def is_dense(self) -> bool:
        """Whether one buffer of the CPU's has the elements, and no others."""
        return self.device in (0, _SHARED) and (bool(self.flags & CONTIGUOUS) or self.layout.is_dense)


def _storage_of(base: Described, tensor: TensorMethods) -> Storage:
    """Returns the storage of a tensor's elements, the same one for the same tensor while it is in use."""
    storage = known.storages.get((base.address, 0))
    if storage is None:
        held = tensor if tensor.address == base.address else type(tensor).from_address(base.address)
        about = (base.dtype, bool(base.flags & READ_ONLY))
        if base.device == _SHARED:
            storage = SharedStorage(held, base.data, base.layout.shape, *about)
        elif not base.is_dense:
            storage = Gathered(held, base.data, base.layout.shape, *about)
        elif base.flags & CONTIGUOUS:
            storage = Storage(held, base.data, base.layout.shape, *about)
        else:
            lowest = base.data + base.layout.lowest * base.dtype.itemsize
            storage = Storage(held, lowest, (base.numel,), *about)
        known.storages[base.address, 0] = storage
    return storage


def _layout_in(view: Described, base: Described) -> Layout | None:
    """Where the elements of a view are in the storage of its base; None: they cannot be described by that."""
    if 0 in view.layout.shape:
        return view.layout
    apart, rest = divmod(view.data - base.data, base.dtype.itemsize)
    layout = view.layout._replace(offset=apart)
    if rest or view.dtype is not base.dtype or not base.numel:
        return None  # a block of a sparse matrix, seen as what it has
    if layout.lowest < base.layout.lowest or layout.end > base.layout.end:
        return None
    if base.is_dense:
        return layout._replace(offset=apart - base.layout.lowest)
    return compacted(layout, base.layout)


def reduce_tensor(tensor: TensorMethods) -> tuple[Any, ...]:
    """How a tensor is pickled."""
    view = Described(tensor.address)
    base = Described(view.base) if view.base else view
    if view.device == _SHARED and (not base.flags & CONTIGUOUS or not base.numel):  # opened as it lies there
        return load_tensor, (_storage_of(view, tensor),)
    layout = _layout_in(view, base)
    if layout is None:  # by itself
        base, layout = view, _layout_in(view, view)
    storage = _storage_of(base, tensor)
    if layout is None or (view is base and (base.flags & CONTIGUOUS or not base.is_dense)):
        return load_tensor, (storage,)
    return load_tensor, (storage, tuple(layout))


# ---- in -------------------------------------------------------------------------------------


class _PyBuffer(ctypes.Structure):
    """Py_buffer of CPython, whose layout never changes."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(_PyBuffer))(("PyBuffer_Release", ctypes.pythonapi))


def address_of(memory: memoryview) -> int:
    """The address of a buffer, which is valid as long as the memoryview."""
    buffer = _PyBuffer()
    _get_buffer(memory, ctypes.byref(buffer), 0)
    address = buffer.buf or 0
    _release_buffer(ctypes.byref(buffer))
    return int(address)


def _checked(buffer: Any, dtype: str, shape: Any) -> tuple[memoryview, DType, tuple[int, ...]]:
    kind, extents = BY_NAME.get(dtype.lower()), tuple(shape)
    if kind is None:
        raise TypeError(
            f"the pickle has elements of type {dtype!r}, which this version of tl_runtime does not know; load it with "
            "the version that made it, or a newer one"
        )
    memory = memoryview(buffer)
    if memory.nbytes and (memory.ndim != 1 or memory.format != "B"):
        memory = memory.cast("B")
    if min(extents, default=0) < 0 or memory.nbytes != _bytes_of(extents, kind):
        raise ValueError(
            f"a tensor of shape {extents} and type {kind} has {_bytes_of(extents, kind)} bytes, its buffer "
            f"{memory.nbytes}; pass the unpickler the buffers that its pickle was made with, in their order"
        )
    return memory, kind, extents


def _filled(memory: memoryview, dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """Returns a tensor of the runtime's memory with a copy of the bytes."""
    tensor: Tensor = info.uninitialised(shape, dtype)
    if memory.nbytes:
        ctypes.memmove(tensor.data, address_of(memory), memory.nbytes)
    return tensor


def _sent_to(device: str, tensor: Tensor) -> Tensor:
    """Returns the tensor on the device that it was pickled on."""
    if device == "cpu":
        return tensor
    try:
        number = device_number(device)
    except DeviceError as error:
        raise DeviceError(
            f"the tensor was pickled on the device {device!r}, which this process does not have ({error}); pickle "
            "tensor.cpu() instead, or make the device available here"
        ) from error
    return tensor.to(number)


class Undelivered:
    """What a tensor becomes in a child of fork() that cannot make it: every use raises ForkedError.

    The unpickler must not raise there: a worker of multiprocessing.Pool that cannot read a task dies, and the pool
    waits for its result for ever. An error of the task itself reaches the caller.
    """

    def __init__(self, error: str) -> None:
        self.__dict__["error"] = error

    def __repr__(self) -> str:
        return f"<a tensor that did not arrive: {self.__dict__['error']}>"

    def _use(self, *_: Any) -> Any:
        raise ForkedError(
            f"a tensor was sent to a child of fork(), which cannot make it ({self.__dict__['error']}); start "
            "processes that receive many tensors, or sparse matrices, by spawn or forkserver: "
            "multiprocessing.get_context('spawn')"
        )

    __getattr__ = __setattr__ = __getitem__ = __len__ = __iter__ = __bool__ = __eq__ = _use
    __array__ = __dlpack__ = __dlpack_device__ = __copy__ = __deepcopy__ = __reduce_ex__ = _use
    __hash__ = None  # type: ignore[assignment]


def _reserve() -> None:
    """Leaves headers of tensors for a child of the fork that follows, which cannot make any.

    Where nobody has used the library yet, the child can use all of it.
    """
    if not lib.tl_is_started():
        return
    try:
        tensor = info.uninitialised(1, DType.UINT8)
        [tensor[:] for _ in range(_RESERVED)]
    except Error:
        return  # a child of fork() itself, or one that is out of memory


os.register_at_fork(before=_reserve)


def or_undelivered(load: Any) -> Any:
    """Lets a function that loads answer in a child of fork(), too."""

    def answer(*arguments: Any) -> Any:
        for given in arguments:
            if isinstance(given, Undelivered):
                return given
        try:
            return load(*arguments)
        except ForkedError as error:
            return Undelivered(str(error))  # the error itself would keep the frames, and the memory, of its traceback

    return functools.wraps(load)(answer)


def _over(memory: memoryview, dtype: DType, shape: tuple[int, ...]) -> Tensor:
    """Returns a tensor over the bytes, which it keeps."""
    layout = Layout(0, shape, row_major(shape))
    over = Memory(address_of(memory), layout, dtype, memory.readonly, memory)
    tensor: Tensor = info.borrow(over)
    return tensor


@or_undelivered
def load_bytes(content: bytes, dtype: str, shape: Any, device: str) -> Tensor:
    """The storage of a pickle of protocol 4 or below: a tensor in the runtime's memory, and in a child of fork(), which
    may have none left, in Python's."""
    memory, kind, extents = _checked(content, dtype, shape)
    try:
        tensor = _filled(memory, kind, extents)
    except ForkedError:
        tensor = _over(memoryview(bytearray(memory)), kind, extents)
    return _sent_to(device, tensor)


@or_undelivered
def load_buffer(buffer: Any, dtype: str, shape: Any, device: str) -> Tensor:
    """The storage of a pickle of protocol 5: a tensor over the buffer, read-only where the buffer is.

    A buffer that does not begin at a multiple of the element size is copied.
    """
    memory, kind, extents = _checked(buffer, dtype, shape)
    fits = memory.nbytes and address_of(memory) % kind.itemsize == 0
    return _sent_to(device, (_over if fits else _filled)(memory, kind, extents))


@or_undelivered
def load_tensor(storage: Tensor, layout: Any = None) -> Tensor:
    """A tensor over a storage: the storage itself, or a view of it."""
    if layout is None:
        return storage
    offset, shape, strides = layout
    wanted = Layout(int(offset), tuple(map(int, shape)), tuple(map(int, strides)))
    view = lay_out(storage.reshape(storage.size), wanted)
    if view is not None:
        return view
    if storage.device not in (0, _SHARED):
        raise UnsupportedError(f"no steps lead to the view {wanted} of a tensor of {name_of(storage.device)}")
    memory = Memory(storage.data, wanted, storage.dtype, storage.is_read_only, storage)
    made: Tensor = info.borrow(memory)
    return made


for _load in (load_bytes, load_buffer, load_tensor):
    _load.__module__ = "tl_runtime._pickling"  # by which pickles name them, wherever they are
