"""Instructions of one operation, counted by valgrind.

    instructions.py CALLS_PROGRAM LIBRARY_DIRECTORY OUTPUT   counts every operation of the program
    instructions.py CALLS_PROGRAM LIBRARY_DIRECTORY          fails where one takes more than targets_instructions.INSTRUCTION_LIMITS

Runs an operation N and 2N times; the difference is what N of them took. Start-up is not the same to the instruction
each time, so N is large enough to drown that.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import targets_instructions

N = 100000
N_LIMITED = 40000  # where limits are checked: start-up adds up to 3 instructions, which they have room for
RUNS = 3
SKIPPED = 77  # ctest's number for a test that could not run


def count(program: str, library: str, operation: str, times: int) -> int:
    """The instructions of a process. Cachegrind does not follow calls, which Go's stacks would confuse."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               program, operation, str(times)]
    environment = dict(os.environ, LD_LIBRARY_PATH=library)
    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", shown)[1].replace(",", ""))


def each(program: str, library: str, operation: str, runs: int = RUNS, n: int = N) -> float:
    """Threads that wait add instructions, never take any away: the least of some runs."""
    least = [min(count(program, library, operation, times) for _ in range(runs)) for times in (n, 2 * n)]
    return (least[1] - least[0]) / n


def above_limit(program: str, library: str, operation: str, limit: int, loop: float, start: int) -> bool:
    """One process tells enough of most: what its operation prepares counts as the operations', which are never too few."""
    found = (count(program, library, operation, N_LIMITED) - start) / N_LIMITED
    if found > limit:
        found = each(program, library, operation) - loop
    verdict = "more than" if found > limit else "of at most"
    print(f"instructions: {operation}: {found:.0f}, {verdict} {limit}", flush=True)
    return found > limit


def main() -> int:
    program, library, *output = sys.argv[1:]
    if not shutil.which("valgrind"):
        print("skip: instruction counts (valgrind is not installed)")
        return 0 if output else SKIPPED
    if not os.access(program, os.X_OK):
        print(f"instructions: {program} is not there: build it")
        return 1
    try:
        loop = each(program, library, "loop")
    except subprocess.CalledProcessError as error:
        print(f"skip: instruction counts (valgrind could not run the library: {error})")
        return 0 if output else SKIPPED
    if not output:
        limits = targets_instructions.INSTRUCTION_LIMITS
        start = min(count(program, library, "loop", N_LIMITED) for _ in range(RUNS))
        above = [name for name, limit in limits.items() if above_limit(program, library, name, limit, loop, start)]
        return len(above) > 0
    counts = {name: each(program, library, name) - loop for name in targets_instructions.INSTRUCTIONS}
    pathlib.Path(output[0]).write_text(json.dumps(counts, indent=1))
    return 0


sys.exit(main())
