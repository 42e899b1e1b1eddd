"""Runs something between any two bytecodes of a function, as threads and signal handlers do."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any


class Interrupted(Exception):
    """What a signal handler raises."""


def interrupt() -> None:
    """Stands for a signal handler that raises."""
    raise Interrupted


def places(codes: set[CodeType], act: Callable[[], None]) -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Yields, for each bytecode that runs in the codes, a function that calls its argument and acts before that bytecode.

    The function tells whether there was such a bytecode; without one the places end.
    """
    for wanted in itertools.count():
        acted = False

        def run(call: Callable[[], object], wanted: int = wanted) -> bool:
            nonlocal acted
            seen = itertools.count()

            def step(frame: FrameType, event: str, _: Any) -> Any:
                nonlocal acted
                if event == "opcode" and not acted and next(seen) == wanted:
                    acted = True
                    act()
                return step

            def begin(frame: FrameType, event: str, _: Any) -> Any:
                if acted or frame.f_code not in codes:
                    return None
                frame.f_trace_opcodes = True
                return step

            before = sys.gettrace()
            sys.settrace(begin)
            try:
                call()
            except Interrupted:
                pass
            finally:
                sys.settrace(before)
            return acted

        yield run
        if not acted:
            return
