"""Any number through every function that takes an object: a status, never a crash.

Functions that adopt what malloc returned trust their caller and are left out
here, and so are arguments that the runtime has to read or write by contract
(strings, shapes, outputs).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest

import tl_runtime as tl
from tl_runtime import _abi

ADOPTING = {  # with what they are given besides the address
    "tl_mem_register": lambda: (),
    "tl_mem_register_struct": lambda: (),
    "tl_mem_register_struct_named": lambda: (None,),
    "tl_mem_register_struct_typed": lambda: (tl.define_type("adopted", 16),),
}
OBJECTS = {"object", "tensor", "vec", "pointer"}

# covers: tl_tensor_prepare_return TL_E_UNSUPPORTED


def takes_object(function: _abi.Function) -> bool:
    return (
        function.name not in ADOPTING
        and not function.name.startswith("tl_python_")  # they want the interpreter's lock, which calls here let go of
        and not function.name.startswith(("tl_registry_", "tl_aligned_"))  # not for objects: test_registry.py
        and "TL_E_UNKNOWN_POINTER" in function.errors
        and bool(function.argnames)
        and function.argnames[0] in OBJECTS
        and function.argtypes[0] is ctypes.c_void_p
    )


CHECKED = [function for function in _abi.FUNCTIONS if takes_object(function)]
TYPED = [
    function
    for function in CHECKED
    if function.argnames[0] in ("tensor", "vec") and "TL_E_UNSUPPORTED" in function.errors
]
INFO = _abi.tl_tensor_info(struct_size=ctypes.sizeof(_abi.tl_tensor_info))
ALLOCATION = _abi.tl_alloc_info(struct_size=ctypes.sizeof(_abi.tl_alloc_info))
SHARED = _abi.tl_tensor_shared(struct_size=ctypes.sizeof(_abi.tl_tensor_shared))
FITTING = {  # what is refused before the pointer is looked at when it is 0
    "bytes": 64,
    "rank": 1,
    "shape": (ctypes.c_int64 * 1)(1),
    "axes": (ctypes.c_int64 * 1)(0),
    "starts": (ctypes.c_int64 * 1)(0),
    "stops": (ctypes.c_int64 * 1)(1),
    "steps": (ctypes.c_int64 * 1)(1),
    "out_info": ctypes.byref(INFO),
    "out_allocation": ctypes.byref(ALLOCATION),
    "out_shared": ctypes.byref(SHARED),
    "out_type": ctypes.byref(ctypes.c_int32()),
    "out_ordinal": ctypes.byref(ctypes.c_int32()),
}
STATUS_OR_NOT = ("tl_tensor_dtype", "tl_tensor_device", "tl_ptr_dec_ref")  # int32_t, but no status
RETURN_ARGUMENT = ("tl_ptr_acquire", "tl_tensor_acquire", "tl_tensor_prepare_return")


def probe(function: _abi.Function, address: int, **others: int) -> str:
    """Calls a function with an address and returns the name of the status that it leaves."""
    rest = [{**FITTING, **others}.get(name, 0) for name in function.argnames[1:]]
    tl.lib.tl_clear_error()
    result: Any = getattr(tl.lib, function.name)(address, *rest)
    status = tl.Status(tl.lib.tl_last_status())
    if function.restype is ctypes.c_int32 and function.name not in STATUS_OR_NOT:
        assert result == status, f"{function.name}({address:#x}) returned {result}, last status {status!r}"
    elif function.name in RETURN_ARGUMENT:
        assert result == address
    else:
        assert not result or result == -1, f"{function.name}({address:#x}) returned {result}"
    return "TL_OK" if status == tl.Status.OK else f"TL_E_{status.name}"


def assert_refused(function: _abi.Function, addresses: Iterator[int]) -> set[str]:
    seen = set()
    for address in addresses:
        status = probe(function, address)
        assert status in function.errors, f"{function.name}({address:#x}) gave {status}"
        seen.add(status)
    return seen


def stacks_and_mappings() -> Iterator[int]:
    """Addresses in everything that this process has mapped: stacks, Go's heap, code, the library's own memory.

    Nothing is live while they are tried, so none of them may be taken for an object.
    """
    with open("/proc/self/maps") as maps:
        for line in maps:
            start, end = (int(edge, 16) for edge in line.split()[0].split("-"))
            yield from (start, start + 1, start + 8, start + 64, (start + end) // 2 & ~63, end - 8)


def strange_addresses() -> Iterator[int]:
    yield from (0xC000000000 + step * 0x1010 for step in range(256))  # where Go's heap begins
    for bit in range(12, 64):
        yield from ((1 << bit) - 8, 1 << bit, (1 << bit) + 24)
    yield from (2**64 - 1, 2**64 - 8, 2**64 - 4096, 0x800000000000, 0xFFFF800000000000)
    local = (ctypes.c_char * 256)()
    yield from range(ctypes.addressof(local), ctypes.addressof(local) + 256)
    yield id(local)
    yield from stacks_and_mappings()


@pytest.mark.parametrize("function", CHECKED, ids=lambda function: function.name)
def test_small_numbers(function: _abi.Function) -> None:
    assert assert_refused(function, iter(range(1, 4096))) == {"TL_E_UNKNOWN_POINTER"}


@pytest.mark.parametrize("function", CHECKED, ids=lambda function: function.name)
def test_strange_addresses(function: _abi.Function) -> None:
    assert "TL_E_UNKNOWN_POINTER" in assert_refused(function, strange_addresses())


@pytest.mark.parametrize("function", CHECKED, ids=lambda function: function.name)
@pytest.mark.parametrize("size", [32, 100, 4096, 70_000, 1 << 21])
def test_inside_and_around_an_object(function: _abi.Function, size: int) -> None:
    held = tl.Object.alloc(size)
    inside = assert_refused(function, (held.address + step for step in (1, 8, 16, size // 2, size - 1)))
    assert inside == {"TL_E_INTERIOR_POINTER"}
    assert held.refcount == 1
    around = {probe(function, held.address + step) for step in (-1, -8, size + 4096, -70_000)}
    assert around <= set(function.errors)
    held.free()
    gone = {"TL_E_NOT_LIVE"}
    assert assert_refused(function, iter([held.address])) == gone


@pytest.mark.parametrize("function", CHECKED, ids=lambda function: function.name)
def test_tensor_that_has_gone(function: _abi.Function) -> None:
    tensor = tl.zeros((3, 3))
    address = tensor.address
    del tensor
    assert assert_refused(function, iter([address])) == {"TL_E_NOT_LIVE"}
    tl.purge()
    assert assert_refused(function, iter([address])) <= {"TL_E_NOT_LIVE", "TL_E_UNKNOWN_POINTER"}


@pytest.mark.parametrize("function", CHECKED, ids=lambda function: function.name)
def test_null_is_a_value(function: _abi.Function) -> None:
    if function.name == "tl_mem_realloc":
        pytest.skip("NULL is allocated")
    if function.name == "tl_tensor_share":
        pytest.skip("NULL has no memory to share")
    tl.lib.tl_clear_error()
    arrays = {name: value for name, value in FITTING.items() if not isinstance(value, int)}
    getattr(tl.lib, function.name)(None, *[arrays.get(name, 0) for name in function.argnames[1:]])
    assert tl.lib.tl_last_status() == tl.Status.OK


@pytest.mark.parametrize("function", TYPED, ids=lambda function: function.name)
def test_plain_object_in_the_place_of_another_kind(function: _abi.Function) -> None:
    with tl.scope():
        held = tl.Object.new(256)
        assert probe(function, held.address) == "TL_E_UNSUPPORTED"
        assert held.refcount == 1


def test_elements_that_are_nothing() -> None:
    rows = {function.name: function for function in _abi.FUNCTIONS}
    with tl.scope():
        vec = tl.lib.tl_vec_new(4)
        assert tl.lib.tl_vec_push(vec, None) == 0
        for address in (1, 16, 4095, 0xC000000000, vec + 8):
            for name in ("tl_vec_push", "tl_vec_set"):
                assert probe(rows[name], vec, element=address) in ("TL_E_UNKNOWN_POINTER", "TL_E_INTERIOR_POINTER")
        assert tl.lib.tl_vec_len(vec) == 1


def test_vec_arguments() -> None:
    with tl.scope():
        vec = tl.lib.tl_vec_new(0)
        for index in (0, 1, -1, 2**62):
            tl.lib.tl_clear_error()
            assert tl.lib.tl_vec_get(vec, index) is None
            assert tl.lib.tl_last_status() == tl.Status.INVALID_ARGUMENT
            assert tl.lib.tl_vec_set(vec, index, None) == tl.Status.INVALID_ARGUMENT
        assert tl.lib.tl_vec_pop(vec) is None
        assert tl.lib.tl_last_status() == tl.Status.INVALID_ARGUMENT
        assert tl.lib.tl_vec_reserve(vec, 2**61) == tl.Status.INVALID_ARGUMENT
        assert tl.lib.tl_vec_new(2**62) is None
        assert tl.lib.tl_last_status() == tl.Status.INVALID_ARGUMENT


def test_arena_membership_of_anything() -> None:
    for address in strange_addresses():
        assert not tl.lib.tl_arena_contains(address)


def test_adopting_refuses_what_malloc_never_returns() -> None:
    held = tl.Object.alloc(64)
    dead = tl.Object.alloc(64)
    dead.free()
    for name, others in ADOPTING.items():
        extra = others()
        register = getattr(tl.lib, name)
        for address in (1, 9, 4095, 2**40 + 4, 2**64 - 1):
            assert register(address, *extra) == tl.Status.INVALID_ARGUMENT
        assert register(held.address + 16, *extra) == tl.Status.INTERIOR_POINTER
        assert register(dead.address, *extra) == tl.Status.NOT_LIVE
    held.free()


def test_adopting_refuses_the_inside_of_a_block() -> None:
    malloc = ctypes.CDLL(None).malloc
    malloc.argtypes, malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    with tl.scope():
        block = malloc(256)
        assert tl.lib.tl_mem_register_struct(block) == 0
        for name, others in ADOPTING.items():
            assert getattr(tl.lib, name)(block + 64, *others()) == tl.Status.ALREADY_REGISTERED
        assert tl.Object(block).refcount == 1
