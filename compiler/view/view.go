// Package view tracks how a tensor lies in a buffer: shape, strides and offset.
// Reshapes, transposes, broadcasts, slices and reversals of a view are views of
// the same buffer wherever strides can express them.
//
// Every function that may fail returns false when there is no such view: because
// its arguments do not fit the shape, or because strides cannot express it and
// the elements would have to be copied. Nothing is checked twice: shapes and
// offsets are taken to be those of a real buffer, so that their products fit in
// an int64.
package view

import (
	"iter"
	"slices"
)

// View is how the elements of a tensor lie in a buffer. Element (i0, i1, ...) is
// element Offset + i0*Strides[0] + i1*Strides[1] + ... of it. A stride of 0
// broadcasts, a negative one reverses. Views are values: no function changes its
// argument's slices.
type View struct {
	Shape   []int64
	Strides []int64 // in elements
	Offset  int64   // in elements
}

// Contiguous returns the view of a buffer that holds a tensor of this shape row by
// row, without gaps. Extents are not negative.
func Contiguous(shape []int64) View {
	v := View{Shape: slices.Clone(shape), Strides: make([]int64, len(shape))}
	stride := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		v.Strides[i] = stride
		stride *= shape[i]
	}
	return v
}

// Elements returns how many elements the view shows; 1 for a scalar. A broadcast
// element counts as often as it is shown.
func (v View) Elements() int64 {
	n := int64(1)
	for _, d := range v.Shape {
		n *= d
	}
	return n
}

// IsContiguous reports whether the elements lie row by row without gaps from
// Offset on. An empty view does.
func (v View) IsContiguous() bool {
	stride := int64(1)
	for i := len(v.Shape) - 1; i >= 0; i-- {
		if v.Shape[i] != 1 && v.Strides[i] != stride {
			return v.Elements() == 0
		}
		stride *= v.Shape[i]
	}
	return true
}

// Extent returns the lowest and the highest element of the buffer that the view
// touches. When the view is empty, it returns 0 and -1.
func (v View) Extent() (low, high int64) {
	if v.Elements() == 0 {
		return 0, -1
	}
	low, high = v.Offset, v.Offset
	for i, d := range v.Shape {
		last := (d - 1) * v.Strides[i]
		low += min(last, 0)
		high += max(last, 0)
	}
	return low, high
}

// At returns which element of the buffer element index of the view is. There is an
// index for every axis, each within its extent.
func (v View) At(index ...int64) int64 {
	at := v.Offset
	for i, x := range index[:len(v.Strides)] {
		at += x * v.Strides[i]
	}
	return at
}

// All goes over the view row by row and yields the place in the buffer of each
// element.
func (v View) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		index := make([]int64, len(v.Shape))
		at := v.Offset
		for range v.Elements() {
			if !yield(at) {
				return
			}
			for i := len(index) - 1; i >= 0; i-- {
				index[i]++
				at += v.Strides[i]
				if index[i] < v.Shape[i] {
					break
				}
				at -= v.Shape[i] * v.Strides[i]
				index[i] = 0
			}
		}
	}
}

// Same reports whether both views show the same elements in the same shape.
// Strides of axes with one element do not matter, nor does where an empty view
// would begin.
func (v View) Same(w View) bool {
	if !slices.Equal(v.Shape, w.Shape) {
		return false
	}
	if v.Elements() == 0 {
		return true
	}
	for i, d := range v.Shape {
		if d != 1 && v.Strides[i] != w.Strides[i] {
			return false
		}
	}
	return v.Offset == w.Offset
}
