"""DLPack with the consumers and producers that are installed: NumPy always, PyTorch and JAX where they are."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import in_threads

HAS_VERSIONED = tuple(int(part) for part in numpy.__version__.split(".")[:2]) >= (2, 1)
# NumPy has no bfloat16, and took no bool before 1.25.
EXCHANGED = [d for d in tl.DType if d is not tl.DType.BFLOAT16 and (HAS_VERSIONED or d is not tl.DType.BOOL)]


def is_live(address: int) -> bool:
    return tl.Object(address).status == tl.Status.OK


def name_of(capsule: Any) -> bytes:
    get_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
    name: bytes = get_name(capsule)
    return name


def managed_of(capsule: Any) -> int:
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    address: int = get(capsule, name_of(capsule))
    return address


def flags_of(capsule: Any) -> int:
    return ctypes.c_uint64.from_address(managed_of(capsule) + 24).value


@pytest.mark.parametrize("dtype", EXCHANGED)
def test_numpy_and_back(dtype: tl.DType) -> None:
    tensor = tl.zeros((2, 3), dtype)
    array = numpy.from_dlpack(tensor)
    assert array.ctypes.data == tensor.data
    assert array.dtype == tensor.numpy().dtype
    assert array.flags.writeable == HAS_VERSIONED
    tensor.numpy()[1, 2] = 1
    assert array[1, 2] == 1
    again = tl.from_dlpack(tensor.numpy().T)
    assert again.shape == (3, 2)
    assert again.dtype is dtype
    assert again.data == tensor.data


def test_writes_on_either_side() -> None:
    source = numpy.arange(6.0)
    tensor = tl.from_dlpack(source)
    source[0] = 10
    assert tensor.numpy()[0] == 10
    if HAS_VERSIONED:
        tensor.numpy()[1] = 20
        assert source[1] == 20


def test_whoever_goes_first() -> None:
    tensor = tl.zeros(5)
    address, array = tensor.address, numpy.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert is_live(address)
    del array
    assert not is_live(address)
    tensor = tl.zeros(5)
    address, array = tensor.address, numpy.from_dlpack(tensor)
    del array
    assert is_live(address)
    assert tensor.refcount == 1


def test_a_producer_lives_as_long_as_the_tensor() -> None:
    class Known(numpy.ndarray):
        gone = False

        def __del__(self) -> None:
            Known.gone = True

    tensor = tl.from_dlpack(numpy.arange(3.0).view(Known))
    view = tensor[1:]
    del tensor
    gc.collect()
    assert not Known.gone
    assert view.numpy().tolist() == [1, 2]
    del view
    assert Known.gone


def test_threads_drop_the_last_reference() -> None:
    """The tensor's in one thread and the array's in another, in both orders."""
    for order in (1, -1):
        tensor = tl.zeros(100)
        address = tensor.address
        holders = [[tensor], [numpy.from_dlpack(tensor)], [tl.from_dlpack(tensor)[1:]]]
        del tensor
        for holder in holders[::order]:
            assert is_live(address)
            in_threads(holder.clear)
        assert not is_live(address)


def test_capsules() -> None:
    tensor = tl.zeros((2, 2))
    assert name_of(tensor.__dlpack__()) == b"dltensor"
    assert name_of(tensor.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert name_of(tensor.__dlpack__(max_version=(1, 0))) == b"dltensor_versioned"
    assert name_of(tensor.__dlpack__(max_version=(2, 0), dl_device=(1, 0))) == b"dltensor_versioned"
    assert tensor.__dlpack_device__() == (1, 0)
    assert tensor.refcount == 1  # nobody opened them
    capsule = tensor.__dlpack__(max_version=(1, 3), copy=True)
    assert flags_of(capsule) == 2
    assert flags_of(tensor.__dlpack__(max_version=(1, 3), copy=False)) == 0
    taken = tl.from_dlpack(capsule)
    assert taken.data != tensor.data
    assert name_of(capsule) == b"used_dltensor_versioned"
    with pytest.raises(BufferError, match="taken out"):
        tl.from_dlpack(capsule)


def test_exports_that_are_refused() -> None:
    tensor = tl.zeros(3)
    for wrong in ({"stream": 1}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            tensor.__dlpack__(**wrong)
    locked = numpy.zeros(3)
    locked.flags.writeable = False
    read_only = tl.from_numpy(locked, copy=False)
    with pytest.raises(BufferError, match="read-only"):
        read_only.__dlpack__()
    assert flags_of(read_only.__dlpack__(max_version=(1, 0))) == 1
    assert name_of(read_only.__dlpack__(copy=True)) == b"dltensor"
    if HAS_VERSIONED:
        assert not numpy.from_dlpack(read_only).flags.writeable
        assert tl.from_dlpack(locked).is_read_only


def test_copies() -> None:
    source = numpy.arange(3.0)
    copied = tl.from_dlpack(source, copy=True)
    assert copied.data != source.ctypes.data
    assert copied.numpy().tolist() == [0, 1, 2]
    assert tl.from_dlpack(source, copy=False).data == source.ctypes.data
    assert tl.from_dlpack(source, device="cpu").data == source.ctypes.data
    with pytest.raises(BufferError, match="cuda"):
        tl.from_dlpack(source, device="cuda")


class Elsewhere:
    """A producer whose arrays are on another device."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


class Old:
    """A producer of before DLPack 1.0."""

    def __init__(self, tensor: tl.Tensor) -> None:
        self.tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.tensor.__dlpack__()


class Altered(Old):
    """A producer with an unusual struct: bytes of it are overwritten."""

    def __init__(self, tensor: tl.Tensor, offset: int, value: bytes) -> None:
        super().__init__(tensor)
        self.offset, self.value = offset, value

    def __dlpack__(self, stream: Any = None, max_version: Any = None) -> Any:
        capsule = self.tensor.__dlpack__(max_version=(1, 0))
        ctypes.memmove(managed_of(capsule) + self.offset, self.value, len(self.value))
        return capsule


def test_unusual_producers() -> None:
    tensor = tl.zeros(3)
    assert tl.from_dlpack(Old(tensor)).data == tensor.data
    with pytest.raises(BufferError, match="device"):
        tl.from_dlpack(Elsewhere())
    for source in (object(), [1]):
        with pytest.raises(TypeError, match="from_dlpack: source is a (object|list), which has no __dlpack__"):
            tl.from_dlpack(source)
    for offset, value, why in ((0, b"\2", "DLPack 2"), (32 + 22, b"\4", "lanes"), (32 + 16, b"\x63", "rank 99")):
        with pytest.raises(BufferError, match=why):
            tl.from_dlpack(Altered(tensor, offset, value))
        assert tensor.refcount == 1  # the capsule kept what was in it, and gave it back


def test_arrays_that_no_tensor_can_hold() -> None:
    for source in (
        numpy.zeros(2, "f4").astype(numpy.longdouble),
        numpy.zeros(2, "datetime64[s]"),
        numpy.zeros(2, ">f4"),
    ):
        with pytest.raises((BufferError, TypeError)):
            tl.from_dlpack(source)


def test_capsules_that_outlive_the_interpreter(python: Any) -> None:
    """Consumers' structs and capsules are ended by C, when nothing of Python is left."""
    python(
        """
        import ctypes, sys
        import numpy
        tensors = [tl.zeros(10) for _ in range(4)]
        sys.forever = [t.__dlpack__(max_version=(1, 0)) for t in tensors] + [t.__dlpack__() for t in tensors]
        sys.arrays = [numpy.from_dlpack(t) for t in tensors] + [tl.from_dlpack(numpy.ones(3)) for _ in range(4)]
        incref = ctypes.pythonapi.Py_IncRef
        incref.argtypes = [ctypes.py_object]
        incref(sys.forever[0])
        incref(sys.arrays[0])
        """
    )


@pytest.fixture
def torch() -> Iterator[Any]:
    yield pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def jax() -> Iterator[Any]:
    yield pytest.importorskip("jax", reason="JAX is not installed")


def test_torch_and_back(torch: Any) -> None:
    for dtype in ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "complex64"):
        tensor = tl.zeros((2, 3), dtype)
        theirs = torch.from_dlpack(tensor)
        assert theirs.data_ptr() == tensor.data
        assert str(theirs.dtype) == f"torch.{dtype}"
        theirs[1, 2] = 1
        assert tensor.clone().data != tensor.data
        again = tl.from_dlpack(theirs.t())
        assert again.shape == (3, 2)
        assert again.dtype is tensor.dtype
        assert again.data == tensor.data
    tensor = tl.zeros(4)
    theirs = torch.from_dlpack(tensor)
    theirs[1] = 5
    assert tensor.numpy().tolist() == [0, 5, 0, 0]
    tensor.numpy()[2] = 6
    assert theirs.tolist() == [0, 5, 6, 0]


def test_torch_lifetimes(torch: Any) -> None:
    for order in (1, -1):
        tensor = tl.zeros(8)
        address = tensor.address
        holders = [[tensor], [torch.from_dlpack(tensor)], [tl.from_dlpack(torch.from_dlpack(tensor))[2:]]]
        del tensor
        for holder in holders[::order]:
            assert is_live(address)
            in_threads(holder.clear)
        assert not is_live(address)


def test_jax_and_back(jax: Any) -> None:
    tensor = tl.from_numpy(numpy.arange(6, dtype="float32").reshape(2, 3))
    theirs = jax.numpy.from_dlpack(tensor)
    assert (numpy.asarray(theirs) == tensor.numpy()).all()
    ours = tl.from_dlpack(jax.numpy.arange(5) * 2)
    assert ours.numpy().tolist() == [0, 2, 4, 6, 8]
    address = tensor.address
    del tensor
    gc.collect()
    assert float(theirs[1, 2]) == 5
    del theirs
    gc.collect()
    assert not is_live(address)


def arranged(array: Any) -> Iterator[Any]:
    """The same elements with gaps, backwards, with other axes outermost, and again and again."""
    yield array[::2, ::-1]
    yield array.T[::-1]
    yield numpy.moveaxis(array, 0, -1)[1:, ..., ::-3]
    yield numpy.broadcast_to(array[:1], array.shape)
    yield numpy.broadcast_to(array[..., :1], array.shape)
    yield array[:0]


@pytest.mark.skipif(not HAS_VERSIONED, reason="needs DLPack 1.0")
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_copies_are_those_of_numpy(dtype: str) -> None:
    for shape in ((3, 5), (40, 70), (17, 3, 33), (2, 130, 1, 7)):
        array = (numpy.arange(numpy.prod(shape)) * 37 % 251).astype(dtype).reshape(shape)
        for view in arranged(array):
            lent = tl.from_dlpack(view)
            assert lent.shape == view.shape
            assert numpy.array_equal(numpy.asarray(lent.clone()), view)
            assert numpy.array_equal(numpy.asarray(lent.to("cpu")), view)
            assert numpy.array_equal(numpy.from_dlpack(lent, copy=True), view)


@pytest.mark.skipif(os.environ.get("TL_FASTPATH") == "0", reason="every call is a slow one")
def test_exchanges_need_no_slow_call() -> None:
    array, times = numpy.arange(12, dtype="float32").reshape(3, 4)[::-1], 200
    tensor = tl.from_dlpack(array)

    def exchange() -> None:
        tl.from_dlpack(array).clone()
        tl.from_dlpack(tensor)
        numpy.from_dlpack(tensor)

    exchange()
    before = tl.stats()["slow_calls"]
    for _ in range(times):
        exchange()
    assert tl.stats()["slow_calls"] - before <= times / 20
