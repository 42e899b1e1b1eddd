"""Finds the extension module _fast, which has the frequent operations in C; without it the package is ctypes alone.

The module is there for CPython 3.11 and newer with a global interpreter lock, where a C compiler built it
(`make python-fast`) or a wheel brought it. TL_PYTHON_FAST=0 leaves it alone, TL_PYTHON_FAST=1 makes its absence an
ImportError.
"""

from __future__ import annotations

import os
import sys
from typing import Any

INTERFACE = 7  # of python/src/fast.h


def _is_for_this_python() -> bool:
    """Whether this Python has the stable interface; an older one would load the file nonetheless."""
    return sys.implementation.name == "cpython" and sys.version_info >= (3, 11) and "t" not in sys.abiflags


def _find() -> Any:
    wanted = os.environ.get("TL_PYTHON_FAST", "")
    if wanted == "0":
        return None
    try:
        if not _is_for_this_python():
            raise ImportError("tl_runtime._fast is for CPython 3.11 and newer with a global interpreter lock")
        from .. import _fast
    except ImportError:
        if wanted == "1":
            raise
        return None
    if _fast.INTERFACE != INTERFACE:
        raise ImportError(
            f"{_fast.__file__} has interface {_fast.INTERFACE}, and this package needs {INTERFACE}: build it again with "
            "`make python-fast`, or set TL_PYTHON_FAST=0"
        )
    return _fast


fast: Any = _find()
