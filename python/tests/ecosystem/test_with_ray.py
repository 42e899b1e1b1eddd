"""Ray: tensors in its object store, read by other processes without a copy; arguments, results and actors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

numpy = pytest.importorskip("numpy")
ray = pytest.importorskip("ray")

import tl_runtime as tl

SECONDS = 120  # for each result

# What Ray itself leaves behind or warns about.
pytestmark = [pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module", autouse=True)
def engine() -> Iterator[None]:
    """One worker on this machine, at ports that the system chooses."""
    ray.init(
        num_cpus=1,
        include_dashboard=False,
        logging_level="error",
        _node_ip_address="127.0.0.1",
        object_store_memory=100 << 20,
    )
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    """What Ray's store lent is given back with the next call of this package."""
    yield
    tl.zeros(1)


def get(reference: Any) -> Any:
    return ray.get(reference, timeout=SECONDS)


def tensor(count: int = 100_000) -> tl.Tensor:
    return tl.from_numpy(numpy.arange(float(count)))


def test_put_and_get() -> None:
    """What is read is the store's own memory, once for all readers, and read-only."""
    given = tensor()
    stored = ray.put(given)
    got, again = get(stored), get(stored)
    assert got.is_read_only and got.data == again.data != given.data
    assert (got.numpy() == given.numpy()).all()
    with pytest.raises(ValueError):
        got[0] = 1
    copy = got.clone()
    copy[0] = 1
    assert got[0].item() == 0


def test_views_share_in_the_store() -> None:
    base = tensor().reshape(100, 1000)
    whole, rows = get(ray.put((base, base[10:20].T)))
    assert rows.base.address == whole.base.address and (rows.numpy() == base.numpy()[10:20].T).all()


def test_arguments_and_results() -> None:
    given = tensor()
    total = ray.remote(lambda t: (float(t.numpy().sum()), t.is_read_only))
    assert get(total.remote(ray.put(given))) == (float(given.numpy().sum()), True)
    assert get(total.remote(given))[0] == float(given.numpy().sum())
    double = ray.remote(lambda t: tl.from_numpy(t.numpy() * 2))
    results = get([double.remote(given[i : i + 10]) for i in range(0, 100, 10)])
    assert [t.tolist() for t in results] == [(given.numpy()[i : i + 10] * 2).tolist() for i in range(0, 100, 10)]
    assert get(double.remote(double.remote(given)))[5].item() == 20


def test_sparse_matrices() -> None:
    dense = numpy.eye(50)
    arrays = numpy.ones(50), numpy.arange(50), numpy.arange(51)
    matrix = tl.SparseMatrix.from_arrays((50, 50), *arrays, "csr")
    got = get(ray.put(matrix))
    assert got.shape == (50, 50) and [line.values.tolist() for line in got.lines()] == [[1.0]] * 50
    assert dense.sum() == got.nnz


@ray.remote
class Sum:
    """Keeps a tensor of its own."""

    def __init__(self, count: int) -> None:
        self.total = tl.zeros(count, "float64")

    def add(self, given: tl.Tensor) -> None:
        self.total.numpy()[:] += given.numpy()

    def result(self) -> tl.Tensor:
        return self.total


def test_actors() -> None:
    actor = Sum.remote(1000)
    for factor in range(1, 4):
        actor.add.remote(tl.from_numpy(numpy.arange(1000.0) * factor))
    assert (get(actor.result.remote()).numpy() == numpy.arange(1000.0) * 6).all()
    ray.kill(actor)


def test_errors_arrive_as_what_they_are() -> None:
    def fails() -> None:
        tl.set_memory_limit(hard=1 << 20)
        try:
            tl.zeros(100 << 20, "uint8")
        finally:
            tl.set_memory_limit()

    with pytest.raises(tl.LimitError, match="100 MiB requested"):
        get(ray.remote(fails).remote())
