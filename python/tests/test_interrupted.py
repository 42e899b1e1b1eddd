"""Threads and signal handlers that come between any two bytecodes of this package."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from between import interrupt, places

import tl_runtime as tl
from tl_runtime import _dlpack, registry

np = pytest.importorskip("numpy")

VERSIONS = [None, (1, 0)]
TAKE = {
    _dlpack.take.__code__,
    _dlpack.take_capsule.__code__,
    *(f.__code__ for f in vars(_dlpack).values() if getattr(f, "__name__", "") == "_take_out"),
}
LENT = np.arange(1000.0)


def capsule(version: Any) -> Any:
    return LENT.__dlpack__() if version is None else tl.zeros(1000).__dlpack__(max_version=version)


@pytest.mark.parametrize("version", VERSIONS)
def test_one_of_two_threads_takes_a_capsule(version: Any) -> None:
    count = 0
    given: Any = None
    taken: list[tl.Tensor] = []

    def take() -> None:
        try:
            taken.append(tl.from_dlpack(given))
        except BufferError as error:
            assert "taken out before" in str(error)

    for run in places(TAKE, take):
        given = capsule(version)
        run(take)
        assert len(taken) == 1
        taken.clear()
        given = None
        count += 1
    assert count > 20


@pytest.mark.parametrize("version", VERSIONS)
def test_a_signal_while_a_capsule_is_taken(version: Any) -> None:
    count = 0
    given: Any = None
    before = sys.getrefcount(LENT)
    for run in places(TAKE, interrupt):
        given = capsule(version)
        with tl.scope():
            run(lambda: tl.from_dlpack(given))
        given = None
        gc.collect()
        tl.live_count()
        assert sys.getrefcount(LENT) == before
        count += 1
    assert count > 20


def test_a_signal_while_the_registry_makes_an_array() -> None:
    array = registry.zeros(1000)
    pointer = array.ctypes.data
    tl.Object(pointer).acquire()
    count = 0
    for run in places({registry._hold.__code__}, interrupt):
        tl.Object(pointer).acquire()
        before = tl.Object(pointer).refcount
        run(lambda: registry.adopt(pointer, 1000, "float64"))
        assert tl.Object(pointer).refcount in (before - 1, before)
        while tl.Object(pointer).refcount > 2:
            tl.Object(pointer).release()
        count += 1
    assert count > 10
    tl.Object(pointer).release()
