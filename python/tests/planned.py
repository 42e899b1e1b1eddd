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
        file = save(array, folder / str(number))
        arguments += ["--freeze" if name in freeze else "--input", f"{name}={file}"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["run"]["allocations"] == 0
    assert report["run"]["mallocs"] == 0
    assert report["run"]["live_bytes"] == 0
    return {file.stem: load(file) for file in (folder / "out").iterdir()}, report


def save(array, path):
    """Writes an array to a file of NumPy, or of ONNX where NumPy has not its type. Returns the file's name."""
    if np.asarray(array).dtype.kind != "V":
        file = path.with_suffix(".npy")
        np.save(file, np.asarray(array, order="C"))
        return file
    import onnx

    file = path.with_suffix(".pb")
    onnx.save_tensor(onnx.numpy_helper.from_array(array), file)
    return file


def load(file):
    """Reads what `save` or the tool wrote."""
    if file.suffix == ".npy":
        return np.load(file)
    import onnx

    return onnx.numpy_helper.to_array(onnx.load_tensor(file))


def output(outputs, name):
    """Returns an output; the file's name has no slashes."""
    return outputs[name.replace("/", "_")]
