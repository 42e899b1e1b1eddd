"""Ray: tensors in its object store, read by other processes without a copy."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")
ray = pytest.importorskip("ray")

import tl_runtime as tl


def test_tasks_and_the_store() -> None:
    tensor = tl.from_numpy(numpy.arange(100000.0))
    ray.init(num_cpus=1, include_dashboard=False, logging_level="error")
    try:
        total = ray.remote(lambda given: float(given.numpy().sum()))
        stored = ray.put(tensor)
        assert ray.get(total.remote(stored)) == float(tensor.numpy().sum())
        got = ray.get(stored)
        assert got.is_read_only  # the store's own memory
        assert (got.numpy() == tensor.numpy()).all()
        del got, stored
    finally:
        ray.shutdown()
    tl.zeros(1)
