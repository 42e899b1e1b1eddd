"""CuPy, where there is no GPU: it imports beside the library, and a tensor of the CPU does not pretend to be CUDA's."""

from __future__ import annotations

import warnings

import pytest

import tl_runtime as tl


def test_no_cuda_array() -> None:
    assert not hasattr(tl.zeros(3), "__cuda_array_interface__")
    assert tl.zeros(3).__dlpack_device__() == (1, 0)


def test_import() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of CUDA that is not found
        cupy = pytest.importorskip("cupy")
    try:
        there = cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # of the driver that is not there
        there = False
    tensor = tl.zeros(3)
    if there:
        assert cupy.asnumpy(cupy.asarray(tensor.numpy())).tolist() == [0, 0, 0]
        return
    with pytest.raises(Exception, match="CUDA|cuda|libnvrtc|cudart|[Dd]river"):
        cupy.asarray(tensor.numpy())
    assert tensor.refcount == 1
