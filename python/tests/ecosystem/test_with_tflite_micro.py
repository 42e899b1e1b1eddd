"""TensorFlow Lite Micro takes the arena that `tl tflite` has planned: same outputs, no more memory."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys

import numpy
import planned
import pytest

pytest.importorskip("tflite_micro")
if not planned.TOOL.exists():
    pytest.skip("build/tl is not there: `make tool`", allow_module_level=True)

# Runs a model twice, since a plan that overlaps may be right the first time.
RUN = """
import sys
import numpy
from tflite_micro import runtime

interpreter = runtime.Interpreter.from_file(sys.argv[1], arena_size=1 << 26)
of = interpreter.get_input_details(0)
random = numpy.random.default_rng(0)
for _ in range(2):
    values = random.standard_normal(of["shape"]) if numpy.dtype(of["dtype"]).kind == "f" else random.integers(0, 100, of["shape"])
    interpreter.set_input(values.astype(of["dtype"]), 0)
    interpreter.invoke()
    print("output", interpreter.get_output(0).tobytes().hex())
interpreter.print_allocations()
"""


def models() -> list[pathlib.Path]:
    """The models that packages bring."""
    found = []
    for package in ("tflite_micro", "pymicro_wakeword", "pyopen_wakeword", "basic_pitch"):
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations or () if spec else ():
            found += sorted(pathlib.Path(folder).rglob("*.tflite"))
    return found


def run(model: pathlib.Path) -> tuple[list[str], int]:
    """What a model puts out, and the bytes of its arena that are reused."""
    done = subprocess.run([sys.executable, "-c", RUN, str(model)], check=True, capture_output=True, text=True)
    said = done.stdout + done.stderr
    head = re.search(r"Arena allocation head (\d+) bytes", said)
    assert head, said
    return re.findall(r"output (\w+)", said), int(head[1])


@pytest.mark.parametrize("model", models(), ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_a_planned_arena(model: pathlib.Path, tmp_path: pathlib.Path) -> None:
    written = tmp_path / "planned.tflite"
    subprocess.run([planned.TOOL, "tflite", model, "-o", written, "--validate"], check=True, capture_output=True)
    outputs, arena = run(model)
    same, smaller = run(written)
    print(f"{model.stem}: {arena:,} -> {smaller:,} bytes")
    assert len(outputs) == 2
    assert same == outputs
    assert smaller <= arena
