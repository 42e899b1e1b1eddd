"""Runs the program tl with this package's library: python -m tl_runtime report trace.bin -o page.html"""

from __future__ import annotations

import os
import sys

from ._binding.program import environment, library, tool


def main() -> None:
    """Becomes the program tl, which finds the library and the interpreter of this package."""
    found = tool()
    if found is None:
        sys.exit(
            f"python -m tl_runtime: there is no program tl beside {library()}; install a wheel built with Go, or "
            "run `make tool` in a checkout"
        )
    os.execve(found, ["tl", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
