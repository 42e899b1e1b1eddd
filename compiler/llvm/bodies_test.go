package llvm

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/plan"
)

// powers doubles x in each of n turns, or halves it where it got above 10, and collects what
// it has; then it adds the lines up from the last to the first.
const powers = `{"tl_graph": 1, "name": "powers", "inputs": [{"name": "x", "dtype": "f32", "shape": [2]},
		{"name": "n", "dtype": "i64", "shape": [1]}, {"name": "c", "dtype": "bool", "shape": []}],
	"constants": [{"name": "two", "dtype": "f32", "shape": [2], "data": [2, 2]},
		{"name": "ten", "dtype": "f32", "shape": [], "data": 10}],
	"values": [{"name": "lines", "dtype": "f32", "shape": [5, 2]}],
	"outputs": ["y", "lines", "sum", "sums"], "nodes": [
	{"name": "loop", "op": "Loop", "inputs": ["n", "c", "x"], "outputs": ["y", "lines"], "bodies": {
		"body": {"tl_graph": 1, "inputs": ["i", "go", "v"], "outputs": ["go", "w", "w"], "nodes": [
			{"op": "ReduceMax", "inputs": ["v"], "outputs": ["top"], "attrs": {"keepdims": 0}},
			{"op": "Greater", "inputs": ["top", "ten"], "outputs": ["far"]},
			{"name": "choice", "op": "If", "inputs": ["far"], "outputs": ["w"], "bodies": {
				"then_branch": {"tl_graph": 1, "outputs": ["d"], "nodes": [
					{"op": "Div", "inputs": ["v", "two"], "outputs": ["d"]}]},
				"else_branch": {"tl_graph": 1, "outputs": ["m"], "nodes": [
					{"op": "Mul", "inputs": ["v", "two"], "outputs": ["m"]}]}}}]}}},
	{"op": "Neg", "inputs": ["lines"], "outputs": ["minus"]},
	{"name": "scan", "op": "Scan", "inputs": ["x", "minus"], "outputs": ["sum", "sums"],
		"attrs": {"num_scan_inputs": 1, "scan_input_directions": [1], "scan_output_axes": [1]}, "bodies": {
		"body": {"tl_graph": 1, "inputs": ["s", "line"], "outputs": ["t", "t"], "nodes": [
			{"op": "Add", "inputs": ["s", "line"], "outputs": ["t"]}]}}}]}`

func planOf(t testing.TB, text string, o plan.Options) *plan.ExecutionPlan {
	t.Helper()
	g, err := json.Read(strings.NewReader(text))
	require.NoError(t, err)
	c, err := check.Check(g, check.Options{})
	require.NoError(t, err)
	p, err := plan.Build(c, o)
	require.NoError(t, err)
	require.NoError(t, plan.Verify(p, c))
	return p
}

func joinFloats(d graph.DType, list ...float64) (data []byte) {
	for _, x := range list {
		data = append(data, encode(d, x)...)
	}
	return data
}

// If, Loop and Scan run wherever their frames lie.
func TestBodies(t *testing.T) {
	var jobs []*job
	for name, o := range map[string]Options{"bodies": {}, "bodies_slots": {Memory: Slots},
		"bodies_caller": {Memory: Caller}, "bodies_embedded": {EmbedBytes: 64}} {
		for turns, status := range map[float64]int32{5: 0, 4: 1, 6: 1} {
			p := planOf(t, powers, plan.Options{})
			inputs := [][]byte{joinFloats(graph.F32, 1, 3), encode(graph.I64, turns), {1}}
			for _, b := range p.Buffers {
				if b.Kind == plan.Constant {
					inputs = append(inputs, b.Constant.Data)
				}
			}
			jobs = append(jobs, &job{name: name + "_" + string(rune('a'+int(turns))), plan: p, opts: o, inputs: inputs,
				check: func(t *testing.T, got int32, outputs [][]byte) {
					require.Equal(t, status, got)
					for i, want := range [][]float64{{2, 6}, {2, 6, 4, 12, 2, 6, 4, 12, 2, 6}, {-13, -39},
						{-1, -5, -7, -11, -13, -3, -15, -21, -33, -39}} {
						if status == 0 {
							assert.Equal(t, joinFloats(graph.F32, want...), outputs[i], i)
						}
					}
				}})
		}
	}
	run(t, jobs)
}

func TestChecksOfBodies(t *testing.T) {
	assert.Equal(t, []string{`node "loop" (Loop): it collects 5 parts, so that it has to make 5 turns`},
		Checks(planOf(t, powers, plan.Options{})))
}

// What a plan that was put together by hand has wrong is an error that names the node.
func TestBodiesThatCannotBeWritten(t *testing.T) {
	named := func(p *plan.ExecutionPlan, op string) *plan.Instruction {
		for n := range p.Instructions {
			if i := &p.Instructions[n]; i.Op == op {
				return i
			} else if len(i.Bodies) > 0 && op == "If" {
				for m := range i.Bodies[0].Plan.Instructions {
					if inner := &i.Bodies[0].Plan.Instructions[m]; inner.Op == op {
						return inner
					}
				}
			}
		}
		return nil
	}
	for _, c := range []struct {
		op, want string
		spoil    func(i *plan.Instruction)
	}{
		{"Loop", `node "loop": operator Loop on f32: its number of turns has to be one i64`,
			func(i *plan.Instruction) { i.Inputs[0] = i.Inputs[2] }},
		{"Loop", "its condition has to be one bool", func(i *plan.Instruction) { i.Inputs[1] = i.Inputs[2] }},
		{"Loop", "input 2 of its body is given by nothing", func(i *plan.Instruction) { i.Inputs[2].Buffer = -1 }},
		{"Loop", "needs a number of turns, a condition and a body", func(i *plan.Instruction) { i.Inputs = i.Inputs[:1] }},
		{"Loop", "its body has no places", func(i *plan.Instruction) { i.Bodies[0].Inputs = nil }},
		{"Loop", "touches elements 0 to 2 of a buffer", func(i *plan.Instruction) {
			i.Bodies[0].Plan.Instructions[0].Inputs[0].View.Shape = []int64{3}
		}},
		{"If", "its condition has to be one bool", func(i *plan.Instruction) { i.Inputs[0] = i.Inputs[1] }},
		{"If", "it needs a condition, then_branch and else_branch", func(i *plan.Instruction) { i.Bodies[0].Name = "a" }},
		{"If", "there are no kernels for 2 nodes: Twist on f32 (2 nodes", func(i *plan.Instruction) {
			for k := range i.Bodies {
				i.Bodies[k].Plan.Instructions[0].Op = "Twist"
			}
		}},
		{"Scan", "it goes over no argument", func(i *plan.Instruction) { i.Attrs["num_scan_inputs"] = int64(0) }},
		{"Scan", "it needs one body", func(i *plan.Instruction) { i.Bodies = nil }},
	} {
		p := planOf(t, powers, plan.Options{})
		c.spoil(named(p, c.op))
		_, err := Module(p, Options{})
		require.ErrorContains(t, err, c.want)
	}
}
