"""Models as exporters write them: functions of their own, extents that are not known, constants that may be overridden,
and elements that are only passed on. Results are those of ONNX's reference."""

import subprocess

import numpy as np
import pytest
from planned import TOOL, needs_tool, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
from onnx.reference import ReferenceEvaluator  # noqa: E402

helper, TensorProto = onnx.helper, onnx.TensorProto
pytestmark = needs_tool


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(folder, nodes, inputs, outputs, constants=(), functions=(), version=21):
    graph = helper.make_graph(nodes, "model", inputs, outputs, list(constants))
    sets = [helper.make_opsetid("", version), helper.make_opsetid("own", 1)]
    path = folder / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=sets, functions=list(functions), ir_version=10), path)
    return path


def agrees(path, given, folder, *options):
    """Holds a run to the reference; of an array that is not given the model has a content."""
    outputs, report = run(path, given, folder, *options)
    model = onnx.load(path)
    for value, wanted in zip(model.graph.output, ReferenceEvaluator(model).run(None, given), strict=True):
        np.testing.assert_allclose(outputs[value.name], wanted, rtol=1e-4, atol=1e-6)
    return report


def test_functions_are_written_out(tmp_path):
    slope = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    leaky = helper.make_node("LeakyRelu", ["t"], ["out"])
    leaky.attribute.append(slope)
    inner = helper.make_function(
        "own", "Slope", ["in"], ["out"], [helper.make_node("Neg", ["in"], ["t"]), leaky],
        [helper.make_opsetid("", 21)], ["slope"],
    )  # fmt: skip
    outer = helper.make_function(
        "own", "Twice", ["a"], ["b"],
        [helper.make_node("Slope", ["a"], ["t"], domain="own", slope=0.5),
         helper.make_node("Slope", ["t"], ["b"], domain="own", slope=0.25)],
        [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)],
    )  # fmt: skip
    nodes = [helper.make_node("Twice", ["x"], ["t"], domain="own"), helper.make_node("Twice", ["t"], ["y"], domain="own")]
    path = save(tmp_path, nodes, [info("x", [3, 4])], [info("y", [3, 4])], functions=[inner, outer])
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    outputs, _ = run(path, {"x": x}, tmp_path)
    for alpha in (0.5, 0.25, 0.5, 0.25):
        x = np.where(x > 0, -x * np.float32(alpha), -x)
    np.testing.assert_allclose(outputs["y"], x, rtol=1e-6)


def test_extents_that_are_not_known(tmp_path):
    nodes = [helper.make_node("MatMul", ["a", "b"], ["c"], name="n"), helper.make_node("Relu", ["c"], ["y"], name="n")]
    path = save(tmp_path, nodes, [info("a", ["?", 3]), info("b", [-1, "?"])], [info("y", ["?", "?"])])
    draw = np.random.default_rng(1).standard_normal
    given = {"a": draw((4, 3)).astype(np.float32), "b": draw((3, 5)).astype(np.float32)}
    agrees(path, given, tmp_path, "--bind", "a.0=4", "--bind", "b.0=3", "--bind", "b.1=5")


def test_constants_that_are_inputs(tmp_path):
    w = onnx.numpy_helper.from_array(np.ones(4, np.float32), "w")
    nodes = [helper.make_node("Mul", ["x", "w"], ["y"])]
    path = save(tmp_path, nodes, [info("x", [4]), info("w", [4])], [info("y", [4])], [w])
    x = np.arange(4, dtype=np.float32)
    assert agrees(path, {"x": x}, tmp_path)["constant_bytes"] == 16
    assert agrees(path, {"x": x, "w": x}, tmp_path)["constant_bytes"] == 0


def test_one_constant_that_is_turned_often(tmp_path):
    w = np.random.default_rng(1).standard_normal((32, 32)).astype(np.float32)
    nodes, last = [], "x"
    for i in range(16):
        nodes.append(helper.make_node("Transpose", ["w"], [f"t{i}"]))
        nodes.append(helper.make_node("MatMul", [last, f"t{i}"], [f"y{i}"]))
        last = f"y{i}"
    path = save(tmp_path, nodes, [info("x", [1, 32])], [info(last, [1, 32])], [onnx.numpy_helper.from_array(w * 0.1, "w")])
    report = agrees(path, {"x": np.ones((1, 32), np.float32)}, tmp_path)
    assert report["constant_bytes"] == w.nbytes


def test_weights_of_four_bits(tmp_path):
    w = helper.make_tensor("w", TensorProto.INT4, [5], [1, -2, 3, -8, 7])
    scale = onnx.numpy_helper.from_array(np.float32(0.5), "s")
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"]), helper.make_node("Mul", ["x", "d"], ["y"])]
    path = save(tmp_path, nodes, [info("x", [5])], [info("y", [5])], [w, scale])
    agrees(path, {"x": np.arange(5, dtype=np.float32)}, tmp_path)


@pytest.mark.parametrize("kind", [TensorProto.STRING, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.UINT4])
def test_elements_that_are_passed_on(kind, tmp_path):
    nodes = [helper.make_node("Identity", ["s"], ["t"]), helper.make_node("Relu", ["x"], ["y"])]
    path = save(tmp_path, nodes, [info("x", [4]), info("s", [6], kind)], [info("y", [4]), info("t", [6], kind)])
    done = subprocess.run([TOOL, "plan", path, "--validate"], capture_output=True, text=True, check=True)
    assert "no kernel for 1 operator (1 node), so the model cannot be run: Copy (1)" in done.stdout
    done = subprocess.run([TOOL, "run", path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "there is no code for elements of this type" in done.stderr
