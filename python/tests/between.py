"""Runs something between any two bytecodes of a function, as threads and signal handlers do."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any


class Interrupted(Exception):
    """What a signal handler raises."""


def interrupt() -> None:
    """Stands for a signal handler that raises."""
    raise Interrupted


@contextmanager
def _monitored(codes: set[CodeType], step: Callable[[], None]) -> Iterator[None]:
    """Calls step before each bytecode of the codes, by the events of Python 3.12 and newer."""
    events: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    kind = events.events.INSTRUCTION
    events.use_tool_id(events.DEBUGGER_ID, "between")
    events.register_callback(events.DEBUGGER_ID, kind, lambda code, offset: step())
    for code in codes:
        events.set_local_events(events.DEBUGGER_ID, code, kind)
    try:
        yield
    finally:
        for code in codes:
            events.set_local_events(events.DEBUGGER_ID, code, events.events.NO_EVENTS)
        events.register_callback(events.DEBUGGER_ID, kind, None)
        events.free_tool_id(events.DEBUGGER_ID)


@contextmanager
def _traced(codes: set[CodeType], step: Callable[[], None]) -> Iterator[None]:
    """The same by a function for tracing, before Python 3.12."""

    def in_frame(frame: FrameType, event: str, _: Any) -> Any:
        if event == "opcode":
            step()
        return in_frame

    def begin(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code not in codes:
            return None
        frame.f_trace_opcodes = True
        return in_frame

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        yield
    finally:
        sys.settrace(before)


_stepped = _monitored if sys.version_info >= (3, 12) else _traced


def places(codes: set[CodeType], act: Callable[[], None]) -> Iterator[Callable[[Callable[[], object]], bool]]:
    """Yields, for each bytecode that runs in the codes, a function that calls its argument and acts before that bytecode.

    The function tells whether there was such a bytecode; without one the places end.
    """
    for wanted in itertools.count():
        acted = False

        def run(call: Callable[[], object], wanted: int = wanted) -> bool:
            nonlocal acted
            seen = itertools.count()

            def step() -> None:
                nonlocal acted
                if not acted and next(seen) == wanted:
                    acted = True
                    act()

            with _stepped(codes, step):
                try:
                    call()
                except Interrupted:
                    pass
            return acted

        yield run
        if not acted:
            return
