"""Arithmetic with tensors is NumPy's: the same results, as arrays, and out= and += write into tensors."""

from __future__ import annotations

import itertools
import operator
import random
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")

import tl_runtime as tl

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, divmod),
]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


def same(got: Any, want: Any) -> None:
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
        return
    assert type(got) is type(want)
    assert got.dtype == want.dtype
    assert numpy.array_equal(got, want)


def same_both_ways(operation: Callable[[Any, Any], Any], x: Any, y: Any) -> None:
    """Compares an operation of two tensors, and of each with an array, with that of their arrays."""
    a, b = x.numpy(), y.numpy()  # of rank 0, too, arrays and not scalars
    for other in (y, b):
        same(operation(x, other), operation(a, b))
    same(operation(y, x), operation(b, a))
    # ** of NumPy before 2.3 squares if the exponent is a number or an array of rank 0 and equals 2, and a square has
    # another type than the ufunc's power. It asks a tensor's __index__ for that, so a floating tensor goes to the ufunc.
    asks = operation is operator.pow and a.dtype.kind == "f"
    same(operation(b, x), numpy.power(b, a) if asks else operation(b, a))


@pytest.mark.parametrize("operation", BINARY + BITS, ids=lambda f: f.__name__)
def test_operators_are_numpys(operation: Callable[[Any, Any], Any]) -> None:
    seed = time.time_ns() % 2**32
    print(f"seed {seed}")
    draw = random.Random(seed)
    kinds = ["int32", "int64", "uint8"] + ([] if operation in BITS else ["float32", "float64"])
    for _ in range(20):
        shape = draw.choice([(), (3,), (2, 3), (1, 3), (2, 1)])
        a, b = (
            numpy.array(numpy.random.default_rng(draw.getrandbits(32)).integers(1, 6, shape), draw.choice(kinds))
            for _ in range(2)
        )
        x, y = tl.from_numpy(a), tl.from_numpy(b)
        same_both_ways(operation, x, y)
        same(operation(x, 2), operation(x.numpy(), 2))
        same(operation(2, x), operation(2, x.numpy()))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_powers_are_numpys(shape: tuple[int, ...]) -> None:
    kinds = ["int32", "int64", "uint8", "float32", "float64"]
    values = [(one, kind) for one in (1, 2, 3) for kind in kinds]
    for (base, kind), exponent in itertools.product(values, values):
        x, y = tl.from_numpy(numpy.full(shape, base, kind)), tl.from_numpy(numpy.array(*exponent))
        same_both_ways(operator.pow, x, y)


def test_unary_operators_are_numpys() -> None:
    tensor = tl.asarray([[1, -2], [3, 0]])
    for operation in (operator.neg, operator.pos, operator.abs, operator.invert):
        same(operation(tensor), operation(tensor.numpy()))


def test_products_of_matrices() -> None:
    a, b = numpy.arange(6.0).reshape(2, 3), numpy.arange(12.0).reshape(3, 4)
    x, y = tl.from_numpy(a), tl.from_numpy(b)
    for left, right in ((x, y), (x, b), (a, y), (x.T.T, y)):
        same(left @ right, a @ b)
    out = tl.empty((2, 4), "float64")
    assert numpy.matmul(x, y, out=out) is out
    same(out.numpy(), a @ b)
    square = tl.from_numpy(numpy.eye(3) * 2)
    kept = square
    square @= square
    assert square is kept and square.tolist() == (numpy.eye(3) * 4).tolist()


def test_equality_compares_elements() -> None:
    """Comparing identities would answer False for equal tensors, in silence."""
    x, y = tl.asarray([1, 2]), tl.asarray([1, 2])
    same(x == y, numpy.array([True, True]))
    same(x != y, numpy.array([False, False]))
    same(x == None, numpy.array([False, False]))  # noqa: E711
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x == y)
    assert 2 in x and 3 not in x


def test_hash_is_identity() -> None:
    x, y = tl.asarray([1, 2]), tl.asarray([1, 2])
    held = {x: "x", y: "y"}
    assert (held[x], held[y], len({x, y, x})) == ("x", "y", 2)
    known = weakref.WeakValueDictionary({1: x})
    assert known[1] is x


IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod, operator.ipow),
    *(operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift),
]


@pytest.mark.parametrize("operation", IN_PLACE, ids=lambda f: f.__name__)
def test_in_place_operators_write_into_the_tensor(operation: Callable[[Any, Any], Any]) -> None:
    array = numpy.array([[5, 7], [3, 2]])
    tensor = tl.from_numpy(array)
    view = tensor[:, 1]
    address = tensor.data
    assert operation(tensor, 2) is tensor
    assert operation(tensor, tl.full((2, 2), 3)) is tensor
    assert tensor.data == address
    want = operation(operation(array, 2), numpy.full((2, 2), 3))
    same(tensor.numpy(), want)
    assert view.tolist() == want[:, 1].tolist()


def test_results_that_do_not_fit() -> None:
    tensor = tl.asarray([1, 2])
    with pytest.raises(TypeError, match="cast|casting"):
        tensor += 0.5
    with pytest.raises(ValueError, match="broadcast"):
        tensor += numpy.ones((2, 2), int)
    array = numpy.arange(2.0)
    array.flags.writeable = False
    lent = tl.from_numpy(array, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        lent += 1
    with pytest.raises(ValueError, match="read-only"):
        numpy.add(lent, 1, out=lent)
    assert tensor.tolist() == [1, 2] and array.tolist() == [0, 1]
    array2 = numpy.zeros(2, int)
    array2 += tensor  # an array of NumPy's on the left
    assert array2.tolist() == [1, 2]


def test_functions_of_numpy() -> None:
    x = tl.from_numpy(numpy.arange(6.0).reshape(2, 3))
    array = x.numpy()
    some = (numpy.sin, numpy.sum, numpy.mean, numpy.argmax, numpy.transpose, numpy.cumsum, numpy.std, numpy.ravel)
    for function in some:
        got, want = function(x), function(array)
        assert numpy.array_equal(got, want) and not isinstance(got, tl.Tensor)
    same(numpy.concatenate([x, x], axis=1), numpy.concatenate([array, array], axis=1))
    same(numpy.where(x > 2, x, -1), numpy.where(array > 2, array, -1))
    assert numpy.einsum("ij,ij->", x, x) == (array**2).sum()
    same(numpy.add.reduce(x, axis=1), array.sum(axis=1))
    same(numpy.multiply.outer(x, x), numpy.multiply.outer(array, array))
    assert numpy.linalg.norm(x) == numpy.linalg.norm(array)
    assert numpy.shares_memory(x, array)


def test_out_is_the_tensor_that_was_given() -> None:
    x = tl.from_numpy(numpy.arange(6.0).reshape(2, 3))
    out, row, numbers = tl.empty((2, 3), "float64"), tl.empty(3, "float64"), tl.empty(3, "int64")
    assert numpy.add(x, x, out=out) is out and numpy.add(x, x, out) is out
    assert out.tolist() == (2 * x.numpy()).tolist()
    assert numpy.sum(x, axis=0, out=row) is row and row.tolist() == [3, 5, 7]
    assert numpy.mean(x, axis=0, out=row) is row and row.tolist() == [1.5, 2.5, 3.5]
    assert numpy.add.reduce(x, 0, out=row) is row and row.tolist() == [3, 5, 7]
    assert numpy.argmax(x, axis=0, out=numbers) is numbers and numbers.tolist() == [1, 1, 1]
    assert numpy.take(x, [1, 1, 0], axis=1, out=out, mode="clip") is out
    assert out.tolist() == [[1, 1, 0], [4, 4, 3]]
    assert numpy.concatenate([x[:1], x[:1]], out=out) is out
    whole = tl.empty((2, 3), "float64")
    both = numpy.modf(x, out=(out, whole))
    assert both[0] is out and both[1] is whole and whole.tolist() == x.tolist()
    mixed = numpy.modf(x, out=(None, whole))
    assert isinstance(mixed[0], numpy.ndarray) and mixed[1] is whole
    numpy.copyto(out, x)
    numpy.add.at(out, (0, [0, 0]), tl.asarray(1.0))
    assert out.item(0) == 2
    assert numpy.add(x, 1, out=out, where=tl.full((2, 3), False)) is out and out.item(0) == 2


class Refuses:
    """A type that computes with arrays itself, as NEP 13 says it."""

    __array_ufunc__ = None

    def __radd__(self, other: Any) -> str:
        return type(other).__name__

    def __eq__(self, other: object) -> Any:
        return "asked"


class Takes:
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return ufunc.__name__, [type(one).__name__ for one in inputs]


def test_other_types_may_compute() -> None:
    tensor = tl.ones(2)
    assert tensor + Refuses() == "Tensor"
    assert (tensor == Refuses()) == "asked"
    assert tensor + Takes() == ("add", ["ndarray", "Takes"])
    assert numpy.multiply(Takes(), tensor)[0] == "multiply"
    with pytest.raises(TypeError, match="does not support ufuncs"):
        tensor += Refuses()
    sparse = pytest.importorskip("scipy.sparse")
    assert (tl.ones((2, 2)) @ sparse.csr_array(numpy.eye(2))).tolist() == [[1, 1], [1, 1]]
    assert (sparse.csr_array(numpy.eye(2)) @ tensor).tolist() == [1, 1]


def test_bfloat16_is_no_type_of_numpys() -> None:
    tensor = tl.ones(2, "bfloat16")
    for attempt in (
        lambda: tensor + 1,
        lambda: tensor == tensor,
        lambda: numpy.sum(tensor),
        lambda: numpy.concatenate([tensor, tensor]),
        lambda: 1.0 in tensor,
    ):
        with pytest.raises(TypeError, match="bfloat16; tl.asarray"):
            attempt()
    assert (tl.asarray(tensor, "float32") + 1).tolist() == [2, 2]


def test_it_is_no_array_api_namespace() -> None:
    assert not hasattr(tl.ones(2), "__array_namespace__")
