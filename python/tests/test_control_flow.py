"""If, Loop and Scan through `tl run`, beside onnxruntime and beside NumPy."""

import subprocess

import numpy as np
import pytest
from planned import TOOL, needs_tool, output, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SIDE = 3


def info(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def saved(folder, nodes, inputs, outputs, constants=(), opset=17):
    """The file of a model."""
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


class Program:
    """A random program over matrices of 3 x 3: nodes of ONNX, and what NumPy makes of them.

    Each step has a node and a function that adds to a dictionary of values. A body reads the values of the programs
    around it.
    """

    def __init__(self, random, names, depth, prefix="v"):
        self.random, self.names, self.depth, self.prefix, self.count = random, list(names), depth, prefix, 0
        self.nodes, self.steps = [], []

    def fresh(self):
        self.count += 1
        return f"{self.prefix}{self.count}"

    def any(self):
        return str(self.random.choice(self.names))

    def add(self, op, inputs, step, outputs=1, **attributes):
        """A node, whose results step computes from all values so far."""
        results = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, results, **attributes))
        self.steps.append(lambda values: values.update(zip(results, step(values), strict=True)))
        return results

    def matrix(self, op, inputs, step, **attributes):
        self.names += self.add(op, inputs, step, **attributes)

    def run(self, values):
        values = dict(values)
        for step in self.steps:
            step(values)
        return values

    def write(self, count):
        kinds = ["add", "product", "tanh", "turn"] + ["if", "loop", "scan"] * (self.depth > 0)
        for kind in self.random.choice(kinds, count):
            getattr(self, "write_" + kind)()
        return self

    def write_add(self):
        a, b = self.any(), self.any()
        self.matrix("Add", [a, b], lambda v: [v[a] + v[b]])

    def write_product(self):
        a, b = self.any(), self.any()
        self.matrix("MatMul", [a, b], lambda v: [v[a] @ v[b]])
        self.write_tanh()

    def write_tanh(self):
        a = self.names[-1]
        self.matrix("Tanh", [a], lambda v: [np.tanh(v[a])])

    def write_turn(self):
        a = self.any()
        self.matrix("Transpose", [a], lambda v: [v[a].T])

    def inner(self, extra=()):
        """A program of a body."""
        return Program(self.random, [*self.names, *extra], self.depth - 1, self.fresh() + "_").write(2)

    def condition(self):
        """A condition that depends on a matrix; neither sums of random numbers nor their negatives are 0."""
        a = self.any()
        (sum_,) = self.add("ReduceSum", [a], lambda v: [v[a].sum()], keepdims=0)
        (zero,) = self.add("Constant", [], lambda v: [np.float32(0)], value_float=0.0)
        return self.add("Greater", [sum_, zero], lambda v: [v[sum_] > v[zero]])[0]

    def write_if(self):
        condition = self.condition()
        branches = [self.inner(), self.inner()]
        graphs = [helper.make_graph(b.nodes, "b", [], [info(b.names[-1], [SIDE, SIDE])]) for b in branches]

        def step(v):
            taken = branches[0 if v[condition] else 1]
            return [taken.run(v)[taken.names[-1]]]

        self.matrix("If", [condition], step, then_branch=graphs[0], else_branch=graphs[1])

    def write_loop(self):
        first, state, number, going = self.any(), self.fresh(), self.fresh(), self.fresh()
        body = self.inner([state])
        more = body.condition()
        graph = helper.make_graph(
            body.nodes, "b", [info(number, [], INT64), info(going, [], BOOL), info(state, [SIDE, SIDE])],
            [info(more, [], BOOL), info(body.names[-1], [SIDE, SIDE])],
        )  # fmt: skip
        (limit,) = self.add("Constant", [], lambda v: [turns], value_int=(turns := int(self.random.integers(0, 5))))
        condition = self.condition() if self.random.random() < 0.5 else ""

        def step(v):
            now, on, turn = v[first], v.get(condition, True), 0
            while on and turn < turns:
                inside = body.run({**v, state: now, number: turn, going: True})
                now, on, turn = inside[body.names[-1]], inside[more], turn + 1
            return [now]

        self.matrix("Loop", [limit, condition, first], step, body=graph)

    def write_scan(self):
        first, over, state, row = self.any(), self.any(), self.fresh(), self.fresh()
        axes, back = [int(x) for x in self.random.integers(0, 2, 2)], [int(x) for x in self.random.integers(0, 2, 2)]
        body = self.inner([state])
        (line,) = body.add("Add", [body.names[-1], row], lambda v: [v[body_last] + v[row]])
        body_last = body.names[-1]
        (out,) = body.add("ReduceMax", [line], lambda v: [v[line].max(axis=0)], axes=[0], keepdims=0)
        graph = helper.make_graph(
            body.nodes, "b", [info(state, [SIDE, SIDE]), info(row, [SIDE])],
            [info(line, [SIDE, SIDE]), info(out, [SIDE])],
        )  # fmt: skip

        def step(v):
            now, lines = v[first], []
            parts = np.moveaxis(v[over], axes[0], 0)
            for part in parts[::-1] if back[0] else parts:
                inside = body.run({**v, state: now, row: part})
                now = inside[line]
                lines.append(inside[out])
            return [now, np.stack(lines[::-1] if back[1] else lines, axes[1])]

        self.names += self.add(
            "Scan", [first, over], step, 2, body=graph, num_scan_inputs=1, scan_input_axes=axes[:1],
            scan_output_axes=axes[1:], scan_input_directions=back[:1], scan_output_directions=back[1:],
        )  # fmt: skip


def peer(model, given):
    """What onnxruntime makes of a model, by output; None where it is not installed."""
    runtime = pytest.importorskip("onnxruntime", reason="the package onnxruntime is not installed")
    session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    given = {name: np.asarray(array) for name, array in given.items()}
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


@needs_tool
@pytest.mark.parametrize("seed", range(24))
def test_random_programs(seed, tmp_path):
    random = np.random.default_rng(seed)
    program = Program(random, ["x", "y"], depth=2).write(4)
    (program.write_if, program.write_loop, program.write_scan)[seed % 3]()
    wanted = program.names[-3:]
    model = saved(
        tmp_path, program.nodes, [info("x", [SIDE, SIDE]), info("y", [SIDE, SIDE])],
        [info(name, [SIDE, SIDE]) for name in wanted],
    )  # fmt: skip
    given = {name: random.standard_normal((SIDE, SIDE)).astype(np.float32) / 2 for name in ("x", "y")}
    values, outputs = program.run(given), run(model, given, tmp_path)[0]
    for name in wanted:
        np.testing.assert_allclose(output(outputs, name), values[name], rtol=2e-4, atol=2e-4, err_msg=name)
    for name, array in peer(model, given).items():
        np.testing.assert_allclose(output(outputs, name), array, rtol=2e-4, atol=2e-4, err_msg=name)


def counting(folder, collected=None, limit=True, declared=None):
    """A Loop that doubles x until `go` of the body is false: as long as the number of the turn is below `last`."""
    body = [
        helper.make_node("Add", ["v", "v"], ["w"]),
        helper.make_node("Less", ["i", "last"], ["on"]),
        helper.make_node("Neg", ["w"], ["line"]),
    ]
    outputs = [info("on", [], BOOL), info("w", [2]), info("line", [2])][: 3 if collected else 2]
    graph = helper.make_graph(body, "b", [info("i", [], INT64), info("go", [], BOOL), info("v", [2])], outputs)
    results = ["y", "lines"][: len(outputs) - 1]
    node = helper.make_node("Loop", ["n" if limit else "", "c", "x"], results, name="loop", body=graph)
    inputs = [info("x", [2]), info("c", [], BOOL), info("last", [], INT64)] + [info("n", [], INT64)] * limit
    return saved(folder, [node], inputs, [info("y", [2]), info("lines", [declared, 2])][: len(results)])


@needs_tool
@pytest.mark.parametrize(
    ("turns", "going", "last", "made"), [(4, True, 9, 4), (0, True, 9, 0), (-3, True, 9, 0), (4, False, 9, 0),
                                         (4, True, 1, 2), (4, True, -1, 1)]
)  # fmt: skip
def test_turns_that_are_known_when_it_runs(turns, going, last, made, tmp_path):
    x = np.array([1, -3], np.float32)
    given = {"x": x, "c": np.array(going), "last": np.int64(last), "n": np.int64(turns)}
    model = counting(tmp_path)
    outputs, _ = run(model, given, tmp_path)
    np.testing.assert_array_equal(outputs["y"], x * 2**made)
    np.testing.assert_array_equal(outputs["y"], peer(model, given)["y"])


@needs_tool
def test_a_loop_without_a_limit(tmp_path):
    given = {"x": np.ones(2, np.float32), "c": np.array(True), "last": np.int64(5)}
    outputs, _ = run(counting(tmp_path, limit=False), given, tmp_path)
    np.testing.assert_array_equal(outputs["y"], 2.0**6 * given["x"])


def fails(model, given, folder, *options):
    """What `tl run` says of a model that cannot be run, or whose run fails."""
    arguments = [str(TOOL), "run", str(model), *options]
    for name, array in given.items():
        np.save(folder / f"{name}.npy", array)
        arguments += ["--input", f"{name}={folder / name}.npy"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


@needs_tool
def test_collected_lines_of_known_turns(tmp_path):
    """The model states how many lines are collected, and a run with another number of turns fails."""
    model = counting(tmp_path, collected=True, declared=3)
    given = {"x": np.array([1, 2], np.float32), "c": np.array(True), "last": np.int64(9), "n": np.int64(3)}
    outputs, _ = run(model, given, tmp_path)
    np.testing.assert_array_equal(outputs["lines"], -np.outer([2, 4, 8], given["x"]))
    for turns, last in [(2, 9), (4, 9), (3, 0)]:
        said = fails(model, {**given, "n": np.int64(turns), "last": np.int64(last)}, tmp_path)
        assert "status 1" in said
        assert 'node "loop" (Loop): it collects 3 parts, so that it has to make 3 turns' in said


@needs_tool
def test_collected_lines_of_unknown_turns(tmp_path):
    model = counting(tmp_path, collected=True)
    said = fails(model, {}, tmp_path)
    assert '"lines" of node "loop" (Loop): the number of turns is not constant' in said


@needs_tool
def test_large_constants_of_bodies_are_in_no_frame(tmp_path):
    """A body's weights are constants of the model, and a Loop has room for its states alone."""
    side = 256
    weights = np.random.default_rng(1).standard_normal((side, side)).astype(np.float32) / 16
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["v", "w"], ["m"]), helper.make_node("Tanh", ["m"], ["t"]),
         helper.make_node("Identity", ["go"], ["on"])], "b",
        [info("i", [], INT64), info("go", [], BOOL), info("v", [1, side])],
        [info("on", [], BOOL), info("t", [1, side])],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=graph)
    model = saved(tmp_path, [loop], [info("x", [1, side])], [info("y", [1, side])], {"w": weights, "n": np.int64(4)})
    given = {"x": np.random.default_rng(2).standard_normal((1, side)).astype(np.float32)}
    outputs, report = run(model, given, tmp_path)
    np.testing.assert_allclose(outputs["y"], peer(model, given)["y"], rtol=1e-4, atol=1e-5)
    assert report["frame_bytes"] <= 3 * 4 * side + 4 * 64
    assert report["constant_bytes"] == weights.nbytes + 8


@needs_tool
def test_a_loop_whose_state_grows(tmp_path):
    """A model that joins its own result, turn after turn, is written out where the turns are known."""
    graph = helper.make_graph(
        [helper.make_node("Concat", ["v", "x"], ["w"], axis=0), helper.make_node("Identity", ["go"], ["on"])], "b",
        [info("i", [], INT64), info("go", [], BOOL), info("v", [None, 2])],
        [info("on", [], BOOL), info("w", [None, 2])],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=graph)
    model = saved(tmp_path, [loop], [info("x", [1, 2])], [info("y", [None, 2])], {"n": np.int64(3)})
    given = {"x": np.array([[1, 2]], np.float32)}
    outputs, _ = run(model, given, tmp_path)
    np.testing.assert_array_equal(outputs["y"], peer(model, given)["y"])
    assert outputs["y"].shape == (4, 2)


@needs_tool
def test_elements_that_are_not_zero(tmp_path):
    """The extent of the result is what the model states, or what its symbol is bound to; a run is held to it."""
    nodes = [helper.make_node("NonZero", ["x"], ["at"], name="which"), helper.make_node("Abs", ["at"], ["y"])]
    model = saved(tmp_path, nodes, [info("x", [3, 4])], [info("at", [2, "k"], INT64), info("y", [2, "k"], INT64)])
    x = np.zeros((3, 4), np.float32)
    x[[0, 1, 2], [3, 0, 2]] = 1, -2, np.nan
    outputs, _ = run(model, {"x": x}, tmp_path, "--bind", "k=3")
    np.testing.assert_array_equal(outputs["y"], np.nonzero(x))
    said = fails(model, {"x": x}, tmp_path, "--bind", "k=4")
    assert 'status 1' in said and 'node "which" (NonZero): 4 elements of its argument have to be other than 0' in said
    assert "how many elements are not 0 is not known" in fails(model, {"x": x}, tmp_path)
