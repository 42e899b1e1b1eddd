"""Python functions that C calls.

ctypes gives C an undefined answer when a callback raises or answers with something that C has no form for. So a
callback here answers in every case: what the caller takes for a failure, where there is nothing better.

A thread that Python does not know is one of the main interpreter's as soon as it calls, and before Python 3.12 so is
the thread that started Python. So C gets functions of the main interpreter's alone.
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

from .._errors import UnsupportedError


def _is_main() -> bool:
    own, main = (
        ctypes.PYFUNCTYPE(ctypes.c_void_p)((f"PyInterpreterState_{name}", ctypes.pythonapi)) for name in ("Get", "Main")
    )
    return bool(own() == main())


IN_MAIN_INTERPRETER = _is_main()


def need_main_interpreter(what: str) -> None:
    """Raises where C would call a function in another interpreter than its own."""
    if not IN_MAIN_INTERPRETER:
        raise UnsupportedError(
            f"C calls {what}, also on threads of the main interpreter: only the main interpreter can set it"
        )


class _Failure:
    """Raises an error in the name of the function that it came from."""

    def __init__(self, function: Callable[..., Any], error: BaseException) -> None:
        self.__wrapped__ = function
        self._error = error

    def __call__(self) -> None:
        raise self._error

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


_shown_by_ctypes = ctypes.CFUNCTYPE(None)


def show(function: Callable[..., Any], error: BaseException) -> None:
    """Shows an error as Python shows those that have no caller; for its hook only Python itself can describe them."""
    _shown_by_ctypes(_Failure(function, error))()


def answering(
    function: Callable[..., Any], answer: Callable[[Any], Any], failed: Any, shown: Any = None
) -> Callable[..., Any]:
    """Returns a function for C that gives the answer to the result of function, or after an exception, failed.

    Exceptions are shown under the name of function, or of shown.
    """

    def call(*arguments: Any) -> Any:
        try:
            try:
                return answer(function(*arguments))
            except BaseException as error:  # no Python exception may pass through frames of C
                show(shown or function, error)
        except BaseException as error:  # of a signal handler, meanwhile
            show(shown or function, error)
        return failed

    return call


def address_of(result: Any) -> int:
    """The answer of a function that returns an address, or None."""
    found = 0 if result is None else operator.index(result)
    if not 0 <= found < 1 << 64:
        raise OverflowError(f"{found} is no address")
    return found
