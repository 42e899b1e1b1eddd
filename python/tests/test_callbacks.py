"""Callbacks that fail, under the hook that Python itself has for errors without a caller."""

from __future__ import annotations

import pytest
from conftest import Run

import tl_runtime as tl

FAR = """
    import ctypes

    blocks = {}

    def allocate(nbytes):
        block = ctypes.create_string_buffer(nbytes + 64)
        address = (ctypes.addressof(block) + 63) // 64 * 64
        blocks[address] = block
        return address

    def gone(*_):
        raise OSError("the device is gone")

    def tried(call):
        try:
            return print("made", call())
        except tl.Error as error:
            print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("exit(3)", "SystemExit: 3"),
        ("'abc'", "TypeError"),
        ("3.5", "TypeError"),
        ("object()", "TypeError"),
        ("-64", "OverflowError: -64 is no address"),
        ("2**64 + 64", "OverflowError: 18446744073709551680 is no address"),
    ],
)
def test_an_allocator_without_an_address_has_no_memory(python: Run, result: str, shown: str) -> None:
    program = FAR + f"""
    def fail(nbytes):
        return {result}

    tl.DeviceAllocator(fail, print, name="py:0").register(host_access=True)
    for _ in range(3):
        tried(lambda: tl.zeros(1000, device="py:0"))
    """
    ended = python(program, ok=False)
    assert (ended.returncode, ended.stdout) == (0, "OutOfMemoryError\n" * 3)
    assert shown in ended.stderr and "function fail" in ended.stderr


def test_every_copy_that_raises_fails(python: Run) -> None:
    program = FAR + """
    far = tl.DeviceAllocator(allocate, lambda address, _: blocks.pop(address), name="py:0")
    far.register(from_host=gone, to_host=gone, within=gone, fill=gone)
    here, there = tl.zeros(8), tl.empty(8, device="py:0")
    for call in (lambda: here.to("py:0"), there.cpu, there.clone, lambda: tl.device_fill("py:0", there.data, 1, 8)):
        tried(call)
    """
    ended = python(program, ok=False)
    assert (ended.returncode, ended.stdout) == (0, "DeviceError\n" * 4)
    assert ended.stderr.count("OSError: the device is gone") == 4


@pytest.mark.parametrize("answer", ["1 / 0", "Undecided()"])
def test_an_out_of_memory_callback_that_raises_means_no(python: Run, answer: str) -> None:
    program = FAR + f"""
    class Undecided:
        def __bool__(self):
            raise ValueError("undecided")

    asked = []

    def ask(*arguments):
        asked.append(arguments)
        assert len(asked) < 10 or exit("asked again and again")
        return {answer}

    tl.set_out_of_memory_callback(ask)
    tl.set_memory_limit(hard=1 << 20)
    tried(lambda: tl.zeros(1 << 20))
    print(len(asked))
    """
    ended = python(program, ok=False)
    assert (ended.returncode, ended.stdout) == (0, "LimitError\n1\n")
    assert "function ask" in ended.stderr


def test_an_out_of_memory_callback_is_callable() -> None:
    with pytest.raises(TypeError, match="5 is no function"):
        tl.set_out_of_memory_callback(5)  # type: ignore[arg-type]
