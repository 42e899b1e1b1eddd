"""LLVM IR becomes machine code in this process: by llvmlite, or by clang and the system's loader."""

from __future__ import annotations

import ctypes
import itertools
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._binding.library import make_symbols_global, symbols

_NEWEST = 20  # version of LLVM whose text form is written; cmd/tl/internal/compile/compile.go
_CLANGS = [*(f"clang-{version}" for version in range(_NEWEST + 4, 13, -1)), "clang"]
_modules = map("tl_graph{}".format, itertools.count())

# What writes the text for a version of LLVM.
Emit = Callable[[int], str]


def compiled(emit: Emit, function: str, compiler: str | None) -> tuple[Any, int]:
    """Returns what keeps the code alive, and the address of the function."""
    if compiler not in (None, "llvmlite", "clang"):
        raise ValueError(f"tl.Execution.compile: there is no compiler {compiler!r}; llvmlite and clang are known")
    if compiler != "clang":
        try:
            return _by_llvmlite(emit, function)
        except ImportError:
            if compiler == "llvmlite":
                raise
    clang = next(filter(None, map(shutil.which, _CLANGS)), None)
    if clang is None:
        raise ImportError(
            "tl.Execution.compile: neither the package llvmlite nor clang is installed; try pip install llvmlite"
        )
    return _by_clang(clang, emit, function)


def _by_llvmlite(emit: Emit, function: str) -> tuple[Any, int]:
    """The passes are those of `tl compile` (cmd/tl/internal/compile/object.py)."""
    import llvmlite.binding as llvm

    try:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except RuntimeError:  # newer versions do it themselves
        pass
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    module = llvm.parse_assembly(emit(min(llvm.llvm_version_info[0], _NEWEST)))
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_lljit_compiler(machine)
    library = llvm.JITLibraryBuilder().add_ir(str(module)).add_current_process().export_symbol(function)
    for name, address in symbols().items():
        library.import_symbol(name, address)
    loaded = library.link(engine, next(_modules))
    return (engine, loaded), loaded[function]


def _by_clang(clang: str, emit: Emit, function: str) -> tuple[Any, int]:
    told = subprocess.run([clang, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"version (\d+)\.", told)
    if version is None:
        raise ImportError(f"tl.Execution.compile: {clang} does not tell its version; install llvmlite")
    with tempfile.TemporaryDirectory(prefix="tl-graph-") as folder:
        source, target = Path(folder, "graph.ll"), Path(folder, "graph.so")
        source.write_text(emit(min(int(version[1]), _NEWEST)))
        flags = ["-O2", "-march=native", "-fPIC", "-shared", "-Wno-override-module", "-x", "ir"]
        done = subprocess.run(
            [clang, *flags, str(source), "-o", str(target), "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ValueError(f"tl.Execution.compile: {clang} failed: {done.stderr.strip()}")
        make_symbols_global()
        module = ctypes.CDLL(str(target))
    address = ctypes.cast(module[function], ctypes.c_void_p).value
    assert address is not None  # ctypes found the name
    return module, address
