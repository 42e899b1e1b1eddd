"""Where the program tl of this installation is, and what it needs to find the library and this interpreter."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from .library import path

HERE = Path(__file__).resolve().parents[1]  # the folder of the package


def library() -> Path:
    """Returns the file of the library, also where it was loaded by its name alone."""
    if os.sep in path():
        return Path(path()).resolve()
    with open("/proc/self/maps") as maps:
        files = [line.split(maxsplit=5)[-1].rstrip() for line in maps]
    return Path(next(file for file in files if os.path.basename(file).startswith("libtl_runtime.so")))


def installed() -> list[Path]:
    """Returns where pip has put tl, as its record says; no place when this package is not what pip has installed."""
    try:
        package = distribution("tl-runtime")
    except PackageNotFoundError:
        return []
    if Path(str(package.locate_file("tl_runtime"))).resolve() != HERE:
        return []
    return [Path(str(file.locate())) for file in package.files or [] if file.name == "tl"]


def tool() -> Path | None:
    """Returns the program of this installation: that of pip, of a checkout, or of `make install`."""
    beside = library().parent
    around = [HERE.parent / "bin", HERE.parents[1] / "build", beside, beside.parent / "bin"]
    around.append(beside.parent.parent / "bin")  # the library is in lib/ARCHITECTURE
    places = installed() + [folder / "tl" for folder in around]
    return next((place for place in places if place.is_file() and os.access(place, os.X_OK)), None)


def environment() -> dict[str, str]:
    """Returns the environment in which the program tl finds the library and the interpreter of this package."""
    return {"TL_PYTHON": sys.executable, **os.environ, "TL_RUNTIME_LIBRARY": str(library())}
