"""Typed objects, destructors in Python, and what runs out of memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

import tl_runtime as tl
from conftest import Run
from tl_runtime import _abi


def define(destructor: Callable[[int], None], *offsets: int, size: int = 16) -> tuple[int, object]:
    """A type with a destructor in Python, and what has to be kept as long as its objects."""
    callback = _abi.tl_destructor(destructor)
    fields = (ctypes.c_size_t * len(offsets))(*offsets)
    description = _abi.tl_type_desc(b"Type", size, fields, len(offsets), callback, 0)
    type_ = ctypes.c_uint32()
    assert tl.lib.tl_type_define(ctypes.byref(description), ctypes.byref(type_)) == 0
    return type_.value, callback


def test_destructor_runs_once_and_before_the_fields_go() -> None:
    seen: list[tuple[int, int]] = []

    def destroy(address: int) -> None:
        field = ctypes.c_void_p.from_address(address).value or 0
        seen.append((address, tl.Object(field).refcount))

    type_, keep = define(destroy, 0)
    with tl.scope():
        held = tl.lib.tl_object_new(type_)
        field = tl.Object.alloc(64)
        ctypes.c_void_p.from_address(held).value = field.address
    assert seen == [(held, 1)]
    assert field.refcount == -1
    assert keep is not None


def test_destructor_that_uses_the_runtime() -> None:
    """It opens scopes, makes tensors, and registers into the scope that is closing."""
    depths = []

    def destroy(address: int) -> None:
        with tl.scope():
            tl.Object.new(128)
            tl.zeros(4)
            depths.append(tl.scope_depth())
        tl.Object.new(64)

    type_, keep = define(destroy)
    with tl.scope():
        for _ in range(5):
            tl.lib.tl_object_new(type_)
    assert len(depths) == 5
    assert tl.scope_depth() == 0
    assert keep is not None


def test_thread_cannot_be_detached_inside_a_destructor() -> None:
    answers = []
    type_, keep = define(lambda address: answers.append(tl.lib.tl_thread_detach()))
    with tl.scope():
        tl.lib.tl_object_new(type_)
    assert answers == [tl.Status.BUSY]
    assert tl.lib.tl_thread_detach() == 0
    assert tl.zeros(3).refcount == 1
    assert keep is not None


def test_cycle_of_typed_objects() -> None:
    type_, keep = define(lambda address: None, 0, 8)
    with tl.scope():
        ring = [tl.Object(tl.lib.tl_object_new(type_)) for _ in range(10)]
        for left, right in zip(ring, ring[1:] + ring[:1]):
            ctypes.c_void_p.from_address(left.address).value = right.acquire().address
    assert [held.refcount for held in ring] == [1] * 10
    assert tl.collect_cycles() == 10
    assert keep is not None


def test_clone_of_arena_memory_is_refused() -> None:
    # covers: tl_mem_deep_clone TL_E_UNSUPPORTED
    with tl.arena(4096) as arena, pytest.raises(tl.UnsupportedError):
        tl.Object(arena.alloc(64)).deep_clone()


OUT_OF_MEMORY = """
import ctypes, gc
malloc = ctypes.CDLL(None).malloc
malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
blocks = (ctypes.c_void_p * 300_000)(*(malloc(16) for _ in range(300_000)))
def first_failure(register):
    for block in blocks:
        status = register(block)
        if status: return block, status
    raise AssertionError("memory without end")
"""


@pytest.mark.parametrize("name", ["tl_mem_register_struct", "tl_mem_register", "tl_mem_register_struct_named"])
def test_registry_without_memory(python: Run, name: str) -> None:
    # covers: tl_mem_register_struct TL_E_OUT_OF_MEMORY
    # covers: tl_mem_register TL_E_OUT_OF_MEMORY
    # covers: tl_mem_register_struct_named TL_E_OUT_OF_MEMORY
    extra = ", None" * name.endswith("named")
    python(
        OUT_OF_MEMORY
        + f"""
with tl.scope():
    tl.configure("TL_FAIL_MEMORY", "0")
    block, status = first_failure(lambda block: tl.lib.{name}(block{extra}))
    assert status == tl.Status.OUT_OF_MEMORY, status
    assert tl.Object(block).status == tl.Status.UNKNOWN_POINTER  # nothing happened
    tl.configure("TL_FAIL_MEMORY", "-1")
    assert tl.lib.{name}(block{extra}) == 0
"""
    )


def test_collector_without_memory(python: Run) -> None:
    # covers: tl_mem_collect_cycles TL_E_OUT_OF_MEMORY
    python(
        """
        import ctypes
        from tl_runtime import _abi
        description = _abi.tl_type_desc(b"T", 8, (ctypes.c_size_t * 1)(0), 1)
        number = ctypes.c_uint32()
        assert tl.lib.tl_type_define(description, number) == 0
        with tl.scope():
            for _ in range(20_000):
                self = tl.lib.tl_object_new(number.value)
                ctypes.c_void_p.from_address(self).value = tl.lib.tl_ptr_acquire(self)
        tl.configure("TL_FAIL_MEMORY", "0")
        try: tl.collect_cycles()
        except tl.OutOfMemoryError: pass
        else: raise AssertionError
        tl.configure("TL_FAIL_MEMORY", "-1")
        assert tl.collect_cycles() == 20_000
        """
    )
