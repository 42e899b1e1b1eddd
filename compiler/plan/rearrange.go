package plan

import (
	"slices"

	"tlruntime/compiler/graph"
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
	switch n.Op {
	case "Reshape", "Identity", "Transpose", "Slice", "Expand":
		return true
	case "Cast":
		return c.Values[n.Inputs[0]].DType == c.Values[n.Outputs[0]].DType
	case "Pad":
		return !slices.ContainsFunc(n.Attrs.Ints("pads"), func(pad int64) bool { return pad > 0 })
	}
	return false
}

// show returns the view that n, which isView holds for, has of its argument. It
// returns false where strides cannot express it.
func show(c *graph.Checked, n *graph.TypedNode, v view.View) (view.View, bool) {
	shape := c.Values[n.Outputs[0]].Shape
	switch n.Op {
	case "Transpose":
		return v.Transpose(n.Attrs.Ints("perm"))
	case "Expand":
		return v.Expand(shape)
	case "Slice":
		return v.Slice(n.Attrs.Ints("starts"), n.Attrs.Ints("ends"), n.Attrs.Ints("steps"))
	case "Pad":
		return v.Pad(n.Attrs.Ints("pads"))
	}
	return v.Reshape(shape)
}

// slice returns the elements [from, to) of one axis.
func slice(v view.View, axis, from, to int64) (view.View, bool) {
	starts, ends, steps := make([]int64, len(v.Shape)), slices.Clone(v.Shape), make([]int64, len(v.Shape))
	for i := range steps {
		steps[i] = 1
	}
	starts[axis], ends[axis] = from, to
	return v.Slice(starts, ends, steps)
}
