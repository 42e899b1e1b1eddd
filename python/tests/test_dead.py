"""Destructors in Python of types that tl.define_type() defines: called later, once, in order, by one thread at a time."""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run, in_threads
from tl_runtime._memory.dead import _kinds

libc = ctypes.CDLL(None)
libc.calloc.argtypes, libc.calloc.restype = [ctypes.c_size_t, ctypes.c_size_t], ctypes.c_void_p


def numbered(type_: int, number: int) -> tl.Object:
    """A block of malloc with the type, that the current scope holds; its second word is the number."""
    block = tl.Object(libc.calloc(1, 16)).register_typed(type_)
    ctypes.c_int64.from_address(block.address + 8).value = number
    return block


def number_of(contents: bytes) -> int:
    return int(struct.unpack("qq", contents)[1])


def test_the_dead_are_told_once_and_in_order() -> None:
    dead: list[int] = []
    type_ = tl.define_type("told", 16, [0], destructor=lambda contents: dead.append(number_of(contents)))
    with tl.scope():
        for number in range(5):
            numbered(type_, number)
        made = tl.lib.tl_object_new(type_)
        ctypes.c_int64.from_address(made + 8).value = 5
        assert dead == []
    assert dead == [5, 4, 3, 2, 1, 0]
    with tl.scope():
        pass
    assert len(dead) == 6


def test_objects_without_a_copy_are_told_of(monkeypatch: pytest.MonkeyPatch, python: Run) -> None:
    """The library counts them where malloc fails; here the count is raised by hand."""
    shown: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda one: shown.append((one.exc_type, str(one.exc_value))))
    dead: list[int] = []
    type_ = tl.define_type("lost", 16, destructor=lambda contents: dead.append(number_of(contents)))
    _kinds[-1].dead.lost += 3
    for number in range(2):
        with tl.scope():
            numbered(type_, number)
        assert dead == list(range(number + 1))
    assert shown == [(MemoryError, "not called for 3 dead object(s), of which there was no memory for copies")]
    _kinds[-1].dead.lost += 1
    with tl.scope():
        numbered(type_, 2)
    assert len(shown) == 2 and "not called for 1 dead" in shown[1][1]

    code = """
        from tl_runtime._memory import dead
        tl.define_type("lost", 16, destructor=print)
        dead._kinds[-1].dead.lost += 2
        """
    result = python(code, ok=False)
    assert result.returncode == 0 and "MemoryError: not called for 2 dead object(s)" in result.stderr


def test_fields_are_released_before_the_call() -> None:
    counts: list[int] = []
    with tl.scope():
        child = tl.Object.new(32)
        type_ = tl.define_type("holder", 16, [0], destructor=lambda _: counts.append(child.refcount))
        holder = numbered(type_, 0)
        ctypes.c_void_p.from_address(holder.address).value = child.acquire().address
        holder.unregister().release()
        assert counts == [1]


def test_an_exception_is_shown_and_the_next_one_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    dead: list[int] = []

    def fail(contents: bytes) -> None:
        dead.append(number_of(contents))
        raise ValueError(f"no. {dead[-1]}")

    monkeypatch.setattr(sys, "unraisablehook", lambda error: shown.append(str(error.exc_value)))
    type_ = tl.define_type("failing", 16, destructor=fail)
    with tl.scope():
        for number in range(3):
            numbered(type_, number)
    assert dead == [2, 1, 0]
    assert shown == ["no. 2", "no. 1", "no. 0"]


def test_a_thread_that_drops_the_last_reference_calls_nothing() -> None:
    callers: list[int] = []
    type_ = tl.define_type("elsewhere", 16, destructor=lambda _: callers.append(threading.get_ident()))
    with tl.scope():
        block = numbered(type_, 0).unregister()
    thread = threading.Thread(target=tl.lib.tl_ptr_release, args=[block.address])  # without the interpreter's lock
    thread.start()
    thread.join()
    assert callers == []
    with tl.scope():
        pass
    assert callers == [threading.get_ident()]


def test_destructors_that_release_others_need_no_stack() -> None:
    length = 5 * sys.getrecursionlimit()
    blocks: list[tl.Object] = []
    dead: list[int] = []

    def release_next(contents: bytes) -> None:
        dead.append(number_of(contents))
        if blocks:
            blocks.pop().release()

    type_ = tl.define_type("chained", 16, destructor=release_next)
    with tl.scope():
        for number in range(length):
            blocks.append(numbered(type_, number).unregister())
    blocks.pop().release()
    assert dead == list(range(length - 1, -1, -1))


def test_threads_call_one_at_a_time() -> None:
    inside: list[int] = []
    most = calls = 0

    def count(_: bytes) -> None:
        nonlocal most, calls
        inside.append(0)
        most = max(most, len(inside))
        calls += 1
        threading.Event().wait(0.0005)
        inside.pop()

    type_ = tl.define_type("busy", 16, destructor=count)

    def work() -> None:
        for number in range(50):
            with tl.scope():
                numbered(type_, number)

    in_threads(work, [()] * 4)
    with tl.scope():
        pass
    assert (most, calls) == (1, 200)


def test_a_destructor_is_callable() -> None:
    with pytest.raises(TypeError, match="5 is no function"):
        tl.define_type("wrong", 16, destructor=5)  # type: ignore[arg-type]
    with pytest.raises(tl.InvalidArgumentError):
        tl.define_type("wrong", 16, [4], destructor=print)


def test_what_is_dead_at_exit_is_told_and_nothing_later(python: Run) -> None:
    result = python(
        """
        import ctypes
        type_ = tl.define_type("last", 16, destructor=lambda contents: print("dead", contents[8]))
        tl.lib.tl_mem_enter_scope()
        objects = [tl.lib.tl_object_new(type_) for _ in range(3)]
        for number, address in enumerate(objects):
            ctypes.c_uint8.from_address(address + 8).value = number
        tl.lib.tl_mem_unregister(objects[0])
        tl.lib.tl_ptr_release(objects[0])                        # told at exit
        class Late:
            def __del__(self, release=tl.lib.tl_ptr_release, address=objects[1]): release(address)
        tl.lib.tl_mem_unregister(objects[1])
        import sys
        sys.late = Late()                                        # dies after that, objects[2] never
        """
    )
    assert (result.stdout, result.stderr) == ("dead 0\n", "")


def test_a_forked_child_leaves_the_dead_to_its_parent(python: Run) -> None:
    result = python(
        """
        import os
        type_ = tl.define_type("shared", 16, destructor=lambda _: print("told to", os.getpid() == parent, flush=True))
        parent = os.getpid()
        with tl.scope():
            tl.lib.tl_mem_enter_scope()
            tl.lib.tl_object_new(type_)
            tl.lib.tl_mem_exit_scope()
            child = os.fork()
            if child == 0:
                from tl_runtime._binding import deferred
                deferred.drain()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
    )
    assert result.stdout == "told to True\n"


def test_types_with_a_list_run_out(python: Run) -> None:
    python(
        """
        import ctypes
        from tl_runtime import _abi
        description, dead = _abi.tl_type_desc(b"T", 8), _abi.tl_deferred_dead(8)
        number = ctypes.c_uint32()
        for size in range(8, (1 << 20) + 9):
            description.size = size
            status = tl.lib.tl_type_define_deferred(description, ctypes.addressof(dead), number)
            if status: break
        assert status == tl.Status.LIMIT, status
        try: tl.define_type("one more", 8, destructor=print)
        except tl.LimitError: pass
        """
    )
