"""Programs as a tensor-language compiler would emit them, and what they must observe.

Each takes an array and notes values and counts in it; the list beside its name is
what the array holds afterwards. Besides, nothing may be live when it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ir import Function, Module, Value, i32


class Program(NamedTuple):
    build: Callable[[Module], None]
    expected: list[int]


PROGRAMS: dict[str, Program] = {}
GONE = -1  # tl_ptr_refcount of what is not live


def program(*expected: int) -> Callable[[Callable[[Function], None]], Callable[[Function], None]]:
    """Registers the body of a program under its name."""

    def register(body: Callable[[Function], None]) -> Callable[[Function], None]:
        def build(module: Module) -> None:
            body(module.program(body.__name__))

        PROGRAMS[body.__name__] = Program(build, list(expected))
        return body

    return register


def release_struct(f: Function, pointer: Value, fields: tuple[int, ...] = ()) -> None:
    """What compilers emit to drop a malloc'ed struct: count down, then fields, then free."""
    dead = f.compare("eq", f.call("i32", "tl_ptr_dec_ref", pointer), i32(1))
    with f.if_(dead):
        for field in fields:
            f.status("tl_ptr_release", f.load("ptr", pointer, field))
        f.status("tl_mem_free", pointer)
