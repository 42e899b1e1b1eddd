"""Where the library is looked for, which one is refused, and what of it is visible."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tl_runtime as tl
from conftest import PACKAGE, Run
from tl_runtime import _abi

LIBRARY = Path(tl.path())


def fake_library(folder: Path, version: str, interface: int) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = folder / "fake.c", folder / "libfake.so"
    source.write_text(
        f'const char* tl_version(void) {{ return "{version}"; }}\nunsigned tl_abi_version(void) {{ return {interface}u; }}\n'
    )
    subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


def load_error(python: Run, **environment: str) -> str:
    result = python("", ok=False, **environment)
    assert result.returncode != 0
    return result.stderr.splitlines()[-1]


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tl.version)
    assert tl.lib.tl_abi_version() >= _abi.ABI_VERSION
    project = (PACKAGE / "pyproject.toml").read_text()
    assert f'version = "{tl.version}"' in project


@pytest.mark.parametrize(("version", "interface"), [("2.0.0", 5), ("0.9.0", 1), ("1.0.0", 0)])
def test_other_versions_are_refused(python: Run, tmp_path: Path, version: str, interface: int) -> None:
    library = fake_library(tmp_path, version, interface)
    error = load_error(python, TL_RUNTIME_LIBRARY=str(library))
    assert error.startswith("ImportError")
    assert str(library) in error
    assert f"TL Runtime {version} with interface {interface}" in error
    assert "TL_RUNTIME_LIBRARY" in error


def test_named_library_that_is_none(python: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "missing.so", Path(__file__)):
        error = load_error(python, TL_RUNTIME_LIBRARY=str(path))
        assert error.startswith("ImportError")
        assert str(path) in error


def copy_package(folder: Path) -> Path:
    """A copy of the package far from any checkout."""
    target = folder / "far" / "tl_runtime"
    shutil.copytree(Path(tl.__file__).parent, target, ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
    return target


def far_away() -> dict[str, str]:
    """The environment without what leads to the library and the extension module of this checkout."""
    ours = ("TL_RUNTIME_LIBRARY", "TL_PYTHON_FAST", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if name not in ours}


def import_from(folder: Path) -> subprocess.CompletedProcess[str]:
    code = "import tl_runtime as tl; print(tl.path())"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=far_away(), capture_output=True, text=True, timeout=60
    )


def test_no_library_anywhere(tmp_path: Path) -> None:
    result = import_from(copy_package(tmp_path).parent)
    if result.returncode == 0:
        pytest.skip("the system has an installed one")
    assert "ImportError: libtl_runtime.so was not found" in result.stderr
    assert "make lib" in result.stderr


def test_library_in_the_package(tmp_path: Path) -> None:
    package = copy_package(tmp_path)
    shutil.copy(LIBRARY.resolve(), package / "libtl_runtime.so")
    assert import_from(package.parent).stdout.strip() == str(package / "libtl_runtime.so")


def test_library_of_a_checkout(tmp_path: Path) -> None:
    package = copy_package(tmp_path)
    build = tmp_path / "build"
    build.mkdir()
    shutil.copy(LIBRARY.resolve(), build / "libtl_runtime.so")
    assert import_from(package.parent).stdout.strip() == str(build / "libtl_runtime.so")


def test_symbols_are_private(python: Run) -> None:
    python(
        """
        import ctypes
        assert not hasattr(ctypes.CDLL(None), "tl_version")
        tl.make_symbols_global()
        assert hasattr(ctypes.CDLL(None), "tl_version")
        """
    )


def test_symbols() -> None:
    symbols = tl.symbols()
    assert set(symbols) == {function.name for function in _abi.FUNCTIONS}
    assert list(symbols) == sorted(symbols)
    for name, address in symbols.items():
        assert address == ctypes.cast(getattr(tl.lib, name), ctypes.c_void_p).value
    assert not tl.lib.tl_symbols(None)
    assert tl.lib.tl_last_status() == tl.Status.INVALID_ARGUMENT


def test_symbols_of_released_interfaces() -> None:
    """The library has every function that an interface of its number or below has had."""
    lines = (PACKAGE.parent / "capi" / "symbols.txt").read_text().splitlines()
    since = {name: int(number) for name, number in (line.split() for line in lines if not line.startswith("#"))}
    assert since["tl_version"] == 1
    assert {name for name, number in since.items() if number <= tl.lib.tl_abi_version()} <= set(tl.symbols())
    assert set(tl.symbols()) <= set(since)


def test_only_our_names_are_visible() -> None:
    tool = shutil.which("nm")
    if tool is None:
        pytest.skip("no nm")
    text = subprocess.run(
        [tool, "-D", "--defined-only", str(LIBRARY)], check=True, capture_output=True, text=True
    ).stdout
    names = {line.split()[-1].split("@")[0] for line in text.splitlines()}
    assert {name for name in names if not name.startswith(("tl_", "TL_"))} == set()
    assert {name for name in names if name.startswith("tl_")} == set(tl.symbols())


def test_readme() -> None:
    """The examples of the README run as they stand, one after the other."""
    pytest.importorskip("numpy")
    pytest.importorskip("scipy.sparse")
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.S):
        exec(code, names)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("numpy", "tl.zeros(3).numpy()"),
        ("numpy", "tl.registry.empty(3)"),
        ("numpy", "tl.numpy_allocator().__enter__()"),
        ("scipy", "tl.SparseMatrix.empty((1, 1), [0]).to_scipy()"),
        ("prometheus_client", "import tl_runtime.prometheus"),
    ],
)
def test_missing_package_is_named(python: Run, name: str, call: str) -> None:
    code = f"""
        import sys

        class Missing:
            @staticmethod
            def find_spec(module, *_):
                if module.partition(".")[0] == "{name}":
                    raise ModuleNotFoundError(f"No module named {{module!r}}", name=module)

        sys.meta_path.insert(0, Missing)
        {call}
        """
    error = python(code, ok=False).stderr.splitlines()[-1]
    assert error.startswith("ImportError: this needs")
    assert error.endswith(f"pip install {name}")


def test_extras_are_those_of_the_documents() -> None:
    tomllib = pytest.importorskip("tomllib", reason="skip: Python 3.10 has no tomllib")
    described, page = PACKAGE / "pyproject.toml", PACKAGE.parent / "docs" / "install.md"
    if not described.is_file() or not page.is_file():
        pytest.skip("this is no checkout")
    project = tomllib.loads(described.read_text())["project"]
    assert [name[:5] for name in project["dependencies"]] == ["numpy"], "the first program of the documents needs it"
    extras = project["optional-dependencies"]
    assert set(re.findall(r"\./python\[(\w+)\]", page.read_text())) == set(extras)


def test_program_of_a_checkout() -> None:
    """python -m tl_runtime is build/tl here, with this package's library."""
    if not (PACKAGE.parent / "build" / "tl").is_file():
        pytest.skip("build/tl is not built (make tool)")
    command = [sys.executable, "-m", "tl_runtime", "run", "--help"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "TL_RUNTIME_LIBRARY": str(LIBRARY)}
    environment.pop("TL_PYTHON", None)
    text = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=60).stdout
    assert str(LIBRARY) in text
    assert sys.executable in text


def test_program_beside_a_library_of_the_system(tmp_path: Path) -> None:
    """A library that was found by its name is known by its file; the working folder has no say."""
    for folder, says in (("prefix/bin", "right"), ("elsewhere", "wrong")):
        (tmp_path / folder).mkdir(parents=True)
        program = tmp_path / folder / "tl"
        program.write_text(f'#!/bin/sh\necho {says} "$1" "$TL_RUNTIME_LIBRARY"\n')
        program.chmod(0o755)
    copy = tmp_path / "prefix" / "lib" / "libtl_runtime.so.1"
    copy.parent.mkdir()
    shutil.copy(LIBRARY.resolve(), copy)
    environment = {
        **far_away(),
        "PYTHONPATH": str(copy_package(tmp_path).parent),
        "LD_LIBRARY_PATH": str(copy.parent),
        "TL_RUNTIME_LIBRARY": copy.name,
    }
    command = [sys.executable, "-m", "tl_runtime", "report"]
    folder = tmp_path / "elsewhere"
    text = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment, timeout=60)
    assert text.stdout.split() == ["right", "report", str(copy)]


def test_no_program(tmp_path: Path) -> None:
    package = copy_package(tmp_path)
    shutil.copy(LIBRARY.resolve(), package / "libtl_runtime.so")
    command = [sys.executable, "-m", "tl_runtime", "report"]
    result = subprocess.run(command, cwd=package.parent, capture_output=True, text=True, env=far_away(), timeout=60)
    assert result.returncode == 1
    assert "there is no program tl beside" in result.stderr


def test_wheel(tmp_path: Path) -> None:
    """One wheel per platform, with the library in it and no Python ABI in its tag; installed, it works by itself."""
    pytest.importorskip("hatchling")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    environment = {**os.environ, "TL_RUNTIME_LIBRARY": str(LIBRARY), "TL_PYTHON_FAST": "0"}
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", str(PACKAGE), "-w", str(tmp_path)]
    subprocess.run(build, check=True, env=environment)
    (wheel,) = tmp_path.glob("*.whl")
    assert re.fullmatch(r"tl_runtime-[\d.]+-py3-none-(?!any)\w+\.whl", wheel.name)
    target = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
    assert (target / "tl_runtime" / "py.typed").is_file()
    for name in ("tl_runtime.h", "tl_inline.h"):
        assert (target / "tl_runtime" / "include" / name).is_file()
    assert import_from(target).stdout.strip() == str(target / "tl_runtime" / "libtl_runtime.so")
