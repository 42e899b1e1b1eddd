package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
)

func TestRewritesOfEinsum(t *testing.T) {
	runInfer(t, []inferCase{
		{"Einsum", "f32(2,3) f32(3,4)", A{"equation": "ij,jk->ik"}, "f32(2,4); MatMul"},
		{"Einsum", "f32(2,3) f32(3,4)", A{"equation": "ij, jk"}, "f32(2,4); MatMul"},
		{"Einsum", "f32(5,2,3) f32(5,4,3)", A{"equation": "bij,bkj->bik"},
			"f32(5,2,4); Transpose[perm:[0 2 1]]; MatMul"},
		{"Einsum", "f32(2,3,3)", A{"equation": "...ii->...i"},
			"f32(2,3); Reshape[shape:[2 9]]; Slice[ends:[2 9] starts:[0 0] steps:[1 4]]"},
		{"Einsum", "f32(2,3)", A{"equation": "ij->"}, "f32(); ReduceSum[axes:[0 1] keepdims:0]"},
		{"Einsum", "f32(2,3) f32(2,3)", A{"equation": "ij,ij->ji"}, "f32(3,2); Mul; Transpose[perm:[1 0]]"},
		{"Einsum", "f32(2) f32(3) f32(4)", A{"equation": "i,j,k->kji"},
			"f32(4,3,2); Reshape[shape:[2 1]]; Reshape[shape:[1 3]]; Mul; Reshape[shape:[2 3 1]]; " +
				"Reshape[shape:[1 1 4]]; Mul; Transpose[perm:[2 1 0]]"},
		{"Einsum", "f32(1,3) f32(2,3)", A{"equation": "ij,ij->i"},
			"f32(2); Reshape[shape:[3]]; Transpose[perm:[1 0]]; Reshape[shape:[1 3]]; MatMul; Reshape[shape:[2]]"},
	})
}

func TestFoldEinsum(t *testing.T) {
	x := numbers(graph.F32, list(2, 2), 1, 2, 3, 4)
	require.Equal(t, []float64{1, 4}, values(folded(t, "Einsum", A{"equation": "ii->i"}, 1, x)[0]))
}

func TestErrorsOfEinsum(t *testing.T) {
	runInfer(t, []inferCase{
		{"Einsum", "f32(2,3)", A{"equation": "i,j"}, `its equation "i,j" has 2 terms, and it has 1 arguments; give a ` +
			"term for each argument"},
		{"Einsum", "f32(2,3)", A{"equation": "i->i"}, `term "i" of its equation does not go with the shape (2, 3); ` +
			`give ` +
			"it a letter for each axis, or an ellipsis for some"},
		{"Einsum", "f32(2,3)", A{"equation": "ij->ik"},
			`"k" does not; each letter of the result stands there once, and in some term`},
		{"Einsum", "f32(2,3) f32(2,4)", A{"equation": "ij,ij->i"},
			`"j" is 3 and 4; extents of one letter must be equal, or 1`},
	})
}
