"""Numba: compiled functions on a tensor's memory."""

from __future__ import annotations

import ctypes

import pytest

numpy = pytest.importorskip("numpy")
numba = pytest.importorskip("numba")

import tl_runtime as tl


def test_a_compiled_function() -> None:
    @numba.njit
    def scale(array, by):  # type: ignore[no-untyped-def]
        for at in range(array.shape[0]):
            array[at] *= by
        return array.sum()

    tensor = tl.from_numpy(numpy.arange(10.0))
    assert scale(tensor.numpy(), 2.0) == 90
    assert tensor.numpy().tolist() == [2.0 * at for at in range(10)]


def test_a_view_and_a_ufunc() -> None:
    @numba.vectorize(["float64(float64, float64)"])
    def plus(a, b):  # type: ignore[no-untyped-def]
        return a + b

    tensor = tl.from_numpy(numpy.arange(12.0).reshape(3, 4))
    assert plus(tensor.T.numpy(), 1.0).tolist() == (numpy.arange(12.0).reshape(3, 4).T + 1).tolist()


def test_an_array_by_its_address() -> None:
    @numba.cfunc(numba.types.float64(numba.types.CPointer(numba.types.float64), numba.types.intp))
    def total(elements, n):  # type: ignore[no-untyped-def]
        return numba.carray(elements, n).sum()

    tensor = tl.from_numpy(numpy.arange(5.0))
    compiled = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_ssize_t)(total.address)
    assert compiled(tensor.data, 5) == 10


def test_no_cuda_array() -> None:
    """A tensor of the CPU does not offer itself as one of CUDA's."""
    assert not hasattr(tl.zeros(3), "__cuda_array_interface__")
