"""The functions of libtl_runtime_full.so that the other library has not."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .._binding.library import c_string, check, last_error, lib, path
from .._binding.numbers import declare_checked
from .._errors import UnsupportedError


@functools.lru_cache(maxsize=None)
def graph_abi() -> ModuleType:
    """Returns the table of these functions, with which the library is declared."""
    if not hasattr(lib, "tl_graph_create"):
        raise UnsupportedError(_how())
    from . import abi

    declare_checked(lib, abi.FUNCTIONS)
    return abi


def graph_lib() -> ctypes.CDLL:
    """Returns the library; UnsupportedError where the one that was loaded has no graphs."""
    graph_abi()
    return lib


def filled(struct: str, function: Callable[..., int], *arguments: Any) -> Any:
    """Returns a struct that a function has filled in, whose last argument is its address."""
    made = getattr(graph_abi(), struct)()
    made.struct_size = ctypes.sizeof(made)
    check(function(*arguments, ctypes.byref(made)))
    return made


def written(function: str, handle: int | None, form: str, name: str | None, version: int) -> str:
    """Returns what a function writes of a handle in a form; name and version are for code."""
    text = getattr(graph_lib(), function)(handle, form.encode(), None if name is None else c_string(name), version)
    if text is None:
        raise last_error()
    return str(text, "utf-8")


def _how() -> str:
    beside = os.path.join(os.path.dirname(os.path.realpath(path())), "libtl_runtime_full.so")
    where = beside if os.path.isfile(beside) else "libtl_runtime_full.so, which `make full` builds in a checkout"
    return (
        f"tl.Graph: TL_E_UNSUPPORTED: {path()} has no graphs; set TL_RUNTIME_LIBRARY to {where}, before tl_runtime is "
        "imported: it has all of this library, too. Or install the package with it, which needs Go: "
        "TL_PYTHON_FULL=1 pip install --force-reinstall --no-binary tl-runtime tl-runtime"
    )
