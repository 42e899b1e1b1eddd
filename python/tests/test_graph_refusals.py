"""What compiled functions refuse while they run, and inputs without rows."""

import ctypes
import pickle
import subprocess

import numpy as np
import pytest
from planned import TOOL, needs_tool
from small_model import WEIGHTS

import tl_runtime as tl

pytestmark = pytest.mark.skipif(not hasattr(tl.lib, "tl_graph_create"), reason="the library has no graphs")

LOOKS = 'what a run looks at: node "rows" (Gather): its indices have to be in range'


def gathering():
    graph = tl.Graph("gathering")
    x, i = graph.input("x", "float32", (4, 2)), graph.input("i", "int64", (3,))
    graph.output(graph.add("Gather", x, i, name="rows", outputs=["y"]))
    return graph


def gather_arguments(*indices):
    return np.arange(8, dtype=np.float32).reshape(4, 2), np.array(indices)


def another_failure():
    with pytest.raises(ValueError, match="5"):
        tl.zeros(2).reshape(5)


def test_what_a_run_refuses_has_a_sentence():
    execution = gathering().plan()
    for memory in (None, execution.scratch()):
        compiled = execution.compile(memory=memory)
        np.testing.assert_array_equal(compiled(*gather_arguments(3, 0, -1))[0], [6, 7])
        for wrong in ((0, 9, 1), (0, 1, -5)):
            another_failure()
            with pytest.raises(tl.InvalidArgumentError) as refused:
                compiled(*gather_arguments(*wrong))
            said = f"tl.CompiledGraph: gathering: TL_E_INVALID_ARGUMENT: the call was refused; {LOOKS}"
            assert str(refused.value) == said


def test_what_tl_execution_run_refuses_has_the_same_sentence():
    execution = gathering().plan()
    compiled = execution.compile()
    x, i = gather_arguments(0, 9, 1)
    y = np.zeros((3, 2), np.float32)
    inputs = (ctypes.c_void_p * 2)(x.ctypes.data, i.ctypes.data)
    outputs = (ctypes.c_void_p * 1)(y.ctypes.data)
    another_failure()
    arguments = (execution._handle, compiled._address, inputs, 2, outputs, 1)
    assert tl.lib.tl_execution_run(*arguments) == tl.Status.INVALID_ARGUMENT
    said = tl.lib.tl_last_error().decode()
    assert said == f"tl_execution_run: TL_E_INVALID_ARGUMENT: the compiled function has refused the call; {LOOKS}"
    i[1] = 3
    assert tl.lib.tl_execution_run(*arguments) == tl.Status.OK
    np.testing.assert_array_equal(y, x[i])


@needs_tool
def test_what_a_compiled_model_refuses_has_the_same_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("TL_CACHE", str(tmp_path / "cache"))
    gathering().save(tmp_path / "gathering.json")
    x, i = gather_arguments(0, 9, 1)
    model = tl.Model(tmp_path / "gathering.json")
    for one in (model, pickle.loads(pickle.dumps(model))):
        another_failure()
        with pytest.raises(tl.InvalidArgumentError) as refused:
            one(x, i)
        assert str(refused.value).endswith(f": TL_E_INVALID_ARGUMENT: the call was refused; {LOOKS}")
    for name, array in (("x", x), ("i", i)):
        np.save(tmp_path / f"{name}.npy", array)
    given = [part for name in "xi" for part in ("--input", f"{name}={tmp_path / name}.npy")]
    command = [TOOL, "run", tmp_path / "gathering.json", *given, "-o", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert LOOKS in done.stderr


@pytest.mark.parametrize("rows", [0, 3])
def test_a_graph_of_no_rows(rows):
    graph = tl.Graph("empty")
    x, z = graph.input("x", "float32", (rows, 2)), graph.input("z", "float32", (2,))
    w = graph.constant("w", np.array(WEIGHTS, np.float32))
    total = graph.add("ReduceSum", x, graph.constant("axes", np.array([0])), keepdims=0)
    same = graph.add("Reshape", x, graph.constant("shape", np.array([-1 if rows else 0, 2])))
    graph.output(graph.add("MatMul", graph.add("Add", x, z), w), total, same)
    compiled = graph.plan().compile()
    given = np.ones((rows, 2), np.float32)
    product, total, same = compiled(given, np.zeros(2, np.float32))
    np.testing.assert_allclose(product, given @ np.array(WEIGHTS, np.float32))
    assert product.shape == (rows, 3)
    np.testing.assert_array_equal(total, [rows, rows])
    np.testing.assert_array_equal(same, given)
    many = compiled(np.ones((5, rows, 2), np.float32), np.zeros(2, np.float32))
    assert [array.shape for array in many] == [(5, rows, 3), (5, 2), (5, rows, 2)]
    with pytest.raises(TypeError, match="has no sample"):
        compiled(np.ones((0, rows, 2), np.float32), np.zeros(2, np.float32))
