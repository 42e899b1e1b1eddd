"""What observing costs a whole program: trainings of the digits' network in C and in Python, with and without.

    training.py BUILD_DIR OUTPUT

Every round trains once with each set of options, in an order of chance, and each time without them right before or after,
in processes of their own; what is noted is the time of the training alone. What is told is the median over the rounds of
the ratio of such a pair: machines change their speed for seconds at a time. Instructions are counted by valgrind, where it
is there.
"""

import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
ROUNDS = 4 * int(os.environ.get("TL_BENCH_REPETITIONS", "7")) + 1

PLAIN: dict[str, str] = {}
OPTIONS = {
    "again": {},  # what the noise is
    "sampled": {"TL_TRACK_SAMPLE": "512K"},
    "sampled-64K": {"TL_TRACK_SAMPLE": "64K"},
    "tracked": {"TL_TRACK": "1"},
    "leak-check": {"TL_LEAK_CHECK": "fail"},
    "debug": {"TL_DEBUG": "1"},
}
SLOW = ("tracked", "debug")  # every third round will do
COUNTED = ("again", "sampled", "sampled-64K")


KEPT = ("TL_RUNTIME_LIBRARY",)


def environment(options: dict[str, str]) -> dict[str, str]:
    """Without options of the caller's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TL_") or name in KEPT}
    return {**kept, **options}


def seconds(command: list[str], options: dict[str, str]) -> float:
    shown = subprocess.run(command, env=environment(options), check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(shown)["seconds"] if shown.startswith("{") else float(shown.split()[1])


def instructions(command: list[str], options: dict[str, str]) -> int:
    counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
    shown = subprocess.run(counting, env=environment(options), check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", shown)[1].replace(",", ""))


def pair(command: list[str], options: dict[str, str]) -> tuple[float, float]:
    """Seconds with the options and without, one right after the other, in an order of chance."""
    sides = random.sample([options, PLAIN], 2)
    taken = [seconds(command, side) for side in sides]
    return (taken[0], taken[1]) if sides[0] is options else (taken[1], taken[0])


def compare(command: list[str]) -> dict:
    pairs: dict[str, list[tuple[float, float]]] = {way: [] for way in OPTIONS}
    for number in range(ROUNDS):
        ways = [way for way in OPTIONS if way not in SLOW or number % 3 == 0]
        for way in random.sample(ways, len(ways)):
            pairs[way].append(pair(command, OPTIONS[way]))
    found = {}
    for way, taken in pairs.items():
        low, middle, high = statistics.quantiles((observed / plain for observed, plain in taken), n=4)
        found[way] = {"ratio": middle, "low": low, "high": high}
    plain = statistics.median(plain for taken in pairs.values() for _, plain in taken)
    return {"plain": plain, "rounds": ROUNDS, "ways": found}


def count(command: list[str], ways: dict) -> None:
    plain = instructions(command, PLAIN)
    for way in COUNTED:
        ways[way]["instructions"] = instructions(command, OPTIONS[way]) / plain


def main() -> None:
    build, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    programs = {
        "C": [str(build / "examples/digits/time_tl"), str(build / "digits.csv")],
        "Python": [sys.executable, str(EXAMPLES / "digits.py"), "--time", "runtime", str(build / "digits.csv")],
    }
    figures = {language: compare(command) for language, command in programs.items()}
    if shutil.which("valgrind"):
        count(programs["C"], figures["C"]["ways"])
    output.write_text(json.dumps(figures))


main()
