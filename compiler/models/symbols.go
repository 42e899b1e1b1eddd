package models

import (
	"maps"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/check"
)

// Symbolic tells for each axis of each output which symbol it equals, "" when none:
// the one with whose number it grows, one for one, while the rest stays.
func Symbolic(g *graph.Graph, o check.Options, c *graph.Checked) [][]string {
	follow := make([][]string, len(c.Outputs))
	for i, id := range c.Outputs {
		follow[i] = make([]string, len(c.Values[id].Shape))
	}
	for _, symbol := range slices.Sorted(maps.Keys(o.Bind)) {
		more := o
		more.Bind = maps.Clone(o.Bind)
		more.Bind[symbol]++
		grown, err := check.Check(g, more)
		if err != nil || len(grown.Outputs) != len(c.Outputs) {
			continue // a model for this number alone
		}
		for i, id := range c.Outputs {
			mark(follow[i], symbol, o.Bind[symbol], c.Values[id].Shape, grown.Values[grown.Outputs[i]].Shape)
		}
	}
	return follow
}

// mark enters a symbol for the axes that were its number and are one more now.
func mark(follow []string, symbol string, number int64, shape, grown []int64) {
	if len(shape) != len(grown) {
		return
	}
	for axis, n := range shape {
		if n == number && grown[axis] == n+1 {
			follow[axis] = symbol
		}
	}
}
