"""pandas: frames and series over a tensor's memory."""

from __future__ import annotations

import copy
import pickle

import pytest

numpy = pytest.importorskip("numpy")
pandas = pytest.importorskip("pandas")

import tl_runtime as tl


def counted(*shape: int) -> tl.Tensor:
    return tl.from_numpy(numpy.arange(float(numpy.prod(shape))).reshape(shape))


def test_a_series_over_a_tensor() -> None:
    tensor = counted(5)
    series = pandas.Series(tensor.numpy(), copy=False)
    assert numpy.shares_memory(series.to_numpy(), tensor.numpy())
    assert series.sum() == 10


def test_a_frame_over_a_tensor() -> None:
    tensor = counted(4, 3)
    frame = pandas.DataFrame(tensor.numpy(), columns=list("abc"), copy=False)
    assert numpy.shares_memory(frame.to_numpy(), tensor.numpy())
    assert frame["b"].tolist() == [1, 4, 7, 10]
    assert frame.groupby(frame["a"] > 4).sum()["c"].tolist() == [7, 19]


def test_a_frame_keeps_the_tensor() -> None:
    tensor = counted(4, 3)
    address = tensor.address
    frame = pandas.DataFrame(tensor.numpy(), copy=False)
    del tensor
    assert tl.Object(address).status == tl.Status.OK
    assert frame.iloc[3, 2] == 11


def test_back() -> None:
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    tensor = tl.from_numpy(frame.to_numpy(), copy=False)
    assert tensor.numpy().tolist() == [[1, 3], [2, 4]]
    column = tl.from_numpy(frame["a"].to_numpy(), copy=False)
    assert column.numpy().tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(tensor)).numpy().tolist() == [[1, 3], [2, 4]]


def test_copies() -> None:
    tensor = counted(4, 3)
    frame = copy.deepcopy(pandas.DataFrame(tensor.numpy(), copy=False))
    frame.iloc[0, 0] = 77
    assert tensor.numpy()[0, 0] == 0
