package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

func declare(name string, d graph.DType, shape ...graph.Dim) graph.Declaration {
	return graph.Declaration{Value: graph.Value{Name: name, DType: d, Shape: shape}}
}

func dims(sizes ...int64) []graph.Dim {
	list := make([]graph.Dim, len(sizes))
	for i, size := range sizes {
		list[i].Size = size
	}
	return list
}

// What a graph states of its values has to be what they are.
func TestDeclarationsThatContradict(t *testing.T) {
	for want, list := range map[string][]graph.Declaration{
		`node "n" (Relu): its result "y0" is declared as f32 (2, 3) and is f32 (2, 4); correct the declaration or the node`: {
			declare("y0", graph.F32, dims(2, 3)...)},
		`node "n" (Relu): its result "y0" is declared as f64 (2, 4) and is f32 (2, 4); correct the declaration or the node`: {
			declare("y0", graph.F64, dims(2, 4)...)},
		`node "n" (Relu): its result "y0" is declared as f32 (N) and is f32 (2, 4); correct the declaration or the node`: {
			declare("y0", graph.F32, graph.Dim{Symbol: "N"})},
		`node "n" (Relu): its result "y0" is declared as i64 and is f32 (2, 4); correct the declaration or the node`: {
			{Value: graph.Value{Name: "y0", DType: graph.I64}, Unranked: true}},
		`input 0 "a" is declared as f32 (4, 2) and is f32 (2, 4); correct one of both`: {declare("a", graph.F32, dims(4, 2)...)},
		`the value "y0" is declared twice, as f32 (2, 4) and as f32 (2, 5); keep the declaration that is right`: {
			declare("y0", graph.F32, dims(2, 4)...), declare("y0", graph.F32, dims(2, 5)...)},
		`the value "y0" is declared with the element type 99, which does not exist; use one of package graph's`: {
			declare("y0", 99)},
	} {
		g := single("Relu", "f32(2,4)", nil, 1)
		g.Declared = list
		_, err := check.Check(g, check.Options{})
		require.EqualError(t, err, want)
	}
}

// Symbols stand for any extent, a declaration without a shape for any shape, and names that
// nothing makes for nothing.
func TestDeclarationsThatDoNotContradict(t *testing.T) {
	for _, list := range [][]graph.Declaration{
		{declare("y0", graph.F32, dims(2, 4)...)},
		{declare("y0", graph.F32, graph.Dim{Symbol: "batch"}, graph.Dim{Size: 4}), declare("y0", graph.F32, graph.Dim{Size: 2}, graph.Dim{Symbol: "?"})},
		{{Value: graph.Value{Name: "y0", DType: graph.F32}, Unranked: true}, declare("y0", graph.F32, dims(2, 4)...)},
		{declare("gone", graph.I64, dims(7)...)},
	} {
		g := single("Relu", "f32(2,4)", nil, 1)
		g.Declared = list
		_, err := check.Check(g, check.Options{})
		require.NoError(t, err)
	}
}
