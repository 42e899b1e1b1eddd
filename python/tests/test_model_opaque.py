"""Models with operators that have no kernel: `tl plan` plans them, `tl run` names what is missing."""

import json
import subprocess
import sys

import numpy as np
import pytest
from planned import TOOL, needs_tool, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
helper, TensorProto = onnx.helper, onnx.TensorProto
pytestmark = needs_tool


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(folder, nodes, inputs, outputs, constants=(), values=(), opsets=(("", 19),)):
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in dict(constants).items()]
    graph = helper.make_graph(nodes, "model", inputs, outputs, tensors, value_info=list(values))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets], ir_version=9)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def tl(*arguments):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)


def planned(path, folder, *options):
    """The plan as JSON, and what was printed."""
    file = folder / "plan.json"
    done = tl("plan", path, "--validate", "-o", file, "--python", sys.executable, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(file.read_text()), done.stdout


def shapes(plan):
    return {o["name"]: o["shape"] for i in plan["instructions"] for o in i["outputs"]}


def sampling(folder):
    """Operators that draw numbers, of which a plan has no kernels. Only the input has a shape."""
    nodes = [
        helper.make_node("Bernoulli", ["x"], ["b"], name="first"),
        helper.make_node("Bernoulli", ["b"], ["c"], name="second"),
        helper.make_node("RandomNormalLike", ["c"], ["r"], name="third"),
        helper.make_node("Reshape", ["r", "shape"], ["s"]),
        helper.make_node("Multinomial", ["s"], ["y"], name="fourth", sample_size=5),
    ]
    constants = {"shape": np.array([-1, 2])}
    return save(folder, nodes, [info("x", ["N", 4])], [info("y", None, TensorProto.INT32)], constants)


def test_onnx_infers_what_is_not_declared(tmp_path):
    plan, printed = planned(sampling(tmp_path), tmp_path, "--bind", "N=3")
    assert shapes(plan) == {"b": [3, 4], "c": [3, 4], "r": [3, 4], "y": [6, 5]}
    assert "no kernel for 3 operators (4 nodes), so the model cannot be run: Bernoulli (2)" in printed


def test_without_onnx_every_value_is_named(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    done = tl("plan", sampling(tmp_path), "--bind", "N=3", "--python", python)
    assert done.returncode == 1
    for text in ('"b" of node "first" (Bernoulli)', '"c" of node "second"', '"y" of node "fourth"', "pip install onnx"):
        assert text in done.stderr


def test_run_names_all_that_is_missing(tmp_path):
    done = tl("run", sampling(tmp_path), "--bind", "N=3", "--python", sys.executable)
    assert done.returncode == 1
    assert 'Bernoulli on f32 (2 nodes, the first is "first"), RandomNormalLike on f32 ("third")' in done.stderr
    assert "`tl operators` lists" in done.stderr


def test_custom_operators_need_declarations(tmp_path):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Twist", ["a"], ["b"], domain="com.example", name="twist"),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    ends = [info("x", ["N", 4])], [info("y", ["N", 2])]
    opsets = (("", 19), ("com.example", 1))
    path = save(tmp_path, nodes, *ends, values=[info("b", ["N", 2])], opsets=opsets)
    plan, _ = planned(path, tmp_path, "--bind", "N=3")
    assert [i["op"] for i in plan["instructions"]] == ["Relu", "com.example.Twist", "Neg"]
    assert shapes(plan)["b"] == [3, 2]
    path = save(tmp_path, nodes, *ends, opsets=opsets)
    done = tl("plan", path, "--bind", "N=3", "--python", sys.executable)
    assert '"b" of node "twist" (com.example.Twist)' in done.stderr


def test_loops_and_branches(tmp_path):
    """A Loop in a branch: its turns collect lines, what it captures stays alive."""
    turn = helper.make_graph(
        [
            helper.make_node("MatMul", ["v", "w"], ["v2"]),
            helper.make_node("Identity", ["go"], ["go2"]),
            helper.make_node("ReduceSum", ["v2"], ["line"], keepdims=0),
        ],
        "turn",
        [info("i", [], TensorProto.INT64), info("go", [], TensorProto.BOOL), info("v", None)],
        [info("go2", [], TensorProto.BOOL), info("v2", None), info("line", None)],
    )
    then = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "a"], ["last", "lines"], body=turn)], "then", [], [info("last", None)]
    )
    otherwise = helper.make_graph([helper.make_node("Neg", ["a"], ["m"])], "else", [], [info("m", None)])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise),
    ]
    constants = {"n": np.array(6), "w": np.eye(4, dtype=np.float32)}
    inputs = [info("x", ["N", 4]), info("c", [], TensorProto.BOOL)]
    path = save(tmp_path, nodes, inputs, [info("y", ["N", 4])], constants)
    plan, printed = planned(path, tmp_path, "--bind", "N=3")
    call = plan["instructions"][1]
    bodies = {b["name"]: b["plan"] for b in call["bodies"]}
    assert set(bodies) == {"then_branch", "else_branch"}
    (loop,) = bodies["then_branch"]["instructions"]
    assert loop["bodies"][0]["captures"] == [3]  # w is a constant of the model, n is none of the body's
    scratch = plan["buffers"][call["scratch"]["buffer"]]
    assert scratch["bytes"] == bodies["then_branch"]["frame"]["bytes"] > 0
    assert scratch["first"] == scratch["last"] == 1
    assert "no kernel" not in printed
    given = {"x": np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)}
    for taken in (True, False):
        outputs, _ = run(path, {**given, "c": np.array(taken)}, tmp_path, "--bind", "N=3")
        kept = np.maximum(given["x"], 0)
        np.testing.assert_array_equal(outputs["y"], kept if taken else -kept)


def test_a_shape_that_is_an_input(tmp_path):
    """It is planned by the declared type, and run when the input is frozen."""
    nodes = [helper.make_node("Reshape", ["x", "s"], ["a"], name="shaper"), helper.make_node("Neg", ["a"], ["y"])]
    inputs = [info("x", [2, 3]), info("s", [2], TensorProto.INT64)]
    path = save(tmp_path, nodes, inputs, [info("y", [3, 2])], values=[info("a", [3, 2])])
    plan, printed = planned(path, tmp_path)
    assert [i["op"] for i in plan["instructions"]] == ["ai.onnx.Reshape", "Neg"]
    assert "no kernel for 1 operator (1 node), so" in printed
    done = tl("run", path)
    assert done.returncode == 1
    assert 'its input 1 (shape) is "s", which is not constant' in done.stderr
    assert 'freeze the input "s"' in done.stderr
    given = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "s": np.array([3, 2])}
    outputs, _ = run(path, given, tmp_path, freeze=("s",))
    np.testing.assert_array_equal(outputs["y"], -given["x"].reshape(3, 2))


@pytest.mark.parametrize("rows", [1, 3])
def test_a_branch_on_a_shape_is_chosen(rows, tmp_path):
    """What exporters write for squeeze: an If that asks for the extent of an axis."""
    then = helper.make_graph([helper.make_node("Squeeze", ["a", "axis"], ["s"])], "then", [], [info("s", None)])
    otherwise = helper.make_graph([helper.make_node("Tanh", ["a"], ["t"])], "else", [], [info("t", None)])
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Shape", ["x"], ["extent"], start=0, end=1),
        helper.make_node("Equal", ["extent", "one"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise),
    ]
    constants = {"axis": np.array([0]), "one": np.array([1])}
    path = save(tmp_path, nodes, [info("x", [rows, 4])], [info("y", None)], constants)
    x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    outputs, _ = run(path, {"x": x}, tmp_path)
    np.testing.assert_allclose(outputs["y"], -x[0] if rows == 1 else np.tanh(-x), rtol=1e-6)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda m: m.graph.output[0].type.tensor_type.shape.dim[1].ClearField("dim_value"), None),
        (lambda m: setattr(m.graph.output[0].type.tensor_type.shape.dim[1], "dim_param", "whatever"), None),
        (lambda m: setattr(m.graph.output[0].type.tensor_type.shape.dim[1], "dim_value", 3), "declared as f32 (2, 3)"),
        (lambda m: setattr(m.graph.output[0].type.tensor_type, "elem_type", 7), "is declared as i64 (2, 4) and is f32"),
        (lambda m: m.graph.input.append(m.graph.input[0]), 'inputs 0 and 1 are both called "x"'),
        (lambda m: m.opset_import.pop(), "there is no opset_import"),
        (lambda m: [setattr(n, "name", "n") for n in m.graph.node], None),
        (lambda m: m.graph.value_info.append(info("a", [4, 2])), '"a" is declared as f32 (4, 2) and is f32 (2, 4)'),
        (lambda m: m.graph.value_info.append(info("a", ["p", "q"])), None),
    ],
)
def test_statements_that_contradict(spoil, says, tmp_path):
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    path = save(tmp_path, nodes, [info("x", [2, 4])], [info("y", [2, 4])])
    model = onnx.load(path)
    spoil(model)
    onnx.save(model, path)
    done = tl("plan", path)
    if says is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1
        assert says in done.stderr
