"""Devices, and allocators of their memory.

    for device in tl.devices():
        print(device.number, device.name, device.description)

    memory = tl.device_allocator("cuda:0")
    block = memory.allocate(1 << 20)     # an address on the device
    memory.deallocate(block, 1 << 20)

A tl.DeviceAllocator of Python functions serves wherever the C interface takes a
tl_device_allocator. It must live as long as anything that uses it.
"""

from __future__ import annotations

import ctypes
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union

from .. import _abi
from .._binding.callbacks import address_of, answering, need_main_interpreter
from .._binding.library import c_string, check, check_pointer, last_error, lib
from .._binding.numbers import size

DeviceKind = _abi.DeviceKind


@dataclass(frozen=True)
class Device:
    """The properties of a device."""

    number: int
    name: str
    kind: _abi.DeviceKind
    description: str
    driver: str
    total_bytes: int
    alignment: int
    host_access: bool  # the CPU may use its memory at its addresses
    stream_ordered: bool  # memory can be taken and returned in the order of a stream


DeviceLike = Union[str, int, Device]


def device(which: DeviceLike) -> Device:
    """Describes the device with a name ("cuda:0") or a number."""
    properties = _abi.tl_device_properties()
    properties.struct_size = ctypes.sizeof(properties)
    check(lib.tl_device_info(device_number(which), ctypes.byref(properties)))
    return Device(
        number=properties.device,
        name=properties.name.decode(),
        kind=_abi.DeviceKind(properties.kind),
        description=properties.description.decode("utf-8", "replace"),
        driver=properties.driver.decode("utf-8", "replace"),
        total_bytes=properties.total_bytes,
        alignment=properties.alignment,
        host_access=bool(properties.host_access),
        stream_ordered=bool(properties.stream_ordered),
    )


@functools.cache
def name_of(number: int) -> str:
    """Returns the name of a device; a child of fork() knows two of them."""
    always = {int(_abi.Device.CPU): "cpu", int(_abi.Device.SHARED): "shared"}
    return always.get(number) or device(number).name


def devices() -> list[Device]:
    """Returns all devices by number; the first call loads the installed drivers."""
    return [device(number) for number in range(lib.tl_device_count())]


def device_number(which: DeviceLike) -> int:
    """Returns the number of a device by its name; a number is taken as it is."""
    if isinstance(which, Device):
        return which.number
    if isinstance(which, str):
        number = ctypes.c_int32()
        check(lib.tl_device_by_name(c_string(which), ctypes.byref(number)))
        return number.value
    try:
        found = operator.index(which)
    except TypeError:
        raise TypeError(f"{which!r} is no device; a name such as 'cuda:0', a number or a tl.Device is needed") from None
    if not -(1 << 31) <= found < 1 << 31:
        raise OverflowError(f"{found} is no number of a device")
    return found


def default_device() -> Device:
    """Returns the device that the option TL_DEVICE names."""
    number = ctypes.c_int32()
    check(lib.tl_device_default(ctypes.byref(number)))
    return device(number.value)


def device_memory(which: DeviceLike) -> tuple[int, int]:
    """Returns how many bytes of a device are free now, and how many it has; 0 if the device does not tell."""
    free, total = ctypes.c_uint64(), ctypes.c_uint64()
    check(lib.tl_device_memory_info(device_number(which), ctypes.byref(free), ctypes.byref(total)))
    return free.value, total.value


def device_copy(to_device: DeviceLike, to: int, from_device: DeviceLike, source: int, nbytes: int) -> None:
    """Copies bytes between addresses of any two devices; the copy is complete when the call returns."""
    check(lib.tl_device_copy(device_number(to_device), to, device_number(from_device), source, nbytes))


def device_fill(which: DeviceLike, to: int, value: int, nbytes: int) -> None:
    """Sets bytes of a device to a value from 0 to 255."""
    check(lib.tl_device_fill(device_number(which), to, value, nbytes))


Copy = Callable[[int, int, int], None]


class DeviceAllocator:
    """An allocator of two Python functions, in the form that C takes.

    allocate(nbytes) returns the address of a block with the promised alignment, or None or 0 on failure;
    deallocate(address, nbytes) takes it back. The runtime calls them on any thread, on several at a time, and
    they cannot call the runtime. An exception in allocate counts as a failure, and so does a result that is no
    address. Exceptions are shown like those in destructors (sys.unraisablehook).

    The object owns memory that C refers to. Keep it while anything uses the allocator.
    """

    def __init__(
        self,
        allocate: Callable[[int], int | None],
        deallocate: Callable[[int, int], None],
        *,
        name: str = "python",
        alignment: int = 64,
    ) -> None:
        need_main_interpreter("what a device allocates with")
        if alignment <= 0 or alignment & (alignment - 1):
            raise ValueError(f"alignment {alignment} is not a power of two")

        take = answering(lambda _, nbytes: allocate(nbytes), address_of, 0, allocate)
        give = answering(lambda _, block, nbytes: deallocate(block or 0, nbytes), lambda _: None, None, deallocate)
        # The struct refers to both callbacks, and ctypes keeps the object that a field was set to.
        self._struct = _abi.tl_device_allocator(
            ctypes.sizeof(_abi.tl_device_allocator),
            c_string(name),
            size(alignment, "an alignment"),
            None,
            _abi.tl_device_allocate(take),
            _abi.tl_device_deallocate(give),
        )

    def register(
        self,
        *,
        from_host: Copy | None = None,
        to_host: Copy | None = None,
        within: Copy | None = None,
        fill: Callable[[int, int, int], None] | None = None,
        host_access: bool = False,
        total_bytes: int = 0,
    ) -> Device:
        """Adds a device whose memory comes from the allocator; the allocator's name is the device's ("npu:0").

        from_host, to_host and within are called with the address to write, the address to read and a number of
        bytes; fill is called with an address, a value and a number of bytes. host_access says that the CPU may
        use the memory at its addresses; functions that are missing are then not needed. An exception fails the
        copy. The device and the allocator stay until the process ends.
        """
        if from_host or to_host or within or fill:
            need_main_interpreter("what a device copies with")
        copier = _abi.tl_device_copier(
            struct_size=ctypes.sizeof(_abi.tl_device_copier),
            host_access=host_access,
            total_bytes=size(total_bytes, "a size"),
        )
        for field, function in (("from_host", from_host), ("to_host", to_host), ("within", within)):
            if function is not None:
                setattr(copier, field, _abi.tl_device_move(_status(function)))
        if fill is not None:
            copier.fill = _abi.tl_device_set(_status(fill))
        given = ctypes.byref(copier) if host_access or from_host or to_host or within else None
        number = ctypes.c_int32()
        check(lib.tl_device_register(self.pointer, given, ctypes.byref(number)))
        _registered.append((self, copier))
        return device(number.value)

    @classmethod
    def _of(cls, address: int) -> DeviceAllocator:
        """The allocator at an address in the library; the library owns it."""
        self = cls.__new__(cls)
        self._struct = _abi.tl_device_allocator.from_address(address)
        return self

    def __reduce__(self) -> Any:
        raise TypeError("a DeviceAllocator is what C refers to and cannot be pickled or copied; make another one")

    def __repr__(self) -> str:
        return f"tl.DeviceAllocator({self.name!r})"

    @property
    def name(self) -> str:
        """The name that messages use."""
        return bytes(self._struct.name or b"").decode("utf-8", "replace")

    @property
    def alignment(self) -> int:
        """The alignment of every block."""
        return int(self._struct.alignment)

    @property
    def pointer(self) -> Any:
        """A tl_device_allocator* for functions of the library; valid as long as this object lives."""
        return ctypes.pointer(self._struct)

    def allocate(self, nbytes: int) -> int:
        """Returns the address of a new block, as C would get it; raises on failure."""
        size(nbytes, "a size")
        lib.tl_clear_error()
        block = self._struct.allocate(self._struct.ctx, nbytes)
        if block is None and lib.tl_last_status() == 0 and nbytes > 0:
            raise MemoryError(f"{self.name} has no {nbytes} bytes")
        return check_pointer(block)

    def deallocate(self, block: int, nbytes: int) -> None:
        """Gives a block back to this allocator; nbytes is the size that was requested."""
        size(block, "an address"), size(nbytes, "a size")
        lib.tl_clear_error()
        self._struct.deallocate(self._struct.ctx, block, nbytes)
        if lib.tl_last_status() != 0:
            raise last_error()


_registered: list[Any] = []  # what devices refer to for ever


def _status(function: Callable[[int, int, int], None]) -> Callable[..., Any]:
    """Wraps a Python function for C: the wrapper returns a status."""
    return answering(
        lambda _, to, second, nbytes: function(to or 0, second or 0, nbytes),
        lambda _: 0,
        int(_abi.StatusCode.DEVICE),
        function,
    )


def device_allocator(which: DeviceLike, *, pinned: bool = False) -> DeviceAllocator:
    """Returns the allocator of a device, or with pinned that of the CPU memory that the device copies
    fastest."""
    get = lib.tl_device_pinned_allocator_for if pinned else lib.tl_device_allocator_for
    found = get(device_number(which))
    if not found:
        raise last_error()
    return DeviceAllocator._of(ctypes.addressof(found.contents))
