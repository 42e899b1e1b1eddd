"""Instructions of one operation, counted by valgrind.

    instructions.py CALLS_PROGRAM LIBRARY_DIRECTORY OUTPUT

Runs every operation of the program N and 2N times; the difference is what N of them took. Start-up is not the same to
the instruction each time, so N is large enough to drown that.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import targets

N = 100000
RUNS = 3


def count(program: str, library: str, operation: str, times: int) -> int:
    """The instructions of a process. Cachegrind does not follow calls, which Go's stacks would confuse."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               program, operation, str(times)]
    environment = dict(os.environ, LD_LIBRARY_PATH=library)
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", shown)[1].replace(",", ""))


def least(program: str, library: str, operation: str, times: int) -> int:
    """Threads that wait add instructions, never take any away."""
    return min(count(program, library, operation, times) for _ in range(RUNS))


def each(program: str, library: str, operation: str) -> float:
    return (least(program, library, operation, 2 * N) - least(program, library, operation, N)) / N


def main() -> None:
    program, library, output = sys.argv[1:]
    if not shutil.which("valgrind"):
        print("skipped: instruction counts (valgrind is not installed)")
        return
    try:
        loop = each(program, library, "loop")
        counts = {name: each(program, library, name) - loop for name in targets.INSTRUCTIONS}
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"skipped: instruction counts (valgrind could not run the library: {error})")
        return
    pathlib.Path(output).write_text(json.dumps(counts, indent=1))


main()
