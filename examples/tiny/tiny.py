"""python tiny.py PROGRAM.tiny ...: compile programs of Tiny and run them. README.md has the language."""

import argparse
import os
import sys
from pathlib import Path

from emit import emit
from syntax import TinyError

BUILD = Path(__file__).resolve().parents[2] / "build"


def arguments():
    parser = argparse.ArgumentParser(description="Compile programs of Tiny and run them on TL Runtime.")
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM")
    parser.add_argument("--emit", choices=["text", "operations", "llvm"], help="write this instead of running")
    parser.add_argument("--tool", default=os.environ.get("TL_TOOL", BUILD / "tl"), help="the command tl ($TL_TOOL)")
    parser.add_argument(
        "--runtime",
        default=os.environ.get("TL_RUNTIME_LIBRARY", BUILD / "libtl_runtime.so"),
        help="libtl_runtime.so ($TL_RUNTIME_LIBRARY)",
    )
    parser.add_argument("--inline", metavar="FILE", help="tl_inline.ll, whose operations are inlined")
    return parser.parse_args()


def main():
    args = arguments()
    try:
        compiled = [(path, *emit(path.read_text(encoding="utf-8"))) for path in args.programs]
    except TinyError as error:
        path = next(p for p in args.programs if refused(p))
        sys.exit(f"{path}:{error.at[0]}:{error.at[1]}: {error}")
    import jit  # only what runs needs llvmlite

    dialect = jit.dialect(inline=args.inline)
    if args.emit:
        for _, text, _ in compiled:
            print(jit.lower(args.tool, text, "--emit", args.emit, *dialect), end="")
        return
    jit.start()
    runtime = jit.Runtime(str(args.runtime), print)
    for path, text, texts in compiled:
        runtime.run(jit.lower(args.tool, text, *dialect), path, texts, args.inline)


def refused(path):
    """Whether a program has an error."""
    try:
        emit(path.read_text(encoding="utf-8"))
    except TinyError:
        return True
    return False


if __name__ == "__main__":
    main()
