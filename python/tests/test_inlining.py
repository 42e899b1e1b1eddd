"""The inlined operations in code that llvmlite compiles in this process, between ordinary calls."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

import jit
import tl_runtime as tl

PROGRAM = Path(__file__).parents[2] / "tests_c" / "scripts" / "bitcode.ll"
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


def linked() -> jit.llvm.ModuleRef:
    """A program with the bitcode."""
    try:
        bitcode = tl.bitcode_path()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    if not PROGRAM.is_file():
        pytest.skip(f"{PROGRAM} is not there")
    module = jit.llvm.parse_assembly(PROGRAM.read_text() + ENTRY)
    module.link_in(jit.llvm.parse_bitcode(bitcode.read_bytes()))
    return module


def test_operations_are_inlined() -> None:
    text = jit.optimise(str(linked()), 2)[0]
    assert "@tl_mem_enter_scope(" in text  # where the stack is full
    assert "@tl_inl_" not in text


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
