// Package view tracks how a tensor lies in a buffer: shape, strides and offset.
// Reshapes, transposes, broadcasts, slices and reversals of a view are views of
// the same buffer wherever strides can express them.
package view

// View is how the elements of a tensor lie in a buffer. Element (i0, i1, ...) is
// element Offset + i0*Strides[0] + i1*Strides[1] + ... of it. A stride of 0
// broadcasts, a negative one reverses. Views are values: no function changes its
// argument's slices.
type View struct {
	Shape   []int64
	Strides []int64 // in elements
	Offset  int64   // in elements
}
