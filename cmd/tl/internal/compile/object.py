"""Compiles a file of LLVM IR to an object file with llvmlite; without arguments, tells the version of LLVM."""
import sys

import llvmlite.binding as llvm

if len(sys.argv) == 1:
    print("version " + ".".join(map(str, llvm.llvm_version_info)))
    sys.exit()

source, target = sys.argv[1:]
try:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
except RuntimeError:  # newer versions do it themselves
    pass
machine = llvm.Target.from_default_triple().create_target_machine(
    cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, reloc="pic", codemodel="default"
)
with open(source) as file:
    module = llvm.parse_assembly(file.read())
module.triple = machine.triple
module.data_layout = str(machine.target_data)
module.verify()
if hasattr(llvm, "create_pass_builder"):
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
else:
    builder = llvm.create_pass_manager_builder()
    builder.opt_level, builder.loop_vectorize, builder.slp_vectorize = 2, True, True
    passes = llvm.create_module_pass_manager()
    builder.populate(passes)
    passes.run(module)
with open(target, "wb") as file:
    file.write(machine.emit_object(module))
