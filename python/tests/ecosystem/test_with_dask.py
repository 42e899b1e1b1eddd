"""Dask: tensors as results and arguments of tasks in other processes."""

from __future__ import annotations

import pytest

numpy = pytest.importorskip("numpy")
distributed = pytest.importorskip("distributed")

import tl_runtime as tl
from test_pickling import content, filled


def test_frames_out_of_band() -> None:
    """Dask's own serialisation sends the memory beside the pickle."""
    from distributed.protocol import deserialize, serialize

    base = filled((100, 100))
    header, frames = serialize([base, base[1:]])
    assert any(memoryview(frame).nbytes == base.nbytes for frame in frames)
    again, part = deserialize(header, [bytearray(frame) for frame in frames])
    assert content(again) == content(base) and part.base.address == again.address


def test_a_cluster() -> None:
    tensor = filled((50, 60))
    with distributed.Client(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as client:
        doubled = client.submit(lambda t: tl.from_numpy(t.numpy() * 2), tensor).result(60)
    assert (doubled.numpy() == tensor.numpy() * 2).all()
