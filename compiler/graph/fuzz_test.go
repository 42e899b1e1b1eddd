package graph_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
)

// seeds are graphs that lead a fuzzer into every part of Check.
func seeds(f *testing.F) {
	for _, c := range graphErrors {
		f.Add([]byte(`{"tl_graph": 1, ` + c.graph + `}`))
	}
	for _, g := range []*graph.Graph{
		single("Conv", "f32(1,3,8,8) f32(4,3,3,3) f32(4)", A{"auto_pad": "SAME_UPPER", "strides": list(2, 2)}, 1),
		single("MaxPool", "f32(1,3,8)", A{"kernel_shape": list(3), "ceil_mode": int64(1), "pads": list(1, 1)}, 1),
		single("Slice", "f32(5,6) i64[4] i64[-9] i64[1] i64[-2]", nil, 1),
		single("Slice", "f32[1,2,3] i64[4] i64[-9] i64[0] i64[-2]", nil, 1),
		single("Pad", "f32(3) i64[2,-1]", A{"mode": "reflect"}, 1),
		single("Split", "f32[1,2,3] i64[1,2]", nil, 2),
		single("Concat", "i64[1] i64[2,3]", A{"axis": int64(0)}, 1),
		single("Gather", "i64[1,2] i64[-1]", nil, 1),
		single("Reshape", "f32(2,3,4) i64[0,-1]", nil, 1),
		single("Add", "f32(2,3,4) f32(3)", A{"broadcast": int64(1), "axis": int64(1)}, 1),
		single("Where", "bool[1] i64[1,2] i64[3]", nil, 1),
		single("Cast", "f32=1.5", A{"to": int64(7)}, 1),
		single("ReduceMean", "f32(2,3) i64[-1]", A{"keepdims": int64(0)}, 1),
		single("MatMul", "f32(3) f32(2,3,4)", nil, 1),
		single("Gemm", "f32(2,3) f32(4,3) f32(4)", A{"transB": int64(1)}, 1),
		single("Expand", "f32=1 i64[3,1]", nil, 1),
		single("ConstantOfShape", "i64[3,1]", nil, 1),
		single("Transpose", "i64[3,1]", nil, 1),
		single("Dropout", "f32(2)", nil, 2),
	} {
		var text bytes.Buffer
		if err := json.Write(&text, g); err != nil {
			f.Fatal(err)
		}
		f.Add(text.Bytes())
	}
}

// FuzzCheck: whatever a graph is, the answer is a sound Checked or an error.
func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := json.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		o := check.Options{Bind: map[string]int64{}, FoldBytes: 1 << 16}
		for _, in := range g.Inputs {
			for _, d := range in.Shape {
				if d.Symbol != "" {
					o.Bind[d.Symbol] = 3
				}
			}
		}
		c, err := check.Check(g, o)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		requireSound(t, c)
	})
}

// FuzzReadJSON: what was read is written and read as the same.
func FuzzReadJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := json.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		require.NoError(t, json.Write(&first, g))
		again, err := json.Read(bytes.NewReader(first.Bytes()))
		require.NoError(t, err)
		require.NoError(t, json.Write(&second, again))
		require.Equal(t, first.String(), second.String())
	})
}
