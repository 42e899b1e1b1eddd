"""tl.Graph: graphs that are built or read, planned, and run in this process, by libtl_runtime_full.so."""

import json
import math
import pathlib
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from planned import TOOL, needs_tool
from small_model import GRAPH, WEIGHTS, expected, rows, written

import tl_runtime as tl
from conftest import in_threads

pytestmark = pytest.mark.skipif(not hasattr(tl.lib, "tl_graph_create"), reason="the library has no graphs")

PACKAGE = pathlib.Path(tl.__file__).resolve().parents[1]


def perceptron(n=4):
    graph = tl.Graph("perceptron")
    x = graph.input("x", "float32", ("batch", 2))
    w = graph.constant("w", np.array(WEIGHTS, np.float32))
    graph.add("MatMul", x, w, outputs="h")
    graph.output(graph.add("Relu", "h", outputs=["y"]))
    graph.bind(batch=n)
    return graph


def test_a_plan_tells_what_to_do():
    execution = perceptron().plan()
    assert repr(execution).startswith("<tl_runtime.Execution perceptron: ")
    assert [i.op for i in execution.instructions][-1] in ("Relu", "MatMul")
    assert execution.inputs[0].name == "x"
    assert execution.inputs[0].shape == (4, 2)
    assert execution.inputs[0].strides == (2, 1)
    kinds = {b.name: b.kind for b in execution.buffers}
    assert kinds["x"] == "input"
    assert kinds["w"] == "constant"
    assert execution.buffers[execution.outputs[0].buffer].kind == "output"
    w = execution.buffers[[b.name for b in execution.buffers].index("w")]
    assert (w.dtype, w.shape, w.nbytes, w.offset) == (tl.DType.FLOAT32, (2, 3), 24, None)
    assert execution.frame_bytes >= execution.lower_bound
    assert execution.alignment == 64
    execution.validate()
    assert "#define PERCEPTRON_FRAME_BYTES" in execution.header()
    assert "define i32 @mine(" in execution.llvm("mine")
    assert "i8*" in execution.llvm(version=14)


@needs_tool
@pytest.mark.parametrize("form", ["json", "onnx"])
def test_the_plan_is_that_of_the_program(tmp_path, form):
    source = tmp_path / f"perceptron.{form}"
    perceptron().save(source)
    command = [TOOL, "plan", source, "--bind", "batch=4", "-o", tmp_path / "plan.json"]
    subprocess.run(command, check=True, capture_output=True)
    wanted = (tmp_path / "plan.json").read_text()
    assert perceptron().plan().json() == wanted
    loaded = tl.Graph.load(source)
    loaded.bind({"batch": 4})
    assert loaded.plan().json() == wanted
    read = tl.Graph.parse(source.read_bytes())
    read.bind(batch=4)
    assert json.loads(read.plan().json())["buffers"] == json.loads(wanted)["buffers"]


@pytest.mark.parametrize("compiler", ["llvmlite", "clang"])
def test_it_runs_in_this_process(compiler):
    try:
        model = perceptron().plan().compile(compiler)
    except ImportError as error:
        pytest.skip(str(error))
    assert repr(model) == "<tl_runtime.CompiledGraph perceptron: x: float32[4, 2] -> y: float32[4, 3]>"
    np.testing.assert_allclose(model(rows(4)), expected(rows(4)), rtol=1e-6)
    np.testing.assert_allclose(model(x=rows(12).reshape(3, 4, 2))[2], expected(rows(12)[8:]), rtol=1e-6)
    with pytest.raises(TypeError, match=r"tl.CompiledGraph: the input 'x' has elements of type float64"):
        model(np.zeros((4, 2)))
    with pytest.raises(TypeError, match="got an array of shape"):
        model(rows(3))


def test_a_network_agrees_with_numpy():
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((8, 16), (16, 8)))
    graph = tl.Graph("layers")
    x = graph.input("x", np.float32, (4, 8))
    h = graph.add("Gemm", x, graph.constant("a", a), None, alpha=0.5)
    h = graph.add("Tanh", h)
    y = graph.add("MatMul", h, graph.constant("b", b))
    mean = graph.add("ReduceMean", y, graph.constant("axes", np.array([1])), keepdims=0)
    top, at = graph.add("TopK", y, graph.constant("k", np.array([2])), outputs=2, axis=-1)
    graph.output(graph.add("Softmax", y, axis=1), mean, top, at)
    x = rng.standard_normal((4, 8)).astype(np.float32)
    soft, mean, top, at = graph.plan().compile()(x)
    y = np.tanh(0.5 * x @ a) @ b
    e = np.exp(y - y.max(1, keepdims=True))
    np.testing.assert_allclose(soft, e / e.sum(1, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(mean, y.mean(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(top, np.sort(y, 1)[:, :-3:-1], rtol=1e-4)
    np.testing.assert_array_equal(at, np.argsort(y, 1)[:, :-3:-1])


def test_an_onnx_model_agrees_with_onnxruntime(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    path = tmp_path / "perceptron.onnx"
    perceptron().save(path)
    graph = tl.Graph.load(path)
    graph.bind(batch=4)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(
        graph.plan().compile()(rows(4)), session.run(None, {"x": rows(4)})[0], rtol=1e-6, atol=1e-6
    )


def test_attributes_arrive():
    graph = tl.Graph()
    x = graph.input("x", "float32", (2, 3))
    fill = graph.add("ConstantOfShape", graph.constant("s", np.array([3, 2])), value=np.array([7], np.float32))
    turned = graph.add("Transpose", x, perm=(1, 0))
    clipped = graph.add("LeakyRelu", graph.add("Add", turned, fill), alpha=np.float32(0.5))
    graph.output(clipped)
    execution = graph.plan()
    attributes = {i.op: i.attributes for i in execution.instructions}
    assert attributes["LeakyRelu"]["alpha"] == 0.5
    x = np.arange(6, dtype=np.float32).reshape(2, 3) - 10
    want = x.T + 7
    np.testing.assert_allclose(execution.compile()(x), np.where(want < 0, want * 0.5, want))
    for wrong in (None, {1: 2}, object()):
        with pytest.raises(TypeError, match="is no attribute"):
            graph.add("Relu", "x", a=wrong)
    graph.add("Relu", "x", a=math.inf, b=[1.0, math.nan], c=True, d=["s"], e=[1, True])


def chain():
    """Vectors of 4 KiB whose first ones are wanted again at the end."""
    graph = tl.Graph("chain")
    names = [graph.input("v0", "float32", (1024,))]
    for _ in range(5):
        names.append(graph.add("Sigmoid", names[-1]))
    last = names[-1]
    for name in reversed(names[1:-1]):
        last = graph.add("Mul", last, name)
    graph.output(last)
    return graph


def test_capacity_and_options():
    graph = chain()
    free = graph.plan()
    assert (free.recomputed, free.transfers, free.outside_bytes) == (0, 0, 0)
    assert free.seconds == free.seconds_once > 0
    tight = graph.plan(capacity=free.frame_bytes - 4096)
    assert tight.frame_bytes <= free.frame_bytes - 4096
    assert tight.recomputed > 0
    assert [i.repeats for i in tight.instructions if i.repeats] != []
    assert tight.seconds > tight.seconds_once == free.seconds
    x = np.linspace(-2, 2, 1024, dtype=np.float32)
    np.testing.assert_allclose(tight.compile()(x), free.compile()(x), rtol=1e-6)
    with pytest.raises(tl.LimitError, match="raise the capacity"):
        graph.plan(capacity=64)
    assert graph.plan(in_place=False, place_inputs=True, alignment=4096).alignment == 4096
    assert graph.plan(budget=0.01, seed=3, reorder=False, views=False, concat=False, place_outputs=True).frame_bytes > 0
    wrongs = ({"capacity": -1}, {"seed": 1 << 64}, {"max_steps": 1 << 63}, {"budget": math.nan}, {"outside_bytes": -1})
    for wrong in wrongs:
        with pytest.raises(ValueError):
            graph.plan(**wrong)
    for wrong in ({"budget": -1}, {"max_steps": -1}, {"alignment": 3}):
        with pytest.raises(tl.InvalidArgumentError):
            graph.plan(**wrong)
    with pytest.raises(TypeError, match="no option colour"):
        graph.plan(colour=1)


def rates(byte, exponentials):
    names = "elementwise reduction softmax normalise matmul conv pool move turn".split()
    times = {name: byte for name in [*names, "wide conv"]} | {"transcendental": exponentials}
    classes = {name: {"call": 0, "byte": time, "far": 0, "operation": 0} for name, time in times.items()}
    return {"machine": "by the byte", "near": 0, "classes": classes}


def test_values_are_moved_where_that_is_cheaper(tmp_path):
    graph = chain()
    capacity = graph.plan().frame_bytes - 4096
    file = tmp_path / "rates.json"
    file.write_text(json.dumps(rates(1, 1e6)))
    moved = graph.plan(capacity=capacity, outside=True, rates=file)
    assert moved.frame_bytes <= capacity
    assert (moved.recomputed, moved.moved_bytes) == (0, 4096 * moved.transfers)
    assert moved.seconds - moved.seconds_once == 2 * moved.moved_bytes
    assert {i.op for i in moved.instructions} >= {"MoveOut", "MoveIn"}
    there = [b for b in moved.buffers if b.kind == "outside"]
    assert there and all(b.offset is None and b.outside + b.nbytes <= moved.outside_bytes for b in there)
    faster = graph.plan(capacity=capacity, outside=1024, rates=file, recompute=False)
    assert faster.seconds - faster.seconds_once == faster.moved_bytes / 1024
    assert graph.plan(capacity=capacity, outside=True, rates=rates(1, 1e-6)).transfers == 0
    x = np.linspace(-2, 2, 1024, dtype=np.float32)
    np.testing.assert_array_equal(moved.compile()(x), graph.plan().compile()(x))
    with pytest.raises(tl.LimitError):
        graph.plan(capacity=capacity, outside=True, recompute=False, outside_bytes=64)
    for wrong in (0, np.float32(0)):
        with pytest.raises(ValueError, match="is no bandwidth"):
            graph.plan(capacity=capacity, outside=wrong)
    for wrong in ({"outside": True}, {"recompute": False}, {"capacity": 1, "outside": -1.0}, {"rates": {}}):
        with pytest.raises(tl.InvalidArgumentError):
            graph.plan(**wrong)
    with pytest.raises(FileNotFoundError):
        graph.plan(rates=tmp_path / "nowhere.json")


def test_each_space_of_a_plan_has_memory_of_the_caller():
    graph = chain()
    kept = graph.plan()
    moved = graph.plan(capacity=kept.frame_bytes - 4096, outside=True, recompute=False)
    memory, outside = moved.scratch(), moved.outside_scratch()
    assert outside.nbytes == moved.outside_bytes > 0
    network = moved.compile(memory=memory, outside=outside)
    assert network.memory is memory and network.outside is outside
    x = np.linspace(-2, 2, 1024, dtype=np.float32)
    wanted = kept.compile()(x)
    np.testing.assert_array_equal(network(x), wanted)
    assert outside.any(), "the values went through it"
    other = network.within(moved.scratch(), moved.outside_scratch())
    outside[:] = 0
    np.testing.assert_array_equal(other(x), wanted)
    assert other.outside.any() and not outside.any()
    for wrong, says in (
        ({"memory": memory}, "to a second space of .* bytes; pass outside"),
        ({"outside": outside}, "pass memory, too"),
        ({"memory": memory, "outside": outside[:-1]}, "are needed"),
        ({"memory": memory, "outside": bytearray(moved.outside_bytes)}, "an array|NumPy"),
    ):
        with pytest.raises(ValueError, match=says):
            moved.compile(**wrong)
    with pytest.raises(ValueError, match="no second space"):
        kept.compile(memory=kept.scratch(), outside=outside)
    with pytest.raises(ValueError, match="pass outside"):
        network.within(memory)


def test_a_plan_holds_up_to_a_bound():
    graph = tl.Graph("scores")
    x = graph.input("x", "float32", ("b", "n", 8))
    s = graph.add("Softmax", graph.add("MatMul", x, graph.add("Transpose", x, perm=(0, 2, 1))), axis=2)
    graph.output(graph.add("Add", graph.add("MatMul", s, x), x))
    graph.bind(n=20, b=3)
    execution = graph.plan(symbolic=True)
    assert execution.is_proved
    assert [s.name for s in execution.symbols] == ["b", "n"]
    assert [s.last for s in execution.symbols] == [3, 20]
    bound = execution.places(b=3, n=20)
    assert bound.frame_bytes == execution.frame_bytes
    assert bound.offsets == tuple(b.offset for b in execution.buffers)
    for b, n in ((1, 5), (2, 7), (3, 19)):
        graph.bind(n=n, b=b)
        own, places = graph.plan(), execution.places({"n": n}, b=b)
        assert own.lower_bound <= places.frame_bytes < execution.frame_bytes
        assert places.nbytes == tuple(buffer.nbytes for buffer in own.buffers)
    with pytest.raises(tl.InvalidArgumentError, match='symbol "n" is 21'):
        execution.places(b=1, n=21)
    with pytest.raises(tl.InvalidArgumentError, match="TL_GRAPH_FLAG_SYMBOLIC"):
        own.places(b=1, n=1)
    with pytest.raises(TypeError, match="the symbols are b, n"):
        execution.places(n=1)
    assert [(s.first, s.last) for s in own.symbols] == [(3, 3), (19, 19)]
    with pytest.raises(tl.InvalidArgumentError, match="capacity"):
        graph.plan(symbolic=True, capacity=1 << 20)


def test_inputs_that_become_constants():
    graph = tl.Graph()
    graph.input("x", "float32", (6,))
    graph.input("shape", "int64", (2,))
    graph.output(graph.add("Reshape", "x", "shape"))
    with pytest.raises(tl.InvalidArgumentError):
        graph.plan()
    graph.freeze("shape", [2, 3])
    assert graph.plan().outputs[0].shape == (2, 3)


def test_scalars_and_types():
    graph = tl.Graph("scalars")
    for name, dtype in (("a", np.int64), ("b", "int64"), ("c", tl.DType.INT64)):
        graph.input(name, dtype, ())
    graph.output(graph.add("Add", graph.add("Mul", "a", "b"), graph.add("Add", "c", graph.constant("one", 1))))
    assert graph.plan().compile()(np.int64(6), np.int64(7), np.int64(8)) == 51
    with pytest.raises(TypeError, match="no operators on elements of type"):
        graph.constant("text", np.array(["a"]))
    with pytest.raises(tl.InvalidArgumentError):
        graph.constant("complex", np.array([1j]))


def test_arrays_of_another_byte_order_and_layout_become_constants():
    values = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    for array in (values.astype(">f4"), values.astype("<f4"), np.asfortranarray(values), values.T.copy().T):
        graph = tl.Graph("orders")
        graph.input("frozen", array.dtype, (2, 3))
        graph.freeze("frozen", array)
        graph.output(graph.constant("constant", array), "frozen", graph.add("Constant", value=array))
        for output in graph.plan().compile()():
            assert output.dtype == np.float32
            assert np.array_equal(output, values)


def test_what_is_wrong_is_told(tmp_path):
    graph = tl.Graph()
    with pytest.raises(tl.InvalidArgumentError, match="has no output"):
        graph.plan()
    graph.output("y")
    with pytest.raises(tl.InvalidArgumentError, match="y"):
        graph.plan()
    with pytest.raises(tl.InvalidArgumentError, match="nowhere.onnx"):
        tl.Graph.load(tmp_path / "nowhere.onnx")
    with pytest.raises(tl.InvalidArgumentError, match="line 1, column"):
        tl.Graph.parse(b"{}")
    with pytest.raises(tl.InvalidArgumentError, match="no ONNX model"):
        tl.Graph.parse(b"\xff\xff")
    with pytest.raises(ValueError, match="null"):
        tl.Graph("a\0b")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(graph)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(perceptron().plan())
    with pytest.raises(ValueError, match="no compiler 'gcc'"):
        perceptron().plan().compile("gcc")
    unknown = tl.Graph.parse(
        json.dumps(
            {
                "tl_graph": 1,
                "inputs": [{"name": "x", "dtype": "f32", "shape": [4]}],
                "outputs": ["y"],
                "nodes": [{"op": "com.example.Mystery", "inputs": ["x"], "outputs": ["y"]}],
                "values": [{"name": "y", "dtype": "f32", "shape": [4]}],
            }
        ).encode()
    )
    with pytest.raises(tl.UnsupportedError, match="com.example.Mystery"):
        unknown.plan().compile()


def test_damaged_graphs_are_refused():
    rng = random.Random(5)
    text = json.dumps(GRAPH)
    refused = 0
    for _ in range(300):
        damaged = bytearray(text.encode())
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(32, 127)
        try:
            graph = tl.Graph.parse(bytes(damaged), "json")
            graph.bind(batch=4)
            graph.plan()
        except tl.Error as error:
            assert error.status in (tl.Status.INVALID_ARGUMENT, tl.Status.LIMIT)
            refused += 1
    assert refused > 50


def test_threads_plan_and_run():
    graph = perceptron()
    model = graph.plan().compile()
    failed = []

    def work(seed):
        try:
            for i in range(20):
                np.testing.assert_allclose(model(rows(4) + seed), expected(rows(4) + seed), rtol=1e-5)
                assert graph.plan(seed=i).frame_bytes == model.execution.frame_bytes
        except BaseException as error:
            failed.append(error)

    in_threads(work, [(n,) for n in range(4)])
    assert not failed


def test_a_compiled_graph_keeps_its_constants():
    model = perceptron().plan().compile()
    others = [perceptron(n).plan() for n in range(1, 40)]
    del others
    np.testing.assert_allclose(model(rows(4)), expected(rows(4)), rtol=1e-6)


def test_the_other_library_says_where_graphs_are(tmp_path):
    small = pathlib.Path(tl.path()).resolve().parent / "libtl_runtime.so"
    if not small.exists():
        pytest.skip(f"there is no {small}")
    program = "import tl_runtime as tl\ntry: tl.Graph()\nexcept tl.UnsupportedError as error: print(error)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(PACKAGE), "TL_RUNTIME_LIBRARY": str(small)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "set TL_RUNTIME_LIBRARY to" in done.stdout
    assert "libtl_runtime_full.so" in done.stdout


def test_written_by_others(tmp_path):
    graph = tl.Graph.load(written(tmp_path))
    graph.bind(batch=4)
    np.testing.assert_allclose(graph.plan().compile()(rows(4)), expected(rows(4)), rtol=1e-6)
