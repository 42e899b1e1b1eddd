"""Whole models through `tl run`, beside onnxruntime on the same inputs.

The models are those of the folder that TL_TEST_DATA names (its subfolder onnx), those that the
package onnx carries, and the one in the package magika.
"""

import pathlib

import models
import numpy as np
import pytest
from planned import ROOT, needs_tool, output, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")


def made_up(peer, random):
    """Random inputs for a session whose shapes are all numbers."""
    return {value.name: random.standard_normal(value.shape).astype(np.float32) for value in peer.get_inputs()}


def compare(model, given, folder, *options, tolerance=1e-3):
    peer = models.session(model)
    wanted = peer.run(None, given)
    outputs, report = run(model, given, folder, *options)
    for value, array in zip(peer.get_outputs(), wanted, strict=True):
        got = output(outputs, value.name)
        assert got.shape == array.shape
        assert got.dtype == array.dtype
        assert np.abs(array).max() > 0
        np.testing.assert_allclose(got, array, rtol=tolerance, atol=tolerance * np.abs(array).max())
    return report


def find(name):
    """The file of a model, or a skip."""
    return models.find(name) or pytest.skip(f"there is no {name}: TL_TEST_DATA names no folder with models in onnx/")


@needs_tool
@pytest.mark.parametrize("name", ["mnist", "ultraface_rfb320"])
def test_trained_model(name, tmp_path):
    model = find(f"{name}.onnx")
    random = np.random.default_rng(5)
    report = compare(model, made_up(models.session(model), random), tmp_path)
    assert 0 < report["frame_bytes"] < report["naive_bytes"]


@needs_tool
@pytest.mark.parametrize("name", ["squeezenet", "inception_v1", "resnet50", "densenet121"])
def test_network_with_random_weights(name, tmp_path):
    random = np.random.default_rng(6)
    model = tmp_path / f"{name}.onnx"
    onnx.save(models.with_weights(find(f"light_{name}.onnx"), random), model)
    report = compare(model, made_up(models.session(model), random), tmp_path)
    assert report["frame_bytes"] < report["naive_bytes"] / 5


class Recorder:
    """A session that keeps what it was asked and what it answered."""

    def __init__(self, peer):
        self.peer, self.calls = peer, []

    def run(self, names, inputs):
        answer = self.peer.run(names, inputs)
        self.calls.append((inputs, answer))
        return answer


@needs_tool
def test_file_types_of_this_repository(tmp_path):
    """The classifier of magika, on the sources and the data of this repository."""
    magika = pytest.importorskip("magika", reason="the package magika is not installed")
    files = [ROOT / name for name in ("README.md", "Makefile", "include/tl_runtime.h", "examples/data/digits.csv.gz")]
    for pattern in ("capi/*.go", "cshim/*.c", "python/tl_runtime/*.py", "docs/*.md", "docs/*.svg", "examples/*"):
        files += [file for file in sorted(ROOT.glob(pattern))[:12] if file.is_file()]
    classifier = magika.Magika()
    recorder = classifier._onnx_session = Recorder(classifier._onnx_session)
    labels = [str(result.output.label) for result in classifier.identify_paths(files)]
    assert {"go", "c", "python", "markdown", "svg", "gzip"} <= set(labels)
    model = next(pathlib.Path(magika.__file__).parent.rglob("*.onnx"))
    features = np.concatenate([np.asarray(inputs["bytes"], dtype=np.int32) for inputs, _ in recorder.calls])
    wanted = np.concatenate([answer[0] for _, answer in recorder.calls])
    symbol = onnx.load(model).graph.input[0].type.tensor_type.shape.dim[0].dim_param
    outputs, _ = run(model, {"bytes": features}, tmp_path, "--bind", f"{symbol}=16")
    got = outputs["target_label"]
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(got.argmax(axis=1), wanted.argmax(axis=1))
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-5)
