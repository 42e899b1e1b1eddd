"""Code that a compiler generates: the same programs through llvmlite's JIT and as native executables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

import ir
import ir_programs_scopes  # noqa: F401  (registers its programs, as do the next two)
import ir_programs_structs  # noqa: F401
import ir_programs_tensors  # noqa: F401
import jit
from ir_programs import PROGRAMS
import tl_runtime as tl

HEADER = Path(__file__).parents[2] / "include" / "tl_runtime.ll"
LEVELS = [0, 2]


def header_text() -> str:
    if not HEADER.is_file():
        pytest.skip(f"{HEADER} is not there")
    return HEADER.read_text()


def build_module(names: list[str], style: str = "wild") -> str:
    module = ir.Module(header_text() if style == "header" else None)
    for name in names:
        PROGRAMS[name].build(module)
    return module.text()


@pytest.mark.parametrize("style", ["wild", "header"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_jit(name: str, level: int, style: str) -> None:
    compiled = jit.Jit(build_module([name], style), [name], level)
    expected = PROGRAMS[name].expected
    for _ in range(2):  # the second run meets what the first one left
        assert compiled.run(name, len(expected)) == expected


def test_optimiser_was_there() -> None:
    """-O2 turns the variables of the naive compiler into registers; else both levels test the same."""
    text = build_module(["vec_of_structs"])
    assert "alloca" in jit.optimise(text, 0)[0]
    assert "alloca" not in jit.optimise(text, 2)[0]


@pytest.mark.parametrize("tool", ["clang", "llc"])
@pytest.mark.parametrize("level", LEVELS)
def test_native(tmp_path: Path, tool: str, level: int) -> None:
    path = jit.find_tool(tool)
    if path is None:
        pytest.skip(f"no {tool}")
    counts = {name: len(program.expected) for name, program in PROGRAMS.items()}
    executable = jit.build_native(tmp_path, build_module(list(PROGRAMS)), counts, path, level)
    results = jit.run_native(executable)
    wanted = {name: (program.expected, "depth 0 live 0") for name, program in PROGRAMS.items()}
    assert results == wanted


def test_declarations_parse() -> None:
    """include/tl_runtime.ll is a module, and declares exactly what the library exports."""
    text = header_text()
    jit.llvm.parse_assembly(text).verify()
    declared = set(re.findall(r"^declare .*?@(tl_\w+)\(", text, re.M))
    assert declared == set(tl.symbols())


@pytest.mark.parametrize("tool", ["clang", "llc"])
def test_declarations_parse_natively(tmp_path: Path, tool: str) -> None:
    path = jit.find_tool(tool)
    if path is None:
        pytest.skip(f"no {tool}")
    names = list(PROGRAMS)
    counts = {name: len(PROGRAMS[name].expected) for name in names}
    executable = jit.build_native(tmp_path, build_module(names, "header"), counts, path, 2)
    assert jit.run_native(executable)["recursion"][0] == PROGRAMS["recursion"].expected


def test_wild_pointers_from_generated_code() -> None:
    """A compiler's bug in a pointer is a status in the thread that has it, not corruption."""
    module = ir.Module()
    f = module.program("stray")
    with f.scope():
        object_ = f.new_struct(64)
        inside = f.at(object_, 1)
        f.observe(f.checked("tl_ptr_release", inside))
        f.observe(f.call("i1", "tl_ptr_release_bool", inside))
        f.observe_count(object_)
    f.observe(f.checked("tl_ptr_release", object_))
    f.return_()
    for level in LEVELS:
        observed = jit.Jit(module.text(), ["stray"], level).run("stray", 4)
        assert observed[0] in (tl.Status.INTERIOR_POINTER, tl.Status.UNKNOWN_POINTER)
        assert observed[1:3] == [0, 1]
        assert observed[3] in (tl.Status.UNKNOWN_POINTER, tl.Status.NOT_LIVE)
