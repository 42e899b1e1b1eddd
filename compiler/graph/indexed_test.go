package graph_test

import "testing"

func TestInferIndexed(t *testing.T) {
	runInfer(t, []inferCase{
		{"ArgMin", "f32(2,3)", A{"axis": int64(-1), "keepdims": int64(0)},
			"i64(2); ArgMin[axis:1 keepdims:0 select_last_index:0]"},
		{"Scatter", "f32(3) i64(2) f32(2)", nil, "f32(3); ScatterElements[axis:0 reduction:none]"},
		{"GatherND", "f32(2,3,4) i64(2,5,1)", A{"batch_dims": int64(1)}, "f32(2,5,4); GatherND[batch_dims:1]"},
		{"GatherElements", "f32(2,3) i32(2,1)", A{"axis": int64(-1)}, "f32(2,1); GatherElements[axis:1]"},
		{"ScatterND", "f32(2,3) i64(4,1) f32(4,3)", A{"reduction": "add"}, "f32(2,3); ScatterND[reduction:add]"},
		{"CumSum", "f32(2,3) i64=-1", A{"reverse": int64(1)}, "f32(2,3); CumSum[axis:1 exclusive:0 reverse:1]"},
		{"TopK", "f32(2,3) i64[2]", A{"largest": int64(0)}, "f32(2,2); TopK[axis:1 k:2 largest:0]"},
	})
}

func TestErrorsOfIndices(t *testing.T) {
	runInfer(t, []inferCase{
		{"ArgMax", "f32(2,0)", A{"axis": int64(1)},
			"axis 1 of (2, 0) has no elements; give it elements to choose from"},
		{"GatherElements", "f32(2,3) i64(3,3)", A{"axis": int64(1)}, "indices have the shape (3, 3), data (2, 3), " +
			"and the " +
			"axis is 1; they need as many axes, and no more elements on those besides the axis"},
		{"GatherElements", "f32(2) i64[2]", nil,
			"index 0 is 2, axis 0 of data has the extent 2; use indices in range"},
		{"GatherND", "f32(2,3) i64(3,3)", nil, "indices have the shape (3, 3), data (2, 3), and batch_dims is 0; " +
			"the last " +
			"axis of indices has at most an index for each axis of data behind the first batch_dims, which are the " +
			"same in both"},
		{"ScatterND", "f32(2,3) i64(3,1) f32(3,2)", nil,
			"updates have the shape (3, 2); give them the shape (3, 3)"},
		{"ScatterElements", "f32(2) i64(2) f32(1)", nil,
			"indices have the shape (2), updates (1); give an update for each index"},
		{"ScatterElements", "bool(2) i64(2) bool(2)", A{"reduction": "add"},
			`its attribute "reduction" is "add", and data is bool; use none`},
		{"TopK", "f32(2) i64[3]", nil, "K is 3, axis 0 has the extent 2; use 0 up to the extent of the axis"},
	})
}
