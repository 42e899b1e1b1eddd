"""Checked and weak references, and Python's own weak references to handles."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import tl_runtime as tl
from conftest import in_threads


def in_a_thread(call: Any) -> Any:
    """What the call returns or raises on a thread of its own."""
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(call())
        except tl.Error as error:
            result.append(error)

    in_threads(run)
    return result[0]


def test_a_reference_leads_to_its_object() -> None:
    held = tl.Object.alloc(64)
    ref = tl.Ref(held)
    assert ref.get() == held
    assert ref.status == tl.Status.OK
    assert ref == tl.Ref(held)
    assert hash(ref) == hash(tl.Ref(held))
    assert ref.acquire().refcount == 2
    ref.release()
    ref.release()
    assert ref.status == tl.Status.NOT_LIVE


def test_a_later_object_is_another_one() -> None:
    first = tl.Object.alloc(64)
    ref, weak = tl.Ref(first), tl.Weak(first)
    first.release()
    second = tl.Object.alloc(64)
    assert second == first  # the same address
    assert ref != tl.Ref(second)
    for call in (ref.get, ref.acquire, ref.release):
        with pytest.raises(tl.NotLiveError):
            call()
    assert weak() is None
    assert second.refcount == 1
    second.release()


def test_a_weak_reference_is_upgraded_by_the_owner() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        weak = tl.Weak(held)
        upgraded = weak()
        assert upgraded == held
        assert held.refcount == 2
        assert isinstance(in_a_thread(weak), tl.BusyError)
        assert isinstance(in_a_thread(lambda: tl.Weak(held, shared=True)), tl.BusyError)
        held.release()
    assert weak() is None


def test_a_shared_weak_reference_is_upgraded_by_every_thread() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        weak = tl.Weak(held, shared=True)
        assert in_a_thread(weak) == held
        assert held.refcount == 2
        held.release()
    assert weak() is None
    assert in_a_thread(weak) is None


def test_references_to_nothing() -> None:
    nothing = tl.Object(0)
    assert tl.Ref(nothing).get().address == 0
    assert tl.Ref(nothing).acquire().address == 0
    assert tl.Weak(nothing)() is None


def test_what_is_no_object() -> None:
    for make in (tl.Ref, tl.Weak, lambda o: tl.Weak(o, shared=True)):
        with pytest.raises(tl.UnknownPointerError):
            make(tl.Object(4096 * 1024))


def test_python_refers_to_handles_weakly() -> None:
    handles = [
        lambda: tl.Object(0),
        lambda: tl.Ref(tl.Object(0)),
        lambda: tl.zeros((2, 3), "float32"),
        lambda: tl.zeros((2, 3), "float32").T,
        lambda: tl.Plan(),
        tl.scope,
        lambda: tl.frame(64),
        lambda: tl.function_frame(1),
        lambda: tl.arena(64),
    ]
    for make in handles:
        handle = make()
        alive = weakref.ref(handle)
        assert alive() is handle
        del handle
        gc.collect()
        assert alive() is None


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps, lambda given: pickle.dumps(given, 2)])
def test_what_names_an_object_stays_in_its_process(way: Any) -> None:
    with tl.scope():
        made = tl.Object.new(32)
        for given in (made, tl.Ref(made), tl.Weak(made)):
            with pytest.raises(TypeError, match=f"a tl.{type(given).__name__} names an object of this process"):
                way(given)


@pytest.mark.parametrize("wrong", [5, None, "x", 1.5, object()])
@pytest.mark.parametrize(
    "make",
    [tl.Ref, tl.Weak, lambda wrong: tl.Weak(wrong, shared=True), lambda wrong: tl.Ref(tl.zeros(1))],
    ids=["Ref", "Weak", "shared", "of a tensor"],
)
def test_a_reference_is_one_to_an_object(make: Callable[[Any], Any], wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"tl\.Object"):
        make(wrong)
    if not isinstance(wrong, int):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            tl.Object(wrong)
