"""NumPy's functions, of the release that is installed, on tensors."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl


def test_functions_take_tensors() -> None:
    given = numpy.arange(12.0).reshape(3, 4)
    tensor = tl.from_numpy(given)
    assert numpy.sum(tensor) == 66
    assert numpy.array_equal(numpy.asarray(tensor), given)
    assert numpy.array_equal(numpy.concatenate([tensor, given]), numpy.concatenate([given, given]))
    assert numpy.array_equal(numpy.add(tensor, 1), given + 1)
    assert numpy.shares_memory(numpy.asarray(tensor), tensor.numpy())
    assert numpy.shares_memory(numpy.from_dlpack(tensor), tensor.numpy())


def test_results_go_into_a_tensor() -> None:
    tensor = tl.zeros((3, 4), "float64")
    numpy.multiply(numpy.ones((3, 4)), 3, out=tensor.numpy())
    assert (tensor.numpy() == 3).all()


def test_files(tmp_path: object) -> None:
    tensor = tl.from_numpy(numpy.arange(6).reshape(2, 3))
    numpy.save(f"{tmp_path}/t.npy", tensor)
    loaded = numpy.load(f"{tmp_path}/t.npy", mmap_mode="r")
    again = tl.from_numpy(loaded, copy=False)
    assert again.is_read_only and numpy.array_equal(again.numpy(), tensor.numpy())
    del again, loaded
    tl.zeros(1)


def test_an_allocator() -> None:
    with tl.numpy_allocator():
        array = numpy.arange(1000.0)
    assert array.sum() == 499500
