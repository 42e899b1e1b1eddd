"""Compiles the text form with `tl lower`, and runs it in this process with llvmlite."""

import ctypes
import json
import os
import subprocess
import sys

import llvmlite.binding as llvm

VERSION = llvm.llvm_version_info[0]


class LowerError(Exception):
    """What `tl lower` refuses: a defect of the front end."""


def lower(tool, text, *options):
    """What `tl lower` makes of a text."""
    done = subprocess.run([tool, "lower", "-", *options], input=text, capture_output=True, text=True)
    if done.returncode:
        raise LowerError(f"{done.stderr}\n{text}")
    return done.stdout


def dialect(inline):
    """The options of `tl lower` for this LLVM; inline wants the module linked with tl_inline.ll."""
    return ["--llvm", str(min(max(VERSION, 14), 20)), "--init", "tiny_init", *(["--inline"] if inline else [])]


def start():
    """Prepares LLVM, once in a process."""
    for step in ("initialize", "initialize_native_target", "initialize_native_asmprinter"):
        try:
            getattr(llvm, step)()
        except RuntimeError:  # newer versions do it themselves
            pass
    if VERSION < 15:
        llvm.set_option("tiny", "-opaque-pointers")


class Runtime:
    """TL Runtime, and the functions that programs print with."""

    def __init__(self, library, write):
        llvm.load_library_permanently(library)  # where modules find tl_*
        self.library = ctypes.CDLL(library)
        self.library.tl_stats_json.restype = ctypes.c_size_t
        self.library.tl_last_error.restype = ctypes.c_char_p
        self.words, self.texts, self.path, self.write = [], [], "", write
        self.callbacks = []  # ctypes frees what nothing refers to
        number, decimal = ctypes.c_int64, ctypes.c_double
        self.define("tiny_int", lambda x: self.words.append(str(x)), number)
        self.define("tiny_float", lambda x: self.words.append(f"{x:g}"), decimal)
        self.define("tiny_text", lambda n: self.words.append(self.texts[n]), number)
        self.define("tiny_end", self.end)
        self.define("tiny_fail", self.fail, number, number, number)

    def define(self, name, function, *arguments):
        callback = ctypes.CFUNCTYPE(None, *arguments)(function)
        self.callbacks.append(callback)
        llvm.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)

    def end(self):
        self.write(" ".join(self.words))
        self.words.clear()

    def fail(self, line, index, length):
        """Ends the process, because compiled code cannot be left by an exception."""
        sys.stdout.flush()
        print(f"{self.path}:{line}: index {index} is outside of {length} elements", file=sys.stderr, flush=True)
        os._exit(1)

    def live(self):
        """Objects and bytes that are live, and scopes that are open."""
        size = self.library.tl_stats_json(None, 0) + 4096
        buffer = ctypes.create_string_buffer(size)
        self.library.tl_stats_json(buffer, ctypes.c_size_t(size))
        total = json.loads(buffer.value)["total"]
        return total["live"], total["bytes"], self.library.tl_get_scope_depth()

    def compiled(self, module_text, operations=None):
        """A module, optimised, with the operations of tl_inline.ll inlined where it calls them."""
        module = llvm.parse_assembly(module_text)
        if operations:
            with open(operations, encoding="utf-8") as file:
                module.link_in(llvm.parse_assembly(file.read()))
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
        if hasattr(llvm, "create_pass_builder"):
            builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
            builder.getModulePassManager().run(module, builder)
        return module, machine

    def run(self, module_text, path, texts, operations=None):
        """Compiles a module and calls its main."""
        self.path, self.texts = path, texts
        with llvm.create_mcjit_compiler(*self.compiled(module_text, operations)) as engine:
            engine.finalize_object()
            init = ctypes.CFUNCTYPE(ctypes.c_int)(engine.get_function_address("tiny_init"))
            if init():
                raise RuntimeError(self.library.tl_last_error().decode())
            ctypes.CFUNCTYPE(None)(engine.get_function_address("f_main"))()
