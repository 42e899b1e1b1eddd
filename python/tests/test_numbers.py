"""Integers that have more bits than C takes, and names of which C would see the beginning."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

import tl_runtime as tl

MORE = 1 << 64
CUT = (OverflowError, ctypes.ArgumentError, ValueError)


def plan() -> tl.Plan:
    made = tl.Plan()
    made.add_buffers([(64, 0, 1), (64, 0, 1)])
    return made


CALLS: dict[str, Callable[[], object]] = {
    "zeros": lambda: tl.zeros((MORE + 2,)),
    "empty": lambda: tl.empty((MORE + 2,)),
    "device of zeros": lambda: tl.zeros(2, device=1 << 32),
    "device": lambda: tl.device(1 << 32),
    "device_memory": lambda: tl.device_memory(1 << 32),
    "device_allocator": lambda: tl.device_allocator(1 << 32),
    "set_memory_limit": lambda: tl.set_memory_limit(1 << 32, hard=1 << 40),
    "memory_usage": lambda: tl.memory_usage(1 << 32),
    "set_tensor_pool_limits": lambda: tl.set_tensor_pool_limits(MORE, MORE),
    "frame": lambda: tl.frame(MORE + 64).__enter__(),
    "function_frame": lambda: tl.function_frame(MORE + 1).__enter__(),
    "arena": lambda: tl.arena(MORE + 4096).__enter__(),
    "alloc": lambda: tl.Object.alloc(MORE + 8),
    "alignment": lambda: tl.DeviceAllocator(lambda _: 0, lambda *_: None, alignment=MORE),
    "allocate": lambda: tl.device_allocator("cpu").allocate(MORE + 8),
    "from_address": lambda: tl.Tensor.from_address(MORE + tl.zeros(3).address),
    "total_bytes": lambda: tl.device_allocator("cpu").register(total_bytes=MORE),
    "allocation_info": lambda: tl.allocation_info(MORE + tl.zeros(3).address),
    "leak_report": lambda: tl.leak_report("/dev/null", since=MORE),
    "slice": lambda: tl.zeros(6)[:: MORE + 1],
    "reshape": lambda: tl.zeros(6).reshape(MORE + 6),
    "transpose": lambda: tl.zeros((2, 3)).transpose(MORE + 1, MORE),
    "swapaxes": lambda: tl.zeros((2, 3)).swapaxes(1 << 32, 1),
    "broadcast_to": lambda: tl.zeros((2, 1)).broadcast_to(2, MORE + 3),
    "expand_dims": lambda: tl.zeros(3).expand_dims(1 << 32),
    "squeeze": lambda: tl.zeros((2, 1)).squeeze((1 << 32) + 1),
    "alias": lambda: plan().alias(MORE, 1),
    "pin": lambda: plan().pin(MORE, 0),
    "offset": lambda: plan().offset(MORE),
    "add_gap": lambda: plan().add_gap(MORE, 0, 1),
    "space_bytes": lambda: plan().space_bytes(MORE),
    "set_spaces": lambda: plan().set_spaces(0, [MORE]),
    "cpu and more": lambda: tl.zeros(3, device="cpu\0x"),
    "name of a buffer": lambda: plan().add_buffer(64, first=0, end=1, name="a\0b"),
    "name of an allocator": lambda: tl.DeviceAllocator(lambda _: 0, lambda *_: None, name="a\0b"),
    "any name": lambda: tl.lib.tl_trace_mark(b"a\0b"),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_cut_off(name: str) -> None:
    with pytest.raises(CUT):
        CALLS[name]()
    assert tl.scope_depth() == 0 and not tl.lib.tl_arena_is_active()


def test_an_address_with_more_bits_is_none() -> None:
    live = tl.Object.alloc(64)
    for other in (tl.Object(MORE + live.address), tl.Object(live.address - MORE)):
        for call in (other.free, other.check, lambda: other.refcount):
            with pytest.raises(ctypes.ArgumentError, match="is not between 0 and"):
                call()
    for value, nbytes in ((256, 8), (-1, 8), (1, MORE + 8), (1, -1)):
        with pytest.raises(ctypes.ArgumentError, match="is not between 0 and"):
            tl.device_fill(0, live.address, value, nbytes)
    live.free()


@pytest.mark.parametrize("which", [b"cpu", 1.0, None, [0]])
def test_what_names_no_device_is_said_so(which: object) -> None:
    with pytest.raises(TypeError, match="is no device"):
        tl.device(which)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a\0b", 5, "\ud800"])
def test_a_bad_name_adds_no_buffer(name: object) -> None:
    planned = plan()
    with pytest.raises((TypeError, ValueError)):
        planned.add_buffer(64, first=0, end=2, name=name)  # type: ignore[arg-type]
    assert len(planned) == 2


def test_lengths_are_numbers_also_as_bytes() -> None:
    assert tl.SparseMatrix.empty((8, 300), b"\1\2\3\4\5\6\7\x08").nnz == 36  # type: ignore[arg-type]


def test_what_is_too_long_is_said_so() -> None:
    for call in (lambda: tl.zeros(3, device="x" * 100000), lambda: tl.configure("TL_TRACK", "x" * 1000000)):
        with pytest.raises(tl.InvalidArgumentError, match="is longer than 4095 bytes"):
            call()
