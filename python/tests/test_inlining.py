"""The inlined operations in code that llvmlite compiles in this process, between ordinary calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

import jit
import tl_runtime as tl

SCRIPTS = Path(__file__).parents[2] / "tests_c" / "scripts"
PROGRAM = SCRIPTS / "bitcode.ll"
LOOPS = SCRIPTS / "hoisting.ll"
DECLARATIONS = Path(__file__).parents[2] / "include" / "tl_runtime.ll"
ENTRY = """
define void @entry(ptr %out) {
  %first = call i64 @rounds(i64 1000)
  store i64 %first, ptr %out
  %status = call i32 @main()
  %wide = sext i32 %status to i64
  %second = getelementptr i64, ptr %out, i64 1
  store i64 %wide, ptr %second
  ret void
}
"""


def linked(program: Path = PROGRAM, text: str = ENTRY) -> jit.llvm.ModuleRef:
    """A program with the operations, and text in front of it."""
    if not program.is_file():
        pytest.skip(f"{program} is not there")
    module = jit.llvm.parse_assembly(text + program.read_text())
    module.link_in(jit.llvm.parse_assembly(tl.inline_path().read_text()))
    return module


def test_operations_are_inlined() -> None:
    text = jit.optimise(str(linked()), 2)[0]
    assert "@tl_mem_enter_scope(" in text  # where the stack is full
    assert "@tl_inl_" not in text


def test_a_release_takes_the_search_of_a_test() -> None:
    text = jit.optimise(str(linked()), 2)[0]
    drop = re.search(r"^define [^\n]*@drop\(.*?^}", text, re.M | re.S)
    assert drop is not None
    assert len(re.findall(r" = mul [^\n]*i128 ", drop[0])) == 1


def in_loop(text: str, function: str) -> list[str]:
    """The loads and calls of a function's loop, which is one block that branches to itself."""
    body = re.search(rf"^define [^\n]*@{function}\(.*?^}}", text, re.M | re.S)
    assert body is not None
    for block in re.split(r"\n(?=[\w.]+:)", body[0]):
        label = re.match(r"[\w.]+", block)
        if label is not None and re.search(rf"br .*label %{re.escape(label[0])}[,\s]", block):
            return re.findall(r" = (?:tail )?(load|call) ", block)
    raise AssertionError(f"no loop in {body[0]}")


@pytest.mark.parametrize(
    ("function", "left"), [("sum", ["load"]), ("fill", []), ("checked", ["call", "load", "call"]), ("status", [])]
)
def test_accessors_that_check_nothing_leave_loops(function: str, left: list[str]) -> None:
    text = jit.optimise(str(linked(LOOPS, DECLARATIONS.read_text() if LOOPS.is_file() else "")), 2)[0]
    assert sorted(in_loop(text, function)) == sorted(left)


@pytest.mark.parametrize("level", [0, 2])
def test_program_runs(level: int) -> None:
    before = tl.live_count()
    compiled = jit.Jit(str(linked()), ["entry"], level)
    for _ in range(2):
        assert compiled.run("entry", 2) == [1, 0]
    assert tl.live_count() == before


def test_modules_name_functions_alone() -> None:
    """A JIT needs neither thread-local variables nor the address of a variable in the library."""
    assert list(linked().global_variables) == []


def test_headers_are_found() -> None:
    folder = tl.include_path()
    assert (folder / "tl_runtime.h").is_file() and (folder / "tl_inline.h").is_file()
