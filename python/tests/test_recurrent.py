"""RNN, GRU and LSTM through `tl run`, beside onnxruntime: activations, lengths, directions, gates."""

import numpy as np
import pytest
from planned import needs_tool, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

from onnx import TensorProto, helper  # noqa: E402

STEPS, BATCH, WIDTH, HIDDEN = 5, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
ACTIVATIONS = {
    "Sigmoid": (None, None), "Tanh": (None, None), "Relu": (None, None), "Softplus": (None, None),
    "Softsign": (None, None), "LeakyRelu": (0.3, None), "ThresholdedRelu": (0.4, None), "Elu": (0.7, None),
    "HardSigmoid": (0.3, 0.4), "Affine": (0.6, 0.1), "ScaledTanh": (0.8, 0.5),
}  # fmt: skip


def layer(op, random, direction, lengths=True, **attributes):
    """A model of one layer, and its inputs."""
    both = 2 if direction == "bidirectional" else 1
    shapes = {
        "X": (STEPS, BATCH, WIDTH), "W": (both, GATES[op] * HIDDEN, WIDTH), "R": (both, GATES[op] * HIDDEN, HIDDEN),
        "B": (both, 2 * GATES[op] * HIDDEN), "h": (both, BATCH, HIDDEN),
    }  # fmt: skip
    names = ["X", "W", "R", "B", "lens" if lengths else "", "h"]
    if op == "LSTM":
        shapes |= {"c": (both, BATCH, HIDDEN), "P": (both, 3 * HIDDEN)}
        names += ["c", "P"]
    given = {name: (random.standard_normal(shape) / 2).astype(np.float32) for name, shape in shapes.items()}
    if lengths:
        given["lens"] = np.array([STEPS, 2, 4], np.int32)
    results = ["Y", "Y_h", "Y_c"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(op, names, results, hidden_size=HIDDEN, direction=direction, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [STEPS, both, BATCH, HIDDEN])] + [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [both, BATCH, HIDDEN]) for name in results[1:]
    ]
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), given


def compare(folder, model, given):
    path = folder / "model.onnx"
    onnx.save(model, path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    wanted = dict(zip([o.name for o in session.get_outputs()], session.run(None, given), strict=True))
    outputs, _ = run(path, given, folder)
    for name, array in wanted.items():
        assert np.ptp(array) > 0
        np.testing.assert_allclose(outputs[name], array, rtol=1e-4, atol=1e-5, err_msg=name)


@needs_tool
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name, tmp_path):
    """Each as the last function of a GRU in both directions, with parameters of its own in one of them."""
    alpha, beta = ACTIVATIONS[name]
    attributes = {"activations": ["Sigmoid", name, "HardSigmoid", name]}
    attributes["activation_alpha"] = [a for a in (alpha, 0.25, alpha) if a is not None]
    attributes["activation_beta"] = [b for b in (beta, 0.45, beta) if b is not None]
    model, given = layer("GRU", np.random.default_rng(len(name)), "bidirectional", lengths=False, **attributes)
    compare(tmp_path, model, given)


@needs_tool
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_lengths_that_are_known_when_it_runs(op, direction, tmp_path):
    model, given = layer(op, np.random.default_rng(1), direction)
    compare(tmp_path, model, given)


@needs_tool
@pytest.mark.parametrize(
    ("op", "attributes"), [("RNN", {"clip": 0.3}), ("GRU", {"clip": 0.3, "linear_before_reset": 1}),
                           ("LSTM", {"clip": 0.3})]
)  # fmt: skip
def test_gates_that_are_clipped(op, attributes, tmp_path):
    model, given = layer(op, np.random.default_rng(2), "bidirectional", **attributes)
    compare(tmp_path, model, given)


@needs_tool
def test_coupled_gates(tmp_path):
    """What an LSTM forgets is then what its input gate leaves; without peepholes, beside NumPy."""
    model, given = layer("LSTM", np.random.default_rng(3), "forward", lengths=False, input_forget=1)
    del model.graph.node[0].input[7:]
    kept = [value for value in model.graph.input if value.name != "P"]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    del given["P"]
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    outputs, _ = run(path, given, tmp_path)
    h, c = given["h"][0], given["c"][0]
    for x in given["X"]:
        sums = x @ given["W"][0].T + h @ given["R"][0].T + given["B"][0].reshape(2, -1).sum(axis=0)
        i, o, _, g = np.split(sums, 4, axis=1)
        i, o, g = 1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-o)), np.tanh(g)
        c = (1 - i) * c + i * g
        h = o * np.tanh(c)
    np.testing.assert_allclose(outputs["Y_h"][0], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs["Y_c"][0], c, rtol=1e-4, atol=1e-5)
