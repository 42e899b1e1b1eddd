"""Operators, NumPy's functions and assignment of the extension module, beside their twins in Python."""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl
from test_fast import assert_nothing_is_left, needs_fast, tensors
from tl_runtime._tensor.tensor import CtypesTensor

FORWARD = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.matmul, divmod),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow),
    *(operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift, operator.imatmul),
]
OF_ONE = [operator.neg, operator.pos, operator.abs, operator.invert]


class Declining:
    """Computes with arrays by itself (NEP 13)."""

    __array_ufunc__ = None

    def __add__(self, other: Any) -> str:
        return "added"

    __radd__ = __add__


def others() -> list[Any]:
    large = [1 << 70] if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0" else []  # else 3 ** large has no end
    return [
        *(2, -3, 0, 1.5, True, 2j, *large, 1e300, None, "text", [1], (1, 2), object, numpy.float32(2)),
        *(numpy.ones(4, "i4"), numpy.ones((2, 2)), numpy.ma.array([1.0]), Declining()),
        *(tl.full((4,), 3, "int64"), tl.zeros((), "float32"), tl.zeros(3, tl.DType.BFLOAT16)),
    ]


def same(got: Any, want: Any) -> bool:
    if type(got) is not type(want):
        return False
    if isinstance(want, tuple):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, (numpy.ndarray, numpy.generic)):
        return got.dtype == want.dtype and numpy.array_equal(got, want, equal_nan=want.dtype.kind in "fc")
    return bool(got == want)


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:  # NumPy has two texts for the type of opaque bytes
        return type(error), re.sub(r"dtype\(\{'names': .*?'itemsize': 2\}\)", "dtype('V2')", str(error))


@pytest.fixture(autouse=True)
def in_silence() -> Iterator[None]:
    """Divisions by zero and overflows are told in warnings, which are errors here."""
    with numpy.errstate(all="ignore"):
        yield


def pairs() -> Iterator[tuple[Any, Any]]:
    """Tensors of every kind with their twins, over elements of their own."""
    for tensor in tensors():
        if not tensor.is_read_only:
            with contextlib.suppress(ValueError, TypeError):
                tensor[...] = 3
        yield tensor, CtypesTensor.from_address(tensor.address)


@needs_fast
def test_operators() -> None:
    for at, (tensor, twin) in enumerate(pairs()):
        for operation in OF_ONE:
            got, want = outcome(lambda: operation(tensor)), outcome(lambda: operation(twin))  # noqa: B023
            assert same(got, want), (at, operation)
        for operation in FORWARD:
            for other in (*others(), tensor, twin):
                for x, y in (((tensor, other), (twin, other)), ((other, tensor), (other, twin))):
                    got, want = outcome(lambda: operation(*x)), outcome(lambda: operation(*y))  # noqa: B023
                    assert same(got, want), (at, operation, other, got, want)
    with pytest.raises(TypeError):
        pow(tl.zeros(3), 2, 3)
    with pytest.raises(TypeError):
        pow(2, 3, tl.zeros(3))


@needs_fast
def test_operators_in_place() -> None:
    for at, (tensor, twin) in enumerate(pairs()):
        before = tensor.numpy().copy()
        for operation in IN_PLACE:
            for other in (*others(), tensor):
                found = []
                for one in (tensor, twin):
                    left = outcome(lambda: operation(one, other))  # noqa: B023
                    # What NumPy leaves of an array that it fails in is up to it.
                    found.append(("itself", tensor.numpy().copy()) if left is one else left)
                    if not tensor.is_read_only:
                        tensor.numpy()[...] = before
                assert same(*found), (at, operation, other, found)


UFUNCS: list[Callable[[Any], Any]] = [
    lambda t: numpy.add(t, t),
    lambda t: numpy.add(1, t),
    lambda t: numpy.add(t, [1]),
    lambda t: numpy.exp(t),
    lambda t: numpy.modf(t),
    lambda t: numpy.add(t, t, where=[True]),
    lambda t: numpy.add(t, t, dtype="float64"),
    lambda t: numpy.add(t, t, out=numpy.zeros(t.shape)),
    lambda t: numpy.add(t, "text"),
    lambda t: t.__array_ufunc__(numpy.add, "reduce", t),  # an error below numpy.add.reduce(t) leaks in NumPy 2.4
    lambda t: t.__array_ufunc__(numpy.add, "reduce", t, axis=None),
    lambda t: numpy.add.outer(t, t).shape,
    lambda t: numpy.add(t, numpy.ma.array([1.0])),
    lambda t: t.__array_ufunc__(numpy.add, "__call__", t),
    lambda t: t.__array_ufunc__(numpy.add, "__call__", *[t] * 12),
    lambda t: t.__array_ufunc__(numpy.add, "__call__", t, t, out=(None,)),
    lambda t: t.__array_ufunc__(numpy.add, "".join(["__call", "__"]), t, t),
    lambda t: t.__array_ufunc__(numpy.add, "missing", t),
    lambda t: t.__array_ufunc__(numpy.add, 1, t),
]


@needs_fast
def test_functions() -> None:
    for at, (tensor, twin) in enumerate(pairs()):
        for number, function in enumerate(UFUNCS):
            got, want = outcome(lambda: function(tensor)), outcome(lambda: function(twin))  # noqa: B023
            assert same(got, want), (at, number, got, want)
    with pytest.raises(TypeError):
        tl.zeros(3).__array_ufunc__(numpy.add)


@needs_fast
def test_functions_with_out() -> None:
    t, u, first, second = tl.full(4, 2.5), tl.ones(4), tl.zeros(4), tl.zeros(4)
    assert numpy.add(t, u, out=first) is first
    assert numpy.add(t, u, first) is first
    assert numpy.add(t, u, out=(first,)) is first
    assert first.tolist() == [3.5] * 4
    assert numpy.add(t, u, out=first, where=[True, False] * 2) is first
    found = numpy.modf(t, out=(first, None))
    assert found[0] is first and type(found[1]) is numpy.ndarray and first.tolist() == [0.5] * 4
    found = numpy.modf(t, out=(first, second))
    assert found[0] is first and found[1] is second and second.tolist() == [2] * 4
    twin = CtypesTensor.from_address(first.address)
    assert numpy.add(t, u, out=twin) is twin
    locked = numpy.zeros(4, "f4")
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        numpy.add(t, u, out=tl.from_numpy(locked, copy=False))
    with pytest.raises(TypeError, match="bfloat16"):
        numpy.add(t, u, out=tl.zeros(4, tl.DType.BFLOAT16))


INDICES = [
    *(0, -1, 1, 9, -9, True, None, ..., (), (0,), (0, 1), (-1, -1), (0, 1, 2), (-2, -3, -4), (2, 0, 0), (0, 0, 4)),
    *("a", 1.5, 1 << 70, slice(None), slice(1, 2), slice(None, None, -1), (slice(None), 1), (..., 0), (None, 0)),
    (0, slice(0, 1), 2),
    *([0], [True], numpy.array([0]), numpy.int64(1), (numpy.array([0]), 0), (0, [0]), ((0,), 1), ((0, 1),), (0,) * 9),
]


def values() -> list[Any]:
    return [
        *(0, 1, -1, 2, 127, 128, 255, 256, -129, 1 << 31, -(1 << 31) - 1, 1 << 53, (1 << 53) + 1, 1 << 63, -(1 << 63)),
        *(1 << 70, 1.5, -0.0, 1e-46, 3.4028235e38, 3.5e38, 1e300, float("inf"), float("nan"), True, 2j, "7", "text"),
        *(None, [1], [[1, 2]], numpy.float32(2), numpy.ones(4), numpy.ones((9, 9))),
        *(tl.full(4, 3, "int64"), tl.ones((), "float64"), tl.full(4, 2, tl.DType.BFLOAT16)),
    ]


def bits(tensor: Any) -> bytes:
    return bytes(tensor.numpy().tobytes())


@needs_fast
def test_assignment() -> None:
    for at, (tensor, twin) in enumerate(pairs()):
        before = tensor.numpy().copy()
        indices = INDICES if len(tensor.shape) != 2 or at < 10 else [(0, 1), (-1, -1), 0, (2, 0), ...]
        for index in indices:
            for value in (*values(), tensor):
                found = []
                for one in (tensor, twin):
                    done = outcome(lambda: one.__setitem__(index, value))  # noqa: B023
                    found.append((done, bits(tensor)))
                    if not tensor.is_read_only:
                        tensor.numpy()[...] = before
                assert found[0] == found[1], (at, index, value, found)


@needs_fast
def test_assignment_of_an_element_is_numpys() -> None:
    """Of numbers at random, to the last bit, and the exceptions of those that do not fit."""
    draw = numpy.random.default_rng(7)
    wide = [float(one) for one in draw.standard_normal(300) * 10.0 ** draw.integers(-50, 40, 300)]
    drawn = zip(draw.integers(-(1 << 63), (1 << 63) - 1, 300), draw.integers(0, 63, 300))
    whole = [int(one) >> int(by) for one, by in drawn]
    for dtype in tl.DType:
        if dtype is tl.DType.BFLOAT16:
            continue
        tensor = tl.zeros((2, 3), dtype)
        array = tensor.numpy().copy()
        for value in [*wide, *whole]:
            got = outcome(lambda: tensor.__setitem__((1, -2), value))  # noqa: B023
            want = outcome(lambda: array.__setitem__((1, -2), value))  # noqa: B023
            assert (got, bits(tensor)) == (want, array.tobytes()), (dtype, value)


def test_a_number_that_is_too_large_warns_as_numpy_does() -> None:
    tensor = tl.zeros((2, 2))
    with numpy.errstate(over="raise"), pytest.raises(FloatingPointError):
        tensor[0, 0] = 1e300
    tensor[0, 0] = float("inf")
    assert tensor[0, 0].item() == float("inf")


def test_elements_cannot_be_deleted() -> None:
    tensor = tl.zeros((2, 2))
    for index in (0, (0, 1), ...):
        with pytest.raises(TypeError, match="cannot be deleted"):
            del tensor[index]


def test_a_tensor_hashes_by_identity() -> None:
    tensor, equal = tl.zeros(3), tl.zeros(3)
    assert len({tensor, equal, tensor}) == 2 and hash(tensor) == object.__hash__(tensor)


@needs_fast
def test_computing_leaves_no_references() -> None:
    t, u, array, locked = tl.ones((4, 4)), tl.ones((4, 4)), numpy.ones((4, 4), "f4"), numpy.ones(4)
    locked.flags.writeable = False
    held = tl.from_numpy(locked, copy=False)
    calls: list[Callable[[], Any]] = [
        *(lambda: t + u, lambda: 2.5 * t, lambda: array - t, lambda: t @ u, lambda: t == u, lambda: t == "a"),
        *(lambda: -t, lambda: t**2, lambda: t + [1, 2], lambda: t & u, lambda: t + Declining()),
        lambda: t + numpy.ones((3, 3)),
        *(lambda: numpy.add(t, u), lambda: numpy.add(t, u, out=u), lambda: numpy.add(t, "a")),
        *(lambda: operator.iadd(t, 1), lambda: operator.iadd(t, u), lambda: operator.iadd(held, 1)),
        *(lambda: t.__setitem__((1, 1), 2.5), lambda: t.__setitem__(0, u[1]), lambda: t.__setitem__((0, 9), 1)),
        *(lambda: t.__setitem__(..., "a"), lambda: held.__setitem__(0, 1), lambda: t.__delitem__(0)),
    ]

    watched = [type(t), numpy.ndarray, numpy.dtype("float32"), numpy.dtype("bool"), t, u, array, held]
    assert_nothing_is_left(lambda: [outcome(call) for call in calls], watched)
