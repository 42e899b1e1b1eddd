"""Several interpreters in one process: the first that imports the package has it, the others are told so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tl_runtime as tl
from tl_runtime._binding.native import fast

# run(code) runs code in an interpreter that ends afterwards, with a lock of its own where that is possible.
BEGIN = """
import warnings
warnings.simplefilter("ignore")  # of NumPy, which does not like other interpreters
try:
    import _testcapi
    run = _testcapi.run_in_subinterp
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            raise SystemExit("SKIP")

    def run(code):
        number = interpreters.create()
        interpreters.run_string(number, code)
        interpreters.destroy(number)

TRY = '''
import warnings
warnings.simplefilter("ignore")
try:
    import tl_runtime as tl
    print(tl.zeros(3).shape, flush=True)
except ImportError as error:
    print("refused", error, flush=True)
'''
"""


def program(code: str, **environment: str) -> list[str]:
    """What a program prints that does not import the package by itself."""
    path = os.pathsep.join(p for p in [str(Path(tl.__file__).parents[1]), *sys.path] if p)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": path, **environment},
        check=False,
    )
    if done.stderr.strip() == "SKIP":
        pytest.skip("this Python cannot make another interpreter")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def is_refusal(line: str) -> bool:
    return line.startswith("refused another interpreter of this process has imported tl_runtime") and (
        "main interpreter alone" in line
    )


def test_another_interpreter_is_refused_and_the_first_works_on() -> None:
    lines = program("""
        import gc
        import tl_runtime as tl
        before = tl.zeros(4)
        for _ in range(3):
            run(TRY)
        assert tl.zeros(2).shape == (2,)
        assert tl.from_dlpack(before).shape == (4,)
        del before
        gc.collect()
        assert tl.live_count() == 0
        print("done")
    """)
    assert [is_refusal(line) for line in lines] == [True] * 3 + [False]
    assert lines[-1] == "done"


def test_the_first_interpreter_has_the_package_after_it_has_ended() -> None:
    lines = program("""
        run(TRY)
        run(TRY)
        exec(TRY)
        exec(TRY)
    """)
    assert lines[0] == "(3,)"
    assert [is_refusal(line) for line in lines[1:]] == [True] * 3


def test_the_same_interpreter_imports_as_often_as_it_likes() -> None:
    lines = program("""
        import sys
        for _ in range(3):
            exec(TRY)
            for name in [name for name in sys.modules if name.startswith("tl_runtime") and "_fast" not in name]:
                del sys.modules[name]
    """)
    assert lines == ["(3,)"] * 3


@pytest.mark.skipif(fast is None, reason="the extension module is not used")
def test_the_extension_module_is_refused_beside_another_library(tmp_path: Path) -> None:
    other = shutil.copy(tl.path(), tmp_path / "other.so")
    lines = program(
        """
        import os
        import tl_runtime as tl
        run(f"import os; os.environ['TL_RUNTIME_LIBRARY'] = {os.environ['OTHER']!r}" + TRY)
        print(tl.zeros(2).shape)
        """,
        OTHER=str(other),
    )
    assert lines[0].startswith("refused tl_runtime._fast is in use by interpreter 0 of this process")
    assert lines[1] == "(2,)"
