package graph_test

import "testing"

func TestRewritesOfResize(t *testing.T) {
	runInfer(t, []inferCase{
		{"Resize", "f32(1,1,2,2) - f32[1,1,2,2]", nil, "f32(1,1,4,4); Gather[axis:2]; Gather[axis:3]"},
		{"Resize", "f32(1,2) - - i64[1,3]", A{"mode": "linear"},
			"f32(1,3); Gather[axis:1]; Mul; Gather[axis:1]; Mul; Sum"},
		{"Resize", "f32(1,4) - - i64[1,1]", A{"mode": "linear", "antialias": int64(1)},
			"f32(1,1); Reshape[shape:[1 4 1]]; MatMul; Reshape[shape:[1 1]]"},
		{"Upsample", "f32(1,2) f32[1,2]", nil, "f32(1,4); Gather[axis:1]"},
		{"ConvTranspose", "f32(1,2,3) f32(2,1,2)", A{"strides": list(2)},
			"f32(1,1,6); Reshape[shape:[1 2 1 1 2]]; Transpose[perm:[0 2 4 1 3]]; Reshape[shape:[2 2 1]]; " +
				"Conv[dilations:[1] group:1 kernel_shape:[1] pads:[0 0] strides:[1]]; Reshape[shape:[1 1 2 3]]; " +
				"Transpose[perm:[0 1 3 2]]; Reshape[shape:[1 1 6]]"},
		{"ConvTranspose", "f32(1,2,3) f32(2,1,3) f32(1)", A{"strides": list(2), "dilations": list(2)},
			"f32(1,1,9); Reshape[shape:[1 2 3 1]]; Pad[mode:constant pads:[0 0 0 0 0 0 0 1] value:0]; " +
				"Reshape[shape:[1 2 6]]; Reshape[shape:[1 2 1 3 1]]; " +
				"Slice[ends:[1 2 1 -1 1] starts:[0 0 0 2 0] steps:[1 1 1 -1 1]]; Transpose[perm:[0 2 4 1 3]]; " +
				"Reshape[shape:[1 2 3]]; Conv[dilations:[2] group:1 kernel_shape:[3] pads:[4 4] strides:[1]]; " +
				"Pad[mode:constant pads:[0 0 0 0 0 -1] value:0]; Reshape[shape:[1 1]]; Add"},
	})
}

func TestErrorsOfResize(t *testing.T) {
	runInfer(t, []inferCase{
		{"Resize", "f32(2)", nil, "it has 0 scales and 0 sizes; give one of them"},
		{"Resize", "f32(2) - f32[1,2]", nil, "it has 2 scales or sizes for 1 axes; give one for each axis"},
		{"Resize", "f32(2) - - i64[0]", nil,
			"axis 0 of (2) gets the size 0; use sizes from 1 on of an axis that has elements"},
		{"Resize", "f32(2) - f32[2]", A{"mode": "lanczos"},
			`its attribute "mode" is "lanczos"; use one of those of ONNX`},
		{"ConvTranspose", "f32(1,2,3) f32(1,2,3)", nil, "X has the shape (1, 2, 3), W (1, 2, 3), group is 1; X needs " +
			"(n, c, spatial...), W (c, m / group, kernel...), and group has to divide c"},
		{"ConvTranspose", "f32(1,2,3) f32(2,1,3)", A{"pads": list(4, 4)},
			"spatial axis 0 of the result has the extent -3; use smaller pads"},
	})
}
