"""The host's rough moments: interpreter exit, faulthandler, signals, daemon threads, no NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Run

ENDINGS = {
    "globals": "array = tl.zeros(1000).numpy(); tensor = tl.zeros(10); view = tensor.numpy()[2:]",
    "open scopes": "tl.lib.tl_mem_enter_scope(); tl.Object.new(64); tl.lib.tl_mem_function_enter(4); tl.zeros(3)",
    "cycle": "class C: pass\nc = C(); c.self = c; c.array = tl.zeros(100).numpy()",
    "cleared by atexit": "import atexit\nkeep = [tl.zeros(9).numpy()]\natexit.register(keep.clear)",
    "used by atexit": "import atexit\natexit.register(lambda: tl.zeros(9).numpy().sum())",
    "used by __del__": "class C:\n    def __del__(self, tl=tl): tl.zeros(5)\nc = C()",
    "thread that ended": "import threading\nt = threading.Thread(target=lambda: tl.Object.new(64)); t.start(); t.join()",
    "thread at work": """
import threading, time
def work():
    while True:
        with tl.scope():
            tl.Object.new(64); tl.zeros(10).numpy()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
""",
    "borrowed array": """
import numpy
tensor = tl.from_numpy(numpy.zeros(10), copy=False)
tl.lib.tl_tensor_acquire(tensor.address)
root = tl.from_numpy(numpy.zeros(10), copy=False).register()
""",
    "shutdown": "array = tl.zeros(10).numpy(); tl.shutdown()",
    "sys.exit": "import sys\narray = tl.zeros(10).numpy()\nsys.exit(0)",
}


@pytest.mark.parametrize("options", [(), ("-X", "faulthandler"), ("-X", "dev")], ids=["plain", "faulthandler", "dev"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_exit(python: Run, ending: str, options: tuple[str, ...]) -> None:
    code = ENDINGS[ending]
    if "numpy" in code:
        pytest.importorskip("numpy")
    python(code, *options)


def test_exit_with_numpy_loaded_first(python: Run) -> None:
    """The interpreter takes modules apart in an order of their loading, and tensors may go after _deferred."""
    pytest.importorskip("numpy")
    program = """
import sys, numpy, tl_runtime as tl
numpy.kept = [tl.zeros(3), tl.from_numpy(numpy.zeros(3), copy=False)]
class Last:
    def __del__(self): tl.zeros(3)
sys.last = Last()
"""
    python(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {program!r}], check=True)")


@pytest.mark.parametrize("kept", ["kept = C()", "kept = C(); kept.me = kept", "builtins.kept = C()"])
def test_a_leak_report_as_the_interpreter_ends(python: Run, kept: str) -> None:
    program = f"""
import builtins, os, sys, tl_runtime as tl
class C:
    def __init__(self): self.tensor = tl.zeros(3)
    def __del__(self, report=tl.leak_report, write=os.write, type=type):
        try:
            report()
            write(1, b"a report")
        except BaseException as error:
            write(1, type(error).__name__.encode())
{kept}
"""
    python(f"""
        import subprocess, sys
        done = subprocess.run([sys.executable, "-c", {program!r}], check=True, capture_output=True)
        assert (done.stdout, done.stderr) == (b"a report", b""), done
    """)


def test_faulthandler_enabled_after_the_load(python: Run) -> None:
    python(
        """
        import faulthandler
        faulthandler.enable()
        for address in (1, 8, 4096, 0xC000000000, 2**47):
            assert tl.lib.tl_ptr_release(address) != 0
        with tl.scope():
            tl.Object.new(1 << 20)
        """
    )


def test_ending_by_signal_is_left_alone(python: Run) -> None:
    """Ctrl-C stays a KeyboardInterrupt, and a fault stays a fault that faulthandler explains."""
    # Set by hand: a suite that runs in the background inherits an ignored SIGINT.
    interrupt = "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    result = python(interrupt + "tl.zeros(3)\nos.kill(os.getpid(), signal.SIGINT)", ok=False)
    assert "KeyboardInterrupt" in result.stderr
    crash = "import ctypes\ntl.zeros(3)\nctypes.string_at(8)"
    result = python(crash, "-X", "faulthandler", ok=False)
    assert result.returncode != 0
    assert "string_at" in result.stderr


def test_without_numpy(python: Run) -> None:
    python(
        """
        import sys
        assert "numpy" not in sys.modules
        sys.modules["numpy"] = None
        tensor = tl.zeros((2, 2))
        assert tensor.clone().shape == (2, 2)
        try:
            tensor.numpy()
        except ImportError as error:
            assert "NumPy" in str(error)
        else:
            raise AssertionError
        """
    )


def test_numpy_is_not_imported_unasked(python: Run) -> None:
    python("import sys\ntl.zeros(3)\nassert 'numpy' not in sys.modules")


@pytest.mark.parametrize("fast", ["0", "1"])
def test_both_paths(python: Run, fast: str) -> None:
    """The path is a matter of the environment; what comes out is the same."""
    result = python(
        """
        with tl.scope():
            held = tl.Object.new(64)
            before = tl.stats()["slow_calls"]
            for _ in range(1000):
                held.acquire().release()
            print(held.refcount, tl.stats()["slow_calls"] - before > 1000)
        """,
        TL_FASTPATH=fast,
    )
    assert result.stdout == f"1 {fast == '0'}\n"


def test_errors_on_request(python: Run) -> None:
    result = python("tl.configure('TL_ON_ERROR', 'log')\ntl.lib.tl_ptr_release(16)", ok=False)
    assert result.returncode == 0
    assert "TL_E_UNKNOWN_POINTER" in result.stderr
    assert "0x10 " in result.stderr
    result = python("tl.lib.tl_ptr_release(16)", ok=False, TL_ON_ERROR="abort")
    assert result.returncode != 0


# What a line of the library on standard error does to a program whose standard error nobody reads any more.
QUIET = {
    "failure": ("TL_ON_ERROR", "log", "tl.lib.tl_ptr_release(0x1001)"),
    "leaks": ("TL_LEAK_CHECK", "report", "tl.lib.tl_mem_alloc(32)"),
    "statistics": ("TL_SHOW_STATS", "1", "tl.zeros(3)"),
    "pool": ("TL_POOL_DEBUG", "1", "tl.zeros(3)"),
    "option": ("TL_ON_EROR", "log", "tl.zeros(3)"),
}


@pytest.mark.parametrize("writer", QUIET)
def test_a_reader_that_has_seen_enough(tmp_path: Path, writer: str) -> None:
    """program 2>&1 | head -1, with SIGPIPE ignored as Python does: the program goes on to its end."""
    option, value, code = QUIET[writer]
    ended = tmp_path / "ended"
    script = tmp_path / "program.py"
    script.write_text(
        "import atexit, pathlib, sys\n"
        "print('first', file=sys.stderr, flush=True)\n"
        "sys.stdin.read()  # until the reader has left\n"
        "import tl_runtime as tl\n" + f"for _ in range(3): {code}\n" + f"pathlib.Path({str(ended)!r}).touch()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), option: value}
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    ) as program:
        assert program.stdin is not None and program.stderr is not None
        assert program.stderr.readline() == b"first\n"
        program.stderr.close()
        program.stdin.close()
        assert program.wait(timeout=60) == 0
    assert ended.exists()
