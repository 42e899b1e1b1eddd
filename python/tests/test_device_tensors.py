"""Tensors on devices: those of drivers of the tests' own, and a device of Python's."""

from __future__ import annotations

import ctypes
import gc
import itertools
import threading
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import Run
from test_devices import fake_cuda  # noqa: F401  the fixture

NAMES = (f"pydev:{number}" for number in itertools.count())
FAR = 1 << 61  # no processor reaches what lies there


class Far:
    """A device whose memory is bytes of Python's, at addresses that nobody can touch."""

    def __init__(self) -> None:
        self.blocks: dict[int, bytearray] = {}
        self.next, self.lock = FAR, threading.Lock()
        self.fail: BaseException | None = None

    def allocate(self, nbytes: int) -> int | None:
        with self.lock:
            if nbytes > 16 << 20:
                return None
            start, self.next = self.next, self.next + nbytes + 4096
            self.next += -self.next % 4096
            self.blocks[start] = bytearray(nbytes)
            return start

    def deallocate(self, address: int, nbytes: int) -> None:
        with self.lock:
            assert len(self.blocks.pop(address)) == nbytes

    def part(self, address: int, nbytes: int) -> memoryview:
        if self.fail is not None:
            raise self.fail
        with self.lock:
            start = max(start for start in self.blocks if start <= address)
            return memoryview(self.blocks[start])[address - start : address - start + nbytes]

    def from_host(self, to: int, source: int, nbytes: int) -> None:
        self.part(to, nbytes)[:] = ctypes.string_at(source, nbytes)

    def to_host(self, to: int, source: int, nbytes: int) -> None:
        ctypes.memmove(to, bytes(self.part(source, nbytes)), nbytes)

    def within(self, to: int, source: int, nbytes: int) -> None:
        self.part(to, nbytes)[:] = bytes(self.part(source, nbytes))

    def register(self, **more: Any) -> tl.Device:
        memory = tl.DeviceAllocator(self.allocate, self.deallocate, name=next(NAMES))
        return memory.register(from_host=self.from_host, to_host=self.to_host, within=self.within, **more)


def test_a_device_of_python() -> None:
    far = Far()
    device = far.register(total_bytes=16 << 20)
    assert (device.kind, device.host_access, device.total_bytes) == (tl.DeviceKind.CUSTOM, False, 16 << 20)
    source = numpy.arange(24.0).reshape(4, 6)
    tensor = tl.from_numpy(source).to(device)
    assert tensor.device == device.number
    assert device.name in repr(tensor)
    assert (tensor.shape, tensor.dtype, tensor.nbytes) == ((4, 6), tl.DType.FLOAT64, 192)
    assert (tensor.cpu().numpy() == source).all()
    assert (tensor.T[1:, ::2].cpu().numpy() == source.T[1:, ::2]).all()
    assert (tensor.T.clone().cpu().numpy() == source.T).all()
    assert tensor.to(device.name) is tensor
    assert tensor.cpu().cpu().device == 0
    zeros = tl.zeros((4, 6), "float64", device=device.name)
    assert not zeros.cpu().numpy().any()
    assert (zeros.copy_from(tensor).cpu().numpy() == source).all()
    del tensor, zeros
    tl.purge()
    assert far.blocks == {}


def test_the_cpu_cannot_use_it() -> None:
    far = Far()
    device = far.register()
    tensor = tl.zeros(5, device=device)
    assert not hasattr(tensor, "__array_interface__")
    with pytest.raises(TypeError, match=rf"is on {device.name}, whose memory the CPU cannot use; copy it with cpu\(\)"):
        tensor.numpy()
    with pytest.raises(TypeError, match="copy it with cpu"):
        numpy.asarray(tensor)
    with pytest.raises(BufferError):
        tensor.__buffer__(0)
    with pytest.raises(BufferError, match="DLPack has no number for"):
        tensor.__dlpack_device__()
    with pytest.raises(tl.UnsupportedError, match="without streams"):
        tensor.record_stream(5)
    tensor.record_stream(0)
    del tensor
    gc.collect()  # tracebacks of what was raised hold it
    tl.purge()
    assert far.blocks == {}


def test_memory_that_the_cpu_uses() -> None:
    blocks: dict[int, Any] = {}

    def allocate(nbytes: int) -> int:
        room = ctypes.create_string_buffer(nbytes + 64)
        address = (ctypes.addressof(room) + 63) // 64 * 64
        blocks[address] = room
        return address

    memory = tl.DeviceAllocator(allocate, lambda address, nbytes: blocks.pop(address) and None, name=next(NAMES))
    device = memory.register(host_access=True, total_bytes=1 << 20)
    tensor = tl.zeros((3, 4), device=device)
    tensor.numpy()[1, 2] = 7
    assert numpy.asarray(tensor)[1, 2] == 7
    assert tensor.__dlpack_device__() == (1, 0)
    assert numpy.from_dlpack(tensor)[1, 2] == 7
    assert tensor.T.cpu().numpy()[2, 1] == 7
    del tensor
    tl.purge()
    assert blocks == {}


def test_exceptions_fail_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    far = Far()
    device = far.register()
    tensor = tl.zeros(5, device=device)
    far.fail = RuntimeError("no")
    with pytest.raises(tl.DeviceError, match="to_host of pydev:[0-9]+ answered"):
        tensor.cpu()
    with pytest.raises(tl.DeviceError, match="within"):
        tensor.clone()
    far.fail = None
    assert tensor.cpu().numpy().sum() == 0
    assert [type(shown.exc_value) for shown in seen] == [RuntimeError, RuntimeError]
    with pytest.raises(MemoryError):
        tl.empty(17 << 20, "uint8", device)
    del tensor
    seen.clear()
    gc.collect()
    tl.purge()
    assert far.blocks == {}


def test_devices_are_checked() -> None:
    far = Far()
    memory = tl.DeviceAllocator(far.allocate, far.deallocate, name="Not A Name")
    with pytest.raises(tl.InvalidArgumentError):
        memory.register(host_access=True)
    with pytest.raises(tl.InvalidArgumentError, match="from_host, to_host and within"):
        tl.DeviceAllocator(far.allocate, far.deallocate, name=next(NAMES)).register(from_host=far.from_host)
    name = next(NAMES)
    memory = tl.DeviceAllocator(far.allocate, far.deallocate, name=name)
    closed = memory.register()
    with pytest.raises(tl.AlreadyRegisteredError):
        memory.register()
    with pytest.raises(tl.UnsupportedError, match="without a way to copy"):
        tl.zeros(4, device=closed)
    tl.purge()
    assert far.blocks == {}
    with pytest.raises(tl.DeviceError):
        tl.zeros(4).to("cuda:77")
    with pytest.raises(tl.DeviceError):
        tl.empty(4, device=4711)


CUDA = """
import ctypes
import numpy
driver = ctypes.CDLL(LIBRARY)
driver.fakecuda_waited.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
driver.fakecuda_stream.restype = ctypes.c_size_t
"""


def run_with_cuda(python: Run, library: str, program: str, **environment: str) -> str:
    lines = "\n".join(line[8:] if line.startswith(" " * 8) else line for line in program.splitlines())
    text = CUDA.replace("LIBRARY", repr(library)) + lines
    environment.update(TL_CUDA_LIBRARY=library, TL_OPENCL_LIBRARY="/nowhere.so", FAKECUDA_DEVICES="2")
    return python(text, **environment).stdout


def test_cuda_and_dlpack(python: Run, fake_cuda: str) -> None:  # noqa: F811
    program = """
        source = numpy.arange(6, dtype="int32").reshape(2, 3)
        tensor = tl.from_numpy(source).to("cuda:1")
        assert tensor.__dlpack_device__() == (2, 1)
        again = tl.from_dlpack(tensor)
        assert again.device == tensor.device and again.data == tensor.data
        assert (again.cpu().numpy() == source).all()
        near = tl.from_dlpack(tensor, device="cpu")
        assert near.device == 0 and (near.numpy() == source).all()
        assert tl.from_dlpack(source, device=(2, 0)).__dlpack_device__() == (2, 0)
        for kwargs in ({"dl_device": (2, 0)}, {"dl_device": (1, 0), "copy": False}, {"stream": 0}):
            try:
                tensor.__dlpack__(**kwargs)
            except BufferError as error:
                print(error)
            else:
                raise AssertionError(kwargs)
        flags = []
        here, there = {"dl_device": (1, 0)}, {"dl_device": (2, 1)}
        for kwargs in ({}, {"copy": True}, here, {**here, "copy": True}, there):
            capsule = tensor.__dlpack__(max_version=(1, 0), **kwargs)
            get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
                ("PyCapsule_GetPointer", ctypes.pythonapi))
            flags.append(ctypes.c_uint64.from_address(get(capsule, b"dltensor_versioned") + 24).value)
            taken = tl.from_dlpack(capsule)
            assert (taken.cpu().numpy() == source).all()
            assert (taken.data == tensor.data) == (kwargs in ({}, there))
        assert flags == [0, 2, 2, 2, 0], flags
        try:
            tl.from_dlpack(tensor, device=0, copy=False)
        except BufferError as error:
            print(error)
        try:
            tensor.numpy()
        except TypeError as error:
            print(error)
        del tensor, again, near, taken, capsule
        tl.purge()
        assert driver.fakecuda_outstanding() == 0
        """
    told = run_with_cuda(python, fake_cuda, program)
    assert "cannot be exported to device (2, 0)" in told
    assert "comes to the CPU by a copy, and copy is False" in told
    assert "stream 0 may mean two things" in told
    assert "not copied to cpu with copy=False" in told
    assert "the tensor is on cuda:1, whose memory the CPU cannot use; copy it with cpu() first" in told


def test_consumers_wait_for_producers(python: Run, fake_cuda: str) -> None:  # noqa: F811
    program = """
        tensor, mine, theirs = tl.zeros(8, device="cuda"), driver.fakecuda_stream(), driver.fakecuda_stream()
        def waited(stream, other):
            return driver.fakecuda_waited(stream, other)
        tensor.__dlpack__(stream=-1)
        assert waited(theirs, 0) == waited(1, 0) == 0
        tensor.__dlpack__(stream=theirs)
        assert waited(theirs, 0) == 1
        tensor.__dlpack__()
        assert waited(1, 0) == 1
        tensor.__dlpack__(stream=2)
        assert waited(2, 0) == 1
        tensor.record_stream(mine)
        tensor.__dlpack__(stream=theirs)
        assert waited(theirs, mine) == 1
        tensor.__dlpack__(dl_device=(1, 0))
        assert waited(0, mine) == 1
        """
    run_with_cuda(python, fake_cuda, program)


def test_the_default_device(python: Run, fake_cuda: str) -> None:  # noqa: F811
    program = """
        tensor = tl.zeros((2, 2))
        assert tl.device(tensor.device).name == "cuda:1"
        assert tl.empty(3).device == tensor.device
        assert tl.zeros(3, device=0).device == tl.from_numpy(numpy.zeros(3)).device == 0
        assert tensor.T[1].device == tensor.device
        tl.configure("TL_DEVICE", "cpu")
        tl.zeros(3).numpy()[0] = 1
        """
    run_with_cuda(python, fake_cuda, program, TL_DEVICE="cuda:1")


def test_devices_of_this_machine() -> None:
    """PoCL is one where there is no GPU."""
    kinds = (tl.DeviceKind.CUDA, tl.DeviceKind.OPENCL, tl.DeviceKind.METAL)
    found = [device for device in tl.devices() if device.kind in kinds]
    if not found:
        pytest.skip("skip: no driver of a device is installed; PoCL would do")
    source = numpy.random.default_rng(7).standard_normal((33, 65))
    for device in found:
        tensor = tl.from_numpy(source).to(device)
        assert (tensor.cpu().numpy() == source).all()
        assert (tensor.T.clone().cpu().numpy() == source.T).all()
        assert (tensor[3:30:4].cpu().numpy() == source[3:30:4]).all()
        assert not tl.zeros((33, 65), "float64", device).cpu().numpy().any()
        if device.kind == tl.DeviceKind.CUDA:
            assert tl.from_dlpack(tensor).data == tensor.data
        del tensor
    tl.purge()
    assert tl.lib.tl_get_gpu_total_allocated_bytes() == 0
