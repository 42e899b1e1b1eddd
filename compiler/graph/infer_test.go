package graph_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/ops"
)

type inferCase struct {
	op, args string
	attrs    graph.Attrs
	want     string
}

func outputsOf(op string) []ops.Argument {
	o, _ := ops.Normal(op)
	return o.Outputs
}

func runInfer(t *testing.T, cases []inferCase) {
	t.Helper()
	for _, c := range cases {
		outputs := 1
		if c.op == "Split" {
			outputs = 2
		}
		require.Equal(t, c.want, checkedText(t, single(c.op, c.args, c.attrs, outputs)), "%s %s %v", c.op, c.args,
			c.attrs)
	}
}

type A = graph.Attrs

func TestInferElementwise(t *testing.T) {
	runInfer(t, []inferCase{
		{"Relu", "f32(2,3)", nil, "f32(2,3); Relu"},
		{"Not", "bool(2)", nil, "bool(2); Not"},
		{"Identity", "u8(2)", nil, "u8(2); Identity"},
		{"Add", "f32(4,1,3) f32(2,1)", nil, "f32(4,2,3); Add"},
		{"Add", "f32(0,3) f32(1,3)", nil, "f32(0,3); Add"},
		{"Add", "f32() f32(3)", A{"broadcast": int64(1)}, "f32(3); Add"},
		{"Add", "f32(2,3,4) f32(3)", A{"broadcast": int64(1), "axis": int64(1)},
			"f32(2,3,4); Reshape[shape:[3 1]]; Add"},
		{"Add", "f32(2,3,4) f32(3,4)", A{"axis": int64(-2)}, "f32(2,3,4); Add"},
		{"Div", "i32(2) i32=3", nil, "i32(2); Div"},
		{"Pow", "f32(2,2) i64(2)", nil, "f32(2,2); Pow"},
		{"Equal", "bool(2,2) bool(2)", nil, "bool(2,2); Equal"},
		{"Less", "i64(2,2) i64(2)", nil, "bool(2,2); Less"},
		{"Sum", "f32(2,1) f32(1,3) f32(4,1,1)", nil, "f32(4,2,3); Sum"},
		{"Max", "i64(2)", nil, "i64(2); Max"},
		{"LeakyRelu", "f32(2)", nil, "f32(2); LeakyRelu[alpha:0.01]"},
		{"LeakyRelu", "f32(2)", A{"alpha": int64(2)}, "f32(2); LeakyRelu[alpha:2]"},
		{"Clip", "f32(2)", A{"min": 0.0, "max": 6.0}, "f32(2); Clip[max:6 min:0]"},
		{"Clip", "i32(2) - i32=7", nil, "i32(2); Clip[max:7 min:-Inf]"},
		{"Clip", "f32(2)", A{"consumed_inputs": []int64{0}}, "f32(2); Clip[max:+Inf min:-Inf]"},
		{"Where", "bool(2,1) f32(3) f32()", nil, "f32(2,3); Where"},
		{"Cast", "f32(2)", A{"to": int64(7)}, "i64(2); Cast[to:3]"},
		{"Cast", "f32(2)", A{"to": "bool"}, "bool(2); Cast[to:16]"},
		{"Cast", "bool(2)", A{"to": "DOUBLE"}, "f64(2); Cast[to:1]"},
		{"Cast", "f32(2)", A{"to": "FLOAT"}, "f32(2); Identity"},
		{"Dropout", "f32(2)", A{"ratio": 0.3, "is_test": int64(1)}, "f32(2); Identity"},
		{"Dropout", "f32(2) f32=0.5 bool=0", nil, "f32(2); Identity"},
		{"Dropout", "f32(2) f32=0 bool=1", nil, "f32(2); Identity"},
	})
}

func TestInferLinear(t *testing.T) {
	runInfer(t, []inferCase{
		{"MatMul", "f32(2,3) f32(3,4)", nil, "f32(2,4); MatMul"},
		{"MatMul", "f32(5,1,2,3) f32(7,3,4)", nil, "f32(5,7,2,4); MatMul"},
		{"MatMul", "f32(3) f32(3)", nil, "f32(); MatMul"},
		{"MatMul", "f32(3) f32(6,3,4)", nil, "f32(6,4); MatMul"},
		{"MatMul", "i32(6,2,3) i32(3)", nil, "i32(6,2); MatMul"},
		{"MatMul", "f32(2,0) f32(0,4)", nil, "f32(2,4); MatMul"},
		{"Gemm", "f32(2,3) f32(3,4) f32(4)", nil, "f32(2,4); Gemm[alpha:1 beta:1 transA:0 transB:0]"},
		{"Gemm", "f32(3,2) f32(4,3)", A{"transA": int64(1), "transB": int64(1), "alpha": 0.5, "beta": 2.0},
			"f32(2,4); Gemm[alpha:0.5 beta:2 transA:1 transB:1]"},
		{"BatchNormalization", "f32(2,3,4) f32(3) f32(3) f32(3) f32(3)", A{"spatial": int64(1), "momentum": 0.9,
			"consumed_inputs": []int64{0, 0, 0, 1, 1}},
			"f32(2,3,4); BatchNormalization[epsilon:1e-05]"},
		{"LRN", "f32(2,3,4,4)", A{"size": int64(5)}, "f32(2,3,4,4); LRN[alpha:0.0001 beta:0.75 bias:1 size:5]"},
		{"LayerNormalization", "f32(2,3,4) f32(4) f32(4)", nil, "f32(2,3,4); LayerNormalization[axis:2 epsilon:1e-05]"},
		{"LayerNormalization", "f32(2,3,4) f32(3,4)", A{"axis": int64(1)},
			"f32(2,3,4); LayerNormalization[axis:1 epsilon:1e-05]"},
		{"Softmax", "f32(2,3,4)", nil, "f32(2,3,4); Softmax[axes:[2]]"},
		{"Softmax", "f32(2,3,4)", A{"axis": int64(-2)}, "f32(2,3,4); Softmax[axes:[1]]"},
		{"ReduceSum", "f32(2,3,4) i64[-1,0]", A{"keepdims": int64(0)}, "f32(3); ReduceSum[axes:[0 2] keepdims:0]"},
		{"ReduceSum", "i64(2,3)", A{"axes": []int64{1}}, "i64(2,1); ReduceSum[axes:[1] keepdims:1]"},
		{"ReduceSum", "f32(2,0)", A{"keepdims": int64(0)}, "f32(); ReduceSum[axes:[0 1] keepdims:0]"},
		{"ReduceMean", "f32(2,3)", nil, "f32(1,1); ReduceMean[axes:[0 1] keepdims:1]"},
		{"ReduceMax", "bool(2,3) i64[]", A{"noop_with_empty_axes": int64(1)}, "bool(2,3); Identity"},
		{"ReduceMax", "f32()", nil, "f32(); Identity"},
		{"ReduceMax", "bool(2,0)", nil, "bool(1,1); ReduceMax[axes:[0 1] keepdims:1]"},
		{"ReduceMean", "f16(2,0) i64[1]", A{"keepdims": int64(0)}, "f16(2); ReduceMean[axes:[1] keepdims:0]"},
	})
}

func TestInferWindow(t *testing.T) {
	runInfer(t, []inferCase{
		{"Conv", "f32(1,3,8,8) f32(4,3,3,3) f32(4)", nil,
			"f32(1,4,6,6); Conv[dilations:[1 1] group:1 kernel_shape:[3 3] pads:[0 0 0 0] strides:[1 1]]"},
		{"Conv", "f32(1,4,8) f32(8,1,3)", A{"group": int64(4), "pads": []int64{1, 2}, "strides": []int64{2},
			"dilations": []int64{3}},
			"f32(1,8,3); Conv[dilations:[3] group:4 kernel_shape:[3] pads:[1 2] strides:[2]]"},
		{"Conv", "f32(1,1,7,8) f32(1,1,3,4)", A{"auto_pad": "SAME_UPPER", "strides": []int64{2, 3}},
			"f32(1,1,4,3); Conv[dilations:[1 1] group:1 kernel_shape:[3 4] pads:[1 1 1 1] strides:[2 3]]"},
		{"Conv", "f32(1,1,8) f32(1,1,4)", A{"auto_pad": "SAME_LOWER"},
			"f32(1,1,8); Conv[dilations:[1] group:1 kernel_shape:[4] pads:[2 1] strides:[1]]"},
		{"Conv", "f32(1,1,8) f32(1,1,3)", A{"auto_pad": "VALID", "kernel_shape": []int64{3}},
			"f32(1,1,6); Conv[dilations:[1] group:1 kernel_shape:[3] pads:[0 0] strides:[1]]"},
		{"Conv", "f32(1,1,5,6,7) f32(2,1,1,2,3)", nil,
			"f32(1,2,5,5,5); Conv[dilations:[1 1 1] group:1 kernel_shape:[1 2 3] pads:[0 0 0 0 0 0] strides:[1 1 1]]"},
		{"Conv", "f32(0,1,5) f32(2,1,2)", nil,
			"f32(0,2,4); Conv[dilations:[1] group:1 kernel_shape:[2] pads:[0 0] strides:[1]]"},
		{"MaxPool", "f32(1,2,6)", A{"kernel_shape": []int64{3}, "strides": []int64{2}},
			"f32(1,2,2); MaxPool[dilations:[1] kernel_shape:[3] pads:[0 0] storage_order:0 strides:[2]]"},
		{"MaxPool", "f32(1,2,6)", A{"kernel_shape": []int64{3}, "strides": []int64{2}, "ceil_mode": int64(1)},
			"f32(1,2,3); MaxPool[dilations:[1] kernel_shape:[3] pads:[0 0] storage_order:0 strides:[2]]"},
		// The fourth window would begin behind the last element.
		{"MaxPool", "f32(1,2,5)", A{"kernel_shape": []int64{1}, "strides": []int64{3}, "ceil_mode": int64(1)},
			"f32(1,2,2); MaxPool[dilations:[1] kernel_shape:[1] pads:[0 0] storage_order:0 strides:[3]]"},
		{"AveragePool", "f32(1,2,6,6)", A{"kernel_shape": []int64{2, 2}, "count_include_pad": int64(1),
			"pads": []int64{0, 1, 1, 0}},
			"f32(1,2,6,6); AveragePool[count_include_pad:1 dilations:[1 1] kernel_shape:[2 2] pads:[0 1 1 0] " +
				"strides:[1 1]]"},
		{"GlobalAveragePool", "f32(2,3,4,5)", nil, "f32(2,3,1,1); GlobalAveragePool"},
		{"GlobalMaxPool", "f32(2,3,4)", nil, "f32(2,3,1); GlobalMaxPool"},
	})
}

func TestInferShapes(t *testing.T) {
	runInfer(t, []inferCase{
		{"Reshape", "f32(2,3,4) i64[0,-1]", nil, "f32(2,12); Reshape[shape:[2 12]]"},
		{"Reshape", "f32(1,1) i64[]", nil, "f32(); Reshape[shape:[]]"},
		{"Reshape", "f32(0,3) i64[3,0]", A{"allowzero": int64(1)}, "f32(3,0); Reshape[shape:[3 0]]"},
		{"Reshape", "f32(6)", A{"shape": []int64{2, 3}}, "f32(2,3); Reshape[shape:[2 3]]"},
		{"Squeeze", "f32(1,2,1)", nil, "f32(2); Reshape[shape:[2]]"},
		{"Squeeze", "f32(1,2,1) i64[-1]", nil, "f32(1,2); Reshape[shape:[1 2]]"},
		{"Squeeze", "f32(1,2,1)", A{"axes": []int64{0}}, "f32(2,1); Reshape[shape:[2 1]]"},
		{"Unsqueeze", "f32(2,3) i64[3,0]", nil, "f32(1,2,3,1); Reshape[shape:[1 2 3 1]]"},
		{"Unsqueeze", "f32(0) ", A{"axes": []int64{-1}}, "f32(0,1); Reshape[shape:[0 1]]"},
		{"Flatten", "f32(2,3,4)", nil, "f32(2,12); Reshape[shape:[2 12]]"},
		{"Flatten", "f32(2,3,4)", A{"axis": int64(-1)}, "f32(6,4); Reshape[shape:[6 4]]"},
		{"Flatten", "f32(2,3)", A{"axis": int64(2)}, "f32(6,1); Reshape[shape:[6 1]]"},
		{"Flatten", "f32()", A{"axis": int64(0)}, "f32(1,1); Reshape[shape:[1 1]]"},
		{"Transpose", "f32(2,3,4)", nil, "f32(4,3,2); Transpose[perm:[2 1 0]]"},
		{"Transpose", "f32(2,3,4)", A{"perm": []int64{1, 0, 2}}, "f32(3,2,4); Transpose[perm:[1 0 2]]"},
		{"Concat", "f32(2,3) f32(2,0) f32(2,4)", A{"axis": int64(-1)}, "f32(2,7); Concat[axis:1]"},
		{"Expand", "f32(3,1) i64[2,1,4]", nil, "f32(2,3,4); Expand[shape:[2 3 4]]"},
		{"Expand", "f32(3) i64[1]", nil, "f32(3); Expand[shape:[3]]"},
		{"Gather", "f32(5,6) i64(2,3)", A{"axis": int64(1)}, "f32(5,2,3); Gather[axis:1]"},
		{"Gather", "f32(5,6) i32=-5", nil, "f32(6); Gather[axis:0]"},
		{"Shape", "f32(5,6)", A{"start": int64(-1)}, "i64(1) constant"},
		{"Size", "f32(5,6)", nil, "i64() constant"},
		{"ConstantOfShape", "i64[2,3]", nil, "f32(2,3) constant"},
		{"ConstantOfShape", "i64[]", A{"value": numbers(graph.I32, []int64{1}, 7)}, "i32() constant"},
		{"Constant", "", A{"value_float": 2.0}, "f32() constant"},
		{"Constant", "", A{"value_floats": []float64{2, 3}}, "f32(2) constant"},
		{"Constant", "", A{"value_int": int64(2)}, "i64() constant"},
		{"Constant", "", A{"value_ints": []int64{2, 3}}, "i64(2) constant"},
		{"Constant", "", A{"value": numbers(graph.U8, []int64{2}, 7, 8)}, "u8(2) constant"},
	})
}

func TestInferParts(t *testing.T) {
	runInfer(t, []inferCase{
		{"Split", "f32(2,6)", A{"axis": int64(1)}, "f32(2,3); f32(2,3); Split[axis:1 split:[3 3]]"},
		{"Split", "f32(5)", A{"num_outputs": int64(2)}, "f32(3); f32(2); Split[axis:0 split:[3 2]]"},
		{"Split", "f32(5) i64[5,0]", nil, "f32(5); f32(0); Split[axis:0 split:[5 0]]"},
		{"Split", "f32(5)", A{"split": []int64{1, 4}}, "f32(1); f32(4); Split[axis:0 split:[1 4]]"},
		{"Slice", "f32(10,4) i64[2] i64[-1] i64[0] i64[3]", nil,
			"f32(3,4); Slice[ends:[9 4] starts:[2 0] steps:[3 1]]"},
		{"Slice", "f32(10) i64[-1] i64[-99999] i64[0] i64[-4]", nil, "f32(3); Slice[ends:[-1] starts:[9] steps:[-4]]"},
		{"Slice", "f32(10) i64[5] i64[5]", nil, "f32(0); Slice[ends:[0] starts:[0] steps:[1]]"},
		{"Slice", "f32(0) i64[5] i64[-9] i64[0] i64[-1]", nil, "f32(0); Slice[ends:[0] starts:[0] steps:[1]]"},
		{"Slice", "f32(3,10)", A{"starts": []int64{1}, "ends": []int64{9223372036854775807}, "axes": []int64{-1}},
			"f32(3,9); Slice[ends:[3 10] starts:[0 1] steps:[1 1]]"},
		{"Slice", "f32(10) i64[-9223372036854775808] i64[9] i64[0] i64[2]", nil,
			"f32(5); Slice[ends:[9] starts:[0] steps:[2]]"},
		{"Pad", "f32(2,3) i64[1,0,0,-1]", nil, "f32(3,2); Pad[mode:constant pads:[1 0 0 -1] value:0]"},
		{"Pad", "f32(2,3) i64[1,2] f32=5 i64[-1]", nil, "f32(2,6); Pad[mode:constant pads:[0 1 0 2] value:5]"},
		{"Pad", "f32(3)", A{"pads": []int64{2, 1}, "mode": "reflect"}, "f32(6); Pad[mode:reflect pads:[2 1] value:0]"},
		{"Pad", "f32(3)", A{"paddings": []int64{9, 1}, "mode": "edge", "value": 1.0},
			"f32(13); Pad[mode:edge pads:[9 1] value:1]"},
		{"Pad", "f32(3)", A{"pads": []int64{7, -1}, "mode": "wrap"}, "f32(9); Pad[mode:wrap pads:[7 -1] value:0]"},
		{"Pad", "f32(3)", A{"pads": []int64{0, 0}}, "f32(3); Identity"},
	})
}

func TestSoftmaxBeforeOperatorSet13(t *testing.T) {
	g := single("Softmax", "f32(2,3,4)", nil, 1)
	for opset, want := range map[int64]string{
		0: "f32(2,3,4); Softmax[axes:[2]]", 13: "f32(2,3,4); Softmax[axes:[2]]",
		12: "f32(2,3,4); Softmax[axes:[1 2]]", 1: "f32(2,3,4); Softmax[axes:[1 2]]",
	} {
		g.Opset = opset
		require.Equal(t, want, checkedText(t, g), opset)
	}
	g.Nodes[0].Attrs = A{"axis": int64(-3)}
	g.Opset = 11
	require.Equal(t, "f32(2,3,4); Softmax[axes:[0 1 2]]", checkedText(t, g))
}

func TestDropoutMask(t *testing.T) {
	g := single("Dropout", "f32(2)", nil, 2)
	for opset, want := range map[int64]string{
		0: "f32(2); bool(2) constant; Identity", 10: "f32(2); bool(2) constant; Identity",
		7: "f32(2); f32(2) constant; Identity",
	} {
		g.Opset = opset
		require.Equal(t, want, checkedText(t, g), opset)
		c, err := check.Check(g, check.Options{})
		require.NoError(t, err)
		mask := c.Values[c.Outputs[1]].Constant
		require.EqualValues(t, 1, mask.FloatAt(0))
		require.EqualValues(t, 1, mask.FloatAt(1))
	}
	for _, d := range []string{"f16", "bf16", "f64"} {
		g := single("Dropout", d+"(1)", nil, 2)
		g.Opset = 7
		c, err := check.Check(g, check.Options{})
		require.NoError(t, err)
		require.EqualValues(t, 1, c.Values[c.Outputs[1]].Constant.FloatAt(0), d)
	}
	g = single("Concat", "f32(2,1) f32(2,2)", nil, 1)
	g.Opset = 1
	require.Equal(t, "f32(2,3); Concat[axis:1]", checkedText(t, g))
}

func TestAttributesOfOtherKinds(t *testing.T) {
	runInfer(t, []inferCase{
		{"Gemm", "f32(2,3) f32(3,4)", A{"alpha": int64(2)}, "f32(2,4); Gemm[alpha:2 beta:1 transA:0 transB:0]"},
		{"Constant", "", A{"value_floats": []int64{}}, "f32(0) constant"},
		{"Constant", "", A{"value_floats": []int64{1, 2}}, "f32(2) constant"},
		{"Constant", "", A{"value_ints": []float64{}}, "i64(0) constant"},
		{"Constant", "", A{"value_ints": []string{}}, "i64(0) constant"},
		{"Constant", "", A{"value_strings": []int64{}}, "its value is of strings; use a tensor of numbers"},
		{"Constant", "", A{"value_int": []int64{1}},
			`its attribute "value_int" is ints; it has to be int; give it as such`},
		{"Constant", "", A{"value_int": nil},
			`its attribute "value_int" is the Go type <nil>; it has to be int; give it as such`},
	})
}

// TestSecondOutputs: outputs that nobody asks for are -1, or not there behind the
// last one that somebody does.
func TestSecondOutputs(t *testing.T) {
	pool := A{"kernel_shape": []int64{2, 2}, "storage_order": int64(1)}
	wants := []struct {
		op, args string
		attrs    graph.Attrs
		asked    []string
		want     string
		outputs  []int
	}{
		{"MaxPool", "u8(1,2,4,4)", pool, []string{"y0"}, "u8(1,2,3,3)", []int{1}},
		{"MaxPool", "u8(1,2,4,4)", pool, []string{"y0", "y1"}, "u8(1,2,3,3); i64(1,2,3,3)", []int{1, 2}},
		{"MaxPool", "u8(1,2,4,4)", pool, []string{"y1"}, "i64(1,2,3,3)", []int{-1, 1}},
		{"LayerNormalization", "f16(2,3,4) f16(4)", A{"axis": int64(1)}, []string{"y2", "y0"}, "f32(2,1,1); f16(2,3,4)",
			[]int{2, -1, 3}},
		{"LayerNormalization", "f64(2,3) f64(3)", A{"stash_type": int64(1)}, []string{"y1"}, "f32(2,1)", []int{-1, 2}},
		{"LayerNormalization", "f32(2,3) f32(3)", A{"stash_type": int64(16)}, []string{"y0"}, "f32(2,3)", []int{2}},
	}
	for _, w := range wants {
		g := single(w.op, w.args, w.attrs, len(outputsOf(w.op)))
		g.Outputs = w.asked
		c := mustCheck(t, g, check.Options{})
		requireSound(t, c)
		require.Equal(t, w.want, strings.Split(summary(c), "; "+w.op)[0])
		require.Equal(t, w.outputs, c.Nodes[0].Outputs)
	}
}

// TestOptionalArgumentsKeepTheirPlace: an argument that was left out is -1.
func TestOptionalArgumentsKeepTheirPlace(t *testing.T) {
	c := mustCheck(t, single("Conv", "f32(1,1,4) f32(1,1,2)", nil, 1), check.Options{})
	require.Equal(t, []int{0, 1, -1}, c.Nodes[0].Inputs)
	c = mustCheck(t, single("Clip", "f32(4) - f32=2", nil, 1), check.Options{})
	require.Equal(t, []int{0}, c.Nodes[0].Inputs)
	c = mustCheck(t, single("Relu", "f32(4) - -", nil, 1), check.Options{})
	require.Equal(t, []int{0}, c.Nodes[0].Inputs)
}
