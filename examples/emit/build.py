"""python build.py [-o OBJECT] MODULE.ll...: compile modules together, each below the declarations of tl_runtime.ll.

With -o the result is an object file, which `cc OBJECT -ltl_runtime` links. Without it the modules are compiled in
memory, and main runs in this process over the library that TL_RUNTIME_LIBRARY names.
"""

import argparse
import ctypes
import os
import sys
from pathlib import Path

import llvmlite.binding as llvm

DECLARATIONS = Path(__file__).parents[2] / "include" / "tl_runtime.ll"


def start():
    """Prepares LLVM, once in a process."""
    for step in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
        try:
            getattr(llvm, step)()
        except RuntimeError:  # newer versions do it themselves
            pass
    if llvm.llvm_version_info[0] < 15:
        llvm.set_option("build", "-opaque-pointers")


def linked(paths):
    """The modules as one."""
    declarations = DECLARATIONS.read_text(encoding="utf-8")
    whole = llvm.parse_assembly("")
    for path in paths:
        try:
            module = llvm.parse_assembly(declarations + path.read_text(encoding="utf-8"))
        except RuntimeError as error:
            sys.exit(f"{path}: {error}; tl_runtime.ll is the first {declarations.count(chr(10))} lines")
        whole.link_in(module)
    whole.verify()
    return whole


def optimise(module, machine):
    """The pipeline of -O2, where this llvmlite has it."""
    if not hasattr(llvm, "create_pass_builder"):
        return
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)


def run(module, machine):
    """Runs main of a module in this process, and returns its status."""
    for library in (os.environ["TL_RUNTIME_LIBRARY"], "libstdc++.so.6"):
        llvm.load_library_permanently(library)  # where the module finds tl_* and __cxa_*
    with llvm.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        engine.run_static_constructors()  # llvm.global_ctors: a JIT does not run them by itself
        status = ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address("main"))()
        ctypes.CDLL(None).fflush(None)
        return status


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("-o", dest="object", type=Path)
    arguments.add_argument("modules", nargs="+", type=Path)
    given = arguments.parse_args()
    start()
    machine = llvm.Target.from_default_triple().create_target_machine(
        opt=2, reloc="pic" if given.object else "default", jit=not given.object
    )
    module = linked(given.modules)
    optimise(module, machine)
    if not given.object:
        return run(module, machine)
    given.object.write_bytes(machine.emit_object(module))
    return 0


if __name__ == "__main__":
    sys.exit(main())
