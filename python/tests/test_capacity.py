"""Models in less memory: `--capacity` has values computed again, and the results stay the same to the last bit."""

import subprocess

import numpy as np
import pytest
from planned import TOOL, needs_tool, run
from small_model import written

LAYERS, BATCH, WIDTH = 12, 64, 48


def training():
    """A training step of a perceptron in the form of `tl`: forward, backward, gradients of the weights."""
    nodes = []

    def node(op, out, *inputs, **attrs):
        nodes.append({"op": op, "inputs": list(inputs), "outputs": [out], **({"attrs": attrs} if attrs else {})})
        return out

    shapes = {"h0": [BATCH, WIDTH], "target": [BATCH, WIDTH]}
    for i in range(LAYERS):
        shapes[f"w{i}"] = [WIDTH, WIDTH]
        node("Tanh", f"h{i + 1}", node("MatMul", f"z{i}", f"h{i}", f"w{i}"))
    gradient, outputs = node("Sub", "loss", f"h{LAYERS}", "target"), []
    for i in reversed(range(LAYERS)):
        h = f"h{i + 1}"
        slope = node("Mul", f"r{i}", gradient, node("Mul", f"s{i}", h, h))
        delta = node("Sub", f"d{i}", gradient, slope)
        outputs.append(node("MatMul", f"dw{i}", node("Transpose", f"ht{i}", f"h{i}", perm=[1, 0]), delta))
        if i:
            gradient = node("MatMul", f"g{i}", delta, node("Transpose", f"wt{i}", f"w{i}", perm=[1, 0]))
    inputs = [{"name": name, "dtype": "f32", "shape": shape} for name, shape in shapes.items()]
    return {"tl_graph": 1, "inputs": inputs, "outputs": outputs, "constants": [], "nodes": nodes}, shapes


@needs_tool
def test_results_stay_the_same_in_less_memory(tmp_path):
    graph, shapes = training()
    model = written(tmp_path, graph, "training")
    random = np.random.default_rng(5)
    given = {name: random.standard_normal(shape).astype(np.float32) / 7 for name, shape in shapes.items()}
    wanted, report = run(model, given, tmp_path)
    frame = report["frame_bytes"]
    for percent in (80, 50, 40):
        folder = tmp_path / str(percent)
        folder.mkdir()
        got, less = run(model, given, folder, "--capacity", frame * percent // 100)
        assert less["frame_bytes"] <= frame * percent // 100
        assert got.keys() == wanted.keys()
        for name, array in wanted.items():
            np.testing.assert_array_equal(got[name], array)


@needs_tool
@pytest.mark.parametrize(
    ("capacity", "wanted"),
    [("64", "raise the capacity"), ("-5", "a number of bytes above 0"), ("many", "a number of bytes above 0")],
)
def test_a_capacity_that_cannot_be(tmp_path, capacity, wanted):
    model = written(tmp_path, training()[0], "training")
    command = [TOOL, "plan", model, f"--capacity={capacity}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert wanted in done.stderr
    assert len(done.stderr.splitlines()) == 1
