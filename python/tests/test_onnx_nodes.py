"""The node tests that come with ONNX, of the operators that `tl run` knows, planned, compiled and run."""

import numpy as np
import pytest
from planned import needs_tool, output, run

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

OPERATORS = set(
    """Add Sub Mul Div Max Min Sum Mean Pow Mod Sqrt Exp Log Tanh Sigmoid Relu LeakyRelu PRelu Elu Celu Selu Gelu Swish
    Mish HardSigmoid HardSwish Softplus Softsign ThresholdedRelu Shrink Erf Neg Abs Sign Round Floor Ceil Reciprocal
    Clip Where Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh IsNaN IsInf Equal Less LessOrEqual Greater
    GreaterOrEqual And Or Xor Not BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift Cast CastLike MatMul Gemm Einsum
    Conv ConvTranspose MaxPool AveragePool GlobalAveragePool GlobalMaxPool BatchNormalization InstanceNormalization
    GroupNormalization LayerNormalization RMSNormalization LRN Softmax LogSoftmax ReduceSum ReduceMean ReduceMax
    ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp ArgMax ArgMin CumSum TopK RNN
    GRU LSTM QuantizeLinear DequantizeLinear DynamicQuantizeLinear MatMulInteger ConvInteger QLinearMatMul QLinearConv
    Reshape Transpose Squeeze Unsqueeze Flatten Concat Split Slice Pad Expand Tile DepthToSpace SpaceToDepth Resize
    Upsample Gather GatherElements GatherND Scatter ScatterElements ScatterND OneHot Trilu Range EyeLike Shape Size
    Identity Constant ConstantOfShape Dropout If Loop Scan NonZero MeanVarianceNormalization Hardmax CenterCropPad
    AffineGrid ReverseSequence HannWindow HammingWindow BlackmanWindow GridSample""".split()
)

# Inputs that are parameters: a plan needs their content when it is made.
PARAMETERS = {
    "Reshape": (1,), "Squeeze": (1,), "Unsqueeze": (1,), "Slice": (1, 2, 3, 4), "Pad": (1, 2, 3), "Expand": (1,),
    "Clip": (1, 2), "Split": (1,), "Dropout": (1, 2), "ConstantOfShape": (0,), "Tile": (1,), "Trilu": (1,),
    "OneHot": (1,), "Range": (0, 1, 2), "TopK": (1,), "CumSum": (1,), "Resize": (1, 2, 3), "Upsample": (1,),
    "Loop": (0, 1), "CenterCropPad": (1,), "AffineGrid": (1,), "HannWindow": (0,), "HammingWindow": (0,),
    "BlackmanWindow": (0,), **{name: (1,) for name in OPERATORS if name.startswith("Reduce")},
}  # fmt: skip

ELEMENTS = set(
    "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()
)  # fmt: skip


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


def element(dtype):
    """The family of an element type: float8 for all of 8 bits."""
    return "string" if dtype == object else str(dtype).split("_")[0]


def unfit(case):
    """Why a test cannot be one of a plan, or None."""
    graph = case.model.graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if not value.type.HasField("tensor_type"):
            return "values that are no tensors"
    types = {element(array.dtype) for inputs, outputs in case.data_sets for array in arrays([*inputs, *outputs])}
    types |= {
        element(onnx.helper.tensor_dtype_to_np_dtype(attribute.i))
        for node in graph.node
        if node.op_type == "Cast"
        for attribute in node.attribute
        if attribute.name == "to"
    }
    if not types <= ELEMENTS:
        return "elements of " + " and ".join(sorted(types - ELEMENTS))
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


def runs(case, folder):
    """Runs a test's model on its data. Returns pairs of what came out and what should have, by output."""
    graph = case.model.graph
    model = folder / "model.onnx"
    onnx.save(case.model, model)
    found = []
    for inputs, wanted in case.data_sets:
        given = {value.name: array for value, array in zip(graph.input, arrays(inputs), strict=True)}
        outputs, _ = run(model, given, folder, freeze=parameters(graph))
        for value, array in zip(graph.output, arrays(wanted), strict=True):
            found.append((output(outputs, value.name), array))
    return found


# How far results of several nodes may be off where each node rounds to 11 bits, or to 8.
ROUNDED = {"float16": 2e-3, "bfloat16": 2e-2}


def tolerance(case, dtype):
    """The relative tolerance of a test: its own, or that of functions written as several nodes on short floats."""
    return max(case.rtol, ROUNDED.get(element(dtype), 0)) if len(case.model.graph.node) > 1 else case.rtol


@needs_tool
@pytest.mark.parametrize("case", cases())
def test_node(case, tmp_path):
    if reason := unfit(case):
        pytest.skip(reason)
    for got, wanted in runs(case, tmp_path):
        assert got.dtype == wanted.dtype
        assert got.shape == wanted.shape
        allowed = tolerance(case, got.dtype)
        if got.dtype.kind == "V":
            got, wanted = got.astype(np.float32), wanted.astype(np.float32)
        np.testing.assert_allclose(got, wanted, rtol=allowed, atol=case.atol)
