"""Raw objects by address."""

from __future__ import annotations

import ctypes

import pytest

import tl_runtime as tl


def test_floating_object() -> None:
    held = tl.Object.alloc(64)
    assert held.refcount == 1
    held.check()
    held.free()
    assert held.refcount == -1


def test_registering_sinks_the_floating_reference() -> None:
    with tl.scope():
        held = tl.Object.alloc(64).register()
        assert held.refcount == 1
        assert held.register().refcount == 2
        assert held.unregister().refcount == 2
    assert held.refcount == 1
    held.release()


def test_acquire_and_release() -> None:
    with tl.scope():
        held = tl.Object.new(48, zeroed=True)
        assert held.acquire().refcount == 2
    assert held.refcount == 1
    held.release()
    with pytest.raises(tl.NotLiveError):
        held.release()


def test_zero_bytes_are_null() -> None:
    nothing = tl.Object.alloc(0)
    assert nothing.address == 0
    nothing.check()
    nothing.acquire().register().release()
    assert nothing.refcount == 0


def test_realloc_keeps_count_and_registration() -> None:
    with tl.scope():
        held = tl.Object.new(32).register()
        before = held.address
        ctypes.memset(before, 9, 32)
        held.realloc(100_000)
        assert held.address != before
        assert held.refcount == 2
        assert ctypes.string_at(held.address, 32) == b"\t" * 32
        assert tl.Object(before).status == tl.Status.NOT_LIVE
        with pytest.raises(tl.InvalidArgumentError):
            held.realloc(0)
    assert held.refcount == -1


def test_realloc_moves_nothing_that_others_hold() -> None:
    with tl.scope():
        held = tl.Object.new(32).acquire()
        with pytest.raises(tl.BusyError):
            held.realloc(100_000)
        assert held.refcount == 2
        held.release()


def test_huge_sizes() -> None:
    for size in (1 << 48, 2**63, 2**64 - 1):
        with pytest.raises(MemoryError):
            tl.Object.alloc(size)
        with pytest.raises(tl.OutOfMemoryError):
            tl.Object.new(size)
        with pytest.raises(tl.OutOfMemoryError):
            tl.Object.new(size, zeroed=True)
    held = tl.Object.alloc(64)
    with pytest.raises(tl.OutOfMemoryError):
        held.realloc(1 << 48)
    assert held.refcount == 1
    held.free()


def test_free_is_refused_while_somebody_holds_it() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        with pytest.raises(tl.BusyError):
            held.free()


def test_unregister_of_what_no_scope_holds() -> None:
    held = tl.Object.alloc(64)
    with pytest.raises(tl.NotRegisteredError):
        held.unregister()
    held.free()


def test_unregister_stops_at_the_function() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        with tl.function_frame(0), pytest.raises(tl.NotRegisteredError):
            held.unregister()
        held.unregister()
    assert held.refcount == 1
    held.free()


def test_deep_clone() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        copy = held.deep_clone()
        assert copy != held
        assert len({copy, held, tl.Object(held.address)}) == 2
        assert copy.refcount == held.refcount == 1


def test_share() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        held.share()
        assert held.acquire().refcount == 2
        held.release()


def test_cycles() -> None:
    assert tl.collect_cycles() == 0


def test_interior_pointers() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        for offset in (1, 8, 16, 63):
            inside = tl.Object(held.address + offset)
            assert inside.status == tl.Status.INTERIOR_POINTER
            with pytest.raises(tl.InteriorPointerError):
                inside.release()
            with pytest.raises(tl.InteriorPointerError):
                inside.acquire()
        assert held.refcount == 1
