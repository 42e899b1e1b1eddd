package models

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
	"tlruntime/compiler/plan"
)

// Begin is what a state begins with: a constant of a graph.
type Begin struct {
	Graph string
	graph.Constant
}

// Entry checks a graph that is to run in an arena. Its states say which inputs, outputs and constants are a state, and
// which. A constant that is one becomes an input, so that nothing is computed from its first content when the graph is
// checked; begins is told of it. The graph is not changed.
func Entry(g *graph.Graph, name string, states map[string]string, o check.Options, begins map[string]Begin) (
	plan.Entry, error) {
	thawed := *g
	constants := Thaw(&thawed, func(constant string) bool { return states[constant] != "" })
	for _, k := range constants {
		state := states[k.Name]
		if other, twice := begins[state]; twice && !bytes.Equal(other.Data, k.Data) {
			return plan.Entry{}, fmt.Errorf("state %q begins as constant %q of %s and as constant %q of %s, which differ; "+
				"leave one of them out, as an input", state, other.Name, other.Graph, k.Name, name)
		}
		begins[state] = Begin{name, k}
	}
	c, err := check.Check(&thawed, o)
	if err != nil {
		return plan.Entry{}, err
	}
	return plan.Entry{Name: name, Graph: c, States: maps.Clone(states)}, nil
}

// Thaw makes inputs of some constants of a graph, which it names, and returns them.
func Thaw(g *graph.Graph, named func(constant string) bool) (list []graph.Constant) {
	g.Inputs = slices.Clone(g.Inputs)
	g.Constants = slices.DeleteFunc(slices.Clone(g.Constants), func(k graph.Constant) bool {
		if !named(k.Name) {
			return false
		}
		in := graph.Value{Name: k.Name, DType: k.DType}
		for _, d := range k.Shape {
			in.Shape = append(in.Shape, graph.Dim{Size: d})
		}
		g.Inputs, list = append(g.Inputs, in), append(list, k)
		return true
	})
	return list
}
