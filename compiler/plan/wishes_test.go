package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

func perm(axes ...int64) graph.Attrs { return graph.Attrs{"perm": axes} }

// needless are graphs whose output needs no copy, or fewer than views do.
var needless = map[string]struct {
	draw func(s *sketch)
	ops  []string
}{
	"reshape": {func(s *sketch) {
		s.node("Relu", "a", shape(4, 6), nil, "in")
		s.node("Reshape", "y", shape(24), nil, "a")
	}, []string{"Relu"}},
	"in place, reshape": {func(s *sketch) {
		s.node("MaxPool", "a", shape(4, 6), nil, "in")
		s.node("Relu", "b", shape(4, 6), nil, "a")
		s.node("Identity", "c", shape(4, 6), nil, "b")
		s.node("Reshape", "y", shape(2, 12), nil, "c")
	}, []string{"MaxPool", "Relu"}},
	"transpose": {func(s *sketch) {
		s.node("Add", "a", shape(4, 6), nil, "in", "in")
		s.node("Transpose", "y", shape(6, 4), perm(1, 0), "a")
	}, []string{"Add"}},
	"in place, transpose": {func(s *sketch) {
		s.node("MaxPool", "a", shape(4, 6), nil, "in")
		s.node("Relu", "b", shape(4, 6), nil, "a")
		s.node("Transpose", "y", shape(6, 4), perm(1, 0), "b")
	}, []string{"MaxPool", "Relu"}},
	"transpose, reshape": {func(s *sketch) {
		s.node("Relu", "a", shape(4, 6), nil, "in")
		s.node("Transpose", "b", shape(6, 4), perm(1, 0), "a")
		s.node("Reshape", "y", shape(24), nil, "b")
	}, []string{"Relu"}},
	"rows that stay rows": {func(s *sketch) {
		s.node("MaxPool", "a", shape(2, 3, 4), nil, "in")
		s.node("Transpose", "b", shape(3, 2, 4), perm(1, 0, 2), "a")
		s.node("Reshape", "y", shape(3, 8), nil, "b")
	}, []string{"MaxPool"}},
	"rows that do not": {func(s *sketch) {
		s.node("MaxPool", "a", shape(4, 6), nil, "in")
		s.node("Transpose", "b", shape(6, 4), perm(1, 0), "a")
		s.node("Reshape", "y", shape(24), nil, "b")
	}, []string{"MaxPool", "Copy"}},
	"an input": {func(s *sketch) {
		s.node("Transpose", "b", shape(6, 4), perm(1, 0), "in")
		s.node("Reshape", "y", shape(24), nil, "b")
	}, []string{"Copy"}},
	"between": {func(s *sketch) {
		s.node("Relu", "a", shape(2, 3, 4), nil, "in")
		s.node("Transpose", "b", shape(3, 2, 4), perm(1, 0, 2), "a")
		s.node("Reshape", "c", shape(3, 8), nil, "b")
		s.node("ReduceSum", "y", shape(1, 8), nil, "c")
	}, []string{"Relu", "ReduceSum"}},
	"part of a Concat": {func(s *sketch) {
		s.node("Relu", "a", shape(4, 6), nil, "in")
		s.node("Transpose", "b", shape(6, 4), perm(1, 0), "a")
		s.node("MaxPool", "c", shape(2, 4), nil, "in")
		s.node("Concat", "y", shape(8, 4), graph.Attrs{"axis": int64(0)}, "b", "c")
	}, []string{"Relu", "MaxPool"}},
	"backwards": {func(s *sketch) {
		s.node("Relu", "a", shape(4, 6), nil, "in")
		s.node("Slice", "y", shape(4, 6), graph.Attrs{"starts": []int64{3, 0}, "ends": []int64{-1, 6},
			"steps": []int64{-1, 1}}, "a")
	}, []string{"Relu"}},
	"read by others too": {func(s *sketch) {
		s.node("Relu", "a", shape(4, 6), nil, "in")
		s.node("Transpose", "y", shape(6, 4), perm(1, 0), "a")
		s.node("ReduceSum", "z", shape(1, 1), nil, "a")
		s.output("z")
	}, []string{"Relu", "Copy", "ReduceSum"}},
	"an operator that is not known": {func(s *sketch) {
		s.node("com.example.Twist", "a", shape(4, 6), nil, "in")
		s.node("Transpose", "y", shape(6, 4), perm(1, 0), "a")
	}, []string{"com.example.Twist", "Copy"}},
}

func TestNeedlessCopies(t *testing.T) {
	for name, c := range needless {
		for _, o := range []Options{{NoReorder: true}, {PlaceInputs: true, PlaceOutputs: true, NoReorder: true}} {
			s := newSketch()
			s.input("in", 4, 6)
			c.draw(s)
			s.output("y")
			assert.Equal(t, c.ops, opsOf(s.build(t, o)), name)
		}
	}
}

// An output that is a view is written in the output's memory from the beginning.
func TestAnOutputThatIsAView(t *testing.T) {
	s := newSketch()
	s.input("in", 4, 6)
	s.node("Add", "a", shape(4, 6), nil, "in", "in")
	s.node("Transpose", "y", shape(6, 4), perm(1, 0), "a")
	s.output("y")
	p := s.build(t, Options{})
	require.Len(t, p.Instructions, 1)
	out := p.Instructions[0].Outputs[0]
	assert.Equal(t, view.View{Shape: shape(4, 6), Strides: shape(1, 4)}, out.View)
	assert.Equal(t, "a", out.Name)
	assert.Equal(t, p.Outputs[0].Buffer, out.Buffer)
	b := p.Buffers[out.Buffer]
	assert.Equal(t, Output, b.Kind)
	assert.Equal(t, "y", b.Name, "its elements lie row by row")
	assert.Equal(t, shape(6, 4), b.Shape)
	assert.Zero(t, p.Frame.Bytes)
}

// Two outputs that show the same elements are two buffers.
func TestTwoViewsAreOutputs(t *testing.T) {
	s := newSketch()
	s.input("in", 4, 6)
	s.node("Relu", "a", shape(4, 6), nil, "in")
	s.node("Reshape", "y", shape(24), nil, "a")
	s.node("Reshape", "z", shape(6, 4), nil, "a")
	s.output("y", "z", "y")
	p := s.build(t, Options{})
	assert.Equal(t, []string{"Relu", "Copy", "Copy"}, opsOf(p))
	assert.Len(t, map[int]bool{p.Outputs[0].Buffer: true, p.Outputs[1].Buffer: true, p.Outputs[2].Buffer: true}, 3)
}
