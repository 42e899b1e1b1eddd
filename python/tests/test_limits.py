"""Limits of memory, what is held, and the last resort before a request fails."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import pytest

import tl_runtime as tl
from conftest import Run, in_threads
from test_devices import fake_cuda  # noqa: F401  (a fixture)
from tl_runtime._binding.library import lib

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
    assert "fail" in f"{shown[0].err_msg} {shown[0].object!r}"
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
    in_threads(want, [()] * 4)
    assert calls == [1] * 4


def test_the_tensor_pool_has_limits_and_keys() -> None:
    def keep(count: int) -> None:
        shape = (ctypes.c_int64 * 1)(1000)
        held = []
        with tl.scope():
            for _ in range(count):
                held.append(lib.tl_tensor_empty(0, 0, 1, shape))
                lib.tl_tensor_promote(held[-1])
        for tensor in held:
            lib.tl_pool_release(tensor, 1000, 0, 0)

    keep(40)
    assert [(key.elements, key.tensors) for key in tl.tensor_pool_keys()] == [(1000, 32)]
    tl.set_tensor_pool_limits(100)
    keep(28)
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


def test_devices_have_accounts_of_their_own(python: Run, fake_cuda: str) -> None:  # noqa: F811
    program = """
    import ctypes
    from tl_runtime import _abi
    before = tl.memory_usage("cpu").reserved
    def pool(which, nbytes, **options):
        memory, made = tl.device_allocator(which, **options), ctypes.c_void_p()
        status = tl.lib.tl_memory_pool_create(memory.pointer, nbytes, ctypes.byref(made))
        return made.value, status, (tl.lib.tl_last_error() or b"").decode()
    first, status, _ = pool("cuda:0", 3 << 20)
    print(status, tl.memory_limit("cuda:0"), tl.memory_usage("cuda:0").reserved >> 20)
    print(tl.memory_usage("cpu").reserved == before, tl.memory_usage().reserved - before >> 20)
    block = tl.lib.tl_memory_pool_allocate(first, 1 << 20)
    _, status, text = pool("cuda:0", 2 << 20)
    print(tl.Status(status).name, text)
    tl.lib.tl_memory_pool_deallocate(first, block)
    second, status, _ = pool("cuda:0", 2 << 20)  # the first one's chunk goes
    print(status, tl.memory_usage("cuda:0").reserved >> 20)
    pinned, status, _ = pool("cuda:0", 1 << 20, pinned=True)
    print(status, tl.memory_usage("cpu").reserved - before >> 20)
    for made in (first, second, pinned):
        assert tl.lib.tl_memory_pool_destroy(made) == 0
    print(tl.memory_usage("cuda:0").reserved, tl.memory_usage("cpu").reserved - before)
    """
    lines = python(program, TL_CUDA_LIBRARY=fake_cuda, TL_MEM_LIMIT="1GiB,cuda:0=4MiB").stdout.splitlines()
    assert lines[:2] == ["0 (0, 4194304) 3", "True 3"]
    assert lines[2].startswith("LIMIT tl_memory_pool_create: TL_E_LIMIT: 2.0 MiB requested of cuda:0 (more than a limit")
    assert "in use 1.0 MiB, cached 2.0 MiB, reserved 3.0 MiB, largest free block 2.0 MiB; limit 4.0 MiB" in lines[2]
    assert "; device free " in lines[2] and "unknown" not in lines[2]
    assert lines[3:] == ["0 2", "0 1", "0 0"]


def test_a_callback_that_is_left_does_no_harm_at_the_end(python: Run) -> None:
    python("tl.set_out_of_memory_callback(lambda *_: True)")


def test_usage_tells_what_waits_for_its_owner() -> None:
    """The thread that made the objects makes no call while another one drops their references."""
    objects = [tl.lib.tl_mem_alloc(MIB) for _ in range(10)]
    seen = []

    def release() -> None:
        for address in objects:
            assert tl.lib.tl_ptr_release(address) == 0
        seen.append(tl.memory_usage("cpu"))

    in_threads(release)
    assert (seen[0].waiting_bytes, seen[0].waiting_objects) == (10 * MIB, 10)
    after = tl.memory_usage("cpu")
    assert (after.waiting_bytes, after.waiting_objects) == (0, 0)
