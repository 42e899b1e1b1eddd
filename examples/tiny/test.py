"""Runs the programs on both paths: what they print, and that nothing is left. `make -C examples/tiny test`."""

import os
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

import jit
from emit import emit
from syntax import TinyError
from tiny import BUILD

FOLDER = Path(__file__).resolve().parent
PROGRAMS = sorted(p for p in (FOLDER / "programs").glob("*.tiny") if p.with_suffix(".out").exists())
TOOL = os.environ.get("TL_TOOL", str(BUILD / "tl"))
LIBRARY = os.environ.get("TL_RUNTIME_LIBRARY", str(BUILD / "libtl_runtime.so"))
INLINE = FOLDER.parents[1] / "include" / "tl_inline.ll"
INLINES = jit.VERSION >= 15
PLAIN = ("--no-moves", "--no-borrows", "--no-slots", "--no-cancel")
CELLS = ("--cells",)

# What is wrong in a program, and what is said about it.
WRONG = {
    "fn main() { let x = y }": "1:21: there is no variable y; declare it by let",
    "fn main() { print(1 + 2.0) }": "1:21: there is no int + float",
    "fn main() { let p = nil }": "1:21: nil of which type? declare it, as in `let p: P = nil`",
    "struct P { x: int }\nfn main() { let p = P{y: 1} }": "2:21: struct P has no field y",
    "fn main() { let v = Vec[int]{} }": "1:21: a Vec is of structs, Tensors or Vecs; put numbers into a Tensor",
    "fn f() -> int { if 1 { return 2 } }\nfn main() { }": "1:1: a path through f ends without a return",
    "fn main() { break }": "1:13: break stands in a loop",
    "fn main() {\n  return\n  print(1)\n}": "3:3: nothing leads here",
    "fn f(x: int) { }\nfn main() { let a = f(1) }": "2:21: f returns nothing, and a value is needed",
    "fn main() { let t = Tensor[f64, 2]{1.0} }": "1:21: Tensor[f64, 2] has 2 elements, not 1",
    "fn main() { f(1).x = 2 }\nfn f(x: int) { }": "1:13: only what a variable holds can be changed",
    "fn start() { }": "1:1: fn main() is missing, without parameters and result",
    "fn main() { let 3 = x }": "1:17: the name of a variable expected, found 3",
    "fn main() { ? }": "1:13: '?' begins nothing in Tiny",
}


class Programs(unittest.TestCase):
    def test_programs_print_what_they_should_and_leave_nothing(self):
        lines = []
        runtime = jit.Runtime(LIBRARY, lines.append)
        self.assertGreaterEqual(len(PROGRAMS), 7)
        ways = [((), None), (PLAIN, None), (CELLS, None), *([((), INLINE), (CELLS, INLINE)] if INLINES else [])]
        for options, inline in ways:
            for path in PROGRAMS:
                with self.subTest(path.name, options=options, inline=inline):
                    text, texts = emit(path.read_text(encoding="utf-8"))
                    module = jit.lower(TOOL, text, *jit.dialect(inline=inline), *options)
                    lines.clear()
                    before = runtime.live()
                    runtime.run(module, path, texts, inline)
                    self.assertEqual("\n".join(lines) + "\n", path.with_suffix(".out").read_text(encoding="utf-8"))
                    self.assertEqual((before[0], before[1], 0), runtime.live(), "objects, bytes, open scopes")
                    self.assertEqual(runtime.library.tl_last_status(), 0, runtime.library.tl_last_error())

    def test_what_runs_is_what_was_allocated(self):
        """The check above can fail: an object that is kept on purpose is seen."""
        runtime = jit.Runtime(LIBRARY, print)
        runtime.library.tl_mem_alloc.restype = jit.ctypes.c_void_p
        before = runtime.live()
        kept = runtime.library.tl_mem_alloc(jit.ctypes.c_size_t(64))
        self.assertEqual(before[0] + 1, runtime.live()[0])
        runtime.library.tl_mem_free(jit.ctypes.c_void_p(kept))
        self.assertEqual(before, runtime.live())

    def test_a_walk_counts_nothing(self):
        """The functions of list.tiny that only walk have no call that counts."""
        text, _ = emit((FOLDER / "programs" / "list.tiny").read_text(encoding="utf-8"))
        module = jit.lower(TOOL, text, *jit.dialect(inline=False))
        for name, calls in (("f_total", 0), ("f_find", 2)):  # find returns: register and unregister
            body = re.search(rf"define \w+ @{name}\(.*?\n}}", module, re.DOTALL).group()
            self.assertLessEqual(len(re.findall(r"call \w+ @tl_", body)), 2 * calls, body)
            self.assertNotRegex(body, "tl_ptr_(acquire|release)")

    @unittest.skipUnless(INLINES, "LLVM 14 reads it with an option that llvmlite lacks")
    def test_operations_are_inlined(self):
        text, _ = emit((FOLDER / "programs" / "tensors.tiny").read_text(encoding="utf-8"))
        called = jit.lower(TOOL, text, *jit.dialect(inline=True))
        self.assertIn("call i32 @tl_inl_mem_exit_scope(", called)
        module, _ = jit.Runtime(LIBRARY, print).compiled(called, INLINE)
        self.assertNotIn("@tl_inl_", str(module))

    def test_text_is_a_fixed_point(self):
        for path in PROGRAMS:
            text, _ = emit(path.read_text(encoding="utf-8"))
            printed = jit.lower(TOOL, text, "--emit", "text")
            self.assertEqual(printed, jit.lower(TOOL, printed, "--emit", "text"))

    def test_errors_have_places(self):
        for text, want in WRONG.items():
            with self.subTest(text):
                with self.assertRaises(TinyError) as caught:
                    emit(text)
                self.assertEqual("%d:%d: %s" % (*caught.exception.at, caught.exception), want)

    def test_an_index_outside_ends_the_program(self):
        program = FOLDER / "programs" / "outside.tiny"
        command = [sys.executable, FOLDER / "tiny.py", "--runtime", LIBRARY, "--tool", TOOL, program]
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (1, "1\n"))
        self.assertIn("outside.tiny:7: index 1 is outside of 1 elements", done.stderr)


def main():
    if "TL_FASTPATH" in os.environ:
        jit.start()
        result = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(Programs))
        sys.exit(not result.wasSuccessful())
    start, failed, runs = time.monotonic(), False, []
    for path in ("1", "0"):
        environment = {**os.environ, "TL_FASTPATH": path}
        runs.append(subprocess.Popen([sys.executable, __file__], env=environment, stderr=subprocess.PIPE, text=True))
    for path, run in zip(("1", "0"), runs):
        errors = run.communicate()[1]
        if run.returncode:
            print(f"TL_FASTPATH={path}\n{errors}")
            failed = True
    if failed:
        sys.exit(1)
    how = "called and inlined" if INLINES else "called (skip: LLVM 14 inlines nothing)"
    taken = f"{time.monotonic() - start:.1f} s"
    print(f"tiny: {len(PROGRAMS)} programs on both paths, {how}, time {taken}, objects leaked: 0")


if __name__ == "__main__":
    main()
