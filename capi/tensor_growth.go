// # Tensors that grow
//
// A tensor of the CPU with memory of its own can change the extent of its first
// axis: a cache that gets a row with each step, a batch whose size varies. While
// its capacity lasts, the elements stay where they are. Beyond it they move to
// memory that is larger by half at least, and tl_tensor_data changes; so does
// tl_tensor_reserve, which makes room in advance.
//
// A capacity of 1 MiB and more is address space: the system brings memory as it
// is written to, and what is beyond the elements is charged to no limit, but for
// an eighth of them. A tensor that becomes smaller keeps its capacity. If it has
// grown to 1 MiB or more and uses less than three quarters of what limits count for it,
// the rest becomes idle once the tensor has not become smaller for a while, and goes back
// to the system while more than 4 MiB are idle, or with tl_mem_purge. Where the system has
// no membarrier, each such step down, and the step up after it, is a slow call. A tensor
// that was made large and has never moved keeps what it was made with.
//
// Nobody else may hold the tensor meanwhile: a view or a DLPack capsule would see
// elements that have moved away. Each of them holds a reference, so a tensor with more
// than one is TL_E_BUSY. The one reference has to be the caller's: a tensor that only
// its view still holds (tl_tensor_base) must not be resized. Arrays that NumPy has
// made of a tensor of Python hold Python's object instead: what Python lends, C code
// may read and write, and must not resize.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_tensor_reserve makes room for an extent of the first axis, so that the
// tensor can grow to it without moving. A smaller one than there is room for
// changes nothing.
//
//	C: tl_status tl_tensor_reserve(tl_tensor* tensor, int64_t capacity);
//
// Ownership: unchanged. The elements may move: ask tl_tensor_data again.
// Threads: one thread at a time for one tensor.
// Returns: TL_OK, or why the capacity stays. NULL is ignored.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one without memory of its own: a view, one
// over lent memory, in a slot or on a device), TL_E_BUSY (more than one
// reference), TL_E_INVALID_ARGUMENT (rank 0, or a capacity that is negative or
// overflows), TL_E_OUT_OF_MEMORY.
// Cost: slow call; a copy of the elements when they move. Those that have grown to 1 MiB
// and more are not copied again: their pages move.
//
//export tlgo_tensor_reserve
func tlgo_tensor_reserve(c, t uintptr, capacity int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Reserve(o, t, capacity) })
}

// tl_tensor_resize changes the extent of the first axis. What new elements are is
// undefined.
//
//	C: tl_status tl_tensor_resize(tl_tensor* tensor, int64_t extent);
//
// Ownership: unchanged. Beyond the capacity the elements move, and may have moved where
// the call is refused memory: ask tl_tensor_data again.
// Threads: one thread at a time for one tensor.
// Returns: TL_OK, or why the tensor stays as it is. NULL is ignored.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one without memory of its own: a view, one
// over lent memory, in a slot or on a device), TL_E_BUSY (more than one
// reference), TL_E_INVALID_ARGUMENT (rank 0, or an extent that is negative or
// overflows), TL_E_OUT_OF_MEMORY.
// Cost: grows; about 10 ns while the capacity lasts.
//
//export tlgo_tensor_resize
func tlgo_tensor_resize(c, t uintptr, extent int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Resize(o, t, extent, false) })
}

// tl_tensor_resize_zeros is tl_tensor_resize with new elements of zeros.
//
//	C: tl_status tl_tensor_resize_zeros(tl_tensor* tensor, int64_t extent);
//
// As: tl_tensor_resize.
// Cost: grows; that of tl_tensor_resize, and of the zeros.
//
//export tlgo_tensor_resize_zeros
func tlgo_tensor_resize_zeros(c, t uintptr, extent int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Resize(o, t, extent, true) })
}

// tl_tensor_capacity returns the extent of the first axis up to which a tensor
// can grow without moving.
//
//	C: int64_t tl_tensor_capacity(const tl_tensor* tensor);
//
// Ownership: none.
// Threads: any thread, while none changes the tensor.
// Returns: the extent; that of the first axis for a tensor that cannot grow or has no
// bytes in a row, 0 for NULL and for rank 0, -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Fails: -1.
//
//export tlgo_tensor_capacity
func tlgo_tensor_capacity(c, t uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return tensor.Capacity(o, t) })
}
