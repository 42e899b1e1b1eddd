"""tracemalloc sees the memory of tensors in a domain of its own."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Iterator

import pytest

import tl_runtime as tl


@pytest.fixture
def tracing() -> Iterator[None]:
    tracemalloc.start(10)
    yield
    tracemalloc.stop()


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def traces() -> list[tuple[int, int]]:
    """The line of this file and the bytes of each trace of the domain."""
    wanted = tracemalloc.DomainFilter(inclusive=True, domain=tl.TRACEMALLOC_DOMAIN)
    found = tracemalloc.take_snapshot().filter_traces([wanted]).traces
    return sorted((lines_here(t.traceback)[-1], t.size) for t in found)


def lines_here(traceback: tracemalloc.Traceback) -> list[int]:
    """The lines of this file in a traceback, whose innermost frame may be the package's."""
    return [frame.lineno for frame in traceback if frame.filename == __file__]


def test_each_tensor_has_its_line_and_its_bytes(tracing: None) -> None:
    assert traces() == []
    first, at = tl.empty((100, 100)), line()
    second, then = first.clone(), line()
    third, last = tl.zeros(10, "int8"), line()
    assert traces() == [(at, 40_000), (then, 40_000), (last, 10)]
    del first, second
    assert [size for _, size in traces()] == [10]
    del third
    assert traces() == []


def test_the_array_keeps_the_trace_and_views_have_none(tracing: None) -> None:
    numpy = pytest.importorskip("numpy")
    array = tl.zeros(1000).numpy()
    tensor = tl.zeros(10)
    view, lent, base = tensor[2:], tl.from_numpy(numpy.zeros(50), copy=False), tensor[1:].base
    assert [size for _, size in traces()] in ([4000, 40], [40, 4000])
    assert base is not None and view.size == 8 and lent.size == 50
    del array
    assert [size for _, size in traces()] == [40]


def test_what_was_made_before_or_ends_after_the_tracing() -> None:
    before = tl.zeros(10)
    tracemalloc.start(10)
    within = tl.zeros(20)
    assert [size for _, size in traces()] == [80]
    del before
    tracemalloc.stop()
    del within
    tracemalloc.start(10)
    assert traces() == []
    tracemalloc.stop()
    assert tl.zeros(3).tolist() == [0.0] * 3
