"""Models on bytes through `tl run`, beside onnxruntime: quantised operators, and floats that are quantised between."""

import numpy as np
import pytest
from planned import needs_tool, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

FLOAT, BYTE = TensorProto.FLOAT, TensorProto.UINT8


def compare(folder, nodes, given, result, constants, steps=0):
    """Runs a model on both. Results of bytes may be `steps` apart: a half is rounded to either side."""
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in given.items()
    ]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", *result)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    path = folder / "model.onnx"
    onnx.save(model, path)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    wanted = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, given)[0]
    outputs, report = run(path, given, folder)
    got = outputs["y"]
    assert got.dtype == wanted.dtype
    assert np.ptp(wanted) > 0
    if got.dtype == np.float32:
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    else:
        assert np.abs(got.astype(int) - wanted.astype(int)).max() <= steps
    return report


def weights(random, *shape):
    """Bytes of seven bits: without VNNI onnxruntime adds two products of bytes in 16 bits, saturated."""
    return random.integers(-64, 64, shape, np.int8)


def scales(random, *shape):
    return random.uniform(0.01, 0.1, shape).astype(np.float32)


@needs_tool
@pytest.mark.parametrize("channels", [1, 8])
def test_quantised_convolutions(channels, tmp_path):
    """Scales of one filter each, zero points of the filters, bias, and a result with pads."""
    random = np.random.default_rng(channels)
    constants = {
        "w": weights(random, 12, channels, 3, 3), "ws": scales(random, 12),
        "wz": np.zeros(12, np.int8), "xs": np.float32(0.02), "xz": np.uint8(131), "ys": np.float32(0.3),
        "yz": np.uint8(90), "b": random.integers(-500, 500, 12, np.int32),
    }  # fmt: skip
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    node = helper.make_node("QLinearConv", names, ["y"], pads=[1, 1, 1, 1], strides=[2, 1], kernel_shape=[3, 3])
    given = {"x": random.integers(0, 256, (2, channels, 13, 21), np.uint8)}
    compare(tmp_path, [node], given, (BYTE, [2, 12, 7, 21]), constants, steps=1)


@needs_tool
def test_dynamic_quantisation(tmp_path):
    """What is quantised when it runs, times constant weights of a scale each, as onnxruntime's tool makes it."""
    random = np.random.default_rng(1)
    constants = {
        "w": weights(random, 256, 96), "wz": random.integers(-20, 20, 96).astype(np.int8),
        "ws": scales(random, 96),
    }  # fmt: skip
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"]),
        helper.make_node("MatMulInteger", ["xq", "w", "xz", "wz"], ["sum"]),
        helper.make_node("Cast", ["sum"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["xs", "ws"], ["s"]),
        helper.make_node("Mul", ["f", "s"], ["y"]),
    ]
    given = {"x": random.standard_normal((3, 5, 256)).astype(np.float32)}
    report = compare(tmp_path, nodes, given, (FLOAT, [3, 5, 96]), constants)
    assert report["constant_bytes"] < 256 * 96 + 2000
    assert report["frame_bytes"] < 4 * 15 * (256 + 3 * 96)


@needs_tool
def test_floats_between_bytes(tmp_path):
    """DequantizeLinear, Conv, Relu, QuantizeLinear, then the same with MatMul: each computes as it says."""
    random = np.random.default_rng(2)
    constants = {
        "w": random.integers(-128, 128, (6, 4, 3, 3), np.int8), "ws": scales(random, 6), "wz": np.zeros(6, np.int8),
        "v": random.integers(-128, 128, (10, 7), np.int8), "s": np.float32(0.05), "z": np.uint8(120),
        "k": np.int8(3),
    }  # fmt: skip
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["xf"]),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0),
        helper.make_node("Conv", ["xf", "wf"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["qf"]),
        helper.make_node("DequantizeLinear", ["v", "s", "k"], ["vf"]),
        helper.make_node("MatMul", ["qf", "vf"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "s", "z"], ["y"]),
    ]
    given = {"x": random.integers(0, 256, (1, 4, 9, 10), np.uint8)}
    compare(tmp_path, nodes, given, (BYTE, [1, 6, 9, 7]), constants, steps=1)


@needs_tool
@pytest.mark.parametrize("shapes", [((5, 12), (12, 7)), ((2, 3, 4, 40), (40, 33)), ((2, 1, 6, 9), (3, 9, 8))])
def test_products_of_bytes(shapes, tmp_path):
    random = np.random.default_rng(len(shapes[0]))
    a, b = (random.integers(0, 256, shape, np.uint8) for shape in shapes)
    node = helper.make_node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])
    constants = {"az": np.uint8(7), "bz": random.integers(0, 256, shapes[1][-1:], np.uint8)}
    given = {"a": a, "b": b}
    shape = np.matmul(a, b).shape
    if len(shapes[1]) > 2:
        constants["bz"] = np.uint8(200)  # onnxruntime takes points for each column with an axis more
    compare(tmp_path, [node], given, (TensorProto.INT32, shape), constants)
