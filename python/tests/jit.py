"""Compiles and runs modules: in this process with llvmlite, or as executables with clang and llc."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm

from tl_runtime._binding.library import path, symbols

try:  # needed up to llvmlite 0.44, refused afterwards
    llvm.initialize()
except RuntimeError:
    pass
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

OBSERVATIONS = 32
UNTOUCHED = -(1 << 62)
_names = map("module{}".format, itertools.count())

Array = ctypes.c_int64 * OBSERVATIONS
EntryType = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_int64))


def optimise(text: str, level: int) -> tuple[str, llvm.TargetMachine]:
    """Verifies a module and runs the passes of an optimisation level over it."""
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=level, jit=True)
    module = llvm.parse_assembly(text)
    module.verify()
    if level:
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return str(module), machine


class Jit:
    """A module in this process; every tl_ symbol comes from the library's own table."""

    def __init__(self, text: str, entries: list[str], level: int) -> None:
        self.text, machine = optimise(text, level)
        self.engine = llvm.create_lljit_compiler(machine)
        builder = llvm.JITLibraryBuilder().add_ir(self.text).add_current_process()
        for name, address in symbols().items():
            builder.import_symbol(name, address)
        for entry in entries:
            builder.export_symbol(entry)
        self.module = builder.link(self.engine, next(_names))

    def run(self, entry: str, count: int) -> list[int]:
        """Calls a program and returns its first `count` observations."""
        out = Array(*[UNTOUCHED] * OBSERVATIONS)
        EntryType(self.module[entry])(out)
        return list(out)[:count]


DRIVER = r"""
#include <inttypes.h>
#include <stdio.h>
#include "tl_runtime.h"
{declarations}
static void run(const char* name, void (*program)(int64_t*), int count) {{
	int64_t out[{size}] = {{0}};
	program(out);
	printf("%s", name);
	for (int i = 0; i < count; i++) printf(" %" PRId64, out[i]);
	printf("\ndepth %" PRId64 " live %" PRId64 "\n", tl_get_scope_depth(), tl_get_refcount_count());
}}
int main(void) {{
{calls}
	return 0;
}}
"""


def find_tool(name: str) -> str | None:
    """A tool of LLVM 14, which this code was tried with, or whatever the name finds."""
    return shutil.which(f"{name}-14") or shutil.which(name)


def tool_version(tool: str) -> int:
    text = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
    return int(text.split("version ")[1].split(".")[0])


def opaque(tool: str) -> list[str]:
    """The option that makes LLVM 14 read `ptr`."""
    if tool_version(tool) >= 15:
        return []
    return ["-mllvm", "-opaque-pointers"] if "clang" in Path(tool).name else ["-opaque-pointers"]


def write_driver(path: Path, programs: dict[str, int]) -> None:
    declarations = "\n".join(f"void {name}(int64_t*);" for name in programs)
    calls = "\n".join(f'\trun("{name}", {name}, {count});' for name, count in programs.items())
    path.write_text(DRIVER.format(declarations=declarations, calls=calls, size=OBSERVATIONS))


def build_native(folder: Path, text: str, programs: dict[str, int], tool: str, level: int) -> Path:
    """Turns a module into an executable that is linked to the library and prints observations."""
    source, object_, program = folder / "module.ll", folder / "module.o", folder / "program"
    source.write_text(text)
    write_driver(folder / "driver.c", programs)
    if "clang" in Path(tool).name:
        compile_ = [tool, f"-O{level}", "-fPIC", "-c", *opaque(tool), "-x", "ir", str(source)]
    else:
        compile_ = [tool, f"-O{level}", "-relocation-model=pic", "-filetype=obj", *opaque(tool), str(source)]
    subprocess.run([*compile_, "-o", str(object_)], check=True)
    library = Path(path()).resolve()
    compiler = shutil.which("cc") or "clang"
    include = Path(__file__).parents[2] / "include"
    link = [compiler, "-O1", f"-I{include}", str(folder / "driver.c"), str(object_), str(library)]
    subprocess.run([*link, f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True)
    return program


def run_native(program: Path) -> dict[str, tuple[list[int], str]]:
    """Runs an executable: by program its observations, and what was left open or live after it."""
    text = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=60).stdout
    lines = text.splitlines()
    results = {}
    for observed, rest in zip(lines[::2], lines[1::2]):
        name, *values = observed.split()
        results[name] = ([int(value) for value in values], rest)
    return results
