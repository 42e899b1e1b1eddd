"""What observing costs a whole program: trainings of the digits' network in C and in Python, with and without.

    training.py BUILD_DIR OUTPUT

Every round trains once with each set of options, in an order of chance, each in a process of its own, and notes the time
of the training alone. What is told is the median over the rounds of the ratio to the round's training without options:
whatever slows the machine down slows a round's trainings alike. Instructions are counted by valgrind, where it is there.
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
    "again": PLAIN,  # what the noise is
    "sampled": {"TL_TRACK_SAMPLE": "512K"},
    "sampled-64K": {"TL_TRACK_SAMPLE": "64K"},
    "tracked": {"TL_TRACK": "1"},
    "leak-check": {"TL_LEAK_CHECK": "fail"},
    "debug": {"TL_DEBUG": "1"},
}
COUNTED = ("again", "sampled", "sampled-64K")


KEPT = ("TL_RUNTIME_LIBRARY",)


def environment(options: dict[str, str]) -> dict[str, str]:
    """Without options of the caller's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TL_") or name in KEPT}
    return {**kept, **options}


def seconds(command: list[str], options: dict[str, str]) -> float:
    shown = subprocess.run(command, env=environment(options), check=True, capture_output=True, text=True).stdout
    return json.loads(shown)["seconds"] if shown.startswith("{") else float(shown.split()[1])


def instructions(command: list[str], options: dict[str, str]) -> int:
    counting = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
    shown = subprocess.run(counting, env=environment(options), check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", shown)[1].replace(",", ""))


def train(command: list[str]) -> list[dict[str, float]]:
    """Seconds by way, of each round."""
    ways = {"plain": PLAIN, **OPTIONS}
    return [{way: seconds(command, ways[way]) for way in random.sample(list(ways), len(ways))} for _ in range(ROUNDS)]


def compare(command: list[str]) -> dict:
    rounds = train(command)
    ways = {}
    for way in OPTIONS:
        low, middle, high = statistics.quantiles((one[way] / one["plain"] for one in rounds), n=4)
        ways[way] = {"ratio": middle, "low": low, "high": high}
    return {"plain": statistics.median(one["plain"] for one in rounds), "rounds": ROUNDS, "ways": ways}


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
