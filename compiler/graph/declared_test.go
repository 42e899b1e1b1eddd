package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func declare(name string, d DType, shape ...Dim) Declaration {
	return Declaration{Value: Value{Name: name, DType: d, Shape: shape}}
}

func dims(sizes ...int64) []Dim { return valueOf("", F32, sizes).Shape }

// What a graph states of its values has to be what they are.
func TestDeclarationsThatContradict(t *testing.T) {
	for want, list := range map[string][]Declaration{
		`node "n" (Relu): its result "y0" is declared as f32 (2, 3) and is f32 (2, 4); correct the declaration or the node`: {
			declare("y0", F32, dims(2, 3)...)},
		`node "n" (Relu): its result "y0" is declared as f64 (2, 4) and is f32 (2, 4); correct the declaration or the node`: {
			declare("y0", F64, dims(2, 4)...)},
		`node "n" (Relu): its result "y0" is declared as f32 (N) and is f32 (2, 4); correct the declaration or the node`: {
			declare("y0", F32, Dim{Symbol: "N"})},
		`node "n" (Relu): its result "y0" is declared as i64 and is f32 (2, 4); correct the declaration or the node`: {
			{Value: Value{Name: "y0", DType: I64}, Unranked: true}},
		`input 0 "a" is declared as f32 (4, 2) and is f32 (2, 4); correct one of both`: {declare("a", F32, dims(4, 2)...)},
		`the value "y0" is declared twice, as f32 (2, 4) and as f32 (2, 5); keep the declaration that is right`: {
			declare("y0", F32, dims(2, 4)...), declare("y0", F32, dims(2, 5)...)},
		`the value "y0" is declared with the element type 99, which does not exist; use one of package graph's`: {
			declare("y0", 99)},
	} {
		g := single("Relu", "f32(2,4)", nil, 1)
		g.Declared = list
		_, err := Check(g, CheckOptions{})
		require.EqualError(t, err, want)
	}
}

// Symbols stand for any extent, a declaration without a shape for any shape, and names that
// nothing makes for nothing.
func TestDeclarationsThatDoNotContradict(t *testing.T) {
	for _, list := range [][]Declaration{
		{declare("y0", F32, dims(2, 4)...)},
		{declare("y0", F32, Dim{Symbol: "batch"}, Dim{Size: 4}), declare("y0", F32, Dim{Size: 2}, Dim{Symbol: "?"})},
		{{Value: Value{Name: "y0", DType: F32}, Unranked: true}, declare("y0", F32, dims(2, 4)...)},
		{declare("gone", I64, dims(7)...)},
	} {
		g := single("Relu", "f32(2,4)", nil, 1)
		g.Declared = list
		_, err := Check(g, CheckOptions{})
		require.NoError(t, err)
	}
}
