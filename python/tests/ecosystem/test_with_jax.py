"""JAX: arrays by DLPack in both directions."""

from __future__ import annotations

import gc

import pytest

numpy = pytest.importorskip("numpy")
jax = pytest.importorskip("jax")

import jax.numpy

import tl_runtime as tl


def test_a_tensor_as_an_array() -> None:
    tensor = tl.from_numpy(numpy.arange(12, dtype="float32").reshape(3, 4))
    array = jax.numpy.from_dlpack(tensor)
    assert array.unsafe_buffer_pointer() == tensor.data
    assert float(jax.jit(lambda x: (x * x).sum())(array)) == float((tensor.numpy() ** 2).sum())


def test_an_array_as_a_tensor() -> None:
    array = jax.numpy.arange(6, dtype="int32") * 2
    tensor = tl.from_dlpack(array)
    assert tensor.data == array.unsafe_buffer_pointer()
    assert tensor.numpy().tolist() == [0, 2, 4, 6, 8, 10]


def test_the_array_keeps_the_tensor() -> None:
    tensor = tl.from_numpy(numpy.arange(1000, dtype="float32"))
    address, array = tensor.address, jax.numpy.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert tl.Object(address).status == tl.Status.OK
    assert float(array.sum()) == 499500
    array.delete()
    del array
    gc.collect()
    assert tl.Object(address).status != tl.Status.OK


def test_bfloat16() -> None:
    tensor = tl.from_dlpack(jax.numpy.ones(8, "bfloat16"))
    assert tensor.dtype is tl.DType.BFLOAT16
    assert jax.numpy.from_dlpack(tensor).dtype == jax.numpy.bfloat16
