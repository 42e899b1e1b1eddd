package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

func nonZeroGraph(shape string) string {
	return `"inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}], "outputs": ["z"], "nodes": [
		{"name": "n", "op": "NonZero", "inputs": ["x"], "outputs": ["y"]}, {"op": "Abs", "inputs": ["y"], "outputs": ["z"]}],
		"values": [{"name": "y", "dtype": "i64", "shape": ` + shape + `}]`
}

func TestNonZero(t *testing.T) {
	c, err := check.Check(readGraph(t, nonZeroGraph(`[2, 4]`)), check.Options{})
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 4}, c.Values[c.Outputs[0]].Shape)
	c, err = check.Check(readGraph(t, nonZeroGraph(`[2, "k"]`)), check.Options{Bind: map[string]int64{"k": 5}})
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 5}, c.Values[c.Outputs[0]].Shape)
	x := numbers(graph.F32, []int64{2, 3}, 0, 1, 0, 0, -1, 2)
	c, err = check.Check(readGraph(t, nonZeroGraph(`[2, "k"]`)), check.Options{Freeze: map[string]graph.Tensor{"x": x}})
	require.NoError(t, err)
	y := c.Values[c.Outputs[0]].Constant
	assert.Equal(t, numbers(graph.I64, []int64{2, 3}, 0, 1, 1, 1, 1, 2), *y)
	for shape, want := range map[string]string{
		`[2, "k"]`: `node "n" (NonZero): how many elements are not 0 is not known: it is declared as i64 (2, k), and "k" is ` +
			`not bound; state the shape of its result (value_info of ONNX, values of a JSON graph), and bind its symbols; or ` +
			`make its argument constant`,
		`[2, 7]`: `node "n" (NonZero): its result is declared with the shape (2, 7); state (2, n) for an n of at most 6`,
		`[1, 4]`: `node "n" (NonZero): its result is declared with the shape (1, 4); state (2, n) for an n of at most 6`,
	} {
		_, err := check.Check(readGraph(t, nonZeroGraph(shape)), check.Options{})
		require.EqualError(t, err, want)
	}
}
