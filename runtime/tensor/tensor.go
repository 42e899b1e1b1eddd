// Package tensor makes tensors: objects of package object that begin with a
// header (element type, shape, strides). Each exported function is the complete
// slow-path operation of the C function of the same name; cshim/tensor answers
// the common cases on the same memory.
//
// A tensor is 192 bytes of header and its data, both aligned to 64 bytes, in one
// heap object. Two kinds have no data of their own: one over the caller's memory
// (from_buffer, wrap), and a view of another tensor, which keeps that one alive by
// count. One kind is no object at all: a tensor in a
// slot stands in the frame stack and ends with its function.
//
// Shapes, data and tensors come from C as addresses. They are validated before
// use, and never stand in a pointer variable across a call.
//
//	tensor.go, shape.go, dtype.go          headers, shapes and element types
//	make.go, clone.go, grow.go             how tensors are made, copied and lengthened
//	references.go, properties.go           counting, and what is asked of a tensor
//	view.go                                views
//	device.go, on_device.go                tensors on devices
//	blocks.go, own_blocks.go               the memory of such tensors
//	transfer.go, streams.go                copies between devices, and their order
//	cache.go, pool.go, give_tensors.go     dead tensors that are kept, and when they are given back
//	dlpack.go, dlpack_device.go, share.go  tensors of other libraries and processes
//	array.go, sparse_blocks.go             what array libraries and package sparse make of tensors
//	hooks.go                               what package object asks
//	stats.go, device_stats.go, debug.go    figures, and a line for each operation of a cache
//	check.go                               the checker
package tensor

import (
	"unsafe"

	"tlruntime/runtime/layout"
)

// header returns the header of the tensor at p, which was looked up.
func header(p uintptr) *layout.TensorHeader { return layout.At[layout.TensorHeader](p) }

// load reads a number of the caller's. Like copyBytes it is nosplit, and
// therefore free of points where the collector could see the address as a
// pointer: the memory is not Go's, and nobody knows what it is.
//
//go:nosplit
//go:noinline
func load(addr uintptr) int64 { return *layout.At[int64](addr) }

//go:nosplit
//go:noinline
func copyBytes(to, from, n uintptr) {
	copy(unsafe.Slice(layout.At[byte](to), n), unsafe.Slice(layout.At[byte](from), n))
}

// copyChunk bounds how long a copy keeps the collector waiting.
const copyChunk = 1 << 20

// copyMemory copies n bytes.
func copyMemory(to, from, n uintptr) {
	for ; n > copyChunk; n -= copyChunk {
		copyBytes(to, from, copyChunk)
		to, from = to+copyChunk, from+copyChunk
	}
	if n > 0 {
		copyBytes(to, from, n)
	}
}
