"""The memory of other libraries' arrays, as their array interface describes it."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from .._binding.numbers import size
from .._dtype import DType, from_typestr


def numpy_module() -> Any:
    """Imports NumPy at its first use; everything else here works without it."""
    return needed("numpy", "NumPy")


def needed(module: str, name: str) -> Any:
    """Imports a module of a package that only parts of this one need; an error says how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:
            raise  # the package is there, and itself lacks something
        raise ImportError(f"this needs {name}, which is not installed: pip install {package}", name=package) from error


def array_api(numpy: Any) -> Any:
    """Returns the capsule with the table of NumPy's C functions."""
    core = getattr(numpy, "_core", None) or numpy.core
    return core._multiarray_umath._ARRAY_API


class Lent(NamedTuple):
    """The memory of an array; it is there as long as something holds kept."""

    address: int
    read_only: bool
    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...] | None  # in bytes; None for an array without gaps
    kept: Any


def lent(given: Any, what: str = "the elements") -> Lent:
    """Returns the memory of an array; raises for a description that does not stand for memory of its own."""
    interface = getattr(given, "__array_interface__", None)
    if not isinstance(interface, dict):
        raise TypeError(f"{what} have to be an array, such as NumPy's, not {type(given).__name__}")
    if _is_scalar(given):
        raise TypeError(f"{given!r} is a scalar of NumPy's, which has no memory to lend; copy it")
    address, read_only = _data(interface)
    shape = tuple(interface["shape"])
    dtype, strides = from_typestr(interface["typestr"]), interface.get("strides")
    if strides is not None and len(strides) != len(shape):
        raise ValueError(f"an array interface has {len(strides)} strides for {len(shape)} extents")
    # An object that makes its interface anew may keep in it what owns the memory.
    return Lent(address, read_only, shape, dtype, strides or None, (given, interface))


def _is_scalar(given: Any) -> bool:
    """Whether given is a scalar of NumPy's: its interface points into an array that is gone when one reads it."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(given, numpy.generic)


def _data(interface: dict[str, Any]) -> tuple[int, bool]:
    data = interface.get("data")
    if not isinstance(data, tuple) or len(data) != 2:
        raise TypeError("an array interface gives no address of its elements; copy the array")
    if interface.get("offset") or interface.get("mask") is not None:
        raise ValueError("an array interface has an offset beside an address, or a mask; copy the array")
    address, read_only = data
    return size(address or 0, "an address"), bool(read_only)
