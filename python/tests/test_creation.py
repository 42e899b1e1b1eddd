"""ones, full, arange and asarray."""

from __future__ import annotations

import array
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl


def test_ones_and_full() -> None:
    assert tl.ones((2, 2)).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert tl.ones(3, "bool").tolist() == [True] * 3
    for value, dtype in ((1, "int64"), (1.5, "float32"), (True, "bool"), (2j, "complex64")):
        made = tl.full(2, value)
        assert (made.dtype, made.tolist()) == (dtype, [value] * 2)
    assert tl.full((2, 2), [1, 2]).tolist() == [[1, 2], [1, 2]]
    assert tl.full(2, numpy.float64(0.1)).item(0) == 0.1
    assert tl.full(2, 300, "uint16").tolist() == [300, 300]
    assert tl.full((0, 3), 7).shape == (0, 3)
    with pytest.raises(TypeError):
        tl.full(2, "text")
    with pytest.raises(ValueError):
        tl.full((2, 2), [1, 2, 3])


RANGES = [(5,), (2, 9), (2, 9, 3), (9, 2, -2), (0, 1, 0.25), (3, 3), (5.5,), (2**62, 2**62 + 2)]


@pytest.mark.parametrize("given", RANGES, ids=str)
def test_arange(given: tuple[Any, ...]) -> None:
    want = numpy.arange(*given)
    made = tl.arange(*given)
    assert made.dtype == ("int64" if want.dtype.kind == "i" else "float32")
    assert made.tolist() == want.astype(made.dtype).tolist()
    assert tl.arange(*given, dtype="float64").tolist() == want.astype("float64").tolist()


def test_ranges_without_an_end() -> None:
    with pytest.raises(ValueError, match="arange: step is 0"):
        tl.arange(0, 3, 0)


def test_asarray_shares_where_it_can() -> None:
    tensor = tl.zeros(3)
    assert tl.asarray(tensor) is tensor
    assert tl.asarray(tensor, "float32", "cpu", copy=False) is tensor
    source = numpy.arange(6.0).reshape(2, 3)
    shared = tl.asarray(source.T)
    assert shared.data == source.ctypes.data and shared.shape == (3, 2)
    shared[0, 1] = 99
    assert source[1, 0] == 99
    buffer = array.array("i", [1, 2, 3])
    assert tl.asarray(buffer).data == buffer.buffer_info()[0]

    class Exchanged:
        def __dlpack__(self, **options: Any) -> Any:
            return source.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return source.__dlpack_device__()

    assert tl.asarray(Exchanged()).data == source.ctypes.data


def test_asarray_copies_where_it_must() -> None:
    source = numpy.arange(6, dtype="int32")
    odd = numpy.zeros(6, [("a", "u1"), ("b", "i4")])["b"]
    odd[:] = source
    for given in (source.astype(">i4"), odd, source.tolist()):
        made = tl.asarray(given)
        assert made.tolist() == source.tolist()
        with pytest.raises((ValueError, TypeError)):
            tl.asarray(given, copy=False)
    assert tl.asarray(source, copy=True).data != source.ctypes.data
    assert tl.asarray(tl.asarray(source), copy=True).data != source.ctypes.data
    assert tl.asarray(2.5).tolist() == 2.5 and tl.asarray([[1, 2], [3, 4]]).shape == (2, 2)
    assert tl.asarray(numpy.float32(2.5)).dtype == "float32"
    made = tl.asarray([1.7, -2.3], "int32")
    assert (made.dtype, made.tolist()) == ("int32", [1, -2])
    with pytest.raises(ValueError, match="asarray: int32 becomes float32 by a copy"):
        tl.asarray(source, "float32", copy=False)
    assert made.refcount == 1


def test_what_no_tensor_holds() -> None:
    for given, what in ((["a"], "list"), (object(), "object"), (numpy.zeros(2, "M8[s]"), "numpy.ndarray")):
        with pytest.raises(TypeError, match=f"asarray: obj is a {what} of elements"):
            tl.asarray(given)
    with pytest.raises(ValueError):
        tl.asarray([[1], [1, 2]])
