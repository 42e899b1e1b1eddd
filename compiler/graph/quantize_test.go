package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/check"
)

func TestRewritesOfQuantisation(t *testing.T) {
	runInfer(t, []inferCase{
		{"DequantizeLinear", "u8(2,3,4) f32(3) u8(3)", nil,
			"f32(2,3,4); Reshape[shape:[3 1]]; Reshape[shape:[3 1]]; Cast[to:0]; Cast[to:0]; Sub; Mul"},
		{"DequantizeLinear", "u8(2,6) f32(2,3)", A{"block_size": int64(2)},
			"f32(2,6); Reshape[shape:[2 3 1]]; Expand[shape:[2 3 2]]; Reshape[shape:[2 6]]; Cast[to:0]; Mul"},
		{"QuantizeLinear", "f32(2,3) f32=0.5", nil, "u8(2,3); Div; Round; Cast[to:4]"},
		{"MatMulInteger", "u8(2,3) i8(3,4) u8(2) i8(4)", nil,
			"i32(2,4); Reshape[shape:[2 1]]; MatMulInteger"},
		{"MatMulInteger", "u8(3) i8(3) u8(1)", nil,
			"i32(); Reshape[shape:[1 3]]; Reshape[shape:[3 1]]; Reshape[shape:[]]; MatMulInteger; Reshape[shape:[]]"},
		{"MatMulInteger", "u8(5,2,3) i8(3,4) u8(5,1,1) i8(1,4)", nil, "i32(5,2,4); MatMulInteger"},
		{"ConvInteger", "u8(1,1,4,4) u8(1,1,2,2) u8=1", nil, "i32(1,1,3,3); " +
			"ConvInteger[dilations:[1 1] group:1 kernel_shape:[2 2] pads:[0 0 0 0] strides:[1 1]]"},
		{"QLinearMatMul", "u8(2,3) f32=1 u8=1 u8(3,4) f32=1 u8=1 f32=2 u8=0", nil,
			"u8(2,4); MatMulInteger; Cast[to:0]; Mul; Round; Add; Cast[to:4]"},
	})
}

// TestFaultsOfRewritesNameTheNode: a fault of what a node becomes is told of the node.
func TestFaultsOfRewritesNameTheNode(t *testing.T) {
	_, err := check.Check(single("ConvInteger", "u8(1,1,4) u8(1,2,2)", nil, 1), check.Options{})
	require.EqualError(t, err,
		`node "n" (ConvInteger): W has 2 channels, X has 1 and group is 1; W needs the channels of X divided by group`)
}

func TestErrorsOfQuantisation(t *testing.T) {
	runInfer(t, []inferCase{
		{"DequantizeLinear", "u8(2,3) f32(2)", nil,
			"a scale or zero point has the shape (2), x has (2, 3), axis is 1 and block_size 0; give it one element, " +
				"or one for each element, or block, of the axis"},
		{"DequantizeLinear", "u8(2,3) f32(2)", A{"axis": int64(5)},
			"axis 5 is not one of a tensor with 2 axes; use -2 to 1"},
		{"MatMulInteger", "u8(2,3) i8(3,4) u8(1,3)", nil, "its a_zero_point has the shape (1, 3), and A has (2, 3); give " +
			"one, or one for each row of A or column of B"},
		{"MatMulInteger", "u8(2,3) i8(3,4) u8 i8(3,1)", nil, "its b_zero_point has the shape (3, 1), and B has (3, 4); " +
			"give one, or one for each row of A or column of B"},
		{"ConvInteger", "u8(1,2,4,4) u8(3,2,2,2) u8(2)", nil,
			"its x_zero_point has the shape (2); give one for x, and one for w or for each of its filters"},
		{"ConvInteger", "u8(1,2,4,4) u8(3,2,2,2) u8 u8(2)", nil,
			"its w_zero_point has the shape (2); give one for x, and one for w or for each of its filters"},
		{"QuantizeLinear", "f32(2,3) f32=1", A{"output_dtype": int64(1)}, "its result is f32; use i8, u8, i16, u16 or a narrower type"},
		{"QLinearMatMul", "u8(2,3) f32=1 u8=1 u8(3,4) f32=1 u8=1 f32=2 i64=0", nil,
			"its y_zero_point is i64; use i8 or u8"},
	})
}
