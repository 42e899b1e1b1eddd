package remat

import (
	"fmt"
	"hash/fnv"
	"strings"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
)

// sketch is a graph of vectors that is put together by hand: its operators may have results of any size.
type sketch struct{ *graph.Checked }

// newSketch has an input of 32 elements and a constant of 16, the values 0 and 1.
func newSketch() sketch {
	return sketch{&graph.Checked{Values: []graph.TypedValue{
		{Name: "in", DType: graph.F32, Shape: []int64{32}, Producer: -1},
		{Name: "k", DType: graph.F32, Shape: []int64{16}, Constant: &graph.Tensor{Data: make([]byte, 64)}, Producer: -1},
	}, Inputs: []int{0}}}
}

// node adds a node and returns its first result; results are called v2, v3 and so on.
func (s sketch) node(op string, attrs graph.Attrs, in []int, elements ...int64) int {
	n := graph.TypedNode{Name: fmt.Sprintf("%s%d", op, len(s.Nodes)), Op: op, Inputs: in, Attrs: attrs}
	for _, extent := range elements {
		n.Outputs = append(n.Outputs, len(s.Values))
		s.Values = append(s.Values, graph.TypedValue{Name: fmt.Sprint("v", len(s.Values)), DType: graph.F32,
			Shape: []int64{extent}, Producer: len(s.Nodes)})
	}
	s.Nodes = append(s.Nodes, n)
	return n.Outputs[0]
}

func (s sketch) elements(v int) int64 { return s.Values[v].Shape[0] }

// split halves a value.
func (s sketch) split(v int) int {
	half := s.elements(v) / 2
	return s.node("Split", graph.Attrs{"axis": int64(0), "split": []int64{half, s.elements(v) - half}}, []int{v}, half,
		s.elements(v)-half)
}

func (s sketch) slice(v int, elements int64) int {
	return s.node("Slice", graph.Attrs{"starts": []int64{0}, "ends": []int64{elements}, "steps": []int64{1}}, []int{v},
		elements)
}

func (s sketch) concat(v, w int) int {
	return s.node("Concat", graph.Attrs{"axis": int64(0)}, []int{v, w}, s.elements(v)+s.elements(w))
}

// drawnGraph has nodes of one to three results, some in place, some that show or join, some that draw random numbers.
func drawnGraph(r *rapid.T, most int) *graph.Checked {
	s, taken := newSketch(), map[int]bool{}
	elements := func() int64 { return rapid.SampledFrom([]int64{16, 16, 32, 48, 64, 96, 10, 130}).Draw(r, "elements") }
	pick := func() int {
		v := rapid.IntRange(max(0, len(s.Values)-8), len(s.Values)-1).Draw(r, "argument")
		taken[v] = true
		return v
	}
	for range rapid.IntRange(4, most).Draw(r, "nodes") {
		a := pick()
		switch rapid.SampledFrom([]string{"in place", "in place", "two in place", "two", "two", "three", "pool", "split",
			"slice", "concat", "random", "one"}).Draw(r, "kind") {
		case "in place":
			s.node("Tanh", nil, []int{a}, s.elements(a))
		case "two in place":
			if b := pick(); s.elements(a) == s.elements(b) {
				s.node("Add", nil, []int{a, b}, s.elements(a))
			} else {
				s.node("MatMul", nil, []int{a, b}, elements())
			}
		case "two":
			s.node("TopK", nil, []int{a}, elements(), elements())
		case "three":
			s.node("TopK", nil, []int{a, pick()}, elements(), elements(), elements())
		case "pool":
			s.node("MaxPool", nil, []int{a}, elements())
		case "split":
			s.split(a)
		case "slice":
			s.slice(a, s.elements(a)/2)
		case "concat":
			s.concat(a, pick())
		case "random":
			s.node("own.Noise", nil, []int{a, pick()}, elements())
		case "one":
			s.node("MatMul", nil, []int{a, pick()}, elements())
		}
	}
	s.finish(r, taken)
	return s.Checked
}

// finish gives what nobody takes to the caller, or to one more node.
func (s sketch) finish(r *rapid.T, taken map[int]bool) {
	var rest []int
	for v := range s.Values {
		p := s.Values[v].Producer
		switch {
		case p < 0 || taken[v]:
		case ops.MovementOf(s.Checked, &s.Nodes[p]) == nil && rapid.Bool().Draw(r, "output"):
			s.Outputs = append(s.Outputs, v)
		default:
			rest = append(rest, v)
		}
	}
	s.Outputs = append(s.Outputs, s.node("MatMul", nil, append(rest, 0), 16))
}

// drawnCost is a price for each node, and one for transfers that grows with the bytes.
func drawnCost(r *rapid.T) Cost {
	seed := rapid.Uint32Range(0, 1000).Draw(r, "prices")
	return priced(func(name string) float64 {
		h := fnv.New32()
		fmt.Fprint(h, seed, name)
		return float64(h.Sum32() % 8)
	}, rapid.SampledFrom([]float64{0, 1}).Draw(r, "call"),
		rapid.SampledFrom([]float64{0, 0.01, 0.1, 1}).Draw(r, "byte"))
}

// priced is a cost by the names of nodes, however often they run; a transfer takes call and, for each 16 bytes, byte.
func priced(node func(name string) float64, call, byte float64) Cost {
	return func(c *graph.Checked, n *graph.TypedNode) float64 {
		if plan.Transfers(n.Op) {
			return call + byte*float64(c.Values[n.Outputs[0]].Bytes())/16
		}
		if m := ops.MovementOf(c, n); m != nil && m.Parts == ops.NoParts {
			return 0
		}
		name, _, _ := strings.Cut(n.Name, "/")
		return node(name)
	}
}
