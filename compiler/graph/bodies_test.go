package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

// inner is a body as JSON: its inputs and nodes, and that its output is called as it says.
func inner(inputs, outputs, nodes string) string {
	return `{"tl_graph": 1, "inputs": [` + inputs + `], "outputs": [` + outputs + `], "nodes": [` + nodes + `]}`
}

const sample = `"inputs": [{"name": "x", "dtype": "f32", "shape": [2, 3]}, {"name": "c", "dtype": "bool", "shape": []}],
	"constants": [{"name": "turns", "dtype": "i64", "shape": [], "data": 5}, {"name": "s", "dtype": "i64", "shape": [1], "data": [6]}],`

func TestBranches(t *testing.T) {
	c, err := check.Check(readGraph(t, sample+`"outputs": ["y"], "nodes": [
		{"name": "n", "op": "Neg", "inputs": ["x"], "outputs": ["a"]},
		{"name": "choice", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
			"then_branch": `+inner("", `"p"`, `{"op": "Reshape", "inputs": ["a", "s"], "outputs": ["p"]}`)+`,
			"else_branch": `+inner("", `"r"`, `{"op": "Reshape", "inputs": ["x", "s"], "outputs": ["q"]},
				{"op": "Relu", "inputs": ["q"], "outputs": ["r"]}`)+`}}]`), check.Options{})
	require.NoError(t, err)
	require.Equal(t, "n choice", nodeNames(c))
	n := c.Nodes[1]
	assert.Equal(t, []int64{6}, c.Values[n.Outputs[0]].Shape)
	require.Len(t, n.Inputs, 3, "the condition, and what both branches capture")
	assert.Equal(t, []string{"c", "a", "x"}, []string{c.Values[n.Inputs[0]].Name, c.Values[n.Inputs[1]].Name,
		c.Values[n.Inputs[2]].Name})
	require.Len(t, n.Bodies, 2)
	assert.Equal(t, []int{1}, n.Bodies[0].Captures)
	assert.Equal(t, []int{2}, n.Bodies[1].Captures)
	assert.Len(t, n.Bodies[1].Graph.Nodes, 2)
	assert.Equal(t, "Reshape", n.Bodies[0].Graph.Nodes[0].Op, "the captured constant is one in the body")
}

func TestLoops(t *testing.T) {
	c, err := check.Check(readGraph(t, sample+`"outputs": ["last", "all"], "nodes": [
		{"name": "loop", "op": "Loop", "inputs": ["turns", "", "x"], "outputs": ["last", "all"], "bodies": {
			"body": `+inner(`"i", "go", "v"`, `"go", "w", "line"`, `{"op": "Add", "inputs": ["v", "x"], "outputs": ["w"]},
				{"op": "ReduceSum", "inputs": ["w"], "outputs": ["line"], "attrs": {"axes": [0], "keepdims": 0}}`)+`}}]`),
		check.Options{})
	require.NoError(t, err)
	n := c.Nodes[0]
	assert.Equal(t, []int64{2, 3}, c.Values[n.Outputs[0]].Shape)
	assert.Equal(t, []int64{5, 3}, c.Values[n.Outputs[1]].Shape, "a line for each turn")
	b := n.Bodies[0].Graph
	require.Len(t, b.Inputs, 4)
	assert.Equal(t, graph.I64, b.Values[b.Inputs[0]].DType)
	assert.Equal(t, graph.Bool, b.Values[b.Inputs[1]].DType)
	assert.Equal(t, []int{3}, n.Bodies[0].Captures, "x stands among the node's inputs once more, as what is captured")
	assert.Equal(t, n.Inputs[2], n.Inputs[3])
}

func TestScans(t *testing.T) {
	c, err := check.Check(readGraph(t, sample+`"outputs": ["sum", "sums"], "nodes": [
		{"op": "ReduceSum", "inputs": ["x"], "outputs": ["start"], "attrs": {"axes": [1], "keepdims": 0}},
		{"name": "scan", "op": "Scan", "inputs": ["start", "x"], "outputs": ["sum", "sums"],
			"attrs": {"num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [-1]}, "bodies": {
			"body": `+inner(`"s", "column"`, `"t", "u"`, `{"op": "Add", "inputs": ["s", "column"], "outputs": ["t"]},
				{"op": "Neg", "inputs": ["t"], "outputs": ["u"]}`)+`}}]`), check.Options{})
	require.NoError(t, err)
	n := c.Nodes[1]
	assert.Equal(t, []int64{2}, c.Values[n.Outputs[0]].Shape)
	assert.Equal(t, []int64{2, 3}, c.Values[n.Outputs[1]].Shape)
	b := n.Bodies[0].Graph
	assert.Equal(t, []int64{2}, b.Values[b.Inputs[1]].Shape)
}

// A condition that asks for shapes is constant: the nodes of its branch stand in the place
// of the If.
func TestKnownBranches(t *testing.T) {
	for axis, want := range []string{"choice/Neg_0 choice/deep after", "choice/2"} {
		c, err := check.Check(readGraph(t, fmt.Sprintf(sample+`"outputs": ["y", "z", "u"], "nodes": [
			{"op": "Shape", "inputs": ["x"], "outputs": ["d"], "attrs": {"start": %d, "end": %d}},
			{"op": "Constant", "outputs": ["two"], "attrs": {"value_ints": [2]}},
			{"op": "Equal", "inputs": ["d", "two"], "outputs": ["e"]},
			{"name": "choice", "op": "If", "inputs": ["e"], "outputs": ["y", "z", "w"], "bodies": {
				"then_branch": `+inner("", `"p", "s", "q"`, `{"op": "Neg", "inputs": ["x"], "outputs": ["q"]},
					{"name": "deep", "op": "Relu", "inputs": ["q"], "outputs": ["p"]}`)+`,
				"else_branch": `+inner("", `"s", "s", "x"`, "")+`}},
			{"name": "after", "op": "Neg", "inputs": ["w"], "outputs": ["u"]}]`, axis, axis+1)), check.Options{})
		require.NoError(t, err)
		if axis == 1 {
			want += " after"
		}
		require.Equal(t, want, nodeNames(c))
		require.Len(t, c.Outputs, 3)
		for k, name := range []string{"y", "z", "u"} {
			assert.Equal(t, name, c.Values[c.Outputs[k]].Name)
		}
		assert.NotNil(t, c.Values[c.Outputs[1]].Constant)
		assert.Equal(t, axis == 1, c.Values[c.Outputs[0]].Constant != nil)
		assert.Equal(t, []int64{2, 3}, c.Values[c.Outputs[2]].Shape)
	}
}

// A body in a body reads what is around both; all of it stays alive.
func TestBodiesInBodies(t *testing.T) {
	c, err := check.Check(readGraph(t, sample+`"outputs": ["y"], "nodes": [
		{"name": "choice", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
			"then_branch": `+inner("", `"p"`, `{"op": "If", "inputs": ["c"], "outputs": ["p"], "bodies": {
				"then_branch": `+inner("", `"q"`, `{"op": "Neg", "inputs": ["a"], "outputs": ["q"]}`)+`,
				"else_branch": `+inner("", `"r"`, `{"op": "Abs", "inputs": ["x"], "outputs": ["r"]}`)+`}}`)+`,
			"else_branch": `+inner("", `"a"`, "")+`}},
		{"name": "n", "op": "Neg", "inputs": ["x"], "outputs": ["a"]}]`), check.Options{})
	require.NoError(t, err)
	require.Equal(t, "n choice", nodeNames(c), "what a body captures is made before")
	then := c.Nodes[1].Bodies[0].Graph
	assert.Len(t, then.Inputs, 3, "c, a and x")
	assert.Len(t, then.Nodes[0].Bodies, 2)
}

var bodyErrors = []struct{ nodes, want string }{
	{`{"name": "n", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
		"then_branch": ` + inner("", `"p"`, `{"op": "Neg", "inputs": ["gone"], "outputs": ["p"]}`) + `,
		"else_branch": ` + inner("", `"x"`, "") + `}}`,
		`node "n" (If): its then_branch: node "Neg_0" (Neg): its input 0 is "gone", which nothing makes; declare it as an ` +
			`input or a constant, or add the node that makes it`},
	{`{"name": "n", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
		"then_branch": ` + inner("", `"x"`, "") + `}}`,
		`node "n" (If): it has 1 inputs and 1 branches; give it a condition, then_branch and else_branch`},
	{`{"name": "n", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
		"then_branch": ` + inner("", `"x"`, "") + `, "else_branch": ` + inner("", `"c"`, "") + `}}`,
		`node "n" (If): its result 0 is f32 in then_branch and bool in else_branch; put a Cast into one of them`},
	{`{"name": "n", "op": "If", "inputs": ["c"], "outputs": ["y"], "bodies": {
		"then_branch": ` + inner("", `"x"`, "") + `, "else_branch": ` + inner("", `"p"`,
		`{"op": "Transpose", "inputs": ["x"], "outputs": ["p"]}`) + `}}`,
		"the type of a result is not known: \"y\" of node \"n\" (If): its branches give " +
			"(2, 3) and (3, 2), and nothing declares it; declare the element type and the shape of each (value_info of " +
			"ONNX, values of a JSON graph), and bind their symbols"},
	{`{"name": "n", "op": "Loop", "inputs": ["turns", "c", "x"], "outputs": ["y"], "bodies": {
		"body": ` + inner(`"i", "go", "v"`, `"go", "w"`, `{"op": "Concat", "inputs": ["v", "v"], "outputs": ["w"], "attrs": {"axis": 0}}`) + `}}`,
		`node "n" (Loop): "x" is f32 (2, 3) before and f32 (4, 3) after a turn; carry it in one type and shape, that of its largest`},
	{`{"name": "n", "op": "Loop", "inputs": ["turns", "", "x"], "outputs": ["y"], "bodies": {
		"body": ` + inner(`"i", "go"`, `"go"`, "") + `}}`,
		`node "n" (Loop): its body has 2 inputs, and Loop gives it 3; declare as many`},
	{`{"name": "n", "op": "Scan", "inputs": ["x"], "outputs": ["y"], "bodies": {"body": ` + inner(`"v"`, `"v"`, "") + `}}`,
		`node "n" (Scan): its attribute "num_scan_inputs" is 0, and it has 1 inputs; give the number of the inputs that it goes over`},
	{`{"name": "n", "op": "Loop", "inputs": ["turns", "", "x"], "outputs": ["y"], "bodies": {
		"body": ` + inner(`"i", "go", "v"`, `"go", "w"`, `{"name": "deep", "op": "Twist", "inputs": ["v"], "outputs": ["w"]}`) + `}}`,
		"the type of a result is not known: \"w\" of node \"deep\" (Twist): nothing declares " +
			"it; declare the element type and the shape of each (value_info of ONNX, values of a JSON graph), and bind " +
			"their symbols"},
}

func TestErrorsOfBodies(t *testing.T) {
	for _, c := range bodyErrors {
		_, err := check.Check(readGraph(t, sample+`"outputs": ["y"], "nodes": [`+c.nodes+`]`), check.Options{})
		require.EqualError(t, err, c.want)
	}
}
