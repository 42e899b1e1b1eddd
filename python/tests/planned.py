"""Starts `tl run` for the tests of the planner and reads what it wrote."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = pathlib.Path(os.environ.get("TL_TOOL", ROOT / "build" / "tl"))

needs_tool = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} was not built; `make tool` does it")


def run(model, inputs, folder, *options, freeze=()):
    """Runs a model on arrays by name; those in `freeze` become constants. Returns outputs by name, and the report."""
    folder = pathlib.Path(folder)
    arguments = [str(TOOL), "run", str(model), "--json", "-o", str(folder / "out"), *map(str, options)]
    for number, (name, array) in enumerate(inputs.items()):
        file = folder / f"{number}.npy"
        np.save(file, np.asarray(array, order="C"))
        arguments += ["--freeze" if name in freeze else "--input", f"{name}={file}"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["run"]["allocations"] == 0
    assert report["run"]["mallocs"] == 0
    assert report["run"]["live_bytes"] == 0
    return {file.stem: np.load(file) for file in (folder / "out").glob("*.npy")}, report


def output(outputs, name):
    """Returns an output; the file's name has no slashes."""
    return outputs[name.replace("/", "_")]
