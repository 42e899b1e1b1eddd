package view

import "slices"

// Transpose returns the view whose axis i is axis perm[i] of v. perm names each
// axis once.
func (v View) Transpose(perm []int64) (View, bool) {
	if len(perm) != len(v.Shape) {
		return View{}, false
	}
	seen := make([]bool, len(perm))
	t := View{Shape: make([]int64, len(perm)), Strides: make([]int64, len(perm)), Offset: v.Offset}
	for i, p := range perm {
		if p < 0 || p >= int64(len(perm)) || seen[p] {
			return View{}, false
		}
		seen[p] = true
		t.Shape[i], t.Strides[i] = v.Shape[p], v.Strides[p]
	}
	return t, true
}

// Expand returns the view with this shape in which axes of extent 1, and axes that
// v does not have, repeat their element. Axes are matched from the last one.
func (v View) Expand(shape []int64) (View, bool) {
	more := len(shape) - len(v.Shape)
	if more < 0 {
		return View{}, false
	}
	e := View{Shape: slices.Clone(shape), Strides: make([]int64, len(shape)), Offset: v.Offset}
	for i, d := range v.Shape {
		switch to := shape[more+i]; {
		case d == to:
			e.Strides[more+i] = v.Strides[i]
		case d != 1 || to < 0:
			return View{}, false
		}
	}
	for _, d := range shape[:more] {
		if d < 0 {
			return View{}, false
		}
	}
	return e, true
}

// Slice returns every steps[i]-th element from starts[i] on and before ends[i],
// for each axis. A negative step goes backwards: from starts[i], which is
// included, down to ends[i], which is not; an end of -1 includes element 0.
// Nothing counts from the end of an axis, and nothing is clamped: a slice that
// shows an element which v does not have is none.
func (v View) Slice(starts, ends, steps []int64) (View, bool) {
	rank := len(v.Shape)
	if len(starts) != rank || len(ends) != rank || len(steps) != rank {
		return View{}, false
	}
	s := View{Shape: make([]int64, rank), Strides: make([]int64, rank), Offset: v.Offset}
	for i, d := range v.Shape {
		n, ok := Steps(starts[i], ends[i], steps[i])
		if !ok {
			return View{}, false
		}
		s.Shape[i] = n
		s.Strides[i] = v.Strides[i]
		if n == 0 {
			continue
		}
		last := starts[i] + (n-1)*steps[i]
		if min(starts[i], last) < 0 || max(starts[i], last) >= d {
			return View{}, false
		}
		s.Offset += starts[i] * v.Strides[i]
		if n > 1 {
			s.Strides[i] *= steps[i]
		}
	}
	return s, true
}

// Part returns the n elements of an axis from first on. It returns false when the axis
// does not have them.
func (v View) Part(axis int, first, n int64) (View, bool) {
	if axis < 0 || axis >= len(v.Shape) || first < 0 || n < 0 || n > v.Shape[axis]-first {
		return View{}, false
	}
	p := View{Shape: slices.Clone(v.Shape), Strides: slices.Clone(v.Strides), Offset: v.Offset}
	p.Shape[axis] = n
	if n > 0 {
		p.Offset += first * v.Strides[axis]
	}
	return p, true
}

// Steps returns how many numbers start, start+step, ... there are before end, or
// above it when step is negative. It returns false when step is 0, and when start
// or end is below -1, which no normalised slice has.
func Steps(start, end, step int64) (int64, bool) {
	if step == 0 || start < -1 || end < -1 {
		return 0, false
	}
	if step > 0 {
		if end <= start {
			return 0, true
		}
		return (end-start-1)/step + 1, true
	}
	if start <= end {
		return 0, true
	}
	return -((start - end - 1) / (step)) + 1, true
}

// Pad returns the view with pads[i] more elements before axis i and pads[rank+i]
// more after it. Only a padding that adds nothing, a crop, is a view: its pads are
// zero or negative.
func (v View) Pad(pads []int64) (View, bool) {
	rank := len(v.Shape)
	if len(pads) != 2*rank {
		return View{}, false
	}
	p := View{Shape: slices.Clone(v.Shape), Strides: slices.Clone(v.Strides), Offset: v.Offset}
	for i, d := range v.Shape {
		begin, end := pads[i], pads[rank+i]
		if begin > 0 || end > 0 || begin < -d || end < -d-begin {
			return View{}, false
		}
		p.Shape[i] = d + begin + end
		p.Offset -= begin * v.Strides[i]
	}
	return p, true
}
