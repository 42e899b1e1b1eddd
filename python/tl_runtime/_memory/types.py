"""Types of structs and of Vecs that a compiler lays out itself; tl.Object.register_typed() uses them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from .. import _abi
from .._binding.library import check, lib
from . import dead


def define_type(
    name: str, size: int, pointer_offsets: Sequence[int] = (), destructor: dead.Destructor | None = None
) -> int:
    """Defines a type of so many bytes with references at these offsets, and returns its number.

    The destructor is called for each object that has died, with the bytes that it had; pointers in them may be dead by
    then. It is not called while the object dies, which may be on a thread without the interpreter's lock, but by a
    later call into this package, on the thread of that call. Exceptions in it are shown like those in __del__
    (sys.unraisablehook). At exit it is called for what is dead by then; a child of os.fork() leaves what died before
    to its parent.
    """
    offsets = (ctypes.c_size_t * len(pointer_offsets))(*pointer_offsets)
    description = _abi.tl_type_desc(name.encode(), size, offsets, len(pointer_offsets))
    if destructor is not None:
        return dead.define(description, destructor)
    number = ctypes.c_uint32()
    check(lib.tl_type_define(ctypes.byref(description), ctypes.byref(number)))
    return number.value


def define_vec(
    name: str,
    size: int,
    *,
    data: int,
    capacity: int,
    length: int,
    number_bytes: int = 8,
    elements: int = 0,
    element_bytes: int = 0,
) -> int:
    """Defines a type of Vecs whose header has its parts at these offsets, and returns its number.

    The elements are structs of the type `elements`, or plain bytes, element_bytes for each, or references.
    lib.tl_vec_set_type(number) makes it the type of addresses that tl_mem_register_vec_ptr does not know.
    """
    kind = _abi.VecElements.VEC_POINTERS
    if elements:
        kind = _abi.VecElements.VEC_STRUCTS
    elif element_bytes:
        kind = _abi.VecElements.VEC_BYTES
    description = _abi.tl_vec_desc(
        ctypes.sizeof(_abi.tl_vec_desc),
        name.encode(),
        size,
        data,
        length,
        capacity,
        number_bytes,
        kind,
        element_bytes,
        elements,
    )
    number = ctypes.c_uint32()
    check(lib.tl_type_define_vec(ctypes.byref(description), ctypes.byref(number)))
    return number.value
