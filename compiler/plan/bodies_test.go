package plan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
)

// checkedJSON checks a graph that is written as JSON.
func checkedJSON(t *testing.T, text string) *graph.Checked {
	t.Helper()
	g, err := json.Read(strings.NewReader(`{"tl_graph": 1, ` + text + `}`))
	require.NoError(t, err)
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	return c
}

// branches is an If whose branches need memory of their own: one a matrix, the other two.
const branches = `"inputs": [{"name": "x", "dtype": "f32", "shape": [16, 16]}, {"name": "c", "dtype": "bool", "shape": []}],
	"outputs": ["y"], "nodes": [
	{"name": "before", "op": "Neg", "inputs": ["x"], "outputs": ["a"]},
	{"name": "choice", "op": "If", "inputs": ["c"], "outputs": ["b"], "bodies": {
		"then_branch": {"tl_graph": 1, "outputs": ["p"], "nodes": [
			{"op": "MatMul", "inputs": ["a", "a"], "outputs": ["q"]}, {"op": "MatMul", "inputs": ["q", "a"], "outputs": ["p"]}]},
		"else_branch": {"tl_graph": 1, "outputs": ["p"], "nodes": [
			{"op": "MatMul", "inputs": ["a", "x"], "outputs": ["q"]}, {"op": "MatMul", "inputs": ["q", "q"], "outputs": ["r"]},
			{"op": "MatMul", "inputs": ["r", "q"], "outputs": ["p"]}]}}},
	{"name": "after", "op": "MatMul", "inputs": ["b", "b"], "outputs": ["y"]}]`

const matrix = 16 * 16 * 4

func verified(t *testing.T, c *graph.Checked, o Options) *ExecutionPlan {
	t.Helper()
	p, err := Build(c, o)
	require.NoError(t, err)
	require.NoError(t, Validate(p))
	require.NoError(t, Verify(p, c))
	return p
}

// Branches share the memory of the larger one, which is alive during the If alone, as is
// what they capture.
func TestBranchesShareMemory(t *testing.T) {
	p := verified(t, checkedJSON(t, branches), Options{NoReorder: true})
	require.Equal(t, []string{"Neg", "If", "MatMul"}, opsOf(p))
	choice := p.Instructions[1]
	require.Len(t, choice.Bodies, 2)
	assert.EqualValues(t, matrix, choice.Bodies[0].Plan.Frame.Bytes)
	assert.EqualValues(t, 2*matrix, choice.Bodies[1].Plan.Frame.Bytes)
	scratch := p.Buffers[choice.Scratch.Buffer]
	assert.EqualValues(t, 2*matrix, scratch.Bytes)
	assert.Equal(t, []int{1, 1}, []int{scratch.First, scratch.Last})
	assert.Equal(t, []int64{-1}, choice.Bodies[0].Outputs, "it is the result of the If")
	a := p.Buffers[choice.Inputs[1].Buffer]
	assert.Equal(t, "a", a.Name)
	assert.Equal(t, 1, a.Last)
	assert.EqualValues(t, 4*matrix, p.Frame.Bytes, "what is captured, the result, and the larger branch")
}

const loop = `"inputs": [{"name": "x", "dtype": "f32", "shape": [16, 16]}],
	"constants": [{"name": "n", "dtype": "i64", "shape": [], "data": 3}], "outputs": ["y"], "nodes": [
	{"name": "start", "op": "Relu", "inputs": ["x"], "outputs": ["a"]},
	{"name": "loop", "op": "Loop", "inputs": ["n", "", "a"], "outputs": ["b", "lines"], "bodies": {
		"body": {"tl_graph": 1, "inputs": ["i", "go", "v"], "outputs": ["go", "w", "line"], "nodes": [
			{"op": "MatMul", "inputs": ["v", "x"], "outputs": ["u"]}, {"op": "MatMul", "inputs": ["u", "v"], "outputs": ["w"]},
			{"op": "ReduceSum", "inputs": ["w"], "outputs": ["line"], "attrs": {"axes": [0], "keepdims": 0}}]}}},
	{"name": "after", "op": "ReduceSum", "inputs": ["lines"], "outputs": ["y"], "attrs": {"axes": [0], "keepdims": 0}}]`

// A loop has room for what a turn reads, writes and needs: none of it lies on another.
func TestLoopsHaveRoom(t *testing.T) {
	p := verified(t, checkedJSON(t, loop), Options{Scratch: func(i *Instruction) int64 {
		if i.Op == "MatMul" {
			return 100
		}
		return 0
	}})
	i := find(p, "loop")
	require.Len(t, i.Bodies, 1)
	b := i.Bodies[0]
	assert.EqualValues(t, matrix+128, b.Plan.Frame.Bytes, "u, and the temporary memory of the products")
	assert.Equal(t, []int{3}, b.Captures)
	require.Len(t, b.Inputs, 4)
	assert.EqualValues(t, -1, b.Inputs[3], "it is captured")
	require.Len(t, b.Outputs, 3)
	assert.EqualValues(t, -1, b.Outputs[2], "a line is made where it lies in the result")
	assert.EqualValues(t, matrix+128+64+64+matrix+64+matrix, p.Buffers[i.Scratch.Buffer].Bytes)
}

func TestBodiesOutOfPlace(t *testing.T) {
	for want, spoil := range map[string]func(b *Body, i *Instruction){
		"are beyond its temporary memory":   func(b *Body, _ *Instruction) { b.Frame += 64 * 1024 },
		"or taken twice":                    func(b *Body, _ *Instruction) { b.Inputs[2] = b.Frame },
		"captures argument 9":               func(b *Body, _ *Instruction) { b.Captures[0] = 9 },
		"has another shape than what it is": func(b *Body, _ *Instruction) { b.Captures[0] = 0 },
		"has places for 3 inputs":           func(b *Body, _ *Instruction) { b.Inputs = b.Inputs[:3] },
		"its body: plan: ":                  func(b *Body, _ *Instruction) { b.Plan.Buffers[b.Plan.Outputs[0].Buffer].Last = 0 },
		"temporary memory of 0":             func(_ *Body, i *Instruction) { i.Scratch = nil },
	} {
		p := verified(t, checkedJSON(t, loop), Options{})
		i := find(p, "loop")
		spoil(&i.Bodies[0], i)
		assert.ErrorContains(t, Validate(p), want)
	}
	c := checkedJSON(t, loop)
	p := verified(t, c, Options{})
	find(p, "loop").Bodies[0].Plan.Instructions[0].Inputs[0].Name = "x"
	assert.ErrorContains(t, Verify(p, c), "its body: plan: ")
	c.Nodes[1].Bodies[0].Captures[0] = 7
	_, err := Build(c, Options{})
	assert.ErrorContains(t, err, "captures argument 7")
}

// An operator that nobody knows works in no place of an argument, and writes row by row.
func TestOpaqueInstructions(t *testing.T) {
	for axis := range int64(2) {
		s := newSketch()
		s.input("in", 4, 6)
		s.node("MaxPool", "a", shape(4, 6), nil, "in")
		s.node("com.example.Twist", "b", shape(4, 6), nil, "a")
		s.node("com.example.Twist", "c", shape(4, 6), nil, "b")
		s.node("Concat", "d", shape(8-4*axis, 6+6*axis), graph.Attrs{"axis": axis}, "b", "c")
		s.node("ReduceSum", "y", shape(1, 1), nil, "d")
		s.output("y")
		for mask := range 16 {
			p := s.build(t, switched(Options{}, mask))
			for _, i := range p.Instructions {
				if i.Op == "com.example.Twist" {
					in, out := i.Inputs[0], i.Outputs[0]
					assert.True(t, in.Buffer != out.Buffer || disjoint(in.View, out.View))
					assert.True(t, out.View.IsContiguous())
				}
			}
		}
	}
}
