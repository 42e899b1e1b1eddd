package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
)

func list(x ...int64) []int64 { return x }

func TestErrorsOfOperators(t *testing.T) {
	runInfer(t, []inferCase{
		{"Add", "f32(2,3) f32(2)", nil,
			"its input 1 has the shape (2), which does not go with (2, 3); extents must be equal, or one of them 1, " +
				"counted from the last axis"},
		{"Add", "f32(2,3) f32(2,2)", A{"axis": int64(1)},
			"B has the shape (2, 2) and begins at axis 1 of A, which has the shape (2, 3); leave out axis to match " +
				"the last axes"},
		{"Add", "f32(2,3) f32(2)", A{"axis": int64(2)},
			"axis 2 is not one of a tensor with 2 axes; use -2 to 1"},
		{"Add", "f32(2) i32(2)", nil,
			"its input 0 (A) is f32 and 1 (B) is i32; both have to be of one type: put a Cast before one of them"},
		{"Sqrt", "i64(2)", nil,
			"its input 0 (X) is i64; Sqrt takes f32 f64 f16 bf16; put a Cast before it"},
		{"Relu", "f32(2) f32(2)", nil,
			"it has 2 inputs, at most 1 are allowed; write Relu(X)"},
		{"Relu", "-", nil,
			"its input 0 (X) is missing; write Relu(X)"},
		{"Relu", "f32(2)", A{"alpha": 1.0},
			`its attribute "alpha" is unknown; it takes no attributes`},
		{"LeakyRelu", "f32(2)", A{"alpha": "1"},
			`its attribute "alpha" is string; it has to be float; give it as such`},
		{"LeakyRelu", "f32(2)", A{"alpha": 1},
			`its attribute "alpha" is the Go type int; it has to be float; give it as such`},
		{"Cast", "f32(2)", nil,
			`its attribute "to" is missing; give it`},
		{"Cast", "f32(2)", A{"to": int64(99)},
			`its attribute "to" is 99, which is no element type; use a number or name of ONNX's TensorProto.DataType, or a name such as f32`},
		{"Clip", "f32(2) f32(1)", nil,
			`its input 1 (min) is "b", which is not constant; make it a constant, or freeze the input "b"`},
		{"Clip", "f32(2) f32[1,2]", nil,
			"its input 1 (min) has the shape (2); give it one element"},
		{"Clip", "f32(2) f32=1", A{"min": 2.0},
			"min is given twice, as input 1 and as an attribute; leave out the attribute"},
		{"Dropout", "f32(2) - bool=1", nil,
			"its input 2 (training_mode) is set; export the model for inference"},
		{"Dropout", "f32(2) f32=0.5 bool=1", nil,
			"its input 2 (training_mode) is set; export the model for inference"},
		{"MatMul", "f32() f32(2)", nil,
			"A has the shape (), B (2); both need an axis; use Mul for scalars"},
		{"MatMul", "f32(2,3) f32(2,3)", nil,
			"A has the shape (2, 3), B (2, 3); A (..., m, k) needs B (..., k, n), and axes before those that can be " +
				"broadcast"},
		{"Gemm", "f32(2,3) f32(3)", nil,
			"A has the shape (2, 3), B (3); both need two axes; use MatMul for other ranks"},
		{"Gemm", "f32(2,3) f32(2,3)", nil,
			"A (2, 3) has the inner extent 3, B (2, 3) has 2; both must be equal: look at transA and transB"},
		{"Gemm", "f32(2,3) f32(3,2) f32(3)", nil,
			"C has the shape (3), the result (2, 2); C has to broadcast to the result"},
		{"Gemm", "f32(2,3) f32(3,2)", A{"transA": int64(2)},
			`its attribute "transA" is 2; use 0 or 1`},
		{"Conv", "f32(1,3) f32(4,3)", nil,
			"X has the shape (1, 3), W (4, 3); X needs (n, c, spatial...), W (m, c / group, kernel...)"},
		{"Conv", "f32(1,3,8) f32(4,2,3)", nil,
			"W has 2 channels, X has 3 and group is 1; W needs the channels of X divided by group"},
		{"Conv", "f32(1,3,8) f32(4,3,3)", A{"group": int64(2)},
			`its attribute "group" is 2, X has 3 channels and W gives 4; group has to divide both`},
		{"Conv", "f32(1,3,8) f32(4,3,3) f32(3)", nil,
			"B has the shape (3), W (4, 3, 3); B needs one element for each channel of the result"},
		{"Conv", "f32(1,3,8) f32(4,3,3)", A{"strides": list(0)},
			`its attribute "strides" has the number 0, outside of 1 to 2^31; use numbers from the range`},
		{"Conv", "f32(1,3,8) f32(4,3,3)", A{"pads": list(0)},
			`its attribute "pads" has 1 numbers, X (1, 3, 8) needs 2; one for each spatial axis, for pads two`},
		{"Conv", "f32(1,3,8) f32(4,3,3)", A{"kernel_shape": list(2)},
			`its attribute "kernel_shape" is (2), W has (3); leave out kernel_shape`},
		{"Conv", "f32(1,3,8) f32(4,3,9)", nil,
			"a window that reaches over 9 does not fit in spatial axis 0, which has 8 and pads 0 and 0; use a " +
				"smaller window or more pads"},
		{"Conv", "f32(1,3,8) f32(4,3,0)", nil,
			`its attribute "kernel_shape" has the number 0, outside of 1 to 2^31; use numbers from the range`},
		{"Conv", "f32(1,3,8) f32(4,3,3)", A{"auto_pad": "SAME"},
			`its attribute "auto_pad" is "SAME"; use NOTSET, VALID, SAME_UPPER or SAME_LOWER`},
		{"MaxPool", "f32(1,3,8)", nil,
			`its attribute "kernel_shape" is missing; give it`},
		{"MaxPool", "f32(1,3)", A{"kernel_shape": []int64{}},
			"X has the shape (1, 3); give it the shape (n, c, spatial...)"},
		{"MaxPool", "f32(1,3,8)", A{"kernel_shape": list(2), "pads": list(2, 0)},
			"the pads of spatial axis 0 are 2 and 0, its window reaches over 2; use pads smaller than the window"},
		{"AveragePool", "f32(1,3,8)", A{"kernel_shape": list(2), "count_include_pad": int64(3)},
			`its attribute "count_include_pad" is 3; use 0 or 1`},
		{"GlobalMaxPool", "f32(1,3)", nil,
			"X has the shape (1, 3); give it the shape (n, c, spatial...)"},
		{"GlobalMaxPool", "f32(1,3,0)", nil,
			"X has the shape (1, 3, 0); give it elements to pool"},
		{"BatchNormalization", "f32(2,3) f32(3) f32(3) f32(3) f32(2)", nil,
			"its input 4 (input_var) has the shape (2), X (2, 3); it needs one element for each channel"},
		{"BatchNormalization", "f32(3) f32(3) f32(3) f32(3) f32(3)", nil,
			"X has the shape (3); give it the shape (n, c, ...)"},
		{"BatchNormalization", "f32(2,3) f32(3) f32(3) f32(3) f32(3)", A{"training_mode": int64(1)},
			`its attribute "training_mode" is 1; export the model for inference`},
		{"BatchNormalization", "f32(2,3) f32(3) f32(3) f32(3) f32(3)", A{"spatial": int64(0)},
			`its attribute "spatial" is 0; normalise channels: spatial 1`},
		{"LRN", "f32(2,3)", nil,
			`its attribute "size" is missing; give it`},
		{"LayerNormalization", "f32(2,3) f32(2)", nil,
			"its input 1 (Scale) has the shape (2), X (2, 3); it has to broadcast to X"},
		{"LayerNormalization", "f32(2,3) f32(3)", A{"axis": int64(2)},
			"axis 2 is not one of a tensor with 2 axes; use -2 to 1"},
		{"Softmax", "f32()", nil,
			"axis -1 is not one of a scalar; give it a tensor with axes"},
		{"ReduceSum", "f32(2,3) i64(1)", nil,
			`its input 1 (axes) is "b", which is not constant; make it a constant, or freeze the input "b"`},
		{"ReduceSum", "f32(2,3) i64[0,-2]", nil,
			"axis 0 stands twice in [0 -2]; name each axis once"},
		{"ReduceSum", "f32(2,3) i64[0]", A{"axes": list(1)},
			"axes is given twice, as input 1 and as an attribute; leave out the attribute"},
		{"ReduceMean", "i32(2,0)", nil,
			"axis 1 of (2, 0) has no elements; reduce at least one element, or Cast to a float type, whose mean of " +
				"nothing is NaN"},
		{"Reshape", "f32(2,3)", nil,
			"its shape is missing; write Reshape(data, [shape])"},
		{"Reshape", "f32(2,3) i64[5]", nil,
			"data has the shape (2, 3), that is 6 elements, and cannot have the shape (5); the number of elements " +
				"has to stay; one -1 may stand for what is left"},
		{"Reshape", "f32(2,3) i64[-1,-1]", nil,
			"data has the shape (2, 3), that is 6 elements, and cannot have the shape (-1, -1); the number of " +
				"elements has to stay; one -1 may stand for what is left"},
		{"Reshape", "f32(2,3) i64[2,3,0]", nil,
			"its shape (2, 3, 0) takes axis 2 from data, which has the shape (2, 3); use a number, or allowzero"},
		{"Reshape", "f32(0,3) i64[0,-1]", nil,
			"data has the shape (0, 3), that is 0 elements, and cannot have the shape (0, -1); the number of " +
				"elements has to stay; one -1 may stand for what is left"},
		{"Squeeze", "f32(2,1) i64[0]", nil,
			"axis 0 of (2, 1) has the extent 2; only axes of extent 1 can go"},
		{"Unsqueeze", "f32(2,1)", nil,
			"its axes are missing; write Unsqueeze(data, [axes])"},
		{"Unsqueeze", "f32(2,1) i64[0,0]", nil,
			"axis 0 stands twice in [0 0]; name each axis once"},
		{"Flatten", "f32(2,1)", A{"axis": int64(3)},
			`its attribute "axis" is 3, the input has 2 axes; use -2 to 2`},
		{"Transpose", "f32(2,1)", A{"perm": list(0)},
			`its attribute "perm" is [0], the input has 2 axes; name each axis once`},
		{"Transpose", "f32(2,1)", A{"perm": list(0, 0)},
			"axis 0 stands twice in [0 0]; name each axis once"},
		{"Concat", "f32(2) f32(2)", nil,
			`its attribute "axis" is missing; give it`},
		{"Concat", "f32(2,3) f32(3,2)", A{"axis": int64(0)},
			"its input 1 has the shape (3, 2), input 0 (2, 3); only axis 0 may differ"},
		{"Concat", "", A{"axis": int64(0)},
			"its input 0 (inputs) is missing; write Concat(inputs...)"},
		{"Split", "f32(5)", nil,
			"an axis of extent 5 cannot be cut into 2 equal parts; give split or num_outputs"},
		{"Split", "f32(5) i64[2,2]", nil,
			"split is [2 2], the axis has the extent 5, and there are 2 outputs; split needs a number for each " +
				"output, and their sum has to be the extent"},
		{"Split", "f32(5) i64[2,3]", A{"num_outputs": int64(2)},
			"both split and num_outputs are given; give one of them"},
		{"Split", "f32(5)", A{"num_outputs": int64(3)},
			`its attribute "num_outputs" is 3, and it has 2 outputs; they have to be equal`},
		{"Slice", "f32(5) i64[0]", nil,
			"its starts or ends are missing; write Slice(data, [starts], [ends], [axes], [steps])"},
		{"Slice", "f32(5) i64[0,1] i64[1]", nil,
			"it has 2 starts, 1 ends, 2 axes and 2 steps; they have to be equally many"},
		{"Slice", "f32(5) i64[0] i64[1] i64[0] i64[0]", nil,
			"the step of axis 0 is 0; use another step"},
		{"Slice", "f32(5) i64[0] i64[1] i64[1]", nil,
			"axis 1 is not one of a tensor with 1 axes; use -1 to 0"},
		{"Pad", "f32(3) i64[1]", nil,
			"it has 1 pads for 1 axes; give a begin and an end for each axis"},
		{"Pad", "f32(3) i64[-2,-2]", nil,
			"the pads of axis 0, which has the extent 3, are -2 and -2; do not cut off more than there is"},
		{"Pad", "f32(3) i64[3,0]", A{"mode": "reflect"},
			"the pads of axis 0, which has the extent 3, are 3 and 0; mode reflect can add 2 at most"},
		{"Pad", "f32(3) i64[2,-1]", A{"mode": "reflect"},
			"the pads of axis 0, which has the extent 3, are 2 and -1; mode reflect can add 1 at most"},
		{"Pad", "f32(3) i64[1,-3]", A{"mode": "edge"},
			"the pads of axis 0, which has the extent 3, are 1 and -3; mode edge can add 0 at most"},
		{"Pad", "f32(3) i64[1,-3]", A{"mode": "wrap"},
			"the pads of axis 0, which has the extent 3, are 1 and -3; mode wrap can add 0 at most"},
		{"Pad", "f32(3) i64[3,0]", A{"mode": "mirror"},
			`its attribute "mode" is "mirror"; use constant, reflect, edge or wrap`},
		{"Pad", "f32(3) i64[9223372036854775807,0]", nil,
			"the pads of axis 0 are -9223372036854775808 and 0; use smaller numbers"},
		{"Expand", "f32(3) i64[2]", nil,
			"the input has the shape (3), which cannot be expanded to (2); extents must be equal, or one of them 1, " +
				"counted from the last axis"},
		{"Expand", "f32(1) i64[-2]", nil,
			"the input has the shape (1), which cannot be expanded to (-2); extents must be equal, or one of them " +
				"1, counted from the last axis"},
		{"Expand", "f32(1) i64[1152921504606846976,1152921504606846976]", nil,
			"its result has the shape (1152921504606846976, 1152921504606846976), which takes more than 2^56 bytes; " +
				"use smaller extents"},
		{"Gather", "f32(3) i64[2,3]", nil,
			"index 1 is 3, axis 0 of data has the extent 3; use indices in range"},
		{"Gather", "f32() i64(3)", nil,
			"axis 0 is not one of a scalar; give it a tensor with axes"},
		{"Constant", "", nil,
			"it has 0 attributes; give one of the attributes that begin with value"},
		{"Constant", "", A{"value_string": "a"},
			"its value is of strings; use a tensor of numbers"},
		{"Constant", "", A{"value": graph.Tensor{graph.F32, list(2), nil}},
			`its attribute "value" is f32 (2), which takes 8 bytes, and has 0; correct it`},
		{"ConstantOfShape", "i64(1)", nil,
			`its input 0 (input) is "a", which is not constant; make it a constant, or freeze the input "a"`},
		{"ConstantOfShape", "i64[-1]", nil,
			"its shape is (-1), which is negative or takes more than 2^56 bytes; use extents from 0 on, and smaller " +
				"ones"},
		{"ConstantOfShape", "i64[1099511627776]", nil,
			"its result takes 4398046511104 bytes, and 1073741824 are left for computed constants; use smaller " +
				"extents, or raise FoldBytes"},
		{"ConstantOfShape", "i64[1]", A{"value": numbers(graph.F32, list(2), 1, 2)},
			`its attribute "value" has the shape (2); give it one element`},
		{"NonMaxSuppression", "f32(1)", nil,
			"the type of a result is not known: \"y0\" of node \"n\" (NonMaxSuppression): nothing " +
				"declares it; declare the element type and the shape of each (value_info of ONNX, values of a JSON graph), " +
				"and bind their symbols"},
	})
}

// graphErrors are faults of a whole graph, written as JSON.
var graphErrors = []struct{ graph, want string }{
	{`"outputs": ["x"], "opset": -1`, "the graph's operator set is -1; use a version of ONNX's, or 0 for the newest"},
	{`"outputs": []`, "the graph has no outputs; name the values that it is to compute"},
	{`"outputs": ["y"]`,
		`output 0 of the graph is "y", which nothing makes; name a value that a node, an input or a constant makes`},
	{`"inputs": [{"name": "", "dtype": "f32", "shape": []}], "outputs": ["y"]`, "input 0 has no name; give it one"},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": [-1]}], "outputs": ["y"]`,
		`axis 0 of input "x" has the extent -1; declare 0 or more, or a symbol`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": [2, "n"]}], "outputs": ["x"]`,
		`axis 1 of input "x" is the symbol "n", which is not bound; bind it to the highest extent that the plan is to hold for (tl: --bind n=N)`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": [0, 4294967296, 4294967296]}], "outputs": ["x"]`,
		`input "x" has the shape (0, 4294967296, 4294967296), which takes more than 2^56 bytes; declare or bind smaller extents`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}, {"name": "x", "dtype": "f32", "shape": []}], "outputs": ["x"]`,
		`the value "x" is made twice: by input 0 and by input 1; give one of them another name`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}], "constants": [{"name": "x", "dtype": "f32", "shape": [], "data": 1}], "outputs": ["x"]`,
		`the value "x" is made twice: by input 0 and by constant 0; give one of them another name`},
	{`"constants": [{"name": "", "dtype": "f32", "shape": [], "data": 1}], "outputs": ["x"]`,
		"constant 0 has no name; give it one"},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}], "outputs": ["x"], "nodes": [
		{"op": "Relu", "inputs": ["x"], "outputs": ["a"]}, {"name": "second", "op": "Relu", "inputs": ["x"], "outputs": ["a"]}]`,
		`the value "a" is made twice: by node "Relu_0" and by node "second"; give one of them another name`},
	{`"outputs": ["a"], "nodes": [{"op": "Relu", "inputs": ["x"], "outputs": ["a"]}]`,
		`node "Relu_0" (Relu): its input 0 is "x", which nothing makes; declare it as an input or a constant, or add the node that makes it`},
	{`"outputs": ["a"], "nodes": [{"op": "Relu", "inputs": ["a"], "outputs": ["a"]}]`,
		`node "Relu_0" (Relu): it waits for its own result: Relu_0, Relu_0 each need the result of the next; break the cycle`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}], "outputs": ["d"], "nodes": [
		{"name": "p", "op": "Add", "inputs": ["x", "c"], "outputs": ["a"]},
		{"name": "q", "op": "Relu", "inputs": ["a"], "outputs": ["b"]},
		{"name": "r", "op": "Relu", "inputs": ["b"], "outputs": ["c"]},
		{"name": "s", "op": "Relu", "inputs": ["c"], "outputs": ["d"]}]`,
		`node "p" (Add): it waits for its own result: p, r, q, p each need the result of the next; break the cycle`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}], "outputs": ["a"], "nodes": [{"op": "Convolve", "inputs": ["x"], "outputs": ["a"]}]`,
		"the type of a result is not known: \"a\" of node \"Convolve_0\" (Convolve): " +
			"nothing declares it; declare the element type and the shape of each (value_info of ONNX, values of a JSON " +
			"graph), and bind their symbols"},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}], "outputs": ["a"], "nodes": [{"op": "", "inputs": ["x"], "outputs": ["a"]}]`,
		"node \"_0\" (): it names no operator; name one; `tl operators` lists those that there are"},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": []}], "outputs": ["a"], "nodes": [{"op": "Relu", "inputs": ["x"], "outputs": ["a", "b"]}]`,
		`node "Relu_0" (Relu): it has 2 outputs, at most 1 are allowed; write no more than it makes: Y T`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": [1, 1, 4]}, {"name": "s", "dtype": "f32", "shape": [1]}], "outputs": ["m"], "nodes": [
		{"op": "BatchNormalization", "inputs": ["x", "s", "s", "s", "s"], "outputs": ["a", "m"]}]`,
		`node "BatchNormalization_0" (BatchNormalization): its output 1, "m", is asked for, and only 1 can be computed; use BatchNormalization without it`},
	{`"inputs": [{"name": "x", "dtype": "f32", "shape": [4]}], "outputs": ["m"], "nodes": [{"op": "LayerNormalization", "inputs": ["x", "x"], "outputs": ["a", "m"], "attrs": {"stash_type": 16}}]`,
		`node "LayerNormalization_0" (LayerNormalization): its attribute "stash_type" is 16, and Mean or InvStdDev is asked for; use 1, which is f32`},
	{`"inputs": [{"name": "x", "dtype": "i64", "shape": [2]}, {"name": "d", "dtype": "f32", "shape": [4]}], "outputs": ["y"], "nodes": [
		{"op": "Neg", "inputs": ["x"], "outputs": ["s"]}, {"op": "Reshape", "inputs": ["d", "s"], "outputs": ["y"]}]`,
		`node "Reshape_1" (Reshape): its input 1 (shape) is "s", which is not constant; make it a constant, or freeze the input "x"`},
}

func TestErrorsOfGraphs(t *testing.T) {
	for _, c := range graphErrors {
		g, err := json.Read(strings.NewReader(`{"tl_graph": 1, ` + c.graph + `}`))
		require.NoError(t, err, c.graph)
		_, err = check.Check(g, check.Options{})
		require.EqualError(t, err, c.want)
		var e *graph.Error
		require.ErrorAs(t, err, &e)
	}
	_, err := check.Check(nil, check.Options{})
	require.EqualError(t, err, "there is no graph; pass one")
}

func TestErrorsOfTensorsAndTypes(t *testing.T) {
	g := &graph.Graph{Inputs: []graph.Value{{Name: "x", DType: 7}}, Outputs: []string{"x"}}
	_, err := check.Check(g, check.Options{})
	require.EqualError(t, err, `input "x" has the element type 7, which does not exist; use one of package graph's`)
	for want, tensor := range map[string]graph.Tensor{
		`constant "k" has the element type 9, which does not exist; correct it`:                                                     {DType: 9},
		`constant "k" is f32 (2), which takes 8 bytes, and has 4; correct it`:                                                       {graph.F32, list(2), make([]byte, 4)},
		`constant "k" has the shape (-1, -1), which is negative or takes more than 2^56 bytes; correct it`:                          {graph.F32, list(-1, -1), make([]byte, 4)},
		`constant "k" has the shape (1, 1099511627776, 1099511627776), which is negative or takes more than 2^56 bytes; correct it`: {graph.F32, list(1, 1<<40, 1<<40), nil},
	} {
		_, err := check.Check(&graph.Graph{Constants: []graph.Constant{{"k", tensor}}, Outputs: []string{"k"}}, check.Options{})
		require.EqualError(t, err, want)
	}
}

func TestErrorsOfOptions(t *testing.T) {
	g := &graph.Graph{Inputs: []graph.Value{{"x", graph.F32, []graph.Dim{{Symbol: "n"}, {Size: 2}}}}, Outputs: []string{"x"}}
	two := numbers(graph.F32, list(3, 2))
	for want, o := range map[string]check.Options{
		`the symbol "m" is bound, which no input has; the graph has n`: {Bind: map[string]int64{"n": 1, "m": 1}},
		`the symbol "n" is bound to -1; bind it to 0 or more`:          {Bind: map[string]int64{"n": -1}},
		`"w" is frozen, which is not an input; the graph has x`: {Bind: map[string]int64{"n": 1},
			Freeze: map[string]graph.Tensor{"w": two}},
		`input "x" is declared as f32 (n, 2) and frozen to f32 (2, 3); freeze it to a tensor of the declared type and shape`: {
			Freeze: map[string]graph.Tensor{"x": numbers(graph.F32, list(2, 3))}},
		`input "x" is declared as f32 (n, 2) and frozen to i64 (3, 2); freeze it to a tensor of the declared type and shape`: {
			Freeze: map[string]graph.Tensor{"x": numbers(graph.I64, list(3, 2))}},
		`input "x" is declared as f32 (n, 2) and frozen to f32 (3, 2); freeze it to a tensor of the declared type and shape`: {
			Bind: map[string]int64{"n": 4}, Freeze: map[string]graph.Tensor{"x": two}},
		`input "x" is frozen to a tensor that is f32 (1), which takes 4 bytes, and has 0; correct the tensor`: {
			Freeze: map[string]graph.Tensor{"x": {graph.F32, list(1), nil}}},
	} {
		_, err := check.Check(g, o)
		require.EqualError(t, err, want)
	}
	c, err := check.Check(g, check.Options{Freeze: map[string]graph.Tensor{"x": two}})
	require.NoError(t, err)
	require.Empty(t, c.Inputs)
	require.Equal(t, "f32(3,2) constant", summary(c))
}

func TestLongCyclesAreCut(t *testing.T) {
	g := &graph.Graph{Outputs: []string{"v0"}}
	for i := range 100 {
		g.Nodes = append(g.Nodes, graph.Node{Op: "Relu", Inputs: []string{fmt.Sprint("v", (i+1)%100)},
			Outputs: []string{fmt.Sprint("v", i)}})
	}
	_, err := check.Check(g, check.Options{})
	require.ErrorContains(t, err, "Relu_0, Relu_1, Relu_2")
	require.ErrorContains(t, err, "... 88 more, Relu_0 each need")
}
