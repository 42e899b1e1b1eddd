"""Reads files of LLVM IR, verifies them, optimises them and makes machine code of them, with llvmlite."""
import sys

import llvmlite.binding as llvm

try:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
except RuntimeError:  # newer versions do it themselves
    pass
machine = llvm.Target.from_default_triple().create_target_machine(opt=2, reloc="pic")
for path in sys.argv[1:]:
    with open(path) as file:
        module = llvm.parse_assembly(file.read())
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    print(path, len(machine.emit_object(module)), "bytes, LLVM", *llvm.llvm_version_info)
