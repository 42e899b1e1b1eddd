package graph_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/graph/ops"
)

func readGraph(t *testing.T, text string) *graph.Graph {
	t.Helper()
	g, err := json.Read(strings.NewReader(`{"tl_graph": 1, ` + text + `}`))
	require.NoError(t, err)
	return g
}

const twisted = `"inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 4]}], "outputs": ["z"],
	"constants": [{"name": "k", "dtype": "i64", "shape": [1], "data": [3]}],
	"nodes": [{"name": "first", "op": "Relu", "inputs": ["x"], "outputs": ["a"]},
		{"name": "second", "op": "com.example.Twist", "inputs": ["a", "", "k"], "outputs": ["b", "unused", "c"], "attrs": {"turns": 2}},
		{"name": "third", "op": "Add", "inputs": ["b", "c"], "outputs": ["z"]}],
	"values": [{"name": "b", "dtype": "f32", "shape": ["n", 2]}, {"name": "c", "dtype": "f32", "shape": [2]}]`

// An operator that Check does not know stays as it is; its results have the declared types.
func TestOpaqueNodes(t *testing.T) {
	c, err := check.Check(readGraph(t, twisted), check.Options{Bind: map[string]int64{"n": 5}})
	require.NoError(t, err)
	require.Equal(t, "first second third", nodeNames(c))
	n := c.Nodes[1]
	assert.Equal(t, "com.example.Twist", n.Op)
	assert.Equal(t, graph.Attrs{"turns": int64(2)}, n.Attrs)
	require.Len(t, n.Inputs, 3)
	assert.Equal(t, "a", c.Values[n.Inputs[0]].Name)
	assert.Equal(t, -1, n.Inputs[1])
	assert.NotNil(t, c.Values[n.Inputs[2]].Constant, "a constant stays an argument")
	require.Len(t, n.Outputs, 3)
	assert.Equal(t, []int64{5, 2}, c.Values[n.Outputs[0]].Shape)
	assert.Equal(t, -1, n.Outputs[1], "nobody asks for it")
	assert.Equal(t, 1, c.Values[n.Outputs[2]].Producer)
	assert.False(t, ops.Known(n.Op))
	assert.True(t, ops.Known("Relu"))
}

// All results without a type are named at once, with what is missing of each.
func TestTypesThatAreMissing(t *testing.T) {
	g := readGraph(t, `"inputs": [{"name": "x", "dtype": "f32", "shape": [2]}], "outputs": ["z", "u"],
	"nodes": [{"name": "first", "op": "Twist", "inputs": ["x"], "outputs": ["a", "b"]},
		{"name": "second", "op": "Relu", "inputs": ["a"], "outputs": ["c"]},
		{"name": "third", "op": "Twist", "inputs": ["c", "b"], "outputs": ["d"]},
		{"name": "fourth", "op": "Neg", "inputs": ["d"], "outputs": ["z"]},
		{"name": "fifth", "op": "Turn", "inputs": ["e"], "outputs": ["u"]},
		{"name": "sixth", "op": "Neg", "inputs": ["c"], "outputs": ["e"]}],
	"values": [{"name": "a", "dtype": "f32"}, {"name": "d", "dtype": "f32", "shape": ["m", 2]},
		{"name": "e", "dtype": "f32", "shape": [2]}]`)
	_, err := check.Check(g, check.Options{})
	require.EqualError(t, err, "the types of 4 results are not known: "+
		"\"a\" of node \"first\" (Twist): it is declared without a shape; "+
		"\"b\" of node \"first\" (Twist): nothing declares it; "+
		"\"d\" of node \"third\" (Twist): it is declared as f32 (m, 2), and \"m\" is not bound; "+
		"\"u\" of node \"fifth\" (Turn): nothing declares it; "+
		"declare the element type and the shape of each (value_info of ONNX, values of a JSON graph), and bind their symbols")
	_, err = check.Check(g, check.Options{Bind: map[string]int64{"m": 3, "k": 1}})
	require.ErrorContains(t, err, `the symbol "k" is bound, which no input has`)
}

// Who is asked for types is asked for what the graph does not declare, and sees the
// arguments.
func TestTypesThatAreInferred(t *testing.T) {
	g := readGraph(t, `"inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}], "outputs": ["z"],
	"constants": [{"name": "k", "dtype": "i64", "shape": [1], "data": [3]}],
	"nodes": [{"name": "first", "op": "Twist", "inputs": ["x", "", "k"], "outputs": ["a"]},
		{"name": "second", "op": "Twist", "inputs": ["a"], "outputs": ["b"]},
		{"name": "third", "op": "Neg", "inputs": ["b"], "outputs": ["z"]}],
	"values": [{"name": "b", "dtype": "f32", "shape": [7]}]`)
	asked := 0
	c, err := check.Check(g, check.Options{Infer: func(q *check.Inquiry) ([]graph.Declaration, error) {
		asked++
		assert.Equal(t, "first", q.Node.Name)
		require.Len(t, q.Arguments, 3)
		assert.Equal(t, []int64{2, 3}, q.Arguments[0].Shape)
		assert.Nil(t, q.Arguments[1])
		assert.EqualValues(t, 3, q.Arguments[2].Constant.IntAt(0))
		return []graph.Declaration{{Value: graph.Value{"a", graph.F64, dims(3, 2)}}}, nil
	}})
	require.NoError(t, err)
	assert.Equal(t, 1, asked)
	a := c.Values[c.Nodes[0].Outputs[0]]
	assert.Equal(t, graph.F64, a.DType)
	assert.Equal(t, []int64{3, 2}, a.Shape)
	_, err = check.Check(g, check.Options{Infer: func(*check.Inquiry) ([]graph.Declaration, error) { return nil, errors.New("nobody is in") }})
	require.ErrorContains(t, err, "they could not be inferred: nobody is in")
	require.ErrorContains(t, err, `"a" of node "first" (Twist)`)
}

// A shape that is no constant leaves the types to the graph: where it tells them, the node is
// opaque and says why, else that is the error.
func TestShapesThatComeLater(t *testing.T) {
	text := `"inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}, {"name": "s", "dtype": "i64", "shape": [2]}],
	"outputs": ["z"], "nodes": [{"name": "r", "op": "Reshape", "inputs": ["x", "s"], "outputs": ["y"], "attrs": {"allowzero": 0}},
		{"op": "Neg", "inputs": ["y"], "outputs": ["z"]}]`
	why := `its input 1 (shape) is "s", which is not constant; make it a constant, or freeze the input "s"`
	_, err := check.Check(readGraph(t, text), check.Options{})
	require.EqualError(t, err, `node "r" (Reshape): `+why)
	c, err := check.Check(readGraph(t, text+`, "values": [{"name": "y", "dtype": "f32", "shape": [3, 2]}]`), check.Options{})
	require.NoError(t, err)
	require.Equal(t, "r Neg_1", nodeNames(c))
	n := c.Nodes[0]
	assert.Equal(t, "ai.onnx.Reshape", n.Op)
	assert.Equal(t, graph.Attrs{"allowzero": int64(0), check.ReasonAttr: why}, n.Attrs)
	assert.Len(t, n.Inputs, 2)
	assert.Equal(t, []int64{3, 2}, c.Values[n.Outputs[0]].Shape)
	assert.False(t, ops.Known(n.Op))
	c, err = check.Check(readGraph(t, text+`, "values": [{"name": "y", "dtype": "f32", "shape": [3, 2]}]`),
		check.Options{Freeze: map[string]graph.Tensor{"s": graph.IntsTensor([]int64{3, 2})}})
	require.NoError(t, err)
	assert.Equal(t, "Reshape", c.Nodes[0].Op)
}

func TestAttributesOfOpaqueNodes(t *testing.T) {
	for want, value := range map[string]any{
		`its attribute "a" is the Go type int; use one of the types of graph.Attrs`: 3,
		`its attribute "a" is f32 (2), which takes 8 bytes, and has 0; correct it`:  graph.Tensor{graph.F32, list(2), nil},
	} {
		g := single("Twist", "f32(1)", graph.Attrs{"a": value}, 1)
		_, err := check.Check(g, check.Options{})
		require.ErrorContains(t, err, want)
	}
}
