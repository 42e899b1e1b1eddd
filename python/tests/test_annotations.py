"""The types of the package, as users' type checkers see them."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy", reason="skip: no mypy")
pytest.importorskip("numpy")

import tl_runtime as tl
from conftest import PACKAGE
from tl_runtime._binding.native import fast

PROGRAM = """
import numpy as np
import tl_runtime as tl

tensor = tl.zeros((2, 3), "float32", device="cpu")
reveal_type(tensor)
reveal_type(tensor[0].T.clone())
reveal_type(tensor.numpy())
reveal_type(tensor.shape)
reveal_type(tl.from_dlpack(np.zeros(3)).copy())
reveal_type(tl.leak_report())
reveal_type(tl.SparseMatrix.empty((2, 2), [1, 1]).T)
for row in tensor:
    row[0] = 1
tensor += 1
with tl.scope(), tl.numpy_allocator():
    np.add(tensor, 1)
"""
REVEALED = [
    "tl_runtime._tensor.tensor.Tensor",
    "tl_runtime._tensor.tensor.Tensor",
    "numpy.ndarray[Any, Any]",
    "tuple[int, ...]",
    "tl_runtime._tensor.tensor.Tensor",
    "tl_runtime._observe.leaks.LeakReport",
    "tl_runtime._sparse.matrix.SparseMatrix",
]
FAULTY = """
import tl_runtime as tl

tl.zeros(2.5)
tl.leak_report(handles=True, sinc=3)
tl.Tensor.from_address("here")
class Mine(tl.Tensor): ...
"""
CODES = ["arg-type", "call-arg", "arg-type", "misc"]


def checked(*command: str) -> tuple[int, list[str]]:
    """The status and the lines of a command of mypy's, which knows the package from where this process has it."""
    installed = Path(tl.__file__).parents[1]
    result = subprocess.run(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        cwd=installed,
    )
    return result.returncode, result.stdout.splitlines()


def mypy(path: Path, program: str) -> tuple[int, list[str]]:
    path.write_text(program)
    build = PACKAGE.parent / "build"
    cache = build / "mypy" if build.is_dir() else path.parent / "cache"
    options = ("--strict", "--config-file=", "--follow-imports=silent", f"--cache-dir={cache}", "--no-error-summary")
    return checked("mypy", *options, str(path))


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(tl.__file__).parent / "py.typed").is_file()


def test_programs_see_its_types(tmp_path: Path) -> None:
    status, lines = mypy(tmp_path / "program.py", PROGRAM)
    assert status == 0, lines
    assert [line.split('"')[1] for line in lines] == REVEALED


def test_mistakes_are_found(tmp_path: Path) -> None:
    status, lines = mypy(tmp_path / "program.py", FAULTY)
    found = [line.rpartition("[")[2].rstrip("]") for line in lines if ": error: " in line]
    assert (status, found) == (1, CODES), lines


@pytest.mark.skipif(fast is None, reason="tl_runtime._fast is not in use")
def test_the_stub_of_the_extension_module_is_right() -> None:
    stub = ast.parse((Path(tl.__file__).parent / "_fast.pyi").read_text())
    functions = {node.name: node.args for node in stub.body if isinstance(node, ast.FunctionDef)}
    constants = [node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)]  # type: ignore[union-attr]
    assert {*functions, *constants} == {name for name in vars(fast) if not name.startswith("__")}
    for name, arguments in functions.items():
        if not arguments.args and not arguments.kwonlyargs:  # one or no argument, without a name
            assert len(arguments.posonlyargs) <= 1
            continue
        found = inspect.signature(getattr(fast, name)).parameters.values()
        one = inspect.Parameter
        kinds = (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        for kind, wanted in zip(kinds, (arguments.posonlyargs, arguments.args, arguments.kwonlyargs)):
            assert [had.name for had in found if had.kind is kind] == [given.arg for given in wanted]
