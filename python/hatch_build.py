"""Builds libtl_runtime.so, the program tl and the extension module into wheels, and their sources into sdists.

A wheel needs the library: it is built with Go from the checkout or from the sources in the sdist. TL_RUNTIME_LIBRARY
names one to pack instead; without Go the one in build/ of the checkout is taken. Without any the build fails. With
TL_PYTHON_FULL=1 it is the full library, which has tl.Graph, under the name of the other one.

The library has no Python ABI, so a wheel without the extension module serves every Python (py3-none), and one with it
every CPython from 3.11 on (cp311-abi3). TL_PYTHON_FAST=0 leaves the extension out, TL_PYTHON_FAST=1 insists on it.
The tag names this machine's platform; auditwheel writes the manylinux tag (packaging/build_wheels.sh).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "libtl_runtime.so"
FULL = "libtl_runtime_full.so"
TOOL = "tl"
EXTENSION = "_fast.abi3.so"
SKIPPED = 77  # what scripts of packaging/ answer where a compiler is missing
HEADERS = ("tl_runtime.h", "tl_inline.h", "tl_runtime.ll", "tl_inline.ll")
MISSING = (
    "TL Runtime is not built: its library is made from Go and C, and neither Go nor a built {library} was found. "
    "Install {go} or later (https://go.dev/dl) and a C compiler such as gcc, or name an existing {library} in the "
    "environment variable TL_RUNTIME_LIBRARY, and install again."
)
# What an sdist brings of the repository, beside the Python package itself.
SOURCES = ("capi", "cshim", "runtime", "compiler", "cmd", "include", "packaging", "python/src", "go.mod", "go.sum",
           "version.go")


class PackageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds to wheels and sdists what is not Python."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name == "sdist":
            build_data["force_include"][str(self.gathered_sources())] = "source"
        elif version == "editable":
            # An editable install loads the library from build/ of its checkout, whose graphs TL_RUNTIME_LIBRARY names.
            if not (self.repository / "build" / LIBRARY).is_file():
                self.build([], self.repository / "build")
        else:
            self.fill_wheel(build_data)

    @property
    def repository(self) -> Path:
        """The checkout, or what the sdist brings of it."""
        brought = Path(self.root) / "source"
        return brought if brought.is_dir() else Path(self.root).parent

    def fill_wheel(self, build_data: dict[str, Any]) -> None:
        files: dict[str, str] = build_data["force_include"]
        # The resolved file: a wheel holds no links, and the package needs one name only.
        library = self.library()
        files[str(library.resolve())] = f"tl_runtime/{LIBRARY}"
        for file in self.for_compilers():
            files[str(file)] = f"tl_runtime/include/{file.name}"
        tool = self.tool(library)
        if tool:
            build_data["shared_scripts"][str(tool)] = TOOL
        extension = self.extension()
        if extension:
            files[str(extension)] = f"tl_runtime/{EXTENSION}"
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{'cp311-abi3' if extension else 'py3-none'}-{platform}"

    def library(self) -> Path:
        """Returns the library to pack: the one that is named, built, or lies around, in this order."""
        named = os.environ.get("TL_RUNTIME_LIBRARY")
        if named:
            if not Path(named).is_file():
                self.app.abort(f"TL_RUNTIME_LIBRARY names {named}, which is no file")
            return Path(named)
        full = os.environ.get("TL_PYTHON_FULL", "") not in ("", "0")
        wanted = FULL if full else LIBRARY
        around = self.repository / "build" / wanted
        if shutil.which("go") is None and around.is_file():
            return around
        return self.build(["--full"] if full else [], Path(self.root) / "build") / wanted

    def tool(self, library: Path) -> Path | None:
        """Returns the program tl: built, or from beside the library that is packed."""
        if shutil.which("go"):
            return self.build(["--tool"], Path(self.root) / "build") / TOOL
        beside = library.parent / TOOL
        if beside.is_file():
            return beside
        self.app.display_warning(f"the wheel comes without the program tl: there is neither Go nor {beside}")
        return None

    def build(self, kind: list[str], target: Path) -> Path:
        """Runs packaging/build_library.sh; returns the folder of its results."""
        script = self.repository / "packaging" / "build_library.sh"
        if shutil.which("go") is None or not script.is_file():
            self.app.abort(MISSING.format(library=LIBRARY, go=self.go_version()))
        if subprocess.run(["sh", str(script), *kind, str(target)], check=False).returncode:
            self.app.abort(f"{script} failed; what it said stands above")
        return target

    def go_version(self) -> str:
        """Returns the oldest Go that serves, as go.mod says it."""
        try:
            lines = (self.repository / "go.mod").read_text().splitlines()
        except OSError:
            return "Go"
        return next((f"Go {line.split()[1]}" for line in lines if line.startswith("go ")), "Go")

    def for_compilers(self) -> list[Path]:
        """Returns headers and bitcode; there is bitcode where clang 15 or newer is installed."""
        bitcode = Path(self.root) / "build" / "tl_runtime.bc"
        if not self.scripted("build_bitcode.sh", str(bitcode)):
            bitcode = self.repository / "build" / bitcode.name
        files = [self.repository / "include" / name for name in HEADERS] + [bitcode]
        return [file for file in files if file.is_file()]

    def extension(self) -> Path | None:
        """Returns the extension module, or None where it cannot be built: see packaging/build_python_fast.sh."""
        wanted, folder = os.environ.get("TL_PYTHON_FAST", ""), Path(self.root) / "build"
        if wanted == "0":
            return None
        stubs = self.repository / "packaging" / "glibc_stubs.sh"
        run = subprocess.run(["sh", str(stubs), str(folder / "stubs")], check=True, stdout=subprocess.PIPE, text=True)
        older_libc = " ".join([os.environ.get("LDFLAGS", ""), *run.stdout.split()])
        if self.scripted("build_python_fast.sh", str(folder), sys.executable, LDFLAGS=older_libc):
            return folder / EXTENSION
        if wanted == "1":
            self.app.abort(f"TL_PYTHON_FAST=1 insists on {EXTENSION}; what it needs to be built stands above")
        return None

    def scripted(self, name: str, *arguments: str, **environment: str) -> bool:
        """Runs a script of packaging/; returns whether it had the compiler that it wants."""
        script = self.repository / "packaging" / name
        if not script.is_file():
            return False
        run = subprocess.run(["sh", str(script), *arguments], check=False, env={**os.environ, **environment})
        if run.returncode not in (0, SKIPPED):
            self.app.abort(f"{script} failed; what it said stands above")
        return run.returncode == 0

    def gathered_sources(self) -> Path:
        """Returns a folder with the sources of library, program and extension, and of the Go packages that they use."""
        if self.repository.parent == Path(self.root):
            return self.repository  # an sdist of an sdist
        if shutil.which("go") is None:
            self.app.abort(
                f"an sdist brings the Go packages that the library uses; install {self.go_version()} or later "
                "(https://go.dev/dl), which gathers them"
            )
        target = Path(self.root) / "build" / "source"
        shutil.rmtree(target, ignore_errors=True)
        leave_out = shutil.ignore_patterns("*_test.go", "testdata", "__pycache__", "*.md")
        for name in SOURCES:
            source = self.repository / name
            if source.is_dir():
                shutil.copytree(source, target / name, ignore=leave_out)
            elif source.is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target / name)
        subprocess.run(["go", "mod", "vendor"], cwd=target, check=True)
        return target
