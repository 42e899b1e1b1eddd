package view

import "slices"

// run is a group of neighbouring axes that can be walked with one stride.
type run struct{ elements, stride int64 }

// Reshape returns the view that shows the elements of v, in the same order, in
// another shape. Axes of extent 1 come and go freely, so that it serves to squeeze
// and to unsqueeze too. It returns false when the number of elements differs, and
// when no strides show the elements in that shape.
//
// Axes of v that can be walked with one stride are merged into runs first; the
// new axes must then divide the runs, from the last one. As no two runs can be
// merged, there is no other way to lay the new axes.
func (v View) Reshape(shape []int64) (View, bool) {
	r := View{Shape: slices.Clone(shape), Strides: make([]int64, len(shape)), Offset: v.Offset}
	if !sameElements(v.Shape, shape) {
		return View{}, false
	}
	if v.Elements() == 0 {
		return View{Shape: r.Shape, Strides: Contiguous(shape).Strides, Offset: v.Offset}, true
	}
	runs := v.runs()
	left, stride := int64(1), int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		d := shape[i]
		if d == 1 {
			r.Strides[i] = stride
			continue
		}
		if left == 1 {
			last := runs[len(runs)-1]
			runs = runs[:len(runs)-1]
			left, stride = last.elements, last.stride
		}
		if left%d != 0 {
			return View{}, false
		}
		r.Strides[i] = stride
		left /= d
		stride *= d
	}
	return r, true
}

// runs returns the longest runs of v, first axes first. Axes of extent 1 are in
// none; v is not empty.
func (v View) runs() []run {
	var runs []run
	for i, d := range v.Shape {
		if d == 1 {
			continue
		}
		last := len(runs) - 1
		if last >= 0 && runs[last].stride == d*v.Strides[i] {
			runs[last] = run{runs[last].elements * d, v.Strides[i]}
			continue
		}
		runs = append(runs, run{d, v.Strides[i]})
	}
	return runs
}

// sameElements reports whether both shapes have the same number of elements and no
// extent of b is negative.
func sameElements(a, b []int64) bool {
	n := View{Shape: a}.Elements()
	for _, d := range b {
		if d < 0 {
			return false
		}
	}
	if slices.Contains(b, 0) || n == 0 {
		return slices.Contains(b, 0) && n == 0
	}
	for _, d := range b {
		if n%d != 0 {
			return false
		}
		n /= d
	}
	return n == 1
}
