"""sys.getsizeof: the memory that an object owns counts, and nobody else's."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

import tl_runtime as tl

HANDLE = 400  # more bytes than a handle itself has


def test_a_tensor_counts_with_its_elements() -> None:
    small, large = tl.zeros(0), tl.zeros((100, 100), "float64")
    assert 0 < sys.getsizeof(small) < HANDLE
    assert sys.getsizeof(large) - sys.getsizeof(small) == large.nbytes == 80_000
    assert sys.getsizeof(large.clone()) == sys.getsizeof(large)
    taken = tl.Tensor.from_address(large.address)
    assert sys.getsizeof(taken) == sys.getsizeof(large)


@pytest.mark.parametrize("make", [lambda t: t[10:], lambda t: t.T, lambda t: t.reshape(-1), lambda t: t[3, 4]])
def test_a_view_counts_without_them(make: Callable[[tl.Tensor], tl.Tensor]) -> None:
    base = tl.zeros((100, 100))
    view = make(base)
    assert sys.getsizeof(view) == sys.getsizeof(tl.zeros(0))
    del base
    assert sys.getsizeof(view) == sys.getsizeof(tl.zeros(0))


def test_borrowed_memory_counts_with_its_lender() -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.zeros(10_000)
    lent, copied = tl.from_numpy(array, copy=False), tl.from_numpy(array)
    assert sys.getsizeof(lent) == sys.getsizeof(tl.zeros(0))
    assert sys.getsizeof(copied) - sys.getsizeof(lent) == array.nbytes
    assert sys.getsizeof(tl.from_dlpack(array)) == sys.getsizeof(lent)


def test_a_sparse_matrix_counts_with_its_blocks() -> None:
    pytest.importorskip("numpy")
    matrix = tl.SparseMatrix.empty((1000, 1000), [5] * 1000)
    empty = tl.SparseMatrix.empty((0, 0), [])
    handle = sys.getsizeof(matrix) - matrix.nbytes
    assert matrix.nbytes > 5000 * 8
    assert 0 < handle < HANDLE and sys.getsizeof(empty) == handle + empty.nbytes
    assert sys.getsizeof(matrix.T) == sys.getsizeof(matrix[100:200]) == handle
    assert sys.getsizeof(matrix[100:200].T) == handle
    block = matrix.block(0)
    assert sys.getsizeof(block.values) < HANDLE


def test_a_borrowed_sparse_matrix_counts_without_them() -> None:
    numpy = pytest.importorskip("numpy")
    ends, indices = numpy.array([0, 4000], "int32"), numpy.arange(4000, dtype="int32")
    lent = tl.SparseMatrix.from_arrays((1, 4000), numpy.ones(4000), indices, ends, copy=False)
    assert sys.getsizeof(lent) < HANDLE
    with lent:
        pass
    assert sys.getsizeof(lent) < HANDLE


def test_a_block_of_a_pool_counts_while_it_is_out() -> None:
    with tl.MemoryPool("cpu", initial_bytes=4096) as pool:
        block, none = pool.block(5000), pool.block(0)
        assert sys.getsizeof(block) - sys.getsizeof(none) == 5000
        block.close()
        assert sys.getsizeof(block) == sys.getsizeof(none)
        tensor = pool.empty((50, 50))
        assert sys.getsizeof(tensor) == sys.getsizeof(tl.zeros(0))
        del tensor, none
