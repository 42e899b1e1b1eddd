"""Polars: series over a tensor's memory, by Arrow's C data interface, without pyarrow."""

from __future__ import annotations

import gc

import pytest

numpy = pytest.importorskip("numpy")
polars = pytest.importorskip("polars")

import tl_runtime as tl


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint64", "bool"])
def test_a_series_of_numbers(dtype: str) -> None:
    tensor = tl.from_numpy((numpy.arange(9) % 5).astype(dtype))
    series = polars.Series("x", tensor)
    assert series.to_list() == tensor.numpy().tolist()


def test_a_series_of_arrays() -> None:
    tensor = tl.from_numpy(numpy.arange(12, dtype="int32").reshape(4, 3))
    series = polars.Series("x", tensor)
    assert series.dtype == polars.Array(polars.Int32, 3)
    assert series.to_list() == tensor.numpy().tolist()


def test_no_copy() -> None:
    tensor = tl.from_numpy(numpy.arange(1000.0))
    series = polars.Series("x", tensor)
    array = series.to_numpy(allow_copy=False)
    assert array.ctypes.data == tensor.data
    address = tensor.address
    del tensor
    gc.collect()
    assert tl.Object(address).status == tl.Status.OK
    assert series.sum() == 499500
    del series, array
    gc.collect()
    assert tl.Object(address).status != tl.Status.OK


def test_a_frame() -> None:
    frame = polars.DataFrame({"x": polars.Series(tl.from_numpy(numpy.arange(6) % 2)), "y": polars.Series([1] * 6)})
    assert frame.group_by("x").sum().sort("x")["y"].to_list() == [3, 3]


def test_back() -> None:
    series = polars.Series("x", [1.0, 2.0, 3.0])
    tensor = tl.from_numpy(series.to_numpy(), copy=False)
    assert tensor.is_read_only and tensor.numpy().tolist() == [1, 2, 3]
