"""Sparse matrices against SciPy: indices, products, stacking, every type of value; and what SciPy takes them for."""

from __future__ import annotations

import copy
import operator
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
sparse = pytest.importorskip("scipy.sparse")
import scipy.sparse.csgraph
import scipy.sparse.linalg

import tl_runtime as tl

SMALL = {"target_rows": 2, "min_elements": 4, "max_elements": 16}
VALUES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()


def random_matrix(draw: random.Random, dtype: str = "", shape: tuple[int, int] | None = None) -> Any:
    rows, columns = shape or (draw.choice([1, 2, 7, 30]), draw.choice([1, 3, 20]))
    values = numpy.random.default_rng(draw.getrandbits(32)).integers(-3, 9, (rows, columns))
    dense = numpy.where(values > draw.choice([-9, 2, 6]), values, 0)
    kind = dtype or draw.choice(VALUES)
    dense = (dense * (1 - 2j) if kind.startswith("complex") else dense).astype(kind)
    return draw.choice([sparse.csr_array, sparse.csc_array])(dense)


def drawn() -> random.Random:
    seed = time.time_ns() % 2**32
    print(f"seed {seed}")
    return random.Random(seed)


def both(draw: random.Random, *arguments: Any, **options: Any) -> tuple[tl.SparseMatrix, Any]:
    want = random_matrix(draw, *arguments, **options)
    return tl.SparseMatrix.from_scipy(want, **draw.choice([{}, SMALL])), want


def assert_same(got: Any, want: Any) -> None:
    """A matrix, an array or a number against what SciPy has made."""
    if isinstance(got, tl.SparseMatrix):
        got.validate()
        assert got.shape == want.shape and got.dtype == want.dtype
        assert numpy.array_equal(got.toarray(), want.toarray())
    elif sparse.issparse(want):
        assert sparse.issparse(got) and type(got) is type(want) and got.dtype == want.dtype
        assert numpy.array_equal(got.toarray(), want.toarray())
    else:
        assert type(got) is type(want) and numpy.array_equal(got, want)


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("blocks", [{}, SMALL], ids=["shared", "small"])
def test_every_type_of_value(dtype: str, blocks: dict[str, int]) -> None:
    want = random_matrix(random.Random(7), dtype, (30, 20))
    matrix = tl.SparseMatrix.from_scipy(want, **blocks)
    assert matrix.dtype == dtype and matrix.to_scipy().dtype == dtype
    assert_same(matrix, want)
    assert_same(matrix[3:9].T, want[3:9].T)
    assert_same(matrix.T[3:9], want.T[3:9])
    assert_same(matrix @ numpy.ones(20), want @ numpy.ones(20))


def test_types_without_sparse_arrays_in_scipy() -> None:
    for dtype in ("float16", "bfloat16"):
        values = tl.asarray([1.5, 2.5], dtype)
        matrix = tl.SparseMatrix.from_arrays((2, 3), values, tl.asarray([2, 0]), tl.asarray([0, 1, 2]))
        assert matrix.dtype == dtype and matrix.to_coo().rows.tolist() == [0, 1]
        with pytest.raises(TypeError, match=f"SciPy has no sparse arrays of {dtype}"):
            matrix.to_scipy()
    with pytest.raises(TypeError, match="cannot hold values of (longdouble|float128)"):
        tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(2, dtype="longdouble")))


def test_indices_are_scipys() -> None:
    draw = drawn()
    for _ in range(60):
        matrix, want = both(draw)

        def part(extent: int) -> Any:
            end = [None, *range(-extent - 1, extent + 2)]
            return draw.choice(
                [
                    slice(draw.choice(end), draw.choice(end), draw.choice([None, 1, 2, -1, -3])),
                    slice(None),
                    [draw.randrange(-extent, extent) for _ in range(draw.randint(1, 4))],
                    numpy.array([draw.random() < 0.5 for _ in range(extent)]),
                    slice(at := draw.randrange(extent), at + 1),
                ]
            )

        rows, columns = part(want.shape[0]), part(want.shape[1])
        assert_same(matrix[rows], want[rows])
        assert_same(matrix[:, columns], want[:, columns])
        assert_same(matrix[..., columns], want[:, columns])
        if isinstance(rows, slice) or isinstance(columns, slice):
            got = matrix[rows, columns]
            assert numpy.array_equal(got.toarray(), want.toarray()[rows][:, columns])
            got.validate()
            assert got.format == matrix.format and got.index_dtype == matrix.index_dtype
        i, j = (draw.randrange(-extent, extent) for extent in want.shape)
        assert_same(matrix[i, j], want[i, j])
        assert_same(matrix[i], sparse.csr_matrix(want)[i])
        assert_same(matrix[:, j], sparse.csr_matrix(want)[:, j])


def test_elements_by_two_lists() -> None:
    matrix, want = both(random.Random(1), "float64", shape=(7, 20))
    rows, columns = [0, -1, 3], [1, 19, -2]
    assert numpy.array_equal(matrix[rows, columns], want[rows, columns])
    assert_same(matrix[numpy.ix_(rows, columns)], want[numpy.ix_(rows, columns)])
    assert_same(matrix[tl.asarray(rows)], want[rows])


def test_lines_share_and_other_parts_are_copies() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.arange(1.0, 13).reshape(3, 4)))
    address = matrix.row(1).values.ctypes.data
    for shares in (matrix[1:], matrix[1], matrix[-2], matrix[1:, :], matrix[1:, 0:4], matrix[1, ...], matrix.T[:, 1]):
        assert shares.line(0).values.ctypes.data == address
    for copied in (matrix[::2], matrix[[1]], matrix[1:, 1:], matrix[:, 0], matrix[numpy.array([False, True, False])]):
        copied.line(0).values[0] = 99
    assert matrix.toarray().tolist() == numpy.arange(1.0, 13).reshape(3, 4).tolist()


def test_indices_that_are_refused() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3)))
    for index in (3, -4, (0, 3), (slice(None), -4), [3], (0, 0, 0), (..., ...)):
        with pytest.raises(IndexError):
            matrix[index]
    for index in (None, 1.0, "1", True, (None, 1)):
        with pytest.raises(TypeError, match="an index of a matrix is an integer, a slice, a list or a mask"):
            matrix[index]
    with pytest.raises(ValueError, match="by 0 elements"):
        matrix[::0]


def test_rows_one_by_one() -> None:
    draw = drawn()
    for _ in range(10):
        matrix, want = both(draw)
        assert len(matrix) == want.shape[0]
        rows = list(matrix)
        assert len(rows) == len(matrix)
        for row, dense in zip(rows, want.toarray()):
            assert row.shape == (1, want.shape[1]) and numpy.array_equal(row.toarray()[0], dense)


def test_operators_are_scipys() -> None:
    draw = drawn()
    for _ in range(20):
        shape = (draw.choice([1, 5]), draw.choice([1, 7]))
        matrix, want = both(draw, "float64", shape=shape)
        other, plain = both(draw, "float64", shape=shape)
        square, round_ = both(draw, "float64", shape=(shape[1], shape[1]))
        vector = numpy.arange(float(shape[1]))
        for operation in (operator.add, operator.sub, operator.mul, operator.ne, operator.lt, operator.gt):
            assert_same(operation(matrix, other), operation(want, plain))
            assert_same(operation(matrix, plain), operation(want, plain))
            assert_same(operation(want, other), operation(want, plain))
        assert_same(matrix @ square, want @ round_)
        assert_same(want @ square, want @ round_)
        assert_same(matrix @ vector, want @ vector)
        assert_same(matrix @ tl.from_numpy(vector), want @ vector)
        assert_same(tl.ones((2, shape[0]), "float64") @ matrix, numpy.ones((2, shape[0])) @ want)
        assert_same(numpy.ones(shape[0]) @ matrix, numpy.ones(shape[0]) @ want)
        assert_same(2 * matrix, 2 * want)
        assert_same(numpy.float64(2) * matrix / 3, 2 * want / 3)
        assert_same(-matrix, -want)
        assert_same(abs(matrix), abs(want))
        assert_same(square**2, round_**2)
    with pytest.raises(ValueError):
        matrix @ numpy.ones(99)


def test_equality_and_truth() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array([[1.0, 0], [0, 2]]))
    equal = tl.SparseMatrix.from_scipy(sparse.csr_array([[1.0, 0], [0, 2]]))
    assert (matrix != equal).nnz == 0
    assert {matrix: 1}[matrix] == 1 and len({matrix, equal}) == 2
    with pytest.raises(ValueError, match=r"bool: a matrix of shape \(2, 2\)"):
        bool(matrix)
    assert bool(matrix[:1, :1]) and not bool(matrix[1:, :1])


def test_copies() -> None:
    draw = drawn()
    for _ in range(10):
        matrix, want = both(draw, "float64")
        for copied in (matrix.copy(), copy.copy(matrix), copy.deepcopy(matrix)):
            assert copied.format == matrix.format and copied.index_dtype == matrix.index_dtype
            assert copied.refcount == 1 and copied.address != matrix.address and not copied.is_read_only
            assert_same(copied, want)
            for line in copied.lines():
                line.values[...] = 77
        assert_same(matrix, want)


def test_stacking() -> None:
    draw = drawn()
    for _ in range(15):
        one, first = both(draw, shape=(draw.randint(1, 5), 4))
        two, second = both(draw, shape=(draw.randint(1, 5), 4))
        for how, parts, wants in (
            (tl.SparseMatrix.vstack, [one, two, first], [first, second, first]),
            (tl.SparseMatrix.hstack, [one.T, second.T], [first.T, second.T]),
        ):
            want = (sparse.vstack if how == tl.SparseMatrix.vstack else sparse.hstack)(wants)
            got = how(parts)
            assert got.format == parts[0].format
            assert_same(got, want)
            assert how(parts, "csc").format == "csc"
    for wrong in ([numpy.eye(2)], [one, None]):
        with pytest.raises(TypeError, match="vstack takes sparse matrices"):
            tl.SparseMatrix.vstack(wrong)
    with pytest.raises(ValueError, match="one matrix or more"):
        tl.SparseMatrix.vstack([])
    with pytest.raises(ValueError):
        tl.SparseMatrix.vstack([tl.SparseMatrix.empty((1, 2), [0]), tl.SparseMatrix.empty((1, 3), [0])])


def test_coordinates() -> None:
    draw = drawn()
    for dtype in ("float64", "int32", "bool", "complex64"):
        for form in ("csr", "csc"):
            count, shape = draw.randint(0, 60), (draw.randint(1, 9), draw.randint(1, 9))
            random_ = numpy.random.default_rng(draw.getrandbits(32))
            rows, columns = (random_.integers(0, extent, count) for extent in shape)
            values = random_.integers(0, 5, count).astype(dtype)
            want = sparse.coo_array((values, (rows, columns)), shape=shape).asformat(form)
            got = tl.SparseMatrix.from_coo(shape, values, rows, columns, form)
            assert_same(got, want)
            back = got.to_coo()
            again = sparse.coo_array((back.values, (back.rows, back.columns)), shape=shape)
            assert numpy.array_equal(again.toarray(), want.toarray())
            assert tl.SparseMatrix.from_coo(shape, *back, form).nnz == got.nnz
    made = tl.SparseMatrix.from_coo((2, 2), [1.0, 2.0], [1, 1], [0, 0], "csc")
    assert made.toarray().tolist() == [[0, 0], [3, 0]]


@pytest.mark.parametrize(
    ("arguments", "error", "why"),
    [
        (([1.0], [0, 1], [0]), ValueError, "not as many"),
        (([1.0], [2], [0]), IndexError, "rows go from 2 to 2; a shape of"),
        (([1.0], [0], [-1]), IndexError, "columns go from -1"),
        (([1.0], [0.5], [0]), TypeError, "rows are float64, and not integers"),
        (([1.0], [0], [0], "coo"), ValueError, "neither 'csr' nor 'csc'"),
        ((["a"], [0], [0]), TypeError, "array type"),
    ],
)
def test_coordinates_that_are_refused(arguments: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        tl.SparseMatrix.from_coo((2, 3), *arguments)


def test_with_ends_the_matrix_and_not_its_arrays() -> None:
    with tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3))) as matrix:
        values, part = matrix.row(1).values, matrix[1:]
        address = matrix.address
    assert tl.Object(address).status == tl.Status.OK  # by the row
    assert values.tolist() == [1.0] and part.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    for use in (
        lambda: matrix.row(0),
        lambda: matrix.address,
        lambda: matrix.toarray(),
        lambda: matrix[0],
        lambda: matrix @ values,
        lambda: matrix.__enter__(),
    ):
        with pytest.raises(ValueError, match="this SparseMatrix was closed"):
            use()
    assert repr(matrix) == "tl.SparseMatrix(closed, shape=(3, 3), nnz=3, format='csr', dtype=float64)"
    matrix.close()
    del values
    assert tl.Object(address).status != tl.Status.OK


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
def test_scipys_constructors_take_it(kind: Callable[[Any], Any]) -> None:
    draw = drawn()
    for _ in range(10):
        matrix, want = both(draw)
        assert_same(kind(matrix), kind(want))
    one = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3)))
    assert sparse.csr_array(one).data.ctypes.data == one.row(0).values.ctypes.data  # no copy


def test_scipys_functions_take_it() -> None:
    want = sparse.csc_array(numpy.diag([2.0, 3, 4]) + numpy.eye(3, k=1))
    matrix = tl.SparseMatrix.from_scipy(want, **SMALL)
    assert sparse.issparse(matrix) and isinstance(matrix, sparse.csc_array) and isinstance(matrix, tl.SparseMatrix)
    assert type(matrix) is tl.SparseMatrix
    right = numpy.arange(3.0)
    assert numpy.allclose(scipy.sparse.linalg.spsolve(matrix, right), scipy.sparse.linalg.spsolve(want, right))
    assert scipy.sparse.linalg.norm(matrix) == scipy.sparse.linalg.norm(want)
    assert_same(sparse.vstack([matrix, want]).tocsr(), sparse.vstack([want, want]).tocsr())
    assert_same(sparse.kron(matrix, want), sparse.kron(want, want))
    assert_same(sparse.tril(matrix).tocsr(), sparse.tril(want).tocsr())
    found = scipy.sparse.csgraph.connected_components(matrix)
    assert found[0] == scipy.sparse.csgraph.connected_components(want)[0]
    assert (matrix.sum(), matrix.diagonal().tolist(), matrix.mean()) == (want.sum(), [2, 3, 4], want.mean())
    assert_same(matrix.astype("float32"), want.astype("float32"))
    assert_same(matrix.tocsr(), want.tocsr())
    assert tl.SparseMatrix.from_scipy(matrix).nnz == matrix.nnz


def test_what_scipy_would_change_is_refused() -> None:
    """A write into what is a copy, where there are several blocks, would be lost in silence."""
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3)))
    for change in ("eliminate_zeros", "setdiag", "resize"):
        with pytest.raises(TypeError, match=f"{change} would change the structure"):
            getattr(matrix, change)
    with pytest.raises(ValueError, match="read-only"):
        matrix.data[0] = 5
    with pytest.raises(AttributeError):
        matrix.data = 5
    with pytest.raises(TypeError):
        matrix[0, 0] = 1  # type: ignore[index]
    for name in ("no_such_thing", "_private", "__array_interface__"):
        with pytest.raises(AttributeError, match=f"'SparseMatrix' object has no attribute '{name}'"):
            getattr(matrix, name)


def test_numpy_makes_no_dense_array_by_itself() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3)))
    with pytest.raises(TypeError, match="toarray"):
        numpy.asarray(matrix)
    with pytest.raises(TypeError, match="does not support ufuncs"):
        numpy.sin(matrix)
