"""Tensors that grow along their first axis."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl


@pytest.mark.parametrize("width", [1, 64, 5000])
def test_a_cache_grows_by_rows(width: int) -> None:
    cache = tl.empty((0, width), "float32").reserve(200)
    data, arrays = 0, []
    for row in range(200):
        cache = cache.resize(row + 1)
        cache.numpy()[row] = row
        data = data or cache.data
        assert cache.data == data
    assert cache.shape == (200, width)
    assert (cache.numpy()[:, 0] == numpy.arange(200)).all()
    for row in range(200, 600):  # without room
        cache = cache.resize(row + 1, zero=True)
        assert not cache.numpy()[row].any()
        cache.numpy()[row] = row
        if row % 100 == 0:
            arrays.append((row, cache.clone().numpy()))
    assert (cache.numpy()[:, -1] == numpy.arange(600)).all()
    for row, array in arrays:
        assert array.shape == (row + 1, width) and (array[:, 0] == numpy.arange(row + 1)).all()
    cache = cache.resize(3)
    assert cache.numpy()[:, 0].tolist() == [0, 1, 2] and cache.capacity >= 600


def test_arrays_keep_what_they_show() -> None:
    first = tl.from_numpy(numpy.arange(6.0).reshape(3, 2))
    array = first.numpy()
    second = first.resize(100_000, zero=True)
    second.numpy()[:] = 7
    assert array.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert second.shape == (100_000, 2) and second.refcount == 1
    del second
    third = first.reserve(10)
    assert third.shape == (3, 2) and third.numpy().tolist() == array.tolist()
    del first, third
    assert array.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_arrays_outlive_rows_that_were_left_out() -> None:
    tensor = tl.empty((0, 1024)).reserve(10_000).resize(5000)
    array = tensor.numpy()
    array[:] = 7
    tensor = tensor.resize(2)
    tl.purge()
    assert (array[:2] == 7).all() and array.shape == (5000, 1024)
    array[:] = 8  # still there, whatever it shows
    assert (tensor.numpy() == 8).all()


def test_an_object_that_was_replaced() -> None:
    old = tl.zeros((1, 4), "int32").reserve(100)
    new = old.resize(90, zero=True)
    with pytest.raises(tl.Error, match="references"):
        new.resize(91)
    del new
    new = old.resize(5000)
    assert new.shape == (5000, 4) and not new.numpy()[:90].any()


def test_what_does_not_grow() -> None:
    tensor = tl.zeros((4, 4))
    with pytest.raises(tl.Error, match="references"):
        view = tensor.T
        tensor.resize(5)
    del view
    capsule = tensor.__dlpack__()
    with pytest.raises(tl.Error, match="references"):
        tensor.resize(5)
    del capsule
    assert tensor.resize(5).shape == (5, 4)
    for other in (tensor.T, tl.from_numpy(numpy.zeros(4), copy=False)):
        with pytest.raises(tl.Error, match="clone"):
            other.resize(2)
    with pytest.raises(tl.Error, match="axis"):
        tl.zeros(()).resize(2)
    with pytest.raises(tl.Error, match="extent"):
        tensor.resize(-1)
    with pytest.raises(tl.Error, match="extent"):
        tensor.reserve(-1)
    assert tensor.T.capacity == 4


@pytest.mark.parametrize("rows", [600, 900, 6000])
def test_near_a_limit_a_resize_gets_what_it_needs(rows: int) -> None:
    tensor = tl.empty((rows, 256), "float32")
    tensor.numpy()[:] = 7
    more = rows + rows // 12
    tl.purge()
    tl.set_memory_limit("cpu", hard=tl.memory_usage("cpu").reserved + (more + 128) * 1024)
    try:
        tensor = tensor.resize(more)
    finally:
        tl.set_memory_limit("cpu")
    assert tensor.shape == (more, 256) and (tensor.numpy()[:rows] == 7).all()
