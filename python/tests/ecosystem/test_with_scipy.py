"""SciPy: functions on tensors, and its sparse matrices."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")
scipy = pytest.importorskip("scipy")

import tl_runtime as tl


def test_functions_take_tensors() -> None:
    import scipy.fft
    import scipy.linalg

    given = numpy.array([[4.0, 1.0], [1.0, 3.0]])
    tensor = tl.from_numpy(given)
    assert numpy.allclose(scipy.linalg.inv(tensor), numpy.linalg.inv(given))
    assert numpy.allclose(scipy.linalg.cholesky(tensor), numpy.linalg.cholesky(given).T)
    assert numpy.allclose(scipy.fft.fft(tl.from_numpy(numpy.arange(8.0)).numpy()), numpy.fft.fft(numpy.arange(8.0)))


def test_an_optimiser() -> None:
    import scipy.optimize

    start = tl.from_numpy(numpy.array([3.0, -4.0]))
    found = scipy.optimize.minimize(lambda x: ((x - 1) ** 2).sum(), start.numpy())
    assert numpy.allclose(found.x, 1, atol=1e-4)


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_sparse_matrices_share_memory(format: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    given = sparse.random_array((30, 20), density=0.2, format=format, rng=2)
    matrix = tl.SparseMatrix.from_scipy(given)
    back = matrix.to_scipy(copy=False)
    assert numpy.shares_memory(back.data, given.data) and (back != given).nnz == 0
    assert numpy.allclose(back @ numpy.ones(20), given @ numpy.ones(20))
