"""Nodes that run graphs: If, Loop and Scan, built call by call."""

import json

import numpy as np
import pytest

import tl_runtime as tl

pytestmark = pytest.mark.skipif(not hasattr(tl.lib, "tl_graph_create"), reason="the library has no graphs")


def branch(name, op):
    """A graph that uses x and w of the graph around it."""
    graph = tl.Graph(name)
    graph.output(graph.add(op, "x", "w", outputs=[name]))
    return graph


def chosen(condition=None):
    graph = tl.Graph("chosen")
    graph.input("x", "float32", (4,))
    graph.constant("w", np.array([1, 2, 3, 4], np.float32))
    if condition is None:
        graph.input("c", "bool", ())
    else:
        graph.constant("c", np.array(condition))
    graph.output(graph.add("If", "c", then_branch=branch("sum", "Add"), else_branch=branch("product", "Mul")))
    return graph


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_that_is_known_runs(condition):
    x = np.arange(4, dtype=np.float32)
    w = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(chosen(condition).plan().compile()(x), x + w if condition else x * w)


def test_branches_have_plans_of_their_own():
    execution = chosen().plan()
    execution.validate()
    (choice,) = execution.instructions
    assert choice.op == "If"
    assert [body.name for body in choice.bodies] == ["then_branch", "else_branch"]
    for body, op in zip(choice.bodies, ("Add", "Mul")):
        assert [i.op for i in body.execution.instructions] == [op]
        assert body.outputs == (None,), "a branch writes where the result lies"
        assert len(body.inputs) == len(body.captures) > 0
        names = [choice.inputs[at].name for at in body.captures]
        assert "x" in names
        assert [operand.name for operand in body.execution.inputs] == names


def powers(turns):
    """A Loop that multiplies by w, and gives out every state."""
    body = tl.Graph("turn")
    body.input("i", "int64", ())
    body.input("go", "bool", ())
    body.input("state", "float32", (4,))
    body.output(body.add("Identity", "go", outputs="still"))
    body.output(body.add("Mul", "state", "w", outputs="next"))
    body.output(body.add("Identity", "next", outputs="seen"))
    graph = tl.Graph("powers")
    graph.input("x", "float32", (4,))
    graph.constant("w", np.array([1, 2, 3, 4], np.float32))
    graph.constant("turns", np.array(turns))
    last, all_ = graph.add("Loop", "turns", None, "x", outputs=["last", "all"], body=body)
    graph.output(last, all_)
    return graph


def test_a_loop_and_what_is_read_are_the_same(tmp_path):
    for path in (tmp_path / "powers.onnx", tmp_path / "powers.json"):
        graph = powers(3)
        graph.save(path)
        execution, read = graph.plan(), tl.Graph.load(path).plan()
        assert [o.shape for o in execution.outputs] == [(4,), (3, 4)]
        assert json.loads(execution.json())["instructions"] == json.loads(read.json())["instructions"]
        (body,) = next(i for i in execution.instructions if i.op == "Loop").bodies
        assert body.name == "body"
        assert [port.role for port in body.input_ports] == ["counter", "going", "carried", "capture"]
        assert body.input_ports[2] == tl.ExecutionPort("carried", 2, 0, 0, False)
        assert [port.role for port in body.output_ports] == ["going", "carried", "collected"]
        assert [port.result for port in body.output_ports] == [None, 0, 1]
        assert len(body.execution.outputs) == 3


def test_the_execution_of_a_body_is_made_when_it_is_asked_for():
    """There are 4,096 executions at most in a process: reading the instructions of many plans opens none."""
    made = []
    for _ in range(1500):  # two bodies each
        made.append(chosen().plan())
        assert len(made[-1].instructions[0].bodies) == 2
    body = made[0].instructions[0].bodies[0]
    assert body.execution is body.execution
    plan = body.execution
    del made, body
    assert [i.op for i in plan.instructions] == ["Add"], "it does not need what it came from"


def test_bodies_are_copied():
    graph, then = tl.Graph("copied"), branch("sum", "Add")
    graph.input("x", "float32", (4,))
    graph.input("c", "bool", ())
    graph.constant("w", np.ones(4, np.float32))
    graph.output(graph.add("If", "c", then_branch=then, else_branch=then, outputs="y"))
    then.output("lost")
    del then
    assert graph.plan().outputs[0].shape == (4,)


def test_what_is_wrong_in_a_body_is_told():
    graph = tl.Graph()
    graph.input("x", "float32", (4,))
    graph.input("c", "bool", ())
    graph.output(graph.add("If", "c", then_branch=branch("a", "Add"), else_branch=branch("b", "Mul"), outputs="y"))
    with pytest.raises(tl.InvalidArgumentError, match="then_branch"):
        graph.plan()  # there is no w
