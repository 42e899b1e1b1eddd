"""Memory resources: what hands out blocks of a device, and the memory pool, which is the fast one.

    with tl.MemoryPool("cuda:0", limit=4 << 30) as pool:
        address = pool.allocate(4096)
        pool.deallocate(address)
        weights = pool.empty((64, 64), "float32")   # a tensor in a block of the pool
        print(pool.statistics.current_usage)

Resources stack as RMM's do: tl.mr has adaptors that limit, log and count.
"""

from __future__ import annotations

import ctypes
import math
import threading
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Union

from .. import _abi
from .._binding import deferred
from .._binding.library import check, check_pointer, last_error, lib
from .._binding.numbers import size
from .._dtype import DType, DTypeLike, to_dtype
from .._errors import BusyError
from .._tensor.devices import Device, DeviceAllocator, DeviceLike, device, device_allocator
from .._tensor.tensor import Tensor, empty, own
from .._tensor.views import shape_array

DEFAULT_BYTES = 256 << 20  # TL_MEMORY_POOL_DEFAULT_BYTES

Self = TypeVar("Self", bound="MemoryResource")


class MemoryResource(ABC):
    """Hands out blocks of memory of one device, as addresses.

    Any thread may use a resource. An address is given back to the resource that it came from.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call it."""

    @property
    @abstractmethod
    def alignment(self) -> int:
        """The alignment of every block."""

    @property
    @abstractmethod
    def device(self) -> Device | None:
        """The device of the memory; None over an allocator of the program's own."""

    @abstractmethod
    def allocate(self, nbytes: int, stream: int | None = None) -> int:
        """Returns the address of a block of nbytes, 0 for no bytes; with a stream, for work that is put there next.

        Raises MemoryError (LimitError, OutOfMemoryError) when there is no memory.
        """

    @abstractmethod
    def deallocate(self, address: int, nbytes: int | None = None, stream: int | None = None) -> None:
        """Takes a block back; with a stream, once the work that is there now is done. nbytes is the size that was
        requested, if it is given."""

    def block(self, nbytes: int, stream: int | None = None) -> Block:
        """Returns a block that goes back by itself: at the end of a with statement, or with its last holder."""
        return Block(self, nbytes, stream)

    def empty(
        self, shape: int | Sequence[int], dtype: DTypeLike = DType.FLOAT32, stream: int | None = None
    ) -> Tensor:
        """Returns a tensor with undefined contents in a block of this resource, to which the block goes back with the
        last holder of the tensor's memory."""
        kind = to_dtype(dtype)
        extents, array = shape_array(shape)
        where = self.device
        if where is None:
            raise ValueError(f"empty: {self.name} is memory of an unknown device, which no tensor can name")
        if min(extents, default=0) < 0 or math.prod(extents) == 0:
            return empty(extents, kind, where.number)
        block = self.block(math.prod(extents) * kind.itemsize, stream)
        info = _abi.tl_tensor_info(data=block.address, dtype=kind, rank=len(extents), device=where.number)
        info.struct_size = ctypes.sizeof(info)
        info.shape = array
        kept = deferred.keep(block)
        made = lib.tl_tensor_wrap(ctypes.byref(info), deferred.DELETER, kept)
        if made is None:
            error = last_error()
            deferred.forget(kept)
            raise error
        return own(made)


class Block:
    """A block of a memory resource, which goes back once: by close(), at the end of a with statement, or with the last
    holder of this object."""

    __slots__ = ("__weakref__", "_address", "_resource", "nbytes", "stream")

    def __init__(self, resource: MemoryResource, nbytes: int, stream: int | None = None) -> None:
        self._resource: MemoryResource | None = None
        self.nbytes, self.stream = nbytes, stream
        self._address = resource.allocate(nbytes, stream)
        self._resource = resource

    @property
    def address(self) -> int:
        """The address of the memory; 0 for no bytes."""
        if self._resource is None:
            raise ValueError("address: this block was given back")
        return self._address

    @property
    def is_live(self) -> bool:
        """Whether the block is still out."""
        return self._resource is not None and self._address != 0

    def __sizeof__(self) -> int:
        """What sys.getsizeof counts: this object, and nbytes while the block is out. A tensor in the block borrows that
        memory, which does not count there."""
        return object.__sizeof__(self) + (self.nbytes if self.is_live else 0)

    def close(self) -> None:
        """Gives the block back; once is enough."""
        resource, self._resource = self._resource, None
        if resource is not None and self._address:
            resource.deallocate(self._address, self.nbytes, self.stream)

    def __enter__(self) -> Block:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_resource", None) is not None:
            self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Block is memory of this process and cannot be pickled or copied")


class DeviceResource(MemoryResource):
    """The memory of a device as the device gives it, every block by a call of its driver."""

    def __init__(self, which: DeviceLike = "cpu", *, pinned: bool = False) -> None:
        self._device = device(which)
        self._allocator = device_allocator(which, pinned=pinned)
        self._is_pinned = pinned

    def __repr__(self) -> str:
        return f"tl.mr.DeviceResource({self._device.name!r}{', pinned=True' if self._is_pinned else ''})"

    @property
    def name(self) -> str:
        return self._allocator.name

    @property
    def alignment(self) -> int:
        return self._allocator.alignment

    @property
    def device(self) -> Device | None:
        return device("cpu") if self._is_pinned else self._device

    def allocate(self, nbytes: int, stream: int | None = None) -> int:
        _without_stream("allocate", self.name, stream)
        return self._allocator.allocate(nbytes)

    def deallocate(self, address: int, nbytes: int | None = None, stream: int | None = None) -> None:
        _without_stream("deallocate", self.name, stream)
        if nbytes is None:
            raise TypeError(f"deallocate: {self.name} needs nbytes, the size that was requested")
        if address:
            self._allocator.deallocate(address, nbytes)


def _without_stream(what: str, name: str, stream: int | None) -> None:
    if stream:
        raise ValueError(f"{what}: {name} knows no order of streams; a tl.MemoryPool over it does")


@dataclass(frozen=True)
class MemoryPoolStatistics:
    """The counters of a memory pool, read at one moment; bytes are those of blocks, whose sizes are rounded."""

    total_allocated: int  # bytes ever given out
    total_freed: int  # of them, bytes that came back
    current_usage: int  # bytes of live blocks
    peak_usage: int  # the most that current_usage was, ever or since tl.reset_peak_memory_stats
    num_allocations: int
    num_deallocations: int
    num_pool_allocations: int
    num_device_allocations: int  # chunks ever obtained
    reserved: int  # bytes of the chunks that the pool has
    largest_free_block: int
    num_free_blocks: int
    waiting_bytes: int  # given back in the order of a stream, and not free yet
    num_waiting_blocks: int

    @property
    def live_blocks(self) -> int:
        """Blocks that were given out and have not come back."""
        return self.num_allocations - self.num_deallocations


Upstream = Union[DeviceLike, DeviceAllocator, MemoryResource]


class MemoryPool(MemoryResource):
    """A memory pool: blocks cut out of chunks of a device's memory, exact best fit.

    upstream is what the chunks come from: a device by name, number or Device, a DeviceAllocator, or a resource of
    tl.mr. limit bounds the bytes of all chunks. A pool ends with close(), or at the end of a with statement; it
    refuses to end while blocks are live, because their memory would go with it.
    """

    def __init__(
        self, upstream: Upstream = "cpu", *, initial_bytes: int = DEFAULT_BYTES, limit: int | None = None
    ) -> None:
        self._handle: int | None = None
        self._lock = threading.Lock()  # held while the pool ends
        self._blocks: weakref.WeakSet[Block] = weakref.WeakSet()
        self._allocator, self._device = _source(upstream)
        self._name = self._allocator.name
        handle = ctypes.c_void_p()
        check(
            lib.tl_memory_pool_create(
                self._allocator.pointer, size(initial_bytes, "initial_bytes"), ctypes.byref(handle)
            )
        )
        self._handle = handle.value
        self._limit: int | None = None
        if limit is not None:
            try:
                self.limit = limit
            except BaseException:
                self.close()
                raise

    def __repr__(self) -> str:
        if self._handle is None:
            return f"tl.MemoryPool({self._name!r}, closed)"
        now = self.statistics
        used = f"{now.current_usage} of {now.reserved} bytes in use"
        return f"tl.MemoryPool({self._name!r}, {used}, {now.live_blocks} live blocks)"

    def _open(self, what: str) -> int:
        handle = self._handle
        if handle is None:
            raise ValueError(f"{what}: the memory pool over {self._name} is closed")
        return handle

    @property
    def name(self) -> str:
        return f"a memory pool over {self._name}"

    @property
    def alignment(self) -> int:
        return self._allocator.alignment

    @property
    def device(self) -> Device | None:
        return self._device

    @property
    def closed(self) -> bool:
        """Whether the pool has ended."""
        return self._handle is None

    @property
    def handle(self) -> int:
        """The tl_memory_pool* for functions of the library and for emitted code."""
        return self._open("handle")

    def allocate(self, nbytes: int, stream: int | None = None) -> int:
        handle, nbytes = self._open("allocate"), size(nbytes, "nbytes")
        if stream is None:
            return check_pointer(lib.tl_memory_pool_allocate(handle, nbytes)) if nbytes else 0
        stream = size(stream, "stream")
        return check_pointer(lib.tl_memory_pool_allocate_async(handle, nbytes, stream)) if nbytes else 0

    def deallocate(self, address: int, nbytes: int | None = None, stream: int | None = None) -> None:
        handle, address = self._open("deallocate"), size(address, "address")
        if address == 0:
            return
        if stream is None:
            check(lib.tl_memory_pool_deallocate(handle, address))
        else:
            check(lib.tl_memory_pool_deallocate_async(handle, address, size(stream, "stream")))

    @property
    def limit(self) -> int | None:
        """The bytes that all chunks together may have; None for no limit of the pool's own."""
        return self._limit

    @limit.setter
    def limit(self, nbytes: int | None) -> None:
        number = 0 if nbytes is None else size(nbytes, "limit")
        if nbytes is not None and number == 0:
            raise ValueError("limit: 0 bytes would be a pool that gives nothing; None is no limit")
        check(lib.tl_memory_pool_set_limit(self._open("limit"), number))
        self._limit = nbytes

    @property
    def statistics(self) -> MemoryPoolStatistics:
        """The counters of the pool, all at one moment."""
        counters = _abi.tl_memory_pool_stats()
        counters.struct_size = ctypes.sizeof(counters)
        check(lib.tl_memory_pool_stats_get(self._open("statistics"), ctypes.byref(counters)))
        return MemoryPoolStatistics(**{name: getattr(counters, name) for name, *_ in counters._fields_[1:]})

    def trim(self) -> None:
        """Gives chunks without a live block back to the device."""
        check(lib.tl_memory_pool_trim(self._open("trim")))

    def block(self, nbytes: int, stream: int | None = None) -> Block:
        made = super().block(nbytes, stream)
        self._blocks.add(made)
        return made

    def reset(self) -> None:
        """Takes all blocks back at once; their addresses are invalid from here on. BusyError while block() or empty()
        have made something that still holds one: it would give the next holder's block back."""
        handle = self._open("reset")
        deferred.drain()
        held = sum(block.is_live for block in list(self._blocks))
        if held:
            raise BusyError(f"reset: tensors or Block objects hold blocks of {self.name}: {held}; end these first")
        check(lib.tl_memory_pool_reset(handle))

    def close(self) -> None:
        """Ends the pool and gives its memory back; BusyError while blocks are live. Once is enough."""
        with self._lock:
            if self._handle is not None:
                deferred.drain()  # blocks of tensors that have ended
                check(lib.tl_memory_pool_destroy(self._handle))
                self._handle = None

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            self.close()
        except BusyError:
            if error is None:  # else what went wrong is the exception that is on its way
                raise

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is None:
            return
        try:
            self.close()
        except BusyError:
            _abandoned.append(self._allocator)
            warnings.warn(
                f"{self.name} was dropped while {self.statistics.live_blocks} of its blocks are live; its memory stays",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )

    def __reduce__(self) -> Any:
        raise TypeError("a MemoryPool is memory of this process and cannot be pickled or copied; make another one")


_abandoned: list[DeviceAllocator] = []  # what pools refer to for ever


def _source(upstream: Upstream) -> tuple[DeviceAllocator, Device | None]:
    """What gives a pool its chunks, and the device whose memory that is."""
    if isinstance(upstream, DeviceAllocator):
        return upstream, None
    if isinstance(upstream, DeviceResource):
        return upstream._allocator, upstream.device
    if isinstance(upstream, MemoryResource):
        return _as_allocator(upstream), upstream.device
    return device_allocator(upstream), device(upstream)


def _as_allocator(resource: MemoryResource) -> DeviceAllocator:
    """A resource in the form that C takes. What it calls is called by the library, so it cannot be a pool again."""
    below: Any = resource
    while below is not None:
        if isinstance(below, MemoryPool):
            raise TypeError(f"upstream: {resource.name} is memory of a pool, and a pool cannot call another one")
        below = getattr(below, "upstream", None)

    def allocate(nbytes: int) -> int:
        try:
            return resource.allocate(nbytes)
        except MemoryError:
            return 0

    return DeviceAllocator(allocate, resource.deallocate, name=resource.name, alignment=resource.alignment)
