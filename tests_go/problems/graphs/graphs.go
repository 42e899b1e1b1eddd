// Package graphs makes graphs whose plans are as hard to place as a problem.
package graphs

import (
	"cmp"
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/runtime/offsets"
)

// event is where a buffer begins to live, or ends.
type event struct {
	step   int64
	buffer int
	begins bool
}

// Of returns a graph in which, in its order, each buffer of a problem is a value with as many multiples of 64 bytes as
// the buffer has bytes: it is made where the buffer begins, and read for the last time where that ends. Inputs and
// outputs are no part of the problem.
func Of(p offsets.Problem) *graph.Graph {
	var events []event
	for i, b := range p.Buffers {
		events = append(events, event{b.First, i, true}, event{b.End, i, false})
	}
	slices.SortFunc(events, func(a, b event) int { // what ends makes room
		if c := cmp.Compare(a.step, b.step); c != 0 || a.begins == b.begins {
			return cmp.Or(c, cmp.Compare(a.buffer, b.buffer))
		}
		if b.begins {
			return -1
		}
		return 1
	})
	g := &graph.Graph{Name: "problem"}
	for _, e := range events {
		in, value, sum := fmt.Sprint("in", e.buffer), fmt.Sprint("value", e.buffer), fmt.Sprint("sum", e.buffer)
		if e.begins {
			shape := []graph.Dim{{Size: 16 * p.Buffers[e.buffer].Bytes}}
			g.Inputs = append(g.Inputs, graph.Value{Name: in, DType: graph.F32, Shape: shape})
			g.Nodes = append(g.Nodes, graph.Node{Op: "Relu", Inputs: []string{in}, Outputs: []string{value}})
			continue
		}
		g.Nodes = append(g.Nodes, graph.Node{Op: "ReduceMax", Inputs: []string{value}, Outputs: []string{sum}})
		g.Outputs = append(g.Outputs, sum)
	}
	return g
}
