"""Sparse matrices, compared with SciPy on random matrices of many shapes, and how long their memory lives."""

from __future__ import annotations

import gc
import random
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
sparse = pytest.importorskip("scipy.sparse")

import tl_runtime as tl
from conftest import in_threads

SMALL = {"target_rows": 2, "min_elements": 4, "max_elements": 16}


def is_live(address: int) -> bool:
    return tl.Object(address).status == tl.Status.OK


def random_matrix(draw: random.Random, format: str | None = None) -> Any:
    """A matrix of up to 60 by 60, at times empty, at times full, of any of the types."""
    rows, columns = draw.choice([0, 1, 2, 7, 30, 60]), draw.choice([0, 1, 3, 20, 60])
    values = numpy.random.default_rng(draw.getrandbits(32)).standard_normal((rows, columns))
    dense = numpy.where(values > draw.choice([-9, 0, 1, 2, 9]), values, 0)
    kind = {"csr": sparse.csr_array, "csc": sparse.csc_array}[format or draw.choice(["csr", "csc"])]
    matrix = kind(dense.astype(draw.choice(["float32", "float64"])))
    index = draw.choice(["int32", "int64"])
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def assert_same(got: Any, want: Any) -> None:
    assert got.format == want.format
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    assert got.indices.dtype == got.indptr.dtype == want.indices.dtype
    assert numpy.array_equal(got.toarray(), want.toarray())
    got.check_format(full_check=True)
    assert got.has_canonical_format
    assert type(got)((got.data, got.indices, got.indptr), shape=got.shape).has_canonical_format  # SciPy looks itself


def assert_shows(matrix: tl.SparseMatrix, want: Any) -> None:
    """Rows, blocks and conversions of a matrix against SciPy's."""
    assert (matrix.shape, matrix.nnz, matrix.format) == (want.shape, want.nnz, want.format)
    assert str(matrix.dtype) == want.dtype
    matrix.validate()
    for i, line in enumerate(matrix.lines()):
        part = slice(want.indptr[i], want.indptr[i + 1])
        assert numpy.array_equal(line.indices, want.indices[part])
        assert numpy.array_equal(line.values, want.data[part])
    blocks = list(matrix.blocks())
    assert len(blocks) == matrix.block_count
    for block in blocks:
        assert block.offsets[0] == 0
        assert block.offsets[-1] == block.values.size == block.indices.size
    for array, name in ((want.data, "values"), (want.indices, "indices")):
        parts = [getattr(block, name) for block in blocks]
        assert numpy.array_equal(numpy.concatenate(parts) if parts else array[:0], array)
    assert_same(matrix.to_scipy(), want)


@pytest.mark.parametrize("copy", [None, True], ids=["shared", "copied"])
def test_random_matrices_against_scipy(copy: bool | None) -> None:
    seed = time.time_ns() % 2**32
    print(f"seed {seed}")
    draw = random.Random(seed)
    for _ in range(60):
        want = random_matrix(draw)
        matrix = tl.SparseMatrix.from_scipy(want, copy=copy, **(SMALL if copy else {}))
        assert_shows(matrix, want)
        for _ in range(3):
            if draw.random() < 0.4:
                matrix, want = matrix.T, want.T
            else:
                lines = want.shape[0 if want.format == "csr" else 1]
                bounds = [draw.choice([None, draw.randint(-lines - 2, lines + 2)]) for _ in range(2)]
                part: Any = slice(*bounds)
                part = part if want.format == "csr" else (slice(None), part)
                matrix, want = matrix[part], want[part].astype(want.dtype)
                index = str(matrix.index_dtype)
                want.indices, want.indptr = want.indices.astype(index), want.indptr.astype(index)
            assert_shows(matrix, want)


def test_a_matrix_of_one_block_is_not_copied() -> None:
    want = sparse.csr_array(numpy.arange(12.0).reshape(3, 4))
    matrix = tl.SparseMatrix.from_scipy(want)
    there = matrix.to_scipy()
    assert matrix.block_count == 1
    assert there.data.ctypes.data == want.data.ctypes.data
    assert there.indices.ctypes.data == want.indices.ctypes.data
    assert there.indptr.ctypes.data == want.indptr.ctypes.data
    there.data[0] = 99
    assert matrix.row(0).values[0] == want.data[0] == 99
    part = matrix[1:].to_scipy(copy=False)
    assert part.data.ctypes.data == want.data[3:].ctypes.data
    assert part.indptr.tolist() == [0, 4, 8]
    apart = matrix.to_scipy(copy=True)
    assert apart.data.ctypes.data != want.data.ctypes.data
    assert_same(apart, want)


def test_several_blocks_need_a_copy() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.ones((40, 5))), **SMALL)
    assert matrix.block_count > 1
    with pytest.raises(ValueError, match="has to be copied"):
        matrix.to_scipy(copy=False)
    assert matrix[3:4].block_count == 1
    assert matrix[3:4].to_scipy(copy=False).nnz == 5


def test_what_scipy_allows_and_the_runtime_does_not() -> None:
    twice = sparse.csr_array((numpy.ones(3), [2, 0, 0], [0, 3]), shape=(1, 4))
    matrix = tl.SparseMatrix.from_scipy(twice)
    assert matrix.row(0).indices.tolist() == [0, 2]
    assert matrix.row(0).values.tolist() == [2, 1]
    assert twice.nnz == 3  # SciPy's own stayed as it was
    with pytest.raises(tl.InvalidArgumentError, match="row 0 has the index 0 after 2 at position 1"):
        tl.SparseMatrix.from_scipy(twice, copy=False)
    listed = sparse.coo_array(([1.0], ([1], [2])), shape=(3, 3))
    assert_same(tl.SparseMatrix.from_scipy(listed).to_scipy(), listed.tocsr())
    with pytest.raises(ValueError, match="'coo'"):
        tl.SparseMatrix.from_scipy(listed, copy=False)
    with pytest.raises(TypeError, match="cannot hold values of longdouble|cannot hold values of float128"):
        tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3, dtype="longdouble")))


def test_rows_filled_in_by_hand() -> None:
    matrix = tl.SparseMatrix.empty((3, 5), [2, 0, 1], "float64", "int64")
    for i, (indices, values) in enumerate([([1, 4], [10, 40]), ([], []), ([0], [7])]):
        matrix.row(i).indices[:], matrix.row(i).values[:] = indices, values
    matrix.validate()
    assert matrix.to_scipy().toarray().tolist() == [[0, 10, 0, 0, 40], [0] * 5, [7, 0, 0, 0, 0]]
    matrix.row(0).indices[1] = 1
    with pytest.raises(tl.InvalidArgumentError, match="row 0 has the index 1 twice, at positions 0 and 1"):
        matrix.validate()
    with pytest.raises(ValueError, match="2 lengths for 3 lines"):
        tl.SparseMatrix.empty((3, 5), [1, 1])
    with pytest.raises(TypeError, match="no option of blocks"):
        tl.SparseMatrix.empty((1, 5), [1], rows=3)
    with pytest.raises(tl.InvalidArgumentError, match="row 1 has the length 6"):
        tl.SparseMatrix.empty((2, 5), [1, 6])


def test_slices_are_of_lines() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(6)))
    assert matrix[2:4].shape == (2, 6)
    assert matrix[2:4, :].shape == matrix[2:4, ...].shape == (2, 6)
    assert matrix.T[:, -2:].shape == (6, 2)
    assert matrix[-(10**30) : 10**30].shape == (6, 6)
    for wrong in (matrix.column, matrix.T.row):
        with pytest.raises(TypeError, match="stores no"):
            wrong(0)
    with pytest.raises(tl.InvalidArgumentError, match="no row 6"):
        matrix.row(6)
    assert [line.indices.tolist() for line in matrix.T.columns()] == [[i] for i in range(6)]
    assert len(list(matrix.rows())) == 6


def test_arrays_keep_blocks_and_no_more() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.ones((40, 5))), **SMALL)
    address, blocks = matrix.address, list(matrix.blocks())
    row = matrix.row(39).values
    live = tl.stats()["live_bytes"]
    del matrix
    assert is_live(address)  # by the row
    del row
    assert not is_live(address)
    assert live - tl.stats()["live_bytes"] < 40 * 64  # the matrix alone
    last = blocks[-1].values
    del blocks
    gc.collect()
    assert tl.stats()["tensors_live"] == 2  # a block and the view of it
    assert last.tolist() == [1.0] * last.size
    del last
    assert tl.stats()["tensors_live"] == 0


def test_the_last_array_may_go_on_another_thread() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.ones((40, 5))), **SMALL)
    held = [matrix.T[:, 3:9], next(matrix.blocks()).values]
    del matrix
    in_threads(held.clear)
    assert tl.stats()["tensors_live"] == 0


def test_scipys_arrays_live_as_long_as_the_matrix() -> None:
    class Traced(numpy.ndarray):
        pass

    ended = []
    values = numpy.ones(3).view(Traced)
    weakref.finalize(values, ended.append, True)
    matrix = tl.SparseMatrix.from_arrays((3, 3), values, numpy.arange(3), numpy.arange(4), copy=False)
    part = matrix[1:]
    del values, matrix
    gc.collect()
    assert not ended
    del part
    assert ended == [True]


def test_read_only_memory_stays_so() -> None:
    want = sparse.csr_array(numpy.eye(3))
    want.data.flags.writeable = False
    matrix = tl.SparseMatrix.from_scipy(want)
    assert matrix.is_read_only
    assert not matrix.row(0).values.flags.writeable
    assert not matrix.to_scipy().data.flags.writeable
    assert matrix[1:].T.is_read_only
    assert not matrix.T[:, 1:].column(0).values.flags.writeable


def test_arrays_that_do_not_fit() -> None:
    values, indices, offsets = numpy.ones(3), numpy.arange(3), numpy.arange(4)
    for shape, arrays in (
        ((4, 3), (values, indices, offsets)),
        ((3, 3), (values[:2], indices, offsets)),
        ((3, 3), (values, indices.astype("int32"), offsets)),
        ((3, 3), (numpy.ones(6)[::2], indices, offsets)),
        ((3, 3), (numpy.ones((3, 1)), indices, offsets)),
    ):
        for copy in (True, False):
            with pytest.raises(ValueError):
                tl.SparseMatrix.from_arrays(shape, *arrays, copy=copy)
    for copy in (True, False):
        with pytest.raises(tl.InvalidArgumentError, match="row 2 has the index 2 at position 0"):
            tl.SparseMatrix.from_arrays((3, 2), values, indices, offsets, copy=copy)


def test_no_number_is_cut_off() -> None:
    """2**64 + 1 is not 1: ctypes would not say."""
    m = sparse.random(4, 6, 0.5, format="csr", random_state=1)
    matrix, more = tl.SparseMatrix.from_scipy(m), 2**64
    for call in (
        lambda: tl.SparseMatrix.from_arrays((4, more + 6), m.data, m.indices, m.indptr),
        lambda: tl.SparseMatrix.empty((2, 5), [more + 1, 3]),
        lambda: tl.SparseMatrix.empty((2, more + 5), [1, 3]),
        lambda: tl.SparseMatrix.empty((2, 5), [1, 3], target_rows=more + 3),
        lambda: matrix.line(more),
        lambda: matrix.block(more),
    ):
        with pytest.raises(OverflowError):
            call()
    assert matrix[more : more + 2].shape == (0, 6)  # a slice is cut off at the end, as in Python


def test_what_is_no_matrix_is_said_so() -> None:
    m = sparse.random(4, 6, 0.5, format="csr", random_state=1)
    for given in (numpy.eye(3), [[1.0]], None):
        with pytest.raises(TypeError):
            tl.SparseMatrix.from_scipy(given)
    if hasattr(sparse, "coo_array"):
        for values in ([1.0], [1.0, 0, 2]):
            with pytest.raises(ValueError):
                tl.SparseMatrix.from_scipy(sparse.coo_array(numpy.array(values)))
    with pytest.raises(TypeError):
        tl.SparseMatrix.from_arrays((1, 1), [1.0], [0], [0, 1])
    for shape, form in (((4, 6, 1), "csr"), ((4,), "csr"), ((4, 6), "coo")):
        with pytest.raises(ValueError):
            tl.SparseMatrix.from_arrays(shape, m.data, m.indices, m.indptr, format=form)
        with pytest.raises(ValueError):
            tl.SparseMatrix.empty(shape, [1] * 4, format=form)
    for index in (1.0, "1", None):
        with pytest.raises(TypeError):
            tl.SparseMatrix.from_scipy(m).line(index)
        with pytest.raises(TypeError):
            tl.SparseMatrix.from_scipy(m)[index or 1.0 :]


def unaligned(array: numpy.ndarray) -> numpy.ndarray:
    return numpy.frombuffer(b"\0" + array.tobytes(), array.dtype, array.size, 1)


@pytest.mark.parametrize("change", [unaligned, lambda a: numpy.repeat(a, 2)[::2], lambda a: a[::-1].copy()[::-1]])
def test_arrays_that_are_not_straight_are_copied(change: Callable[[numpy.ndarray], numpy.ndarray]) -> None:
    m = sparse.random(20, 30, 0.3, format="csr", random_state=1)
    for part in ("data", "indices", "indptr"):
        odd = m.copy()
        setattr(odd, part, change(getattr(m, part)))
        for copy in (None, True):
            assert abs(tl.SparseMatrix.from_scipy(odd, copy=copy).to_scipy() - m).sum() == 0
        with pytest.raises((ValueError, tl.InvalidArgumentError)):
            tl.SparseMatrix.from_scipy(odd, copy=False)


def test_what_scipy_has_behind_the_nonzeros_is_left_out() -> None:
    m = sparse.random(20, 30, 0.3, format="csr", random_state=1)
    longer = m.copy()
    longer.data, longer.indices = numpy.append(m.data, 1.0), numpy.append(m.indices, m.indices[:1])
    matrix = tl.SparseMatrix.from_scipy(longer, copy=False)
    assert matrix.nnz == m.nnz and abs(matrix.to_scipy() - m).sum() == 0


def test_addresses_are_checked() -> None:
    with tl.scope():
        matrix = tl.SparseMatrix.from_scipy(sparse.csr_array(numpy.eye(3))).register()
        again = tl.SparseMatrix.from_address(matrix.address)
        assert again.refcount == 3
        assert tl.Object(matrix.address).deep_clone() == tl.Object(matrix.address)
    assert again.refcount == 2
    with pytest.raises(tl.UnknownPointerError):
        tl.SparseMatrix.from_address(0x1000)
    tensor = tl.zeros(3)
    with pytest.raises(tl.UnsupportedError):
        tl.SparseMatrix.from_address(tensor.address)
    with pytest.raises(ValueError):
        tl.SparseMatrix.from_address(0)
    with pytest.raises(TypeError):
        tl.SparseMatrix()
    assert "nnz=3" in repr(again)
    assert again.payload_bytes == 3 * 12 + 4 * 4 <= again.nbytes


def test_contiguous_tensors_are_ones_own() -> None:
    matrix = tl.SparseMatrix.from_scipy(sparse.csc_array(numpy.eye(4)), **SMALL)
    values, indices, offsets = matrix.to_contiguous()
    del matrix
    assert values.refcount == indices.refcount == offsets.refcount == 1
    assert (str(values.dtype), str(offsets.dtype)) == ("float64", "int32")
    assert offsets.numpy().tolist() == [0, 1, 2, 3, 4]
