"""What an installation has to be able to do, from an interpreter that has nothing but the package: .ci/packages runs it.

python -I installed.py FOLDER [fast|plain [full]]      FOLDER is empty, for files; with or without the extension
                                                        module, with the full library
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import sysconfig
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

import tl_runtime as tl


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def tensors() -> None:
    with tl.scope():
        tensor = tl.zeros((64, 64), "float32")
        assert ctypes.string_at(tensor.__array_interface__["data"][0], tensor.nbytes) == bytes(64 * 64 * 4)
    if find_spec("numpy"):
        tensor.numpy()[0, 0] = 42
        assert tensor.numpy().sum() == 42
    else:
        try:
            tensor.numpy()
        except ImportError as error:
            assert "pip install numpy" in str(error), error
        else:
            raise AssertionError("numpy() worked without NumPy")
    del tensor
    assert tl.stats()["tensors_live"] == 0


def files() -> None:
    package = Path(tl.__file__).parent
    assert Path(tl.path()) == package / "libtl_runtime.so", tl.path()
    assert (tl.include_path() / "tl_runtime.h").is_file()
    metadata = distribution("tl-runtime")
    assert metadata.metadata["License-Expression"] == "Apache-2.0"
    names = {file.name for file in metadata.files or [] if "licenses" in file.parts}
    assert names == {"LICENSE", "LICENSES-THIRD-PARTY.txt"}, names


def program(folder: Path) -> None:
    with tl.trace(folder / "run.trace"):
        kept = tl.zeros(1000)
    del kept
    for tl_program in ([str(Path(sysconfig.get_path("scripts")) / "tl")], [sys.executable, "-m", "tl_runtime"]):
        page = folder / "page.html"
        run(*tl_program, "report", str(folder / "run.trace"), "-o", str(page))
        assert "<html" in page.read_text()
        page.unlink()


def graphs(full: bool) -> None:
    """The full library plans; the other one says how to get it."""
    if not full:
        try:
            tl.Graph()
        except tl.UnsupportedError as error:
            assert "TL_PYTHON_FULL=1" in str(error), error
            return
        raise AssertionError("the package has the full library, which was not asked for")
    graph = tl.Graph("line")
    x = graph.input("x", "float32", (64,))
    graph.output(graph.add("Tanh", graph.add("Exp", x)))
    assert [i.op for i in graph.plan().instructions] == ["Exp", "Tanh"]
    assert "define i32 @line(" in graph.plan().llvm()


def main() -> None:
    folder = Path(sys.argv[1])
    tensors()
    files()
    program(folder)
    graphs(sys.argv[3:] == ["full"])
    module = "fast" if find_spec("tl_runtime._fast") else "plain"
    assert module == (sys.argv[2:] or [module])[0], module
    print(f"Python {sys.version.split()[0]}, {module}, {'with' if find_spec('numpy') else 'without'} NumPy")


main()
