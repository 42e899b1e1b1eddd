"""Ctrl-C during a long call into the library.

Python runs signal handlers at the first instruction of the next Python function. Where that is a callback of ctypes,
it shows the handler's exception and goes on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def noted_interrupts() -> Iterator[list[Any] | None]:
    """Gives a list that is not empty once the program was interrupted: the call should end then.

    The program's handler of SIGINT, which raises KeyboardInterrupt as a rule, runs when the block ends. None: this
    thread does not handle signals, or Python does not handle this one.
    """
    handler, came = signal.getsignal(signal.SIGINT), []
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield None
        return
    try:
        signal.signal(signal.SIGINT, lambda *arguments: came.append(arguments))
    except ValueError:  # the main thread of another interpreter
        yield None
        return
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[-1])
