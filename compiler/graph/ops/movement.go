package ops

import (
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// Movement describes an operator that computes nothing: each element of a result is an
// element of an argument. View is what planners lay memory out by, Source what
// plan.Verify checks it by. Neither is written in terms of the other, so that a mistake
// in one does not hide in both.
type Movement struct {
	Parts Parts

	// When reports whether a node only moves elements. nil: every node does.
	When func(c *graph.Checked, n *graph.TypedNode) bool

	// View returns the result, of the given shape, as a view of the first argument, of
	// which v is a view. It returns false where strides cannot express it. nil when
	// there are Parts.
	View func(v view.View, attrs graph.Attrs, shape []int64) (view.View, bool)

	// Source sets from to the index of the element of the first argument, which has the
	// given shape, that stands at index of the result. nil: elements keep their number,
	// row by row, or there are Parts.
	Source func(attrs graph.Attrs, shape, index, from []int64)
}

// Parts says what lies side by side along the axis that the attribute axis names.
type Parts uint8

const (
	// NoParts: the result shows elements of the first argument.
	NoParts Parts = iota
	// Joins: the arguments, in the result.
	Joins
	// Splits: the results, in the argument. The attribute split has their extents.
	Splits
)

// MovementOf returns how a node moves elements, nil when it computes.
func MovementOf(c *graph.Checked, n *graph.TypedNode) *Movement {
	op, known := operators[n.Op]
	if !known || op.Moves == nil || op.Moves.When != nil && !op.Moves.When(c, n) {
		return nil
	}
	return op.Moves
}

func reshaped(v view.View, _ graph.Attrs, shape []int64) (view.View, bool) { return v.Reshape(shape) }

var (
	keeps  = &Movement{View: reshaped}
	joins  = &Movement{Parts: Joins}
	splits = &Movement{Parts: Splits}
)

// castsToSame is for a Cast of a Checked that Check did not make, which would have an
// Identity in its place.
var castsToSame = &Movement{
	When: func(c *graph.Checked, n *graph.TypedNode) bool {
		return c.Values[n.Inputs[0]].DType == c.Values[n.Outputs[0]].DType
	},
	View: reshaped,
}

var transposes = &Movement{
	View: func(v view.View, attrs graph.Attrs, _ []int64) (view.View, bool) {
		return v.Transpose(attrs.Ints("perm"))
	},
	Source: func(attrs graph.Attrs, _, index, from []int64) {
		for i, p := range attrs.Ints("perm") {
			from[p] = index[i]
		}
	},
}

var expands = &Movement{
	View: func(v view.View, _ graph.Attrs, shape []int64) (view.View, bool) { return v.Expand(shape) },
	Source: func(_ graph.Attrs, shape, index, from []int64) {
		for i := range from {
			from[i] = index[len(index)-len(from)+i] % shape[i]
		}
	},
}

var cuts = &Movement{
	View: func(v view.View, attrs graph.Attrs, _ []int64) (view.View, bool) {
		return v.Slice(attrs.Ints("starts"), attrs.Ints("ends"), attrs.Ints("steps"))
	},
	Source: func(attrs graph.Attrs, _, index, from []int64) {
		for i := range from {
			from[i] = attrs.Ints("starts")[i] + index[i]*attrs.Ints("steps")[i]
		}
	},
}

// crops is a Pad that adds nothing.
var crops = &Movement{
	When: func(_ *graph.Checked, n *graph.TypedNode) bool {
		return !slices.ContainsFunc(n.Attrs.Ints("pads"), func(pad int64) bool { return pad > 0 })
	},
	View: func(v view.View, attrs graph.Attrs, _ []int64) (view.View, bool) { return v.Pad(attrs.Ints("pads")) },
	Source: func(attrs graph.Attrs, _, index, from []int64) {
		for i := range from {
			from[i] = index[i] - attrs.Ints("pads")[i]
		}
	},
}
