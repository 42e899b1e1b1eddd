"""Threads and signal handlers that come between any two bytecodes of this package."""

from __future__ import annotations

import contextlib
import dis
import gc
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from between import interrupt, places

import tl_runtime as tl
from tl_runtime import registry
from tl_runtime._tensor import dlpack

np = pytest.importorskip("numpy")

VERSIONS = [None, (1, 0)]
TAKE = {
    dlpack.take.__code__,
    dlpack.take_capsule.__code__,
    *(f.__code__ for f in vars(dlpack).values() if getattr(f, "__name__", "") == "_take_out"),
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


def each_bytecode(call: Any) -> Iterator[BaseException | None]:
    """Makes a call again and again, with Ctrl-C before the first bytecode of the package, the second, and so on.

    Yields the exception that comes out of each; the last call is not interrupted.
    """
    package = str(Path(tl.__file__).parent)
    left = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal left
        code = frame.f_code
        if not code.co_filename.startswith(package) or code.co_name == "__del__":  # whose exceptions Python only shows
            return None
        frame.f_trace_opcodes = True
        returns = event == "opcode" and code.co_code[frame.f_lasti] == dis.opmap["RETURN_VALUE"]
        if event in ("call", "opcode") and not returns:  # Python runs no handler between a value and its return
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    for wanted in itertools.count(1):
        out: BaseException | None = None
        left, before = wanted, sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        except BaseException as error:
            out = error.with_traceback(None)
        finally:
            sys.settrace(before)
        yield out
        if left > 0:
            return


def nested_blocks() -> None:
    with tl.scope(), tl.function_frame(2) as slots, tl.frame(64) as frame, tl.arena(1 << 16) as arena:
        assert slots.buffer(0, 8) and frame.address and arena.alloc(8)
        with tl.scope():
            tl.Object.new(64)


@tl.scope()
def decorated(levels: int) -> int:
    tl.Object.new(8)
    return decorated(levels - 1) if levels else 0


def manual() -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(tl.scope())
        stack.enter_context(tl.frame(64))


@pytest.mark.parametrize("call", [nested_blocks, lambda: decorated(2)], ids=["blocks", "decorator"])
def test_ctrl_c_comes_out_as_itself_and_leaves_no_block_open(call: Any) -> None:
    *interrupted, last = each_bytecode(call)
    assert last is None
    assert {type(error) for error in interrupted} == {KeyboardInterrupt}
    manual()  # without an interrupt: what is not a `with` statement works on
    call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: tl.lib.tl_ptr_refcount(0),
        lambda: tl.lib.tl_tensor_free(None),
        lambda: tl.lib.tl_trace_mark(b"a mark"),
        lambda: tl.memory_usage(0),
    ],
    ids=["number", "pointer", "name", "struct"],
)
def test_ctrl_c_while_arguments_are_converted(call: Any) -> None:
    def within() -> None:
        with tl.scope():
            call()

    *interrupted, last = each_bytecode(within)
    assert last is None
    assert {type(error) for error in interrupted} <= {KeyboardInterrupt}
    gc.collect()
    tl.live_count()
