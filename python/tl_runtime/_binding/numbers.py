"""Numbers and names for C.

ctypes truncates an integer that has more bits than C takes, and C sees only the beginning of a name with a zero byte.
So arguments for the library are checked here: by the functions that follow, or at the call, which raises
ctypes.ArgumentError.
"""

from __future__ import annotations

import ctypes
import operator
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from .native import fast

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


def _limits(kind: Any) -> tuple[int, int]:
    bits = 8 * ctypes.sizeof(kind)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind(-1).value == -1 else (0, (1 << bits) - 1)


_INTEGERS = (
    ctypes.c_int32,
    ctypes.c_int64,
    ctypes.c_uint8,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
_NAME = (1, 0)  # what a name has in place of limits
_LIMITS: dict[Any, tuple[int, int]] = {**{kind: _limits(kind) for kind in _INTEGERS}, ctypes.c_char_p: _NAME}

# Python runs signal handlers between bytecodes. ctypes makes an ArgumentError of every exception of a type's
# from_param, also of the one that a handler raises there. So from_param is a function in C, and without the extension
# module the check comes before the call.


class _Argument:
    """What ctypes asks to convert an argument."""

    def __init__(self, kind: Any) -> None:
        self.from_param = fast.converter((*_LIMITS[kind], kind.from_param))


def _checking(plain: Any) -> Any:
    """Returns the class of functions that check their arguments before ctypes converts them."""

    class Checking(plain):  # type: ignore[misc]
        _flags_, _restype_ = plain._flags_, plain._restype_
        limits: Sequence[tuple[int, int]]

        def __call__(self, *arguments: Any) -> Any:
            for value, (low, high) in zip(arguments, self.limits):
                if isinstance(value, int):
                    if not low <= value <= high and low <= high:
                        raise ctypes.ArgumentError(f"{value} is not between {low} and {high}")
                elif low > high and isinstance(value, bytes) and b"\0" in value:
                    raise ctypes.ArgumentError("embedded null character")
            return plain.__call__(self, *arguments)

    return Checking


def declare_checked(library: ctypes.CDLL, functions: Iterable[Any]) -> None:
    """Gives functions of a library their types; a call raises for an argument of which C would see a part.

    functions are rows of a generated table.
    """
    kinds = {kind: _Argument(kind) for kind in _LIMITS} if fast is not None else {}
    checking = _checking(library._FuncPtr)
    anything = (-1 << 1000, 1 << 1000)
    for row in functions:
        if fast is None and not _LIMITS.keys().isdisjoint(row.argtypes):
            function = checking((row.name, library))
            function.limits = [_LIMITS.get(kind, anything) for kind in row.argtypes]
            setattr(library, row.name, function)
        function = getattr(library, row.name)
        function.restype, function.argtypes = row.restype, [kinds.get(kind, kind) for kind in row.argtypes]
