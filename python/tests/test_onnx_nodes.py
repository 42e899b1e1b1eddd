"""The node tests that come with ONNX, of the operators that `tl run` knows, planned, compiled and run."""

import numpy as np
import pytest
from planned import needs_tool, output, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

OPERATORS = set(
    """Add Sub Mul Div Max Min Sum Pow Sqrt Exp Log Tanh Sigmoid Relu LeakyRelu Erf Neg Abs Reciprocal Clip Where Equal
    Less Cast MatMul Gemm Conv MaxPool AveragePool GlobalAveragePool GlobalMaxPool BatchNormalization LRN
    LayerNormalization Softmax ReduceSum ReduceMean ReduceMax Reshape Transpose Squeeze Unsqueeze Flatten Concat Split
    Slice Pad Expand Gather Shape Identity Constant ConstantOfShape Dropout""".split()
)

# Inputs that are parameters: a plan needs their content when it is made.
PARAMETERS = {
    "Reshape": (1,), "Squeeze": (1,), "Unsqueeze": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 2, 3), "Expand": (1,),
    "Clip": (1, 2), "Split": (1,), "ReduceSum": (1,), "ReduceMean": (1,), "ReduceMax": (1,), "Dropout": (1, 2),
    "ConstantOfShape": (0,),
}  # fmt: skip

ELEMENTS = {"float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}


def cases():
    """The tests whose nodes are all of operators that are known."""
    found = []
    with np.errstate(all="ignore"):
        for case in collect_testcases(None):
            if case.model is None:
                continue
            graph = case.model.graph
            if all(node.op_type in OPERATORS and node.domain in ("", "ai.onnx") for node in graph.node):
                found.append(pytest.param(case, id=case.name.removeprefix("test_")))
    return found


def arrays(tensors):
    """Arrays of a test's data, which are encoded in some of them."""
    return [onnx.numpy_helper.to_array(t) if isinstance(t, onnx.TensorProto) else np.asarray(t) for t in tensors]


def unfit(case):
    """Why a test cannot be one of a plan, or None."""
    graph = case.model.graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if not value.type.HasField("tensor_type"):
            return "values that are no tensors"
    types = {str(array.dtype) for inputs, outputs in case.data_sets for array in arrays([*inputs, *outputs])}
    types |= {
        str(onnx.helper.tensor_dtype_to_np_dtype(attribute.i))
        for node in graph.node
        if node.op_type == "Cast"
        for attribute in node.attribute
        if attribute.name == "to"
    }
    if not types <= ELEMENTS:
        return "element types: " + ", ".join(sorted(types - ELEMENTS))
    if "training" in case.name:
        return "training"
    return None


def parameters(graph):
    """Names of what parameters of a node are, or are computed from."""
    wanted = [node.input[i] for node in graph.node for i in PARAMETERS.get(node.op_type, ()) if i < len(node.input)]
    makers = {name: node for node in graph.node for name in node.output}
    found = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += makers[name].input if name in makers else []
    return found


@needs_tool
@pytest.mark.parametrize("case", cases())
def test_node(case, tmp_path):
    reason = unfit(case)
    if reason:
        pytest.skip(reason)
    graph = case.model.graph
    model = tmp_path / "model.onnx"
    onnx.save(case.model, model)
    for inputs, wanted in case.data_sets:
        given = {value.name: array for value, array in zip(graph.input, arrays(inputs), strict=True)}
        outputs, _ = run(model, given, tmp_path, freeze=parameters(graph))
        for value, array in zip(graph.output, arrays(wanted), strict=True):
            got = output(outputs, value.name)
            assert got.dtype == array.dtype
            assert got.shape == array.shape
            np.testing.assert_allclose(got, array, rtol=case.rtol, atol=case.atol)
