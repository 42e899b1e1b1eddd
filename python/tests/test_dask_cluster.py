"""Tensors on Dask's workers, in processes and in threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

numpy = pytest.importorskip("numpy", reason="skip: no NumPy")
distributed = pytest.importorskip("distributed", reason="skip: no distributed")
da = pytest.importorskip("dask.array", reason="skip: no dask.array")

import dask

import tl_runtime as tl
import tl_runtime.dask
from dask_clusters import MIB, SECONDS, cluster, doubled, handler, until
from test_pickling import content, filled

# Dask leaves sockets behind, and warns of other things that are its own, when it starts and ends.
pytestmark = [pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module", params=[True, False], ids=["processes", "threads"])
def shared(request: pytest.FixtureRequest) -> Iterator[Any]:
    with cluster(request.param) as client:
        client.register_plugin(tl_runtime.dask.Plugin(memory_limit=None))
        yield client


@pytest.fixture
def client(shared: Any) -> Iterator[Any]:
    """The client of a cluster that is empty before and after the test."""
    before = tl.stats()["live_objects"]
    yield shared

    def released() -> bool:
        # A connection of Dask's keeps its last message until the next one.
        distributed.wait(shared.map(abs, range(4), pure=False), SECONDS)
        return tl.stats()["live_objects"] == before

    assert until(released, 30), "Dask has not let go of what the test gave it"


def test_submit_and_map(client: Any) -> None:
    tensor = filled((50, 60))
    assert client.submit(doubled, tensor).result(SECONDS).tolist() == (tensor.numpy() * 2).tolist()
    rows = client.gather(client.map(doubled, [tensor[i] for i in range(50)]))
    assert all((row.numpy() == tensor.numpy()[i] * 2).all() for i, row in enumerate(rows))


def test_scatter_and_gather(client: Any) -> None:
    tensors = [filled((1000, 100)), filled((7,), "bfloat16"), filled((3, 4), "complex128").T]
    spread = client.scatter(tensors)
    assert [content(t) for t in client.gather(spread)] == [content(t) for t in tensors]
    everywhere = client.scatter(tensors[0], broadcast=True)
    assert len(client.who_has([everywhere])[everywhere.key]) == 2
    again = client.scatter(tensors[0].clone())
    assert again.key == everywhere.key  # by content


def test_sparse_matrices(client: Any) -> None:
    from test_dask import matrix, same

    given = matrix()
    part = client.submit(lambda m: m[5:9].T, client.scatter(given))
    assert same(part.result(SECONDS), given[5:9].T)


def total(*tensors: tl.Tensor) -> float:
    return float(sum(t.numpy().sum() for t in tensors))


def test_between_workers(client: Any) -> None:
    first, second = client.scheduler_info()["workers"]
    a = client.submit(filled, (100, 100), "uint8", workers=first, pure=False)
    b = client.submit(lambda t: t, a, workers=second, pure=False)
    both = client.submit(total, a, b, workers=first, pure=False)
    assert both.result(SECONDS) == 2 * total(filled((100, 100), "uint8"))


def test_persist(client: Any) -> None:
    tensor = filled((40, 30))
    kept = dask.delayed(doubled)(tensor).persist()
    assert (kept.compute().numpy() == tensor.numpy() * 2).all()


@pytest.mark.parametrize("chunk", [tl.Tensor, numpy.ndarray], ids=["tensors", "arrays"])
def test_arrays_over_tensors(client: Any, chunk: type) -> None:
    """dask.array cuts a tensor into views of it, or the tensor's array into arrays over its memory."""
    tensor = tl.from_numpy(numpy.arange(2400).reshape(60, 40))
    expected = tensor.numpy()
    array = da.from_array(tensor if chunk is tl.Tensor else expected, chunks=(20, 20))
    assert type(array._meta) is chunk and array.dtype == numpy.dtype("int64")
    assert (array.sum(axis=0).compute() == expected.sum(axis=0)).all()
    assert ((array + array.T[:1, :40]).compute() == expected + expected.T[:1, :40]).all()
    assert (array.persist().rechunk((60, 5)).compute() == expected).all()
    assert ((array.T @ array).compute() == expected.T @ expected).all()
    assert array[array > 7].compute().tolist() == expected[expected > 7].tolist()
    if chunk is numpy.ndarray:
        assert (array[[3, 1, 5]].astype("f4").compute() == expected[[3, 1, 5]]).all()


def test_chunks_that_are_tensors(client: Any) -> None:
    tensors = [tl.from_numpy(numpy.arange(80.0 * i, 80.0 * (i + 1)).reshape(10, 8)) for i in range(3)]
    parts = [da.from_delayed(dask.delayed(t), t.shape, meta=numpy.empty((0, 0), "float64")) for t in tensors]
    array = da.concatenate(parts)
    expected = numpy.concatenate([t.numpy() for t in tensors])
    numpy.testing.assert_array_equal((array * 2).compute(), expected * 2)
    numpy.testing.assert_array_equal(array.max(axis=1).compute(), expected.max(axis=1))
    numpy.testing.assert_array_equal(array.rechunk((30, 2)).compute(), expected)
    numpy.testing.assert_array_equal((array.T @ array).compute(), expected.T @ expected)
    made = da.ones((30, 8), chunks=(10, 8)).map_blocks(tl.from_numpy, meta=numpy.empty((0, 0)))
    kept = made.persist()
    assert {type(block.compute()) for block in kept.to_delayed().ravel()} == {tl.Tensor}
    assert kept.sum().compute() == 240


def test_tasks_have_numpy_on_the_runtimes_memory(client: Any) -> None:
    names = client.gather(client.map(lambda _: handler(), range(8), pure=False))
    assert set(names) == {"tl_runtime"}
    assert handler() == "default_allocator"  # the client's own thread is left alone


def test_what_workers_tell(client: Any) -> None:
    kept = client.submit(tl.zeros, (MIB,), "uint8", pure=False)
    distributed.wait(kept, SECONDS)

    def told() -> Any:
        workers = client.scheduler_info()["workers"].values()
        return max(worker["metrics"].get("tl_in_use", 0) for worker in workers) >= MIB and list(workers)

    worker = until(told)
    assert worker and {"tl_cached", "tl_peak", "tl_hard_limit", "tl_tensors", "tl_spilled"} <= set(worker[0]["metrics"])
