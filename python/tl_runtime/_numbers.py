"""Numbers and names for C.

ctypes truncates an integer that has more bits than C takes, and C sees only the beginning of a name with a zero byte.
So arguments for the library are checked here: by the functions that follow, or when ctypes converts them, which
raises ctypes.ArgumentError.
"""

from __future__ import annotations

import ctypes
import operator
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


def int64(value: Any, what: str) -> int:
    """Returns an integer that C takes as it is."""
    number = operator.index(value)
    if not LOWEST <= number <= HIGHEST:
        raise OverflowError(f"{what} of {number} has more than 64 bits")
    return number


def size(value: Any, what: str) -> int:
    """Returns a size or an address that C takes as it is."""
    number = operator.index(value)
    if not 0 <= number < 1 << 64:
        raise OverflowError(f"{what} of {number} is not between 0 and 2**64 - 1")
    return number


def int64_array(numbers: Iterable[Any]) -> ctypes.Array[ctypes.c_int64]:
    """Returns an array of integers for C; OverflowError if one has more than 64 bits."""
    checked = array("q", iter(numbers))  # bytes would be taken for memory
    return (ctypes.c_int64 * len(checked)).from_buffer(checked) if checked else (ctypes.c_int64 * 0)()


def shape_for_c(numbers: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    """The same for the few integers of a shape, in half the time; they have to be of Python's own type."""
    for number in numbers:
        if not LOWEST <= number <= HIGHEST:
            raise OverflowError(f"{number} has more than 64 bits")
    return (ctypes.c_int64 * len(numbers))(*numbers)


class _Argument:
    """What ctypes asks to convert an argument."""

    def __init__(self, from_param: Callable[[Any], Any]) -> None:
        self.from_param = from_param


def _integer(kind: Any) -> _Argument:
    bits, convert = 8 * ctypes.sizeof(kind), kind.from_param
    signed = kind(-1).value == -1
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def from_param(value: Any) -> Any:
        if isinstance(value, int) and not low <= value <= high:
            raise OverflowError(f"{value} is not between {low} and {high}")
        return convert(value)

    return _Argument(from_param)


def _name(value: Any) -> Any:
    if isinstance(value, bytes) and b"\0" in value:
        raise ValueError("embedded null character")
    return ctypes.c_char_p.from_param(value)


_INTEGERS = (
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_uint8,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
_ARGUMENTS: dict[Any, Any] = {kind: _integer(kind) for kind in _INTEGERS}
_ARGUMENTS[ctypes.c_char_p] = _Argument(_name)


def checked(types: Iterable[Any]) -> list[Any]:
    """Returns the types of arguments, of which those that ctypes truncates raise instead."""
    return [_ARGUMENTS.get(kind, kind) for kind in types]
