package shapes

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

const (
	origin  = 1 << 40 // where the memory begins
	granted = layout.ViewGranted
)

// view is the header of a view of elements of 4 bytes, and what was said of the last one that was refused.
type view struct {
	layout.TensorHeader
	said [4]int64
}

// to makes the view another one, unless that is refused.
func (v *view) to(operation uint32, given ...int64) (why uint32) {
	next := layout.TensorHeader{Mark: 77}
	v.said = [4]int64{}
	copy(v.said[:], given)
	if why = View(&next, &v.TensorHeader, operation, &v.said); why == granted {
		v.TensorHeader = next
	}
	return why
}

// lists are the arrays whose addresses the tests have handed out: what only an address leads to is free for Go.
var lists [][]int64

// list returns the address of numbers, which stay where they are.
func list(numbers []int64) int64 {
	lists = append(lists, numbers)
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(numbers))))
}

func (v *view) reshape(shape []int64) uint32 {
	return v.to(layout.ViewReshape, int64(len(shape)), list(shape))
}

func (v *view) broadcast(shape []int64) uint32 {
	return v.to(layout.ViewBroadcastTo, int64(len(shape)), list(shape))
}

func (v *view) permute(axes []int64) uint32 {
	return v.to(layout.ViewPermute, int64(len(axes)), list(axes))
}

func (v *view) slice(axis, start, stop, step int64) uint32 {
	return v.to(layout.ViewSlice, axis, start, stop, step)
}

func (v *view) sliceAxes(starts, stops, steps []int64) uint32 {
	return v.to(layout.ViewSliceAxes, int64(len(starts)), list(starts), list(stops), list(steps))
}

func contiguousView(shape ...int64) *view {
	h := layout.TensorHeader{Data: origin, Rank: uint16(len(shape)), Dtype: 2, // I32
		Flags: layout.TensorContiguous}
	copy(h.Shape[:], shape)
	numel, axis := Compact(4, len(shape), &h.Shape, &h.Strides)
	if axis >= 0 {
		panic("not a shape")
	}
	h.Numel, h.Nbytes = numel, 4*numel
	return &view{TensorHeader: h}
}
