"""Devices and allocators: the CPU's, those of a driver of the tests' own, and Python's."""

from __future__ import annotations

import ctypes
import gc
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run, in_threads
from tl_runtime import _abi

DRIVERS = Path(__file__).resolve().parents[2] / "runtime" / "device"


@pytest.fixture(scope="session")
def fake_cuda(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A CUDA driver of the tests' own, built from C."""
    source, cc = DRIVERS / "cuda" / "testdata" / "fakecuda.c", shutil.which("cc")
    if cc is None or not source.is_file():
        pytest.skip("skip: no C compiler, or no checkout with the driver of the tests' own")
    library = tmp_path_factory.mktemp("drivers") / "libfakecuda.so"
    subprocess.run([cc, "-shared", "-fPIC", "-O1", "-o", library, source, "-lpthread"], check=True)
    return str(library)


class Memory:
    """An allocator's functions over buffers of ctypes."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.lock = threading.Lock()

    def allocate(self, nbytes: int) -> int:
        room = ctypes.create_string_buffer(nbytes + 64)
        address = (ctypes.addressof(room) + 63) // 64 * 64
        with self.lock:
            self.blocks[address] = (room, nbytes)
        return address

    def deallocate(self, address: int, nbytes: int) -> None:
        with self.lock:
            assert self.blocks.pop(address)[1] == nbytes


def test_the_cpu_is_device_0() -> None:
    cpu = tl.device("cpu")
    assert (cpu.number, cpu.name, cpu.kind, cpu.host_access) == (0, "cpu", tl.DeviceKind.CPU, True)
    assert tl.device(0) == cpu
    assert tl.default_device() == cpu
    free, total = tl.device_memory(0)
    assert 0 < free <= total == cpu.total_bytes


def test_memory_of_the_cpu() -> None:
    memory = tl.device_allocator("cpu")
    assert (memory.name, memory.alignment) == ("cpu", 64)
    block = memory.allocate(10_000)
    assert ctypes.string_at(block, 10_000) == bytes(10_000)
    tl.device_fill(0, block, 7, 5_000)
    text = ctypes.create_string_buffer(b"copied", 6)
    tl.device_copy(0, block + 5_000, "cpu", ctypes.addressof(text), 6)
    assert ctypes.string_at(block + 4_998, 8) == b"\x07\x07copied"
    memory.deallocate(block, 10_000)
    with pytest.raises(tl.UnknownPointerError, match="is no block of cpu, or was returned already"):
        memory.deallocate(block, 10_000)
    with pytest.raises(tl.OutOfMemoryError):
        memory.allocate(1 << 60)
    assert memory.allocate(0) == 0


def test_wrong_devices() -> None:
    for which in (-1, 4096):
        with pytest.raises(tl.DeviceError, match="there is no device"):
            tl.device(which)
        with pytest.raises(tl.DeviceError):
            tl.device_allocator(which)
    with pytest.raises(tl.InvalidArgumentError, match="no name of a device"):
        tl.device("GPU 0")
    with pytest.raises(tl.UnsupportedError, match="cpu has no pinned memory"):
        tl.device_allocator("cpu", pinned=True)
    with pytest.raises(tl.InvalidArgumentError):
        tl.device_copy(0, 4096, 0, 4096, 1)


def test_devices_of_a_driver(python: Run, fake_cuda: str) -> None:
    program = """
        import ctypes
        names = [device.name for device in tl.devices()]
        assert names[:4] == ["cpu", "shared", "cuda:0", "cuda:1"], names
        cuda = tl.device("cuda:1")
        assert (cuda.description, cuda.driver, cuda.total_bytes) == ("Fake Device 1", "CUDA 12.4", 1 << 30)
        assert cuda.stream_ordered and not cuda.host_access
        assert tl.default_device() == cuda
        memory, pinned = tl.device_allocator(cuda.number), tl.device_allocator("cuda:1", pinned=True)
        block, host = memory.allocate(1 << 20), pinned.allocate(1 << 20)
        assert tl.device_memory("cuda:1")[0] == (1 << 30) - (1 << 20)
        ctypes.memset(host, 0x5A, 1 << 20)
        tl.device_copy("cuda:1", block, "cpu", host, 1 << 20)
        ctypes.memset(host, 0, 1 << 20)
        tl.device_copy("cpu", host, "cuda:1", block, 1 << 20)
        assert ctypes.string_at(host, 1 << 20) == b"\\x5a" * (1 << 20)
        memory.deallocate(block, 1 << 20)
        pinned.deallocate(host, 1 << 20)
        try:
            memory.allocate((1 << 30) + 1)
        except MemoryError as error:
            print(error)
    """
    result = python(program, TL_CUDA_LIBRARY=fake_cuda, FAKECUDA_DEVICES="2", TL_DEVICE="cuda:1")
    assert "TL_E_OUT_OF_MEMORY: cuda:1 has no block of 1073741825 bytes" in result.stdout


def test_drivers_are_loaded_when_wanted(python: Run, fake_cuda: str) -> None:
    python(
        """
        def loaded():
            return "libfakecuda" in open("/proc/self/maps").read()
        memory = tl.device_allocator("cpu")
        memory.deallocate(memory.allocate(4096), 4096)
        tl.device(0), tl.default_device(), tl.zeros(8)
        assert not loaded()
        tl.devices()
        assert loaded()
        """,
        TL_CUDA_LIBRARY=fake_cuda,
    )


def test_a_failing_driver_is_told(python: Run, fake_cuda: str) -> None:
    program = """
        try:
            tl.device("cuda")
        except tl.DeviceError as error:
            print(error)
    """
    told = python(program, TL_CUDA_LIBRARY=fake_cuda, FAKECUDA_FAIL="cuInit:1:100").stdout
    assert "cuda:0: cuInit" in told and "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected" in told
    told = python(program, TL_CUDA_LIBRARY="/nowhere/libcuda.so").stdout
    assert "no CUDA driver here; looked for /nowhere/libcuda.so" in told


def test_an_allocator_of_python() -> None:
    memory = Memory()
    allocator = tl.DeviceAllocator(memory.allocate, memory.deallocate, name="mine")
    assert repr(allocator) == "tl.DeviceAllocator('mine')"
    struct = allocator.pointer.contents
    assert (struct.struct_size, struct.name, struct.alignment) == (ctypes.sizeof(struct), b"mine", 64)
    block = allocator.allocate(1000)
    assert list(memory.blocks) == [block] and block % 64 == 0
    allocator.deallocate(block, 1000)
    assert memory.blocks == {}


def test_callbacks_live_as_long_as_the_allocator() -> None:
    """Nothing but the allocator refers to them, and the collector has run."""
    memory = Memory()
    allocator = tl.DeviceAllocator(lambda nbytes: memory.allocate(nbytes), lambda p, n: memory.deallocate(p, n))
    address = ctypes.addressof(allocator.pointer.contents)
    gc.collect()
    as_in_c = _abi.tl_device_allocator.from_address(address)
    for nbytes in range(1, 200):
        block = as_in_c.allocate(as_in_c.ctx, nbytes)
        as_in_c.deallocate(as_in_c.ctx, block, nbytes)
    assert memory.blocks == {}


def test_threads_without_python_may_call_it() -> None:
    memory = Memory()
    allocator = tl.DeviceAllocator(memory.allocate, memory.deallocate)

    def work() -> None:
        for nbytes in range(1, 100):
            allocator.deallocate(allocator.allocate(nbytes), nbytes)

    in_threads(work, [()] * 4)
    assert memory.blocks == {}


def test_an_exception_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)

    def allocate(nbytes: int) -> int:
        raise RuntimeError("no")

    def deallocate(address: int, nbytes: int) -> None:
        raise KeyError(address)

    allocator = tl.DeviceAllocator(allocate, deallocate)
    with pytest.raises(MemoryError, match="python has no 64 bytes"):
        allocator.allocate(64)
    allocator.deallocate(4096, 64)
    assert [type(shown.exc_value) for shown in seen] == [RuntimeError, KeyError]
    assert tl.DeviceAllocator(lambda nbytes: None, deallocate).allocate(0) == 0


def test_bad_addresses_under_faulthandler(python: Run) -> None:
    """faulthandler ends the process at the first fault, so there must be none."""
    result = python("""
        import ctypes, faulthandler, mmap

        faulthandler.enable()
        libc = ctypes.CDLL(None, use_errno=True)
        memory = mmap.mmap(-1, 300 * 4096)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        other = ctypes.addressof(block := ctypes.create_string_buffer(300 * 4096))

        def refused(call, *arguments):
            try:
                call(*arguments)
            except tl.InvalidArgumentError:
                return
            print("not refused", call, arguments)

        for protection in (mmap.PROT_READ, 0):
            libc.mprotect(ctypes.c_void_p(start + 150 * 4096), 4096, protection)
            for first, last in ((150, 151), (149, 152), (0, 300)):
                nbytes = (last - first) * 4096
                refused(tl.device_copy, 0, start + first * 4096, 0, other, nbytes)
                refused(tl.device_fill, 0, start + first * 4096, 1, nbytes)
                if protection == 0:
                    refused(tl.device_copy, 0, other, 0, start + first * 4096, nbytes)
        for nbytes in (2**45, 2**56, 2**64 - 1):
            refused(tl.device_fill, 0, start, 1, nbytes)
            refused(tl.device_copy, 0, start, 0, other, nbytes)
        libc.mprotect(ctypes.c_void_p(start + 150 * 4096), 4096, mmap.PROT_READ | mmap.PROT_WRITE)
        print(memory[:].count(0) == block.raw.count(0) == 300 * 4096)
    """)
    assert result.stdout == "True\n"


@pytest.mark.parametrize("alignment", [0, -8, 3, 48])
def test_alignment_is_a_power_of_two(alignment: int) -> None:
    with pytest.raises(ValueError, match="not a power of two"):
        tl.DeviceAllocator(lambda nbytes: None, lambda address, nbytes: None, alignment=alignment)
