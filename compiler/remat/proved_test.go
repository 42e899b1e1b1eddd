package remat

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// inItsOrder plans without a search for an order or for offsets.
var inItsOrder = plan.Options{OrderSteps: -1, NoReorder: true, MaxSteps: -1}

// provedOf returns what is proved of a graph and a capacity.
func provedOf(t require.TestingT, c *graph.Checked, o Options) (cost float64, frame int64) {
	given, err := plan.Build(c, o.Plan)
	require.NoError(t, err)
	s, err := newSearch(c, given, o, now())
	require.NoError(t, err)
	return s.leastCost(), s.bound
}

// holds compares what is proved with the cheapest way that an exhaustive search finds, and with the plan that takes it.
func holds(t require.TestingT, c *graph.Checked, o Options) (optimum, proved float64, known bool) {
	x := &Exact{Graph: c, Plan: o.Plan, Capacity: o.Capacity, Cost: o.Cost, Moves: o.Outside != nil, NoAgain: o.NoAgain,
		Most: 40000}
	optimum, steps, known := x.Solve()
	if !known || math.IsInf(optimum, 1) {
		return optimum, 0, false
	}
	proved, frame := provedOf(t, c, o)
	require.LessOrEqual(t, frame, o.Capacity, "a frame that is proved to be the least")
	require.LessOrEqual(t, proved, optimum*(1+1e-9), "a cost that is proved to be the least")

	replayed := x.Replayed(steps)
	made, err := plan.Build(replayed, o.Plan)
	require.NoError(t, err)
	o.Capacity = made.Frame.Bytes
	least, frame := provedOf(t, c, o)
	require.LessOrEqual(t, frame, made.Frame.Bytes, "there is a plan with this frame")
	require.LessOrEqual(t, least, Total(replayed, o.Cost)*(1+1e-9), "there is a plan that costs this")
	return optimum, proved, true
}

func TestWhatIsProvedIsNotAboveTheOptimum(t *testing.T) {
	looked, dearer, told := 0, 0, 0
	rapid.Check(t, func(r *rapid.T) {
		o, most := Options{Plan: inItsOrder, Cost: drawnCost(r)}, 8
		if rapid.Bool().Draw(r, "moves") {
			o.Outside, most = &Outside{}, 5
			o.NoAgain = rapid.IntRange(0, 3).Draw(r, "no again") == 0
		}
		o.Plan.NoInPlace, o.Plan.NoViews = rapid.Bool().Draw(r, "apart"), rapid.Bool().Draw(r, "copies")
		c := drawnGraph(r, most)
		given, err := plan.Build(c, o.Plan)
		require.NoError(r, err)
		_, least := provedOf(r, c, o)
		if least >= given.Frame.Bytes {
			return // no capacity lies between the two
		}
		o.Capacity = rapid.Int64Range(least, given.Frame.Bytes-1).Draw(r, "capacity")
		optimum, proved, known := holds(r, c, o)
		if !known {
			return
		}
		looked++
		if base := Total(c, o.Cost); optimum > base {
			dearer++
			if proved > base {
				told++
			}
		}
	})
	t.Logf("of %d optima %d cost more than the graph; the bound tells of %d", looked, dearer, told)
	if !testing.Short() { // with fewer graphs
		assert.Greater(t, looked, 10)
		assert.Greater(t, told, dearer/2)
	}
}

// Of a node with two results the argument may be kept in place of both, where it has fewer bytes than both together.
func TestTheArgumentOfTwoResultsIsKept(t *testing.T) {
	s := newSketch()
	a := s.node("Exp", nil, []int{0}, 16)
	v := s.node("TopK", nil, []int{a}, 16, 16)
	h := s.node("MaxPool", nil, []int{0}, 160)
	r := s.node("MatMul", nil, []int{h, 1}, 16)
	s.Outputs = []int{s.node("MatMul", nil, []int{v, v + 1, r}, 16)}
	o := Options{Plan: inItsOrder, Capacity: 12 * 64, Cost: priced(func(name string) float64 {
		return map[string]float64{"Exp0": 100, "TopK1": 1}[name]
	}, 0, 0)}
	optimum, proved, known := holds(t, s.Checked, o)
	require.True(t, known)
	assert.Equal(t, 102.0, optimum)
	assert.Equal(t, 101.5, proved, "half of the two results come back")
}

// Where a part of a value is needed, that part is moved.
func TestAPartOfAValueIsMoved(t *testing.T) {
	s := newSketch()
	x := s.node("own.Noise", nil, []int{0}, 64)
	part := s.slice(x, 16)
	h := s.node("MaxPool", nil, []int{0}, 160)
	r := s.node("MatMul", nil, []int{h, 1}, 16)
	s.Outputs = []int{s.node("MatMul", nil, []int{part, r}, 16)}
	o := Options{Plan: inItsOrder, Capacity: 11 * 64, Outside: &Outside{},
		Cost: priced(func(string) float64 { return 1 }, 0, 1)}
	optimum, proved, known := holds(t, s.Checked, o)
	require.True(t, known)
	assert.Equal(t, 4.0+2*4, optimum, "16 elements go out and come in")
	assert.Equal(t, optimum, proved)
}

// What a moved value needs is moved, too, where that is cheaper than computing it.
func TestAnArgumentIsMovedForWhatIsComputedAgain(t *testing.T) {
	s := newSketch()
	a := s.node("Exp", nil, []int{0}, 16)
	v := s.node("MaxPool", nil, []int{a}, 15)
	h := s.node("MaxPool", nil, []int{0}, 160)
	r := s.node("MatMul", nil, []int{h, 1}, 16)
	s.Outputs = []int{s.node("MatMul", nil, []int{v, r}, 16)}
	o := Options{Plan: inItsOrder, Capacity: 11 * 64, Outside: &Outside{}, Cost: func(_ *graph.Checked,
		n *graph.TypedNode) float64 {
		switch {
		case n.Op == "Exp":
			return 100
		case plan.Transfers(n.Op) && n.Inputs[0] != a:
			return 10
		}
		return 1
	}}
	proved, _ := provedOf(t, s.Checked, o)
	assert.Equal(t, 104.0+1+2, proved, "the argument goes out and comes in, and one node runs again")
}

// Results that take the places of parts of one value lie in one buffer, which is aligned as a whole.
func TestPartsOfABufferAreNotAligned(t *testing.T) {
	s := newSketch()
	x := s.node("MaxPool", nil, []int{0}, 130)
	part := s.split(x)
	y, z := s.node("Tanh", nil, []int{part}, 65), s.node("Tanh", nil, []int{part + 1}, 65)
	s.Outputs = []int{s.node("MatMul", nil, []int{y, z}, 16)}
	e, err := plan.Build(s.Checked, inItsOrder)
	require.NoError(t, err)
	require.EqualValues(t, 576, e.Frame.Bytes, "130 elements of 4 bytes; each half would take 320")
	assert.LessOrEqual(t, lowest(s.Checked, &Options{Plan: inItsOrder}), e.Frame.Bytes)
}

// A Concat whose parts lie in its result has no instruction. It comes late in the order: until then the parts may go,
// and nothing that costs time has run on them.
func TestAConcatWithoutAnInstructionComesLate(t *testing.T) {
	s := newSketch()
	v := s.node("TopK", nil, []int{0}, 16, 16)
	h := s.node("MaxPool", nil, []int{0}, 160)
	r := s.node("MatMul", nil, []int{h, 1}, 16)
	whole := s.concat(v, v+1)
	s.Outputs = []int{s.node("MatMul", nil, []int{whole, r}, 16)}
	o := Options{Plan: inItsOrder, Capacity: 11 * 64, Cost: priced(func(name string) float64 {
		return map[string]float64{"Concat3": 100, "TopK0": 1}[name]
	}, 0, 0)}
	given, err := plan.Build(s.Checked, o.Plan)
	require.NoError(t, err)
	var names []string
	for _, n := range inOrder(s.Checked, given).Nodes {
		names = append(names, n.Name)
	}
	assert.Equal(t, []string{"TopK0", "MaxPool1", "MatMul2", "Concat3", "MatMul4"}, names)
	optimum, _, known := holds(t, s.Checked, o)
	require.True(t, known)
	assert.Equal(t, 102.0, optimum)
	found, err := Fit(s.Checked, o)
	require.NoError(t, err)
	assert.Equal(t, optimum, found.Cost)
}
