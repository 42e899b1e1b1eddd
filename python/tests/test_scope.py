"""Scopes, frames and the arena as context managers."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator

import pytest

import tl_runtime as tl
from conftest import in_threads


def test_scope_releases_at_its_end() -> None:
    with tl.scope():
        held = tl.Object.new(64)
        assert tl.scope_depth() == 1
        assert held.refcount == 1
    assert tl.scope_depth() == 0
    assert held.refcount == -1


def test_scope_ends_after_an_exception() -> None:
    with pytest.raises(KeyError), tl.scope():
        with tl.scope():
            inner = tl.Object.new(64)
            raise KeyError
    assert tl.scope_depth() == 0
    assert inner.status != tl.Status.OK


def test_scope_closes_what_was_left_open_inside() -> None:
    with tl.scope():
        for _ in range(10):
            tl.lib.tl_mem_enter_scope()
            tl.Object.new(32)
        tl.lib.tl_mem_function_enter(3)
        tl.lib.tl_mem_frame_enter(128)
        assert tl.scope_depth() == 12
    assert tl.scope_depth() == 0


def test_scope_may_be_used_again_and_inside_itself() -> None:
    scope = tl.scope()
    with scope, scope:
        assert tl.scope_depth() == 2
    assert tl.scope_depth() == 0


def test_scope_as_decorator() -> None:
    @tl.scope()
    def depth(levels: int) -> int:
        tl.Object.new(32)
        return depth(levels - 1) if levels else tl.scope_depth()

    assert depth(4) == 5
    assert tl.scope_depth() == 0


def test_a_decorated_function_on_two_threads() -> None:
    inside, beside, left = (threading.Event() for _ in range(3))
    depths: dict[str, int] = {}

    @tl.scope()
    def work(entered: threading.Event, end: threading.Event) -> None:
        entered.set()
        assert end.wait(20)

    def first() -> None:
        work(inside, beside)
        depths["first"] = tl.scope_depth()
        left.set()

    def second() -> None:
        assert inside.wait(20)
        with tl.scope():
            held = tl.Object.new(64)
            work(beside, left)
            depths["second"] = tl.scope_depth()
            held.check()

    threads = [threading.Thread(target=run) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert depths == {"first": 0, "second": 1}


def test_generators_end_their_scopes_in_any_order() -> None:
    shared = tl.scope()

    def steps() -> Iterator[int]:
        with shared:
            yield tl.scope_depth()

    first, second = steps(), steps()
    assert [next(first), next(second)] == [1, 2]
    assert list(first) == list(second) == []
    assert tl.scope_depth() == 0


def test_a_block_is_left_by_the_thread_that_entered_it() -> None:
    refused: list[str] = []

    def leave() -> None:
        for block in (entered, tl.frame(64), tl.function_frame(1), tl.arena()):
            with pytest.raises(RuntimeError, match="in no block"):
                block.__exit__(None, None, None)
            refused.append(type(block).__name__)

    with tl.scope() as entered:
        in_threads(leave)
        assert tl.scope_depth() == 1
    assert refused == ["scope", "frame", "function_frame", "arena"]


def test_every_block_may_be_entered_inside_itself() -> None:
    frame, slots, arena = tl.frame(64), tl.function_frame(2), tl.arena(1 << 16)
    with frame:
        outer = frame.address
        with frame:
            assert frame.address not in (0, outer)
        assert frame.address == outer != 0
    assert frame.address == 0
    with slots, slots:
        assert tl.scope_depth() == 2
    assert tl.scope_depth() == 0
    with arena:
        with arena:
            arena.alloc(64)
        assert arena.offset == 0 and tl.lib.tl_arena_is_active()
    assert not tl.lib.tl_arena_is_active()


def test_scope_that_was_closed_by_hand() -> None:
    outer = tl.scope()
    outer.__enter__()
    with pytest.raises(tl.ScopeUnderflowError), tl.scope():
        tl.lib.tl_mem_exit_scope()
        tl.lib.tl_mem_exit_scope()
    outer.__exit__(None, None, None)


def test_exits_that_are_refused() -> None:
    assert tl.lib.tl_mem_exit_scope() == tl.Status.SCOPE_UNDERFLOW
    assert tl.lib.tl_mem_exit_scopes_to(-1) == tl.Status.INVALID_ARGUMENT
    assert tl.lib.tl_mem_function_exit() == tl.Status.NO_FRAME
    assert tl.lib.tl_mem_frame_exit() == tl.Status.NO_FRAME
    with tl.function_frame(1):
        assert tl.lib.tl_mem_exit_scope() == tl.Status.SCOPE_UNDERFLOW
    with tl.frame(64), tl.function_frame(0):  # the frame of another function
        assert tl.lib.tl_mem_frame_exit() == tl.Status.NO_FRAME


def test_function_frame_slots() -> None:
    with tl.function_frame(2) as frame:
        first = frame.buffer(0, 256)
        assert first % 64 == 0
        ctypes.memset(first, 7, 256)
        with tl.scope():
            assert frame.buffer(0, 100) == first
            inner = frame.buffer(1, 64)
        assert frame.buffer(1, 64) == inner != first
        assert frame.buffer(1, 0) == 0
        grown = frame.buffer(0, 4096)
        assert grown != first
        assert ctypes.string_at(first, 256) == b"\7" * 256  # outgrown, still there
        with pytest.raises(tl.SlotOutOfRangeError):
            frame.buffer(2, 8)
        with pytest.raises(IndexError):
            frame.buffer(-1, 8)
        with pytest.raises(tl.InvalidArgumentError):
            frame.buffer(0, -8)


def test_slot_without_a_frame() -> None:
    frame = tl.function_frame(1)
    with pytest.raises(tl.NoFrameError):
        frame.buffer(0, 8)


def test_function_frame_that_cannot_be() -> None:
    with pytest.raises(tl.InvalidArgumentError), tl.function_frame(-1):
        pass
    with pytest.raises(tl.LimitError), tl.function_frame(1 << 30):
        pass


def test_planned_frame() -> None:
    with tl.frame(1000) as outer:
        assert outer.address % 64 == 0
        ctypes.memset(outer.address, 1, 1000)
        with tl.frame(1000) as inner:
            assert inner.address >= outer.address + 1000
            ctypes.memset(inner.address, 2, 1000)
            tl.lib.tl_mem_enter_scope()
        assert ctypes.string_at(outer.address, 1000) == b"\1" * 1000
    with tl.frame(0) as nothing, tl.frame(64) as something:
        assert nothing.address <= something.address


def test_planned_frame_that_is_too_large() -> None:
    with pytest.raises(MemoryError) as caught, tl.frame(1 << 50):
        pass
    assert caught.value.status == tl.Status.ARENA_EXHAUSTED
    assert tl.scope_depth() == 0


def test_arena() -> None:
    with tl.arena(1 << 16) as arena:
        assert arena.capacity >= 1 << 16
        with tl.scope():
            address = arena.alloc(100)
            assert address in arena
            assert address % 64 == 0
            assert arena.offset >= 100
            tl.Object(address).check()
        assert arena.offset == 0
        assert address not in arena
        assert tl.Object(address).status == tl.Status.NOT_LIVE
        assert arena.alloc(0) == 0
        with pytest.raises(tl.InvalidArgumentError):
            arena.alloc(-1)
        arena.alloc(10)
        arena.reset()
        assert arena.offset == 0
    assert not tl.lib.tl_arena_is_active()


def test_arena_that_is_full() -> None:
    with tl.arena(4096) as arena:
        arena.alloc(4096)
        with pytest.raises(tl.ArenaExhaustedError):
            arena.alloc(1)
        assert arena.offset == 4096
    with pytest.raises(tl.NoFrameError):
        arena.alloc(1)


def test_arena_inside_arena() -> None:
    with tl.arena(1 << 16) as outer:
        kept = outer.alloc(64)
        with tl.arena() as inner:
            inner.alloc(64)
            assert outer.offset >= 128
        assert outer.offset < 128
        assert kept in outer


def test_arena_offsets_that_are_refused() -> None:
    assert tl.lib.tl_arena_set_offset(0) == tl.Status.NO_FRAME
    assert tl.lib.tl_arena_init(-1) == tl.Status.INVALID_ARGUMENT
    assert tl.lib.tl_arena_init(1 << 50) == tl.Status.LIMIT
    with tl.arena(1 << 16) as arena:
        arena.alloc(8192)
        assert tl.lib.tl_arena_init(4096) == tl.Status.BUSY
        for offset in (-1, 1 << 20):
            assert tl.lib.tl_arena_set_offset(offset) == tl.Status.INVALID_ARGUMENT
        arena.reset()
