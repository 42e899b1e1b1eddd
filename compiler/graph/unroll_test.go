package graph_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph/check"
)

// loopOf is a Loop of known turns over x, with a body of these outputs and nodes.
func loopOf(turns, outputs, results, nodes string) string {
	return sample + `"outputs": [` + results + `], "nodes": [
		{"name": "loop", "op": "Loop", "inputs": [` + turns + `, "x"], "outputs": [` + results + `], "bodies": {
			"body": ` + inner(`"i", "go", "v"`, outputs, nodes) + `}}]`
}

// A Loop whose carried value grows, or whose body takes the number of the turn as a
// parameter, is written out where the turns are known.
func TestLoopsAreWrittenOut(t *testing.T) {
	cases := []struct {
		text  string
		ops   string
		shape []int64
	}{
		{loopOf(`"turns", ""`, `"go", "w"`, `"y"`,
			`{"op": "Concat", "inputs": ["v", "v"], "outputs": ["w"], "attrs": {"axis": 0}}`),
			"Concat Concat Concat Concat Concat Identity", []int64{64, 3}},
		{loopOf(`"turns", ""`, `"go", "v", "line"`, `"y", "lines"`,
			`{"op": "Constant", "outputs": ["two"], "attrs": {"value_int": 2}},
			{"op": "Mod", "inputs": ["i", "two"], "outputs": ["at"]},
			{"op": "Constant", "outputs": ["one"], "attrs": {"value_ints": [1]}},
			{"op": "Constant", "outputs": ["zero"], "attrs": {"value_ints": [0]}},
			{"op": "Unsqueeze", "inputs": ["at", "zero"], "outputs": ["from"]},
			{"op": "Add", "inputs": ["from", "one"], "outputs": ["to"]},
			{"op": "Slice", "inputs": ["v", "from", "to"], "outputs": ["line"]}`),
			"Identity Slice Slice Slice Slice Slice Reshape Reshape Reshape Reshape Reshape Concat Identity",
			[]int64{5, 1, 3}},
		{loopOf(`"turns", ""`, `"more", "w", "w"`, `"y", "lines"`,
			`{"op": "Constant", "outputs": ["two"], "attrs": {"value_int": 2}},
			{"op": "Less", "inputs": ["i", "two"], "outputs": ["more"]},
			{"op": "Range", "inputs": ["zero", "i", "one"], "outputs": ["none"]},
			{"op": "Constant", "outputs": ["zero"], "attrs": {"value_int": 0}},
			{"op": "Constant", "outputs": ["one"], "attrs": {"value_int": 1}},
			{"op": "Size", "inputs": ["none"], "outputs": ["n"]},
			{"op": "Cast", "inputs": ["n"], "outputs": ["f"], "attrs": {"to": "f32"}},
			{"op": "Add", "inputs": ["v", "f"], "outputs": ["w"]}`),
			"Add Add Add Identity Reshape Reshape Reshape Concat Identity", []int64{3, 2, 3}},
	}
	for _, c := range cases {
		checked, err := check.Check(readGraph(t, c.text), check.Options{})
		require.NoError(t, err)
		var ops []string
		for _, n := range checked.Nodes {
			ops = append(ops, n.Op)
		}
		assert.ElementsMatch(t, strings.Fields(c.ops), ops)
		last := checked.Outputs[len(checked.Outputs)-1]
		assert.Equal(t, c.shape, checked.Values[last].Shape)
	}
}

// What stops a Loop from being written out leaves the error of its body as it is.
func TestLoopsThatCannotBeWrittenOut(t *testing.T) {
	grows := `{"op": "Concat", "inputs": ["v", "v"], "outputs": ["w"], "attrs": {"axis": 0}}`
	for _, text := range []string{
		loopOf(`"turns", "c"`, `"go", "w"`, `"y"`, grows),
		loopOf(`"", ""`, `"go", "w"`, `"y"`, grows),
		loopOf(`"turns", ""`, `"c", "w"`, `"y"`, grows),
		strings.Replace(loopOf(`"turns", ""`, `"go", "w"`, `"y"`, grows), `"data": 5`, `"data": 257`, 1),
	} {
		_, err := check.Check(readGraph(t, text), check.Options{})
		require.ErrorContains(t, err, `node "loop" (Loop): "x" is f32 (2, 3) before and f32 (4, 3) after a turn`)
	}
	_, err := check.Check(readGraph(t, loopOf(`"turns", ""`, `"go", "w", "w"`, `"y", "lines"`, grows)), check.Options{})
	require.ErrorContains(t, err, "carry it in one type and shape", "what is collected has a shape of its own in each turn")
}

// The constants of bodies are those of the graph around them, and stand there once.
func TestConstantsOfBodies(t *testing.T) {
	adds := func(deep string) string {
		return inner("", `"p"`, `{"op": "Add", "inputs": ["x", "w"], "outputs": ["q"]},
			{"op": "Constant", "outputs": ["own"], "attrs": {"value_floats": [1, 2, `+deep+`]}},
			{"op": "Mul", "inputs": ["q", "own"], "outputs": ["p"]}`)
	}
	c, err := check.Check(readGraph(t, `"inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]},
		{"name": "c", "dtype": "bool", "shape": []}], "outputs": ["y"],
		"constants": [{"name": "w", "dtype": "f32", "shape": [3], "data": [1, 2, 3]}], "nodes": [
		{"name": "choice", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
			"then_branch": `+adds("5")+`,
			"else_branch": `+inner("", `"z"`, `{"op": "If", "inputs": ["c"], "outputs": ["z"], "bodies": {
				"then_branch": `+adds("4")+`, "else_branch": `+inner("", `"x"`, "")+`}}`)+`}}]`), check.Options{})
	require.NoError(t, err)
	n := c.Nodes[0]
	var names []string
	constants := 0
	for _, v := range n.Inputs {
		names = append(names, c.Values[v].Name)
		if c.Values[v].Constant != nil {
			constants++
		}
	}
	assert.ElementsMatch(t, []string{"c", "x", "c", "w", "own_1", "own_1_1"}, names)
	assert.Equal(t, 3, constants)
	for _, b := range n.Bodies {
		for _, v := range b.Graph.Values {
			assert.Nil(t, v.Constant, v.Name)
		}
	}
	assert.Contains(t, n.Bodies[1].Captures, n.Bodies[0].Captures[1], "w is one capture of both")
}
