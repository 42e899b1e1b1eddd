package graph_test

import "testing"

func TestRewritesOfNormalization(t *testing.T) {
	runInfer(t, []inferCase{
		{"InstanceNormalization", "f32(2,3,4,5) f32(3) f32(3)", nil,
			"f32(2,3,4,5); Reshape[shape:[3 1 1]]; Reshape[shape:[3 1 1]]; LayerNormalization[axis:2 epsilon:1e-05]"},
		{"GroupNormalization", "f32(2,4,5) f32(2) f32(2)", A{"num_groups": int64(2)},
			"f32(2,4,5); Reshape[shape:[2 2 2 5]]; Reshape[shape:[2 1 1]]; Reshape[shape:[2 1 1]]; " +
				"LayerNormalization[axis:2 epsilon:1e-05]; Reshape[shape:[2 4 5]]"},
		{"ReduceL2", "f32(2,3)", A{"keepdims": int64(0)}, "f32(); ReduceL2[axes:[0 1] keepdims:0]"},
		{"ReduceL1", "f32(2,3) i64[]", A{"noop_with_empty_axes": int64(1)}, "f32(2,3); ReduceL1[axes:[] keepdims:1]"},
		{"ReduceMin", "u8(2,3) i64[]", A{"noop_with_empty_axes": int64(1)}, "u8(2,3); Identity"},
		{"LogSoftmax", "f32(2,3)", nil, "f32(2,3); LogSoftmax[axes:[1]]"},
		{"RMSNormalization", "f32(2,3) f32(3)", nil, "f32(2,3); RMSNormalization[axis:1 epsilon:1e-05]"},
	})
}

func TestErrorsOfReductions(t *testing.T) {
	runInfer(t, []inferCase{
		{"InstanceNormalization", "f32(2,3) f32(3) f32(3)", nil,
			"its input has the shape (2, 3); give it the shape (n, c, spatial...)"},
		{"InstanceNormalization", "f32(2,3,4) f32(3) f32(2)", nil,
			"its input 2 (B) has the shape (2), its first input (2, 3, 4); it needs 3 elements"},
		{"GroupNormalization", "f32(2,3,4) f32(3) f32(3)", A{"num_groups": int64(2)},
			`its attribute "num_groups" is 2, X has 3 channels; use a divisor of the channels`},
	})
}
