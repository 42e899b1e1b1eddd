"""Limits of memory, what is held, and the last resort before a request fails."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run

MIB = 1 << 20


@pytest.fixture(autouse=True)
def no_limits() -> Iterator[None]:
    tl.purge()
    yield
    tl.set_out_of_memory_callback(None)
    tl.set_memory_limit("total")
    tl.set_memory_limit("cpu")
    tl.set_tensor_pool_limits()


def leave_room(nbytes: int) -> None:
    tl.set_memory_limit("total", hard=tl.memory_usage("total").reserved + nbytes)


def test_usage_adds_up() -> None:
    before = tl.memory_usage("cpu")
    tensor = tl.empty((4 * MIB,), "uint8")
    usage = tl.memory_usage(0)
    assert usage.reserved - before.reserved >= 4 * MIB
    assert usage.in_use - before.in_use >= 4 * MIB
    assert usage.in_use + usage.cached == usage.reserved <= usage.peak
    del tensor
    assert tl.memory_usage("own").reserved == 0


def test_limits_are_set_by_name_and_told() -> None:
    tl.set_memory_limit("cpu", soft=100 * MIB, hard=1 << 40)
    assert tl.memory_limit("cpu") == tl.memory_limit(0) == (100 * MIB, 1 << 40)
    assert tl.memory_usage("cpu").hard_limit == 1 << 40
    assert tl.memory_limit() == (0, 0)
    with pytest.raises(tl.InvalidArgumentError):
        tl.set_memory_limit("cpu", soft=2, hard=1)
    with pytest.raises(tl.DeviceError):
        tl.set_memory_limit(77, hard=1)
    with pytest.raises(ValueError):
        tl.set_memory_limit("cpu", hard=-1)
    tl.configure("TL_MEM_LIMIT", "1TiB")
    assert tl.memory_limit("total") == (0, 1 << 40)
    assert tl.memory_limit("cpu") == (100 * MIB, 0)
    tl.configure("TL_MEM_LIMIT", "")


def test_a_limit_is_a_memory_error_with_the_figures() -> None:
    leave_room(MIB)
    with pytest.raises(tl.LimitError, match=r"8\.\d MiB requested of cpu.* in use .*largest keys") as caught:
        tl.empty((8 * MIB,), "uint8")
    assert isinstance(caught.value, MemoryError)


def test_the_callback_makes_room() -> None:
    kept: list[Any] = []
    calls = []

    def let_go(device: int, nbytes: int, attempt: int) -> bool:
        calls.append((device, nbytes >= 8 * MIB, attempt))
        kept.pop()
        return True

    leave_room(12 * MIB)
    kept += [tl.empty((3 * MIB,), "uint8") for _ in range(3)]
    tl.set_out_of_memory_callback(let_go)
    tensor = tl.empty((8 * MIB,), "uint8")
    assert calls == [(0, True, 1), (0, True, 2)]
    assert len(kept) == 1
    del tensor
    tl.set_out_of_memory_callback(None)
    with pytest.raises(tl.LimitError):
        tl.empty((13 * MIB,), "uint8")
    assert len(calls) == 2


def test_an_exception_in_the_callback_means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", shown.append)

    def fail(*_: int) -> bool:
        raise RuntimeError("no idea")

    leave_room(MIB)
    tl.set_out_of_memory_callback(fail)
    with pytest.raises(tl.LimitError):
        tl.empty((8 * MIB,), "uint8")
    assert [str(one.exc_value) for one in shown] == ["no idea"]
    assert shown[0].object is fail
    shown.clear()


def test_the_callback_does_not_recur_and_may_replace_itself() -> None:
    calls = []

    def once(device: int, nbytes: int, attempt: int) -> bool:
        calls.append(attempt)
        with pytest.raises(tl.LimitError):
            tl.empty((8 * MIB,), "uint8")
        tl.set_out_of_memory_callback(None)
        gc.collect()
        return True

    leave_room(MIB)
    tl.set_out_of_memory_callback(once)
    with pytest.raises(tl.LimitError):
        tl.empty((9 * MIB,), "uint8")
    assert calls == [1]


def test_threads_ask_each_for_themselves() -> None:
    calls: list[int] = []
    tl.set_out_of_memory_callback(lambda device, nbytes, attempt: calls.append(attempt))

    def want() -> None:
        with pytest.raises(tl.LimitError):
            tl.empty((8 * MIB,), "uint8")

    leave_room(MIB)
    threads = [threading.Thread(target=want) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1] * 4


def test_the_tensor_pool_has_limits_and_keys() -> None:
    def keep(count: int) -> None:
        held = [tl.empty((1000,), "float32") for _ in range(count)]
        held.clear()

    keep(40)
    assert [(key.elements, key.tensors) for key in tl.tensor_pool_keys()] == [(1000, 32)]
    tl.set_tensor_pool_limits(100)
    keep(60)
    assert tl.tensor_pool_keys()[0].tensors == 60
    tl.set_tensor_pool_limits(0)
    assert tl.tensor_pool_keys() == []
    with pytest.raises(tl.InvalidArgumentError):
        tl.set_tensor_pool_limits(5000)
    with pytest.raises(ValueError):
        tl.set_tensor_pool_limits(-1)


def test_the_environment_limits(python: Run) -> None:
    program = """
    try:
        tl.empty((9 << 20,), "uint8")
    except tl.LimitError as error:
        print(tl.memory_limit("cpu")[1], "limit 8.0 MiB, in all" in str(error))
    """
    assert python(program, TL_MEM_LIMIT="1GiB,cpu=8MiB").stdout == "8388608 True\n"


def test_a_callback_that_is_left_does_no_harm_at_the_end(python: Run) -> None:
    python("tl.set_out_of_memory_callback(lambda *_: True)")
