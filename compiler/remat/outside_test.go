package remat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// quick leaves out the search for an order.
var quick = plan.Options{OrderSteps: -1}

// With a second space that is fast enough, values are moved; each one goes out once at most and comes in after that.
func TestATrainingStepWithASecondSpace(t *testing.T) {
	c := training(t, 8, 64, 32)
	given, err := plan.Build(c, quick)
	require.NoError(t, err)
	for _, percent := range []int64{90, 70, 50} {
		o := remat.Options{Plan: quick, Capacity: given.Frame.Bytes * percent / 100,
			Outside: &remat.Outside{Bandwidth: 1e12}}
		r, err := remat.Fit(c, o)
		require.NoError(t, err, "%d %%", percent)
		same(t, c, r)
		assert.LessOrEqual(t, r.Plan.Frame.Bytes, o.Capacity)
		require.NotEmpty(t, r.Moved)
		assert.Positive(t, r.Plan.Outside)
		out, sum := map[string]int{}, r.Given
		for _, m := range r.Moved {
			if m.In {
				assert.Equal(t, 1, out[m.Value], m.Value)
			} else {
				out[m.Value]++
			}
			assert.InEpsilon(t, float64(m.Bytes)/1e12, m.Cost, 1e-9)
			sum += m.Cost
		}
		for _, a := range r.Again {
			sum += a.Cost
		}
		assert.InEpsilon(t, sum, r.Cost, 1e-9)
		o.Outside = nil
		less, err := remat.Fit(c, o)
		require.NoError(t, err)
		assert.LessOrEqual(t, r.Cost, less.Cost, "a second space costs nothing where it is not taken")
	}
}

// A slow space is left alone.
func TestASecondSpaceThatIsTooSlow(t *testing.T) {
	c := training(t, 8, 64, 32)
	given, err := plan.Build(c, quick)
	require.NoError(t, err)
	o := remat.Options{Plan: quick, Capacity: given.Frame.Bytes * 7 / 10, Outside: &remat.Outside{Bandwidth: 1}}
	r, err := remat.Fit(c, o)
	require.NoError(t, err)
	assert.Empty(t, r.Moved)
	assert.NotEmpty(t, r.Again)
	o.NoAgain = true
	r, err = remat.Fit(c, o)
	require.NoError(t, err)
	assert.NotEmpty(t, r.Moved)
	assert.Empty(t, r.Again)
	o.Outside.Capacity = 1
	_, err = remat.Fit(c, o)
	require.ErrorAs(t, err, new(*remat.CapacityError))
}

func TestSecondSpacesThatAreNone(t *testing.T) {
	c := training(t, 1, 8, 8)
	for _, o := range []remat.Outside{{Capacity: -1}, {Bandwidth: -1}} {
		_, err := remat.Fit(c, remat.Options{Capacity: 1 << 20, Outside: &o})
		require.ErrorContains(t, err, "remat: the second space has")
	}
}

// The independent validator finds transfers that are wrong.
func TestWrongTransfersAreFound(t *testing.T) {
	c := training(t, 8, 64, 32)
	given, err := plan.Build(c, quick)
	require.NoError(t, err)
	for says, spoil := range map[string]func(e *plan.ExecutionPlan, out, in int){
		"of the second space, which has": func(e *plan.ExecutionPlan, out, _ int) {
			e.Buffers[e.Instructions[out].Outputs[0].Buffer].Outside = e.Outside
		},
		"in the wrong space": func(e *plan.ExecutionPlan, out, _ int) { e.Instructions[out].Op = plan.OpCopy },
		"one argument and one result": func(e *plan.ExecutionPlan, out, _ int) {
			e.Instructions[out].Inputs = append(e.Instructions[out].Inputs, e.Instructions[out].Inputs[0])
		},
		"has no node with its operator": func(e *plan.ExecutionPlan, _, in int) {
			e.Instructions[in].Outputs[0].Name = "another"
		},
		"are alive at once and share bytes": func(e *plan.ExecutionPlan, _, _ int) {
			for b := range e.Buffers {
				if e.Buffers[b].Kind == plan.Outside {
					e.Buffers[b].Outside = 0
				}
			}
		},
	} {
		r, err := remat.Fit(c, remat.Options{Plan: quick, Capacity: given.Frame.Bytes / 2,
			Outside: &remat.Outside{Bandwidth: 1e12}})
		require.NoError(t, err)
		require.NoError(t, plan.Validate(r.Plan))
		out, in := -1, -1
		for k, i := range r.Plan.Instructions {
			switch i.Op {
			case plan.OpMoveOut:
				out = k
			case plan.OpMoveIn:
				in = k
			}
		}
		require.Positive(t, out)
		require.Positive(t, in)
		spoil(r.Plan, out, in)
		assert.ErrorContains(t, errors.Join(plan.Validate(r.Plan), plan.Verify(r.Plan, r.Graph)), says)
	}
}

// What is moved out is for moving in alone.
func TestGraphsWithWrongTransfers(t *testing.T) {
	shape := []int64{4}
	value := func(name string, producer int) graph.TypedValue {
		return graph.TypedValue{Name: name, DType: graph.F32, Shape: shape, Producer: producer}
	}
	node := func(op string, from, to int) graph.TypedNode {
		return graph.TypedNode{Name: fmt.Sprint(op, to), Op: op, Inputs: []int{from}, Outputs: []int{to}}
	}
	for says, c := range map[string]*graph.Checked{
		"a MoveIn takes what a MoveOut gives": {Values: []graph.TypedValue{value("x", -1), value("y", 0)}, Inputs: []int{0},
			Outputs: []int{1}, Nodes: []graph.TypedNode{node(plan.OpMoveIn, 0, 1)}},
		"and nothing else does": {Values: []graph.TypedValue{value("x", -1), value("y", 0), value("z", 1)},
			Inputs: []int{0}, Outputs: []int{2},
			Nodes: []graph.TypedNode{node(plan.OpMoveOut, 0, 1), node("Relu", 1, 2)}},
		"which was moved out": {Values: []graph.TypedValue{value("x", -1), value("y", 0)}, Inputs: []int{0},
			Outputs: []int{1}, Nodes: []graph.TypedNode{node(plan.OpMoveOut, 0, 1)}},
	} {
		_, err := plan.Build(c, plan.Options{})
		assert.ErrorContains(t, err, says)
	}
}

func TestRates(t *testing.T) {
	var text strings.Builder
	require.NoError(t, remat.Measured.WriteJSON(&text))
	r, err := remat.ReadRates(strings.NewReader(text.String()))
	require.NoError(t, err)
	assert.Equal(t, remat.Measured, r)
	for says, change := range map[string][2]string{
		`class "new" is none of`:     {`"classes": {`, `"classes": {"new": {"call": 1},`},
		`there is no class "matmul"`: {`"matmul"`, `"other"`},
		"unknown field":              {`"near"`, `"nearby"`},
		"near is -":                  {`"near": `, `"near": -`},
	} {
		_, err := remat.ReadRates(strings.NewReader(strings.Replace(text.String(), change[0], change[1], 1)))
		assert.ErrorContains(t, err, says)
	}
}

// What operators are said to do is what they do.
func TestWork(t *testing.T) {
	c := training(t, 1, 8, 16)
	want := map[string]remat.Work{
		"MatMul": {Class: remat.MatMul, Bytes: 4 * (8*16 + 16*16 + 8*16), Operations: 2 * 8 * 16 * 16},
		"Tanh":   {Class: remat.Transcendental, Bytes: 4 * 2 * 8 * 16, Operations: 8 * 16},
		"Sub":    {Class: remat.Elementwise, Bytes: 4 * 3 * 8 * 16, Operations: 8 * 16},
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if w, ok := want[n.Op]; ok {
			assert.Equal(t, w, remat.WorkOf(c, n), n.Op)
			delete(want, n.Op)
		}
		if n.Op == "Transpose" {
			assert.Zero(t, remat.Estimate(c, n), "a view")
		}
	}
	assert.Empty(t, want)
	e, err := plan.Build(c, plan.Options{NoInPlace: true})
	require.NoError(t, err)
	sum := 0.0
	for i := range c.Nodes {
		sum += remat.Estimate(c, &c.Nodes[i])
	}
	assert.InEpsilon(t, sum, remat.Measured.Plan(e), 1e-9, "this plan has no copies")
}
