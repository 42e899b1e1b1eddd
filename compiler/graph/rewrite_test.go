package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

func TestRewrites(t *testing.T) {
	runInfer(t, []inferCase{
		{"Tile", "f32(2,3) i64[1,4]", nil,
			"f32(2,12); Reshape[shape:[2 1 3]]; Expand[shape:[2 4 3]]; Reshape[shape:[2 12]]"},
		{"Tile", "f32(2,3) i64[1,1]", nil, "f32(2,3); Identity"},
		{"Tile", "i64[1,2] i64[2]", nil, "i64(4) constant"},
		{"DepthToSpace", "f32(1,8,2,3)", A{"blocksize": int64(2)},
			"f32(1,2,4,6); Reshape[shape:[1 2 2 2 2 3]]; Transpose[perm:[0 3 4 1 5 2]]; Reshape[shape:[1 2 4 6]]"},
		{"SpaceToDepth", "u8(1,2,4,6)", A{"blocksize": int64(2), "mode": "CRD"},
			"u8(1,8,2,3); Reshape[shape:[1 2 2 2 3 2]]; Transpose[perm:[0 1 3 5 2 4]]; Reshape[shape:[1 8 2 3]]"},
		{"Trilu", "f16(2,3,3)", nil, "f16(2,3,3); Where"},
		{"OneHot", "i64(3) i64=5 f32[0,1]", nil, "f32(3,5); Reshape[shape:[3 1]]; Less; Add; Where; Equal; Where"},
		{"CastLike", "f32(3) i64(1)", nil, "i64(3); Cast[to:3]"},
		{"CastLike", "f32(3) f32(1)", nil, "f32(3); Identity"},
		{"EyeLike", "f32(2,3)", A{"dtype": int64(7), "k": int64(1)}, "i64(2,3) constant"},
	})
}

// TestRewrittenNodesAreNamed: the node that makes the result has the name of the node that
// was written, the others begin with it, and no two have one name.
func TestRewrittenNodesAreNamed(t *testing.T) {
	g := single("Tile", "f32(2,3) i64[1,4]", nil, 1)
	g.Constants = append(g.Constants, graph.Constant{"n_Reshape_1", numbers(graph.F32, list(1), 0)})
	c := mustCheck(t, g, check.Options{})
	require.Equal(t, "n_Reshape_2 n_Expand_1 n", nodeNames(c))
	require.Equal(t, "y0", c.Values[c.Outputs[0]].Name)
}

func TestFoldRewrites(t *testing.T) {
	f := func(shape []int64, x ...float64) graph.Tensor { return numbers(graph.F32, shape, x...) }
	n := func(x ...float64) graph.Tensor { return numbers(graph.I64, list(int64(len(x))), x...) }
	scalar := func(x float64) graph.Tensor { return numbers(graph.I64, []int64{}, x) }
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		args  []graph.Tensor
		want  []float64
	}{
		{"Trilu", nil, []graph.Tensor{f(list(2, 2), 1, 2, 3, 4)}, []float64{1, 2, 0, 4}},
		{"Trilu", A{"upper": int64(0)}, []graph.Tensor{f(list(2, 2), 1, 2, 3, 4), scalar(-1)}, []float64{0, 0, 3, 0}},
		{"Range", nil, []graph.Tensor{scalar(2), scalar(9), scalar(3)}, []float64{2, 5, 8}},
		{"Range", nil, []graph.Tensor{scalar(3), scalar(0), scalar(-2)}, []float64{3, 1}},
		{"Range", nil, []graph.Tensor{scalar(3), scalar(0), scalar(2)}, []float64{}},
		{"EyeLike", A{"k": int64(-1)}, []graph.Tensor{f(list(2, 2), 0, 0, 0, 0)}, []float64{0, 0, 1, 0}},
		{"OneHot", nil, []graph.Tensor{n(1, -1, 7), scalar(3), f(list(2), 5, 6)}, []float64{5, 6, 5, 5, 5, 6, 5, 5, 5}},
		{"Tile", nil, []graph.Tensor{n(1, 2), n(2)}, []float64{1, 2, 1, 2}},
	} {
		require.Equal(t, c.want, values(folded(t, c.op, c.attrs, 1, c.args...)[0]), "%s %v", c.op, c.args)
	}
}

func TestErrorsOfRewrites(t *testing.T) {
	runInfer(t, []inferCase{
		{"Tile", "f32(2,3) i64[1]", nil, "it has 1 repeats for the shape (2, 3); give it a number for each axis"},
		{"Tile", "f32(2) i64[-1]", nil,
			"axis 0 of (2) is repeated -1 times; use numbers from 0 on, and smaller ones"},
		{"DepthToSpace", "f32(1,6,2,2)", A{"blocksize": int64(2)},
			"X has 6 channels, and blocks have 4; use a divisor"},
		{"SpaceToDepth", "f32(1,6,3,2)", A{"blocksize": int64(2)},
			"its input has the shape (1, 6, 3, 2), blocks have 2; use a divisor of both"},
		{"DepthToSpace", "f32(1,4)", nil, "its input has the shape (1, 4); give it the shape (n, c, h, w)"},
		{"DepthToSpace", "f32(1,4,1,1)", nil, `its attribute "blocksize" is 0; use 1 or more, at most 2^16`},
		{"DepthToSpace", "f32(1,4,1,1)", A{"mode": "X"}, `its attribute "mode" is "X"; use DCR or CRD`},
		{"Trilu", "f32(3)", nil, "its input has the shape (3); give it matrices"},
		{"OneHot", "i64(3) i64=-1 f32(2)", nil, "its depth is -1; use 0 to 2^31"},
		{"OneHot", "i64(3) i64=1 f32(3)", nil, "values have the shape (3); give it two: off and on"},
		{"Range", "i64=1 i64=9 i64=0", nil,
			"it goes from 1 to 9 in steps of 0; use a delta that leads from start to limit"},
		{"Range", "i64=1 i64() i64=1", nil,
			`its input 1 (limit) is "b", which is not constant; make it a constant, or freeze the input "b"`},
		{"EyeLike", "f32(2)", nil, "its input has the shape (2); give it a matrix"},
	})
}
