"""NumPy's own arrays in the runtime's memory (NEP 49)."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._binding.library import check, lib
from .._errors import UnsupportedError
from .._tensor.arrays import array_api, numpy_module

_SET_HANDLER = 304  # PyDataMem_SetHandler in NumPy's table of C functions, since 1.22
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_NAME = ctypes.create_string_buffer(b"mem_handler")  # a capsule keeps the address of its name
_handler: Any = None
_set_handler: Any = None


def _find() -> None:
    """Finds NumPy's function and makes the capsule that it takes."""
    global _handler, _set_handler
    numpy = numpy_module()
    if tuple(int(part) for part in numpy.__version__.split(".")[:2]) < (1, 22):
        raise UnsupportedError(f"NumPy {numpy.__version__} has no memory handlers; they came with 1.22")
    table = _get_pointer(array_api(numpy), None)
    address = ctypes.c_void_p.from_address(table + _SET_HANDLER * ctypes.sizeof(ctypes.c_void_p)).value
    assert address is not None
    check(lib.tl_python_lines(os.fsencode(os.path.dirname(numpy.__file__) + os.sep)))
    _handler = _new_capsule(lib.tl_numpy_handler(), ctypes.cast(_NAME, ctypes.c_char_p), None)
    _set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)


def serve_numpy() -> Any:
    """Makes NumPy allocate from the runtime in the current context from now on, and returns the handler before."""
    if _set_handler is None:
        _find()
    return _set_handler(_handler)


@contextmanager
def numpy_allocator() -> Iterator[None]:
    """Makes NumPy allocate from the runtime, for arrays that are made in the with block.

    It holds for the calling thread, and for what asyncio runs in its context;
    threads that are started inside begin with NumPy's own allocator. Arrays may be used, resized and freed
    anywhere and at any time: each knows the allocator of its memory.
    """
    outer = serve_numpy()
    try:
        yield
    finally:
        _set_handler(outer)
