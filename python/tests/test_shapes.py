"""Section Shapes of a compiler: structs and Vecs that a compiler lays out in memory of malloc."""

from __future__ import annotations

import ctypes

import pytest

import tl_runtime as tl

libc = ctypes.CDLL(None)
libc.calloc.argtypes, libc.calloc.restype = [ctypes.c_size_t, ctypes.c_size_t], ctypes.c_void_p


def test_a_struct_releases_its_fields() -> None:
    pair = tl.define_type("pair", 16, [0, 8])
    with tl.scope():
        child = tl.Object.new(32)
        struct = tl.Object(libc.calloc(1, 16)).register_typed(pair)
        fields = (ctypes.c_void_p * 2).from_address(struct.address)
        fields[1] = child.acquire().address
        copy = struct.deep_clone()
        assert copy != struct and copy.refcount == 1
        assert child.refcount == 2
        struct.unregister().release()
        assert child.refcount == 1


def test_a_vec_releases_its_elements() -> None:
    vec = tl.define_vec("vec", 24, data=0, capacity=8, length=16)
    with tl.scope():
        element = tl.Object.new(32)
        header = tl.Object(libc.calloc(1, 24))
        words = (ctypes.c_void_p * 3).from_address(header.address)
        words[0], words[1], words[2] = libc.calloc(4, 8), 4, 1
        (ctypes.c_void_p * 4).from_address(words[0])[0] = element.acquire().address
        header.register_typed(vec)
        assert element.refcount == 2
        header.unregister().release()
        assert element.refcount == 1


def test_vecs_of_structs_and_of_bytes() -> None:
    pair = tl.define_type("pair", 16, [0])
    assert tl.define_vec("pairs", 24, data=0, capacity=8, length=16, elements=pair) > pair
    assert tl.define_vec("bytes", 16, data=0, capacity=8, length=12, number_bytes=4, element_bytes=1) > pair
    with pytest.raises(tl.InvalidArgumentError, match="overlap"):
        tl.define_vec("overlapping", 24, data=0, capacity=8, length=8)
