package view

import (
	"cmp"
	"slices"
)

// Under returns how a tensor of this shape has to lie so that a view of it lies as want
// says. shown is that view of the tensor when it lies row by row. It returns false when
// shown leaves elements out or repeats some, and when no strides do it.
//
// Axes of shown, from the longest stride to the shortest, are the digits of an element's
// number. Each of them has its stride in want.
func Under(shown, want View, shape []int64) (View, bool) {
	n := View{Shape: shape}.Elements()
	if !slices.Equal(shown.Shape, want.Shape) || shown.Elements() != n || n == 0 {
		return View{}, false
	}
	type digit struct{ n, shown, want int64 }
	var digits []digit
	low, at := shown.Offset, want.Offset
	for i, d := range shown.Shape {
		x := digit{d, shown.Strides[i], want.Strides[i]}
		if d == 1 {
			continue
		}
		if x.shown < 0 {
			low += (d - 1) * x.shown
			at += (d - 1) * x.want
			x.shown, x.want = -x.shown, -x.want
		}
		digits = append(digits, x)
	}
	slices.SortStableFunc(digits, func(a, b digit) int { return cmp.Compare(b.shown, a.shown) })
	flat := View{Offset: at}
	weight := n
	for _, x := range digits {
		if weight /= x.n; x.shown != weight {
			return View{}, false
		}
		flat.Shape, flat.Strides = append(flat.Shape, x.n), append(flat.Strides, x.want)
	}
	if low != 0 {
		return View{}, false
	}
	return flat.Reshape(shape)
}
