"""Views of tensors, compared with what NumPy makes of the same memory."""

from __future__ import annotations

import gc
import random
import sys

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import in_threads
from tl_runtime._tensor.tensor import CtypesTensor


def counting(*shape: int) -> tl.Tensor:
    tensor = tl.empty(shape, "int64")
    tensor.numpy()[...] = numpy.arange(tensor.size).reshape(shape)
    return tensor


def is_live(address: int) -> bool:
    return tl.Object(address).status == tl.Status.OK


def assert_same(view: tl.Tensor, array: numpy.ndarray) -> None:
    got = view.numpy()
    assert got.shape == array.shape
    assert (got == array).all()
    if array.size:
        assert got.ctypes.data == array.ctypes.data
        assert [s for s, d in zip(got.strides, got.shape) if d > 1] == [
            s for s, d in zip(array.strides, array.shape) if d > 1
        ]


INDICES = [
    0,
    -1,
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(-2, None, -1),
    slice(5, 1),
    slice(-100, 100, 2),
    ...,
    None,
    (),
    (1, 2),
    (slice(None), 1),
    (..., 0),
    (0, ..., slice(None, None, 2)),
    (None, ..., None),
    (slice(None), None, -1, slice(2, 0, -1)),
    (1, ..., None, 0),
    (0, 0, 0),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_mean_what_they_mean_to_numpy(index: object) -> None:
    tensor = counting(2, 3, 4)
    array = tensor.numpy()
    want = array[index]
    view = tensor[index]
    assert view.base is not None
    assert view.base.address == tensor.address
    assert view.shape == want.shape
    assert (view.numpy() == want).all()


def test_random_indices() -> None:
    draw = random.Random(1)
    tensor = counting(3, 1, 4, 2)
    array = tensor.numpy()
    for _ in range(300):
        index = tuple(
            draw.choice([slice(draw.randint(-5, 5), draw.randint(-5, 5), draw.choice([1, 2, -1, -3])), slice(None), 0])
            for _ in range(draw.randint(0, 4))
        )
        assert_same(tensor[index], array[index]) if any(isinstance(i, slice) for i in index) else None


@pytest.mark.parametrize("index", [2, -3, (0, 0, 0, 0), (..., ...), (0, 3)])
def test_indices_out_of_range(index: object) -> None:
    with pytest.raises(IndexError):
        counting(2, 3, 4)[index]


@pytest.mark.parametrize("index", [1.5, "a", [0, 1], numpy.array([True, False])])
def test_indices_that_no_view_has(index: object) -> None:
    with pytest.raises(TypeError):
        counting(2, 3)[index]
    with pytest.raises(ValueError):
        counting(2, 3)[::0]


def test_other_views() -> None:
    tensor = counting(2, 3, 1)
    array = tensor.numpy()
    for view, same in (
        (tensor.reshape(3, 2), array.reshape(3, 2)),
        (tensor.reshape((6,)), array.reshape(6)),
        (tensor.reshape(-1), array.reshape(-1)),
        (tensor.reshape(2, -1, 1, 3), array.reshape(2, 1, 1, 3)),
        (tensor.T, array.T),
        (tensor.transpose(1, 2, 0), array.transpose(1, 2, 0)),
        (tensor.transpose((2, 0, 1)), array.transpose(2, 0, 1)),
        (tensor.swapaxes(0, -1), array.swapaxes(0, -1)),
        (tensor.squeeze(), array.squeeze()),
        (tensor.squeeze(-1), array.squeeze(-1)),
        (tensor.expand_dims(1), numpy.expand_dims(array, 1)),
        (tensor.broadcast_to(2, 2, 3, 5), numpy.broadcast_to(array, (2, 2, 3, 5))),
        (tensor.broadcast_to((-1, -1, 4)), numpy.broadcast_to(array, (2, 3, 4))),
    ):
        assert_same(view, same)
        assert (view.clone().numpy() == same).all()
        assert view.clone().is_contiguous
        assert view.is_contiguous == same.flags.c_contiguous
    assert counting().reshape(1, 1).shape == (1, 1)
    assert counting(3, 0).T.shape == (0, 3)


def test_views_that_need_a_copy() -> None:
    with pytest.raises(tl.UnsupportedError, match="clone"):
        counting(2, 3).T.reshape(6)
    with pytest.raises(ValueError, match="tl_view_reshape"):
        counting(2, 3).reshape(5)
    with pytest.raises(ValueError, match="axis 7"):
        counting(2, 3).swapaxes(0, 7)


def test_rows() -> None:
    assert [row.numpy().tolist() for row in counting(2, 3)] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError):
        iter(counting())


def test_writes_are_seen_through_all() -> None:
    tensor = counting(2, 3)
    column = tensor[:, 1]
    column.numpy()[:] = -1
    assert tensor.numpy().tolist() == [[0, -1, 2], [3, -1, 5]]


def test_a_view_keeps_the_storage() -> None:
    tensor = counting(4, 4)
    address, view = tensor.address, tensor[1:3].T[0]
    assert view.base is not None and view.base.address == address
    del tensor
    gc.collect()
    assert is_live(address)
    assert view.numpy().tolist() == [4, 8]
    array = view.numpy()
    del view
    assert is_live(address)
    del array
    assert not is_live(address)


def test_the_last_view_goes_in_another_thread() -> None:
    holder = [counting(4)[1:]]
    address = holder[0].base.address
    in_threads(holder.clear)
    assert not is_live(address)


def test_negative_strides_are_borrowed() -> None:
    array = numpy.arange(12, dtype="int32").reshape(3, 4)[::-1, ::-2]
    tensor = tl.from_numpy(array, copy=False)
    assert tensor.strides == array.strides
    assert_same(tensor, array)
    assert (tensor.clone().numpy() == array).all()
    tensor.numpy()[0, 0] = 99
    assert array[0, 0] == 99


def test_read_only_arrays_make_read_only_tensors() -> None:
    array = numpy.arange(4.0)
    array.flags.writeable = False
    tensor = tl.from_numpy(array, copy=False)
    for view in (tensor, tensor[1:], tl.Tensor.from_address(tensor.address)):
        assert view.is_read_only
        assert not view.numpy().flags.writeable
    assert not tensor.clone().is_read_only
    assert not tl.zeros(3).is_read_only


def test_buffers() -> None:
    """__buffer__ is called by Python 3.12 and newer; what it returns is the same before."""
    for dtype in tl.DType:
        for tensor in (
            tl.zeros((2, 3), dtype),
            tl.zeros((2, 3), dtype).T,
            tl.zeros((), dtype),
            tl.zeros((0, 2), dtype),
        ):
            memory = tensor.__buffer__(0)
            assert memory.shape == tensor.shape
            assert memory.itemsize == tensor.dtype.itemsize
            assert not memory.readonly
    tensor = counting(2, 3)
    memory = tensor.__buffer__(0)
    memory[1, 2] = 77
    assert tensor.numpy()[1, 2] == 77
    address = tensor.address
    del tensor
    gc.collect()
    assert memory[1, 2] == 77
    del memory
    gc.collect()
    assert not is_live(address)
    array = numpy.arange(3.0)
    array.flags.writeable = False
    assert tl.from_numpy(array, copy=False).__buffer__(0).readonly


def test_arrays_do_not_come_through_buffers_of_arrays() -> None:
    """NumPy asks a Python class for a buffer first, from Python 3.12 on; with gaps one is made of numpy()."""
    limit = sys.getrecursionlimit()
    for dtype in tl.DType:
        for tensor in (tl.zeros((3, 4), dtype), tl.zeros((3, 4), dtype).T, tl.zeros((3, 0), dtype)):
            tensor = CtypesTensor.from_address(tensor.address)  # the way that has no buffers of its own
            sys.setrecursionlimit(limit_now() + 30)
            try:
                arrays = [tensor.numpy(), numpy.asarray(tensor)]
            finally:
                sys.setrecursionlimit(limit)
            assert arrays[0].base is tensor
            for array in arrays:
                assert (array.shape, array.itemsize, array.dtype.kind) == (tensor.shape, dtype.itemsize, arrays[0].dtype.kind)
                assert not array.size or array.ctypes.data == tensor.data


def limit_now() -> int:
    """How deep the caller's stack is."""
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
