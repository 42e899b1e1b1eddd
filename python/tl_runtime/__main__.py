"""Runs the program tl with this package's library: python -m tl_runtime report trace.bin -o page.html"""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ._library import path

HERE = Path(__file__).resolve().parent


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
    library = Path(path()).resolve()
    around = [HERE.parent / "bin", HERE.parents[1] / "build", library.parent, library.parents[1] / "bin"]
    around += library.parents[2:3] and [library.parents[2] / "bin"]  # lib/ARCHITECTURE/
    places = installed() + [folder / "tl" for folder in around]
    return next((place for place in places if place.is_file() and os.access(place, os.X_OK)), None)


def main() -> None:
    """Becomes the program tl, which finds the library and the interpreter of this package."""
    found = tool()
    if found is None:
        sys.exit(
            f"python -m tl_runtime: there is no program tl beside {path()}; install a wheel that was built with Go, or "
            "run `make tool` in a checkout"
        )
    if os.path.isfile(path()):
        os.environ.setdefault("TL_RUNTIME_LIBRARY", path())
    os.environ.setdefault("TL_PYTHON", sys.executable)
    os.execv(found, ["tl", *sys.argv[1:]])


if __name__ == "__main__":
    main()
