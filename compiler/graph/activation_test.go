package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

func TestFoldActivations(t *testing.T) {
	f := func(shape []int64, x ...float64) graph.Tensor { return numbers(graph.F32, shape, x...) }
	n := func(x ...float64) graph.Tensor { return numbers(graph.I64, list(int64(len(x))), x...) }
	for _, c := range []struct {
		op    string
		attrs graph.Attrs
		args  []graph.Tensor
		want  []float64
	}{
		{"Mod", nil, []graph.Tensor{n(-7, 7), n(3)}, []float64{2, 1}},
		{"Mod", A{"fmod": int64(1)}, []graph.Tensor{n(-7, 7), n(3)}, []float64{-1, 1}},
		{"Mod", nil, []graph.Tensor{f(list(2), -7, 7), f(list(1), -3)}, []float64{-1, -2}},
		{"Sign", nil, []graph.Tensor{n(-7, 0, 7)}, []float64{-1, 0, 1}},
		{"Sign", nil, []graph.Tensor{f(list(2), -7, 3)}, []float64{-1, 1}},
		{"Round", nil, []graph.Tensor{f(list(3), 0.5, 1.5, -2.5)}, []float64{0, 2, -2}},
		{"Cos", nil, []graph.Tensor{f(list(1), 0)}, []float64{1}},
		{"BitwiseNot", nil, []graph.Tensor{n(0, 5)}, []float64{-1, -6}},
	} {
		require.Equal(t, c.want, values(folded(t, c.op, c.attrs, 1, c.args...)[0]), "%s %v", c.op, c.args)
	}
}

func TestErrorsOfActivations(t *testing.T) {
	runInfer(t, []inferCase{
		{"Gelu", "f32(2)", A{"approximate": "erf"}, `its attribute "approximate" is "erf"; use none or tanh`},
		{"PRelu", "f32(2) f32(3)", nil, "slope has the shape (3), X (2); it has to broadcast to X"},
		{"BitShift", "u8(2) u8(2)", A{"direction": "UP"}, `its attribute "direction" is "UP"; use LEFT or RIGHT`},
	})
}
