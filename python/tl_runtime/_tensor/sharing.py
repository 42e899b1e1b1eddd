"""Tensors of the device "shared" between processes: the same memory, by descriptor.

    tensor = tl.zeros((1000, 1000), device="shared")
    queue.put(tensor)                          # multiprocessing: the receiver writes to the same memory
    queue.put(tensor.share(read_only=True))    # the receiver's tensor is read-only, and so is every later one

    with tensor.share() as shared:             # any other way: a Unix socket, or a descriptor that is inherited
        socket.send_fds(connection, [shared.description], [shared.fd])
    ...
    description, fds, _, _ = socket.recv_fds(connection, 4096, 1)
    with tl.SharedTensor(fds[0], description) as shared:
        tensor = shared.open()

The kernel counts who has the memory. It goes with the last tensor, descriptor or process that has it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import operator
import os
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._binding.library import check, lib
from .._dtype import BY_NUMBER, DType
from . import info
from .info import READ_ONLY, hold
from .pickling import SharedStorage, or_undelivered

if TYPE_CHECKING:
    from .tensor import Tensor

_SHARED = int(_abi.Device.SHARED)
_BYTES = ctypes.sizeof(_abi.tl_tensor_shared)


class SharedTensor:
    """A descriptor of a tensor's memory, and how the elements lie there: what another process opens.

    The object owns the descriptor and closes it at the end of a with statement, by close(), or when it goes. It keeps
    the memory, not the tensor. multiprocessing delivers it as the tensor itself wherever it pickles. A process that it
    makes by fork gets its arguments without a pickle: there it stays this object, and open() gives the tensor.
    """

    __slots__ = ("_struct",)

    def __init__(self, fd: int, description: bytes) -> None:
        self._struct = _abi.tl_tensor_shared(fd=-1)
        if len(description) != _BYTES:
            raise ValueError(f"tl.SharedTensor: the description of a tensor has {_BYTES} bytes, not {len(description)}")
        struct = _abi.tl_tensor_shared.from_buffer_copy(description)
        if not 0 <= struct.rank <= len(struct.shape) or struct.dtype not in BY_NUMBER:
            raise ValueError(
                f"tl.SharedTensor: the description says rank {struct.rank} and element type {struct.dtype}, which no "
                "tensor has"
            )
        struct.fd = -1
        self._struct = struct
        if not -1 <= operator.index(fd) < 2**31:
            raise ValueError(f"tl.SharedTensor: {fd} is no file descriptor")
        self._struct.fd = operator.index(fd)
        join_multiprocessing()

    @classmethod
    def _of(cls, address: int, read_only: bool) -> SharedTensor:
        struct = _abi.tl_tensor_shared(struct_size=_BYTES, fd=-1)
        check(lib.tl_tensor_share(address, READ_ONLY if read_only else 0, ctypes.byref(struct)))
        self = cls.__new__(cls)
        self._struct = struct
        return self

    @property
    def fd(self) -> int:
        """The descriptor; -1 after close()."""
        return int(self._struct.fd)

    def fileno(self) -> int:
        """The descriptor, for functions that take an object with one."""
        if self.fd < 0:
            raise ValueError("tl.SharedTensor: the descriptor was closed")
        return self.fd

    @property
    def description(self) -> bytes:
        """The tl_tensor_shared to send beside the descriptor, with none in it."""
        struct = _abi.tl_tensor_shared.from_buffer_copy(self._struct)
        struct.fd = -1
        return bytes(struct)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self._struct.shape[: self._struct.rank])

    @property
    def dtype(self) -> DType:
        """The element type."""
        dtype = BY_NUMBER.get(self._struct.dtype)
        if dtype is None:
            raise TypeError(
                f"the description has elements of type {self._struct.dtype}, which this version of tl_runtime does not "
                "know; use one version in both processes"
            )
        return dtype

    @property
    def is_read_only(self) -> bool:
        """Whether whoever opens it can only read."""
        return bool(self._struct.flags & READ_ONLY)

    def open(self) -> Tensor:
        """Returns a tensor over the memory. The sender need not be trusted: the library looks at what it maps."""
        self.fileno()
        opened: Tensor = hold(lib.tl_tensor_open(ctypes.byref(self._struct)), info.wrap)
        return opened

    def close(self) -> None:
        """Closes the descriptor; a second call does nothing."""
        fd, self._struct.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> SharedTensor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self, _suppress: Any = contextlib.suppress) -> None:
        with _suppress(AttributeError, OSError, TypeError):  # half made, or as the interpreter ends
            self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a SharedTensor has a file descriptor, which only multiprocessing can pickle; send fd by socket.send_fds() "
            "and description beside it"
        )

    def __repr__(self) -> str:
        where = f"fd={self.fd}" if self.fd >= 0 else "closed"
        dtype = BY_NUMBER.get(self._struct.dtype, self._struct.dtype)
        return f"tl.SharedTensor({where}, shape={self.shape}, dtype={dtype})"


def send(shared: SharedTensor) -> tuple[Any, ...]:
    """How multiprocessing pickles a tensor: by a descriptor that it hands on.

    A process that is being started inherits the descriptor, which has to stay open until then. Otherwise a thread of
    multiprocessing's keeps one of its own until the receiver has asked for it.
    """
    from multiprocessing import context, reduction

    sent = reduction.DupFd(shared.fileno())
    starting = context.get_spawning_popen()
    if starting is not None:
        starting.__dict__.setdefault("_tl_descriptors", []).append(shared)
    else:
        shared.close()
    return receive, (sent, shared.description)


def receive(sent: Any, description: bytes) -> Tensor:
    """What a tensor is unpickled by."""
    try:
        fd = sent.detach()
    except (OSError, EOFError) as error:
        raise ConnectionError(
            "the process that sent a shared tensor has ended, and its descriptor with it; a sender has to live until "
            "what it has sent was received"
        ) from error
    with SharedTensor(fd, description) as shared:
        tensor: Tensor = or_undelivered(shared.open)()
    return tensor


def _send_again(shared: SharedTensor) -> tuple[Any, ...]:
    """Sends a descriptor that stays the sender's."""
    return send(SharedTensor(fcntl.fcntl(shared.fileno(), fcntl.F_DUPFD_CLOEXEC, 3), shared.description))


@functools.cache
def join_multiprocessing() -> None:
    """Tells multiprocessing how to send what has a descriptor; other picklers do not know.

    Its picklers copy what they are told when they are made, so this comes before the first object with a descriptor.
    """
    from multiprocessing.reduction import ForkingPickler

    ForkingPickler.register(SharedTensor, _send_again)
    ForkingPickler.register(SharedStorage, lambda storage: send(storage.shared()))


@functools.cache
def in_reach(device: int) -> bool:
    """Whether the CPU uses the memory of a device at its addresses. Whoever makes a Tensor of a device asks first."""
    if device == _SHARED:
        join_multiprocessing()
        return True
    properties = _abi.tl_device_properties()
    properties.struct_size = ctypes.sizeof(properties)
    return device == 0 or (
        lib.tl_device_info(device, ctypes.byref(properties)) == 0 and bool(properties.host_access)
    )
