"""python jit.py MODULE.ll [tl_inline.ll]: compile a module in memory with llvmlite and run its main.

With tl_inline.ll the operations tl_inl_* of the module are linked in and inlined.
"""

import ctypes
import os
import sys

import llvmlite.binding as llvm

for start in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
    try:
        getattr(llvm, start)()
    except RuntimeError:  # newer versions do the first by themselves
        pass
llvm.load_library_permanently(os.environ["TL_RUNTIME_LIBRARY"])  # where the module finds tl_*

with open(sys.argv[1], encoding="utf-8") as file:
    module = llvm.parse_assembly(file.read())
module.verify()
machine = llvm.Target.from_default_triple().create_target_machine()
if len(sys.argv) > 2:
    with open(sys.argv[2], encoding="utf-8") as file:
        module.link_in(llvm.parse_assembly(file.read()))
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
engine = llvm.create_mcjit_compiler(module, machine)
engine.finalize_object()
status = ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address("main"))()
ctypes.CDLL(None).fflush(None)
sys.exit(status)
