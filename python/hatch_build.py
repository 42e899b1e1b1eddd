"""Puts libtl_runtime.so and what compilers need into the wheel, and gives the wheel its tag.

The library has no Python ABI, so one wheel per platform serves every Python:
py3-none-<platform>. Where the repository and a Go toolchain are there, the
library is built from it; otherwise one that exists already is taken. With
neither, the wheel is pure Python and looks for the library when it is imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

LIBRARY = "libtl_runtime.so"


class LibraryHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the shared library to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # an editable install finds ../build of its checkout
        library = self.find_library()
        if library is None:
            self.app.display_warning(f"{LIBRARY} is neither built nor found: the wheel comes without it")
            return
        # The resolved file: a wheel holds no links, and the package needs one name only.
        build_data["force_include"][str(library.resolve())] = f"tl_runtime/{LIBRARY}"
        for file in self.for_compilers():
            build_data["force_include"][str(file)] = f"tl_runtime/include/{file.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(platform_tags())}"

    def for_compilers(self) -> list[Path]:
        """Returns headers and bitcode; there is bitcode where clang 15 or newer is installed."""
        repository = Path(self.root).parent
        script, bitcode = repository / "packaging" / "build_bitcode.sh", Path(self.root) / "build" / "tl_runtime.bc"
        if script.is_file() and subprocess.run(["sh", str(script), str(bitcode)], check=False).returncode not in (0, 77):
            raise RuntimeError(f"{script} failed")
        files = [repository / "include" / name for name in ("tl_runtime.h", "tl_inline.h", "tl_runtime.ll")] + [bitcode]
        return [file for file in files if file.is_file()]

    def find_library(self) -> Path | None:
        """Returns the library to pack: the one that is named, built, or lies around, in this order."""
        named = os.environ.get("TL_RUNTIME_LIBRARY")
        if named:
            return Path(named)
        repository = Path(self.root).parent
        script = repository / "packaging" / "build_library.sh"
        if script.is_file() and shutil.which("go"):
            target = Path(self.root) / "build"
            subprocess.run(["sh", str(script), str(target)], check=True)
            return target / LIBRARY
        for candidate in (repository / "build" / LIBRARY, Path(self.root) / "tl_runtime" / LIBRARY):
            if candidate.is_file():
                return candidate
        return None
