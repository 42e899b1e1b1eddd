"""The values of a tensor: elements, lists, assignment, copies, text, and the types that elements have."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import Run
from tl_runtime._tensor import pickling

NUMPYS = [dtype for dtype in tl.DType if dtype is not tl.DType.BFLOAT16]


def counting(*shape: int, dtype: Any = "int64") -> tl.Tensor:
    tensor = tl.empty(shape, dtype)
    tensor[...] = numpy.arange(tensor.size).reshape(shape)
    return tensor


@pytest.mark.parametrize("dtype", NUMPYS, ids=str)
def test_items_are_numbers_of_python(dtype: tl.DType) -> None:
    array = numpy.array([[0, 1, 1], [1, 0, 1]]).astype(dtype.dtype) * (3 - 2j if dtype.kind == "c" else 1)
    array = array.astype(dtype.dtype)
    tensor = tl.from_numpy(array)
    assert tensor.tolist() == array.tolist()
    assert tensor.T.tolist() == array.T.tolist()
    for index in ((0,), (5,), (-1,), (1, 2), (-1, -3), ((1, 0),)):
        assert tensor.item(*index) == array.item(*index)
        assert type(tensor.item(*index)) is type(array.item(*index))
    assert tensor[0, 1].item() == tensor[0, 1].tolist() == array[0, 1]


def test_extreme_items() -> None:
    for dtype, values in {
        "uint64": [2**64 - 1, 0],
        "int64": [-(2**63), 2**63 - 1],
        "int8": [-128, 127],
        "float16": [65504.0, 6e-8],
        "float32": [float("inf"), -0.0],
        "complex64": [1 - 2j, 0j],
    }.items():
        array = numpy.array(values, dtype)
        tensor = tl.asarray(array, copy=True)
        assert tensor.tolist() == [tensor.item(0), tensor.item(1)] == array.tolist()


def test_items_that_are_not_there() -> None:
    tensor = counting(2, 3)
    for index in ((6,), (-7,), (0, 3), (0, 0, 0)):
        with pytest.raises(IndexError, match="out of range|3 indices"):
            tensor.item(*index)
    with pytest.raises(ValueError, match=r"item: a tensor of shape \(2, 3\) has 6 elements, not one; name one"):
        tensor.item()
    with pytest.raises(TypeError):
        tensor.item(0.5)
    assert counting(1, 1).item() == 0
    assert tl.empty((3, 0)).tolist() == [[], [], []]


def test_numbers() -> None:
    one = tl.full((1, 1), 2.5)
    assert (float(one), int(one), complex(one), bool(one), bool(tl.zeros(()))) == (2.5, 2, 2.5, True, False)
    assert f"{one:.3f}" == "2.500" and f"{one}" == str(one)
    assert [10, 20, 30][tl.full((), 1)] == 20
    for convert in (float, int, complex):
        for tensor in (tl.ones(2), tl.ones(0)):
            with pytest.raises(TypeError, match=f"{convert.__name__}: a tensor of shape"):
                convert(tensor)
    with pytest.raises(TypeError):
        float(tl.full(1, 1j))
    for tensor in (tl.ones(()), tl.full((), True), tl.full(1, 1)):
        with pytest.raises(TypeError, match="only an integer tensor of rank 0 is an index"):
            [1, 2][tensor]


def test_a_truth_value_needs_one_element() -> None:
    for shape in (2, (2, 3), 0, (0, 4)):
        with pytest.raises(ValueError, match="bool: a tensor of shape .* numpy.any or numpy.all"):
            bool(tl.zeros(shape))


INDICES: list[Any] = [
    0,
    -1,
    (1, 2),
    slice(None),
    ...,
    None,
    (..., 1),
    (slice(None, None, -2), slice(1, 3)),
    [1, 0],
    (slice(None), [0, -1]),
    ([0, 1], [2, 0]),
    numpy.array([[True, False, True, False], [False] * 4, [True] * 4]),
    (numpy.array([0, 2]), numpy.newaxis, slice(None, None, 3)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "complex128", "bfloat16"])
def test_assignment_is_numpys(index: Any, dtype: str) -> None:
    tensor, array = tl.zeros((3, 4), dtype), numpy.zeros((3, 4), "float32" if dtype == "bfloat16" else dtype)
    shape = array[index].shape
    counted = numpy.arange(array[index].size).reshape(shape)
    for value in (1, 2.0, counted, tl.ones(shape), tl.full(shape, 1, "bfloat16")):
        tensor[index] = value
        array[index] = value.tolist() if isinstance(value, tl.Tensor) else value
        assert tensor.tolist() == array.tolist()


def test_assignment_by_tensors_and_to_views() -> None:
    tensor = counting(3, 4)
    array = numpy.arange(12).reshape(3, 4)
    places, mask = tl.asarray([2, 0]), tl.asarray([True, False, True])
    tensor[places], array[[2, 0]] = -1, -1
    tensor[mask, 1], array[[True, False, True], 1] = tl.asarray([70, 80]), [70, 80]
    tensor.T[3][...] = 5
    array.T[3] = 5
    tensor[1:], array[1:] = tensor[:-1], array[:-1].copy()
    assert tensor.tolist() == array.tolist()
    row = tensor[0]
    row += row
    array[0] += array[0]
    row.fill(3)
    array[0] = 3
    assert tensor.tolist() == array.tolist()


def test_assignments_that_are_refused() -> None:
    array = numpy.arange(4.0)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="lent for reading only"):
        tl.from_numpy(array, copy=False)[0] = 1
    tensor = tl.zeros((2, 3))
    with pytest.raises(ValueError, match="broadcast"):
        tensor[0] = [1, 2]
    for index in (2, (0, 3), (0, 0, 0)):
        with pytest.raises(IndexError):
            tensor[index] = 1
    with pytest.raises((TypeError, ValueError)):
        tensor[0] = "text"
    assert tensor.tolist() == [[0] * 3] * 2


def test_bfloat16_is_rounded_to_even() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    draw = random.Random(3)
    numbers = numpy.array(
        [draw.uniform(-1, 1) * 10.0 ** draw.randint(-42, 38) for _ in range(2000)]
        + [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 3.4e38, 1.00390625, 1.01171875],
        "float32",
    )
    tensor = tl.asarray(numbers, "bfloat16")
    want = numbers.astype(ml_dtypes.bfloat16)
    assert numpy.array_equal(tensor.numpy().view("u2"), want.view("u2"))
    assert numpy.array_equal(tl.asarray(tensor, "float32").numpy(), want.astype("float32"), equal_nan=True)
    assert tl.asarray([1.5, -2], "bfloat16").tolist() == [1.5, -2.0]
    assert "[ 1.5, -2. ]" in repr(tl.asarray([1.5, -2], "bfloat16")) or "1.5, -2.0" in repr(
        tl.asarray([1.5, -2], "bfloat16")
    )
    assert tl.full((), 2.5, "bfloat16").item() == 2.5


def test_copies() -> None:
    tensor = counting(2, 3)
    column = tensor[:, 1]
    for copied in (tensor.copy(), copy.copy(tensor), copy.deepcopy(tensor)):
        copied[0, 0] = 99
        assert tensor.item(0) == 0
        assert copied.refcount == 1
    assert copy.copy(column).is_contiguous and copy.copy(column).tolist() == [1, 4]
    both = copy.deepcopy([tensor, tensor])
    assert both[0] is both[1]
    with pytest.raises(TypeError, match="copy_from: source is a numpy.ndarray, not a Tensor"):
        tensor.copy_from(numpy.zeros((2, 3)))  # type: ignore[arg-type]
    assert tensor.copy_from(tensor.clone()) is tensor


def test_text() -> None:
    assert repr(counting(2, 2)) == "tl.Tensor([[0, 1],\n           [2, 3]], shape=(2, 2), dtype=int64)"
    assert repr(tl.ones(())) == "tl.Tensor(1., shape=(), dtype=float32)"
    assert repr(tl.ones(0)) == "tl.Tensor([], shape=(0,), dtype=float32)"
    large = repr(counting(1000, 1000))
    assert "..., " in large and len(large) < 600 and "shape=(1000, 1000)" in large
    assert "...," in repr(tl.ones(5000, "bfloat16"))


def test_types_equal_what_numpy_calls_them() -> None:
    for dtype in NUMPYS:
        tensor = tl.zeros(1, dtype)
        other = tl.DType.INT8 if dtype is not tl.DType.INT8 else tl.DType.UINT8
        for spec in (dtype.dtype, dtype.dtype.type, str(dtype), dtype.dtype.name, int(dtype), dtype):
            assert tensor.dtype == spec and spec == tensor.dtype
            assert not (tensor.dtype != spec) and other != spec
        assert numpy.dtype(tensor.dtype) == tensor.dtype.dtype
        assert numpy.zeros(2, tensor.dtype).dtype == tensor.dtype
        assert (tensor.dtype.kind, tensor.dtype.char) == (dtype.dtype.kind, dtype.dtype.char)
        assert {dtype: 1}[tl.DType(int(dtype))] == 1
    assert tl.DType.FLOAT64 == float and tl.DType.BOOL == bool
    assert tl.DType.FLOAT32 != numpy.dtype(">f4")
    for other in (None, object(), "float33", numpy.dtype("datetime64[s]"), 1.5, [0]):
        assert tl.DType.FLOAT32 != other


def test_without_numpy(python: Run) -> None:
    """Elements can be read; what NumPy does says that it needs it."""
    python(
        """
        import sys
        sys.modules["numpy"] = None  # an import fails
        tensor = tl.zeros((2, 2))
        assert tensor.item(3) == 0.0 and tensor.tolist() == [[0.0, 0.0], [0.0, 0.0]] and not tensor[0, 0]
        assert "shape=(2, 2)" in repr(tensor) and tensor.dtype != "int8" and hash(tensor)
        for attempt in (lambda: tensor + 1, lambda: tensor == tensor, lambda: tl.ones(2), lambda: tl.arange(2)):
            try:
                attempt()
            except ImportError as error:
                assert "NumPy" in str(error)
            else:
                raise AssertionError(attempt)
        """
    )


def test_masks_are_written_and_not_read() -> None:
    """t[mask] = value means what NumPy means; t[mask] would have to copy elements, which no view does."""
    array, tensor = numpy.arange(6.0).reshape(2, 3), tl.asarray(numpy.arange(6.0).reshape(2, 3))
    mask = array > 2
    for index in (True, False, numpy.True_, mask, tl.asarray(mask), [True, False], [0, 1], (0, True), numpy.array([1]), "x", 1.5):
        with pytest.raises(TypeError, match="a view of a tensor is made by integers, slices"):
            tensor[index]
        if isinstance(index, (str, float)):
            continue
        array[index.numpy() if isinstance(index, tl.Tensor) else index] += 1  # type: ignore[index]
        tensor[index] = array[index.numpy() if isinstance(index, tl.Tensor) else index]  # type: ignore[index]
        assert (tensor.numpy() == array).all(), index
    assert tensor[numpy.int64(1), -1].item() == array[1, -1]


def test_pow_with_a_modulus() -> None:
    tensor = tl.full(3, 2, "int64")
    for call in (lambda: pow(tensor, 2, 3), lambda: tensor.__pow__(2, 3)):
        with pytest.raises(TypeError, match="pow: a tensor takes no modulus; numpy.mod"):
            call()
    with pytest.raises(TypeError):
        pow(2, tensor, 3)
    assert pow(tensor, 3).tolist() == pow(tensor, 3, None).tolist() == [8, 8, 8]


def test_extents_that_are_truth_values() -> None:
    for make in (tl.zeros, tl.empty, tl.zeros(1).reshape, tl.zeros(1).broadcast_to):
        for shape in ((True,), [True, 2], True):
            with pytest.raises(TypeError, match="an extent is an integer, not a truth value"):
                make(shape)


@pytest.mark.parametrize("axis", [2**70, -(2**70), 2**63])
def test_axes_of_too_many_bits(axis: int) -> None:
    tensor = tl.zeros((1, 2))
    for call in (tensor.expand_dims, tensor.squeeze, lambda axis: tensor.swapaxes(0, axis), tensor.transpose):
        with pytest.raises(OverflowError, match=f"{axis} has more than 64 bits"):
            call(axis)


@pytest.mark.parametrize("dtype", [99, -1, True, "float99", None, 2**80])
def test_types_that_tensors_do_not_have(dtype: Any) -> None:
    for make in (tl.zeros, tl.empty):
        with pytest.raises(TypeError, match="is no element type of a tensor; known are float32"):
            make(3, dtype)


def test_types_of_later_versions() -> None:
    tensor = tl.zeros(3, device="shared")
    with tensor.share() as shared:
        shared._struct.dtype = 15
        with pytest.raises(TypeError, match="elements of type 15, which this version of tl_runtime does not know"):
            _ = shared.dtype
        assert "dtype=15" in repr(shared)
        with pytest.raises(tl.InvalidArgumentError):
            shared.open()
    with pytest.raises(TypeError, match="elements of type 'FLOAT8', which this version of tl_runtime does not know"):
        pickling.load_bytes(b"\0" * 3, "FLOAT8", (3,), "cpu")
