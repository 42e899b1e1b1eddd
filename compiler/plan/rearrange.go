package plan

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/view"
)

// isView reports whether n has one result, and that shows elements of its first
// argument.
func isView(c *graph.Checked, n *graph.TypedNode) bool {
	if len(n.Inputs) == 0 || len(n.Outputs) == 0 || n.Inputs[0] < 0 || n.Outputs[0] < 0 {
		return false
	}
	if slices.ContainsFunc(n.Outputs[1:], func(v int) bool { return v >= 0 }) {
		return false
	}
	m := ops.MovementOf(c, n)
	return m != nil && m.Parts == ops.NoParts
}

// show returns the view that n, which isView holds for, has of its argument. It
// returns false where strides cannot express it.
func show(c *graph.Checked, n *graph.TypedNode, v view.View) (view.View, bool) {
	return ops.MovementOf(c, n).View(v, n.Attrs, c.Values[n.Outputs[0]].Shape)
}
