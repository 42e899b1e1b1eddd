package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

func TestRewritesOfFunctions(t *testing.T) {
	runInfer(t, []inferCase{
		{"Hardmax", "f32(2,3)", A{"axis": int64(0)},
			"f32(2,3); ArgMax[axis:0 keepdims:1 select_last_index:0]; Equal; Cast[to:0]"},
		{"Hardmax", "f32(0,3)", A{"axis": int64(0)}, "f32(0,3); Identity"},
		{"CenterCropPad", "f32(5,2) i64[2,5]", nil,
			"f32(2,5); Slice[ends:[3 2] starts:[1 0] steps:[1 1]]; Pad[mode:constant pads:[0 1 0 2] value:0]"},
		{"CenterCropPad", "f32(5,2) i64[4]", A{"axes": list(-2)}, "f32(4,2); Slice[ends:[4 2] starts:[0 0] steps:[1 1]]; Identity"},
		{"MeanVarianceNormalization", "f32(2,3)", A{"axes": list(1)},
			"f32(2,3); ReduceMean[axes:[1] keepdims:1]; Sub; Mul; ReduceMean[axes:[1] keepdims:1]; Sqrt; Add; Div"},
		{"ReverseSequence", "f32(2,4) i64(2)", A{"batch_axis": int64(0), "time_axis": int64(1)},
			"f32(2,4); Reshape[shape:[2 1]]; Less; Add; Where; Reshape[shape:[2 4 1]]; GatherND[batch_dims:1]"},
	})
}

func TestErrorsOfFunctions(t *testing.T) {
	runInfer(t, []inferCase{
		{"Hardmax", "f32(2,3)", A{"axis": int64(2)}, "axis 2 is not one of a tensor with 2 axes; use -2 to 1"},
		{"CenterCropPad", "f32(5,2) i64[2]", nil, "its shape has 1 extents, and it has 2 axes; give it one for each"},
		{"CenterCropPad", "f32(5) i64[-1]", nil, "axis 0 is to have the extent -1; use 0 or more"},
		{"MeanVarianceNormalization", "f32(2,3)", nil, "axis 2 is not one of a tensor with 2 axes; use -2 to 1"},
		{"AffineGrid", "f32(2,2,3) i64[2,1,4,5,6]", nil, "theta has the shape (2, 2, 3), size is (2, 1, 4, 5, 6); for a size " +
			"of (n, c, h, w) give it (n, 2, 3), for one of (n, c, d, h, w) (n, 3, 4)"},
		{"AffineGrid", "f32(2,2,3) i64[2]", nil, "theta has the shape (2, 2, 3), size is (2); for a size " +
			"of (n, c, h, w) give it (n, 2, 3), for one of (n, c, d, h, w) (n, 3, 4)"},
		{"AffineGrid", "f32(2,2,3) i64[2,1,-4,5]", nil, "size is (2, 1, -4, 5); use extents from 0 on, and smaller ones"},
		{"ReverseSequence", "f32(2,4) i64(4)", A{"batch_axis": int64(0), "time_axis": int64(1)},
			"sequence_lens has the shape (4), input (2, 4); give it one for each sample"},
		{"ReverseSequence", "f32(2,4) i64(2)", A{"batch_axis": int64(1), "time_axis": int64(1)},
			"batch_axis is 1 and time_axis 1, and input has the shape (2, 4); use axes 0 and 1, one for each"},
		{"ReverseSequence", "f32(2,4) i64[5,1]", A{"batch_axis": int64(0), "time_axis": int64(1)},
			"index 0 is 4, axis 1 of data has the extent 4; use indices in range"},
		{"HannWindow", "i64=-1", nil, "its size is -1; use 0 to 2^31"},
		{"HannWindow", "i64=4", A{"output_datatype": int64(8)}, `its attribute "output_datatype" is 8, which is no element ` +
			"type; use a number or name of ONNX's TensorProto.DataType, or a name such as f32"},
		{"GridSample", "f32(1,1,2,2) f32(1,2,2,3)", nil, "grid has the shape (1, 2, 2, 3), X (1, 1, 2, 2); for X of (n, c, h, w) " +
			"give it (n, height, width, 2), for one of (n, c, d, h, w) (n, depth, height, width, 3)"},
		{"GridSample", "f32(1,1,2,2) f32(1,2,2,2)", A{"mode": "area"}, `its attribute "mode" is "area"; use linear, nearest or cubic`},
		{"GridSample", "f32(1,1,2,2) f32(1,2,2,2)", A{"padding_mode": "wrap"},
			`its attribute "padding_mode" is "wrap"; use zeros, border or reflection`},
	})
}

func TestWindows(t *testing.T) {
	four := numbers(graph.I32, list(), 4)
	assert.InDeltaSlice(t, []float64{0, 0.5, 1, 0.5}, values(folded(t, "HannWindow", nil, 1, four)[0]), 1e-6)
	blackman := folded(t, "BlackmanWindow", A{"periodic": int64(0), "output_datatype": int64(11)}, 1, four)[0]
	require.Equal(t, graph.F64, blackman.DType)
	assert.InDeltaSlice(t, []float64{0, 0.63, 0.63, 0}, values(blackman), 1e-12)
	assert.Empty(t, values(folded(t, "HammingWindow", nil, 1, numbers(graph.I32, list(), 0))[0]))
}
