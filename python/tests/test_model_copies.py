"""Outputs that are views: the planner has them written where they are wanted, `tl run` computes what NumPy does."""

import json
import subprocess

import numpy as np
import pytest
from planned import TOOL, needs_tool, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
helper = onnx.helper

SHAPE = (2, 3, 4, 6)


def model(nodes, inputs, outputs, constants=(), folder=None):
    """Writes a model of these nodes: inputs by name with their arrays, outputs by name with their shapes."""
    types = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape) for name, array in inputs.items()]
    graph = helper.make_graph(
        nodes,
        "copies",
        types,
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [onnx.numpy_helper.from_array(array, name) for name, array in dict(constants).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    path = folder / "model.onnx"
    onnx.save(made, path)
    return path


def copies(path, folder):
    """How many instructions of a plan are copies."""
    file = folder / "plan.json"
    subprocess.run([TOOL, "plan", path, "--validate", "-o", file], check=True, capture_output=True)
    return [i["op"] for i in json.loads(file.read_text())["instructions"]].count("Copy")


def ints(*values):
    return np.array(values, dtype=np.int64)


@pytest.fixture
def x():
    return np.random.default_rng(3).standard_normal(SHAPE).astype(np.float32)


ELEMENTWISE = {
    "Relu": lambda x: np.maximum(x, 0),
    "Tanh": np.tanh,
    "Sin": np.sin,
    "Add": lambda x: x + x,
    "Where": lambda x: np.where(x > 0, x, -x),
}


def first(op):
    """Nodes that make "a" of "x"."""
    if op == "Where":
        return [
            helper.make_node("Greater", ["x", "zero"], ["positive"]),
            helper.make_node("Neg", ["x"], ["minus"]),
            helper.make_node("Where", ["positive", "x", "minus"], ["a"]),
        ]
    return [helper.make_node(op, ["x", "x"] if op == "Add" else ["x"], ["a"])]


@needs_tool
@pytest.mark.parametrize("op", ELEMENTWISE)
@pytest.mark.parametrize("perm", [(0, 1, 2, 3), (0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 3, 2)])
@pytest.mark.parametrize("reshaped", [False, True])
def test_elementwise_results_are_written_transposed(op, perm, reshaped, x, tmp_path):
    wanted = ELEMENTWISE[op](x).transpose(perm)
    nodes = [*first(op), helper.make_node("Transpose", ["a"], ["b" if reshaped else "y"], perm=perm)]
    constants = {"zero": np.zeros((), np.float32)} if op == "Where" else {}
    if reshaped:
        wanted = wanted.reshape(6, 24)
        nodes.append(helper.make_node("Reshape", ["b", "shape"], ["y"]))
        constants["shape"] = ints(6, 24)
    path = model(nodes, {"x": x}, {"y": wanted.shape}, constants, tmp_path)
    outputs, _ = run(path, {"x": x}, tmp_path)
    np.testing.assert_allclose(outputs["y"], wanted, rtol=1e-5, atol=1e-6)
    assert copies(path, tmp_path) == 0


@needs_tool
def test_rows_of_a_product_are_written_where_they_belong(tmp_path):
    """The end of an attention: heads become columns. The rows of each head stay rows."""
    random = np.random.default_rng(4)
    p, v = (random.standard_normal(shape).astype(np.float32) for shape in [(1, 4, 5, 5), (1, 4, 5, 8)])
    w = random.standard_normal((32, 7)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["p", "v"], ["heads"]),
        helper.make_node("Transpose", ["heads"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned", "shape"], ["joined"]),
        helper.make_node("MatMul", ["joined", "w"], ["y"]),
    ]
    inputs = {"p": p, "v": v}
    path = model(nodes, inputs, {"y": (1, 5, 7)}, {"shape": ints(1, 5, 32), "w": w}, tmp_path)
    outputs, _ = run(path, inputs, tmp_path)
    wanted = (p @ v).transpose(0, 2, 1, 3).reshape(1, 5, 32) @ w
    np.testing.assert_allclose(outputs["y"], wanted, rtol=1e-4, atol=1e-4)
    assert copies(path, tmp_path) == 0


@needs_tool
@pytest.mark.parametrize("op", ["Softmax", "LayerNormalization", "MaxPool", "Conv", "ReduceMax", "Gather"])
def test_other_operators_write_rows(op, x, tmp_path):
    """What is no elementwise operator writes its rows to other places."""
    w = np.random.default_rng(5).standard_normal((3, 3, 1, 1)).astype(np.float32)
    node, constants, made = {
        "Softmax": (
            helper.make_node("Softmax", ["x"], ["a"], axis=-1),
            {},
            lambda: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True),
        ),
        "LayerNormalization": (
            helper.make_node("LayerNormalization", ["x", "scale"], ["a"], axis=-1, epsilon=1e-5),
            {"scale": np.ones(6, np.float32)},
            lambda: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
        ),
        "MaxPool": (
            helper.make_node("MaxPool", ["x"], ["a"], kernel_shape=[1, 1]),
            {},
            lambda: x,
        ),
        "Conv": (
            helper.make_node("Conv", ["x", "w"], ["a"]),
            {"w": w},
            lambda: np.einsum("oc,nchw->nohw", w[:, :, 0, 0], x),
        ),
        "ReduceMax": (
            helper.make_node("ReduceMax", ["twice", "axes"], ["a"], keepdims=0),
            {"axes": ints(0), "two": np.array([[[[[1]]]], [[[[2]]]]], np.float32)},
            lambda: np.maximum(x, 2 * x),
        ),
        "Gather": (
            helper.make_node("Gather", ["x", "picked"], ["a"], axis=1),
            {"picked": ints(2, 0, 1)},
            lambda: x[:, [2, 0, 1]],
        ),
    }[op]
    before = [helper.make_node("Mul", ["x", "two"], ["twice"])] if op == "ReduceMax" else []
    nodes = [
        *before,
        node,
        helper.make_node("Transpose", ["a"], ["b"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["b", "shape"], ["y"]),
    ]
    constants["shape"] = ints(2, 4, 18)
    path = model(nodes, {"x": x}, {"y": (2, 4, 18)}, constants, tmp_path)
    outputs, _ = run(path, {"x": x}, tmp_path)
    wanted = made().transpose(0, 2, 1, 3).reshape(2, 4, 18)
    np.testing.assert_allclose(outputs["y"], wanted, rtol=1e-4, atol=1e-5)
    assert copies(path, tmp_path) == 0


@needs_tool
def test_two_copies_of_an_input_are_one(x, tmp_path):
    nodes = [
        helper.make_node("Transpose", ["x"], ["b"], perm=[3, 2, 1, 0]),
        helper.make_node("Reshape", ["b", "shape"], ["y"]),
    ]
    path = model(nodes, {"x": x}, {"y": (12, 12)}, {"shape": ints(12, 12)}, tmp_path)
    outputs, _ = run(path, {"x": x}, tmp_path)
    np.testing.assert_array_equal(outputs["y"], x.transpose(3, 2, 1, 0).reshape(12, 12))
    assert copies(path, tmp_path) == 1
