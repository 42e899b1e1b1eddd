"""Tensors without NumPy."""

from __future__ import annotations

import copy
import ctypes

import pytest

import tl_runtime as tl
from tl_runtime import _abi


def test_empty() -> None:
    tensor = tl.empty((2, 3), "float32")
    assert tensor.shape == (2, 3)
    assert tensor.strides == (12, 4)
    assert (tensor.ndim, tensor.size, tensor.nbytes, len(tensor)) == (2, 6, 24, 2)
    assert tensor.dtype is tl.DType.FLOAT32
    assert tensor.device == 0
    assert tensor.is_contiguous
    assert tensor.data % 64 == 0
    assert tensor.refcount == 1
    assert "shape=(2, 3), dtype=float32" in repr(tensor)


def test_zeros() -> None:
    for _ in range(3):  # what the pool hands back is zeroed too
        tensor = tl.zeros(100, tl.DType.INT64)
        assert ctypes.string_at(tensor.data, 800) == bytes(800)
        ctypes.memset(tensor.data, 255, 800)
        del tensor


def test_scalar_and_nothing() -> None:
    scalar = tl.empty(())
    assert (scalar.shape, scalar.strides, scalar.size, scalar.nbytes) == ((), (), 1, 4)
    with pytest.raises(TypeError):
        len(scalar)
    nothing = tl.empty((3, 0, 2))
    assert (nothing.size, nothing.nbytes, nothing.data) == (0, 0, 0)


@pytest.mark.parametrize("dtype", tl.DType)
def test_dtypes(dtype: tl.DType) -> None:
    tensor = tl.zeros(5, dtype)
    assert tensor.dtype is dtype
    assert tensor.nbytes == 5 * dtype.itemsize


def test_dtype_numbers_are_those_of_the_header() -> None:
    letters = {"FLOAT": "F", "BFLOAT": "BF", "INT": "I", "UINT": "U", "COMPLEX": "C", "BOOL": "BOOL"}
    names = {}
    for dtype in tl.DType:
        stem = dtype.name.rstrip("0123456789")
        names[letters[stem] + dtype.name[len(stem) :]] = int(dtype)
    assert names == {dtype.name: dtype.value for dtype in _abi.Dtype}


def test_dtypes_by_other_names() -> None:
    for spec, wanted in {float: "FLOAT64", int: "INT64", bool: "BOOL", complex: "COMPLEX128", 16: "BOOL"}.items():
        assert tl.empty(1, spec).dtype is tl.DType[wanted]
    for wrong in ("float33", object, None, 999):
        with pytest.raises(TypeError):
            tl.empty(1, wrong)


def test_shapes_that_are_refused() -> None:
    for make in (tl.empty, tl.zeros):
        for shape in ((-1,), (2, -3), (1 << 40, 1 << 40), (1 << 62,)):
            with pytest.raises(tl.InvalidArgumentError):
                make(shape)
        with pytest.raises(ValueError):
            make((-1,))
        with pytest.raises(tl.DeviceError):
            make(3, device=77)
        with pytest.raises(MemoryError):
            make((1 << 48,))
    assert tl.lib.tl_tensor_empty(999, 0, 0, None) is None
    assert tl.lib.tl_last_status() == tl.Status.INVALID_ARGUMENT


def test_scopes_do_not_end_tensors() -> None:
    with tl.scope():
        tensor = tl.zeros(4)
        assert tensor.refcount == 1
    assert tensor.refcount == 1
    with tl.scope():
        assert tensor.register().refcount == 2
    assert tensor.refcount == 1


def test_tensor_goes_inside_a_scope() -> None:
    with tl.scope():
        tensor = tl.zeros(4)
        address = tensor.address
        del tensor
        assert tl.Object(address).refcount == -1


def test_generated_code_may_take_it_over() -> None:
    """What generated code registers and releases is its own reference, never Python's."""
    tensor = tl.zeros(4)
    with tl.scope():
        tl.lib.tl_tensor_register(tensor.address)
        assert tl.lib.tl_tensor_promote(tensor.address) == 0
        assert tensor.refcount == 2
    assert tl.lib.tl_tensor_release(tensor.address) == 0
    assert tensor.refcount == 1
    ctypes.memset(tensor.data, 1, tensor.nbytes)


def test_from_address() -> None:
    shape = (ctypes.c_int64 * 2)(3, 5)
    with tl.scope():
        address = tl.lib.tl_tensor_new_zeroed(tl.DType.INT32, 0, 2, shape)
        tensor = tl.Tensor.from_address(address)
        assert tensor.refcount == 2
        other = tl.Tensor.from_address(address)
    assert tensor.refcount == 2
    assert (other.shape, other.dtype, other.address) == ((3, 5), tl.DType.INT32, address)


def test_from_wrong_address() -> None:
    with pytest.raises(tl.UnknownPointerError):
        tl.Tensor.from_address(4096)
    with pytest.raises(ValueError):
        tl.Tensor.from_address(0)
    plain = tl.Object.alloc(64)
    with pytest.raises(tl.UnsupportedError):
        tl.Tensor.from_address(plain.address)
    with pytest.raises(tl.InteriorPointerError):
        tl.Tensor.from_address(plain.address + 8)
    plain.free()
    with pytest.raises(tl.NotLiveError):
        tl.Tensor.from_address(plain.address)


def test_clone() -> None:
    tensor = tl.zeros((2, 2))
    ctypes.memset(tensor.data, 7, 16)
    clone = tensor.clone()
    assert clone.address != tensor.address
    assert clone.data != tensor.data
    assert (clone.shape, clone.dtype, clone.refcount) == (tensor.shape, tensor.dtype, 1)
    assert ctypes.string_at(clone.data, 16) == b"\7" * 16
    for copied in (copy.copy(clone), copy.deepcopy(clone), clone.copy()):
        assert copied.data != clone.data
        assert ctypes.string_at(copied.data, 16) == b"\7" * 16


def test_what_is_no_way_to_a_tensor() -> None:
    with pytest.raises(TypeError):
        tl.Tensor()


def test_one_tensor_many_times() -> None:
    """In a steady state the pool serves: memory does not grow."""
    for _ in range(100):
        tl.empty((64, 64))
    before = tl.stats()["committed_bytes"]
    for _ in range(1000):
        tl.empty((64, 64))
    assert tl.stats()["committed_bytes"] == before


def test_stats_add_up() -> None:
    tensors = [tl.empty(10) for _ in range(5)]
    counters = tl.stats()
    assert counters["tensors_live"] == 5
    assert counters["allocations"] - counters["frees"] == counters["live_objects"]
    assert tl.live_count() >= 5
    del tensors
    tl.purge()
    assert tl.stats()["tensors_live"] == 0
    assert tl.stats()["pooled_tensors"] == 0
    assert tl.live_count() == 0


def test_shutdown_leaves_tensors_valid() -> None:
    tensor = tl.zeros(100)
    tl.shutdown()
    assert ctypes.string_at(tensor.data, 400) == bytes(400)
    again = tl.zeros(100)
    assert again.refcount == tensor.refcount == 1


def test_configure() -> None:
    tl.configure("TL_ON_ERROR", "ignore")
    with pytest.raises(tl.InvalidArgumentError):
        tl.configure("TL_NO_SUCH_OPTION", "1")
    with pytest.raises(tl.InvalidArgumentError):
        tl.configure("TL_ON_ERROR", "sing")
