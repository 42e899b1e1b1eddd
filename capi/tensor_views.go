// # Tensor views
//
// A view is a tensor without memory of its own: another shape and other strides
// over the elements of an existing tensor. A write through one is visible
// through all. A view holds a reference to the tensor that has the memory,
// never to another view, so the memory goes back to the pool, or its deleter
// runs, when the last reference to the tensor and its views is dropped, in any
// order and on any thread.
//
// Strides may be 0 (broadcast: one element under several indices) and negative
// (a slice that runs backwards: tl_tensor_data is then not the lowest address).
// When strides cannot express the requested view, the call fails with
// TL_E_UNSUPPORTED. It never copies; tl_tensor_clone does.
//
// A tensor in a slot cannot have views, because the function's frame ends its
// memory whether or not a view exists. The call fails with TL_E_UNSUPPORTED;
// clone the tensor first.
//
// Axes count from 0, negative ones from the last. A view of a tensor that is
// read-only is read-only.
package main

import "C"

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/tensor"
)

// tl_view_reshape returns a view with the same elements, in row-major order, in
// another shape. One extent may be -1; it is computed from the others.
//
//	C: tl_tensor* tl_view_reshape(tl_tensor* tensor, int64_t rank, const int64_t* shape);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot, or no strides give that
// order), TL_E_INVALID_ARGUMENT (another number of elements, rank not 0 to 8,
// NULL shape, negative or overflowing extents, more than one -1),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_reshape
func tlgo_view_reshape(c, t uintptr, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewReshape, rank, int64(shape))
	})
}

// tl_view_slice returns a view of the elements start, start + step, ... before
// stop of one axis, by the rules of Python's slices: a negative start or stop
// counts from the end, and positions beyond either end are cut off, so that
// INT64_MIN and INT64_MAX stand for the ends. A negative step runs backwards,
// from start down to the element after stop.
//
//	C: tl_tensor* tl_view_slice(tl_tensor* tensor, int64_t axis, int64_t start, int64_t stop, int64_t step);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (no
// such axis, a step of 0), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope
// stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_slice
func tlgo_view_slice(c, t uintptr, axis, start, stop, step int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewSlice, axis, start, stop, step)
	})
}

// tl_view_slice_axes takes a part of each of the first rank axes in one call. Axis
// i gets the elements starts[i], starts[i] + steps[i], ... before stops[i], as
// tl_view_slice does; the axes after them stay whole. A step of 0 takes the one
// element at starts[i] and leaves the axis out of the view, as an index does; the
// element has to exist, and stops[i] says nothing.
//
//	C: tl_tensor* tl_view_slice_axes(tl_tensor* tensor, int64_t rank, const int64_t* starts, const int64_t* stops, const int64_t* steps);
//
// The parameter steps may be NULL: all are 1.
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (rank
// below 0 or above the tensor's, NULL starts or stops with a rank above 0, no such
// element), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_slice_axes
func tlgo_view_slice_axes(c, t uintptr, rank int64, starts, stops, steps uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewSliceAxes, rank, int64(starts), int64(stops), int64(steps))
	})
}

// tl_view_transpose returns a view with two axes swapped.
//
//	C: tl_tensor* tl_view_transpose(tl_tensor* tensor, int64_t axis_a, int64_t axis_b);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (no
// such axis), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_transpose
func tlgo_view_transpose(c, t uintptr, a, b int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewTranspose, a, b)
	})
}

// tl_view_permute returns a view with the axes in another order: axis i of the
// view is axis axes[i] of the tensor.
//
//	C: tl_tensor* tl_view_permute(tl_tensor* tensor, int64_t rank, const int64_t* axes);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (NULL
// axes, not every axis once), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the
// scope stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_permute
func tlgo_view_permute(c, t uintptr, rank int64, axes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewPermute, rank, int64(axes))
	})
}

// tl_view_broadcast_to returns a view that repeats axes of one element, and
// repeats the whole tensor along new leading axes. Repetition needs no memory:
// the stride of such an axis is 0. An extent of -1 keeps the tensor's extent.
//
//	C: tl_tensor* tl_view_broadcast_to(tl_tensor* tensor, int64_t rank, const int64_t* shape);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (NULL
// shape, rank below the tensor's or above 8, an extent that is neither the
// tensor's nor repeats one element, an overflow), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_broadcast_to
func tlgo_view_broadcast_to(c, t uintptr, rank int64, shape uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewBroadcastTo, rank, int64(shape))
	})
}

// tl_view_squeeze returns a view without an axis of one element.
//
//	C: tl_tensor* tl_view_squeeze(tl_tensor* tensor, int64_t axis);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (no
// such axis, or the axis does not have one element), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_squeeze
func tlgo_view_squeeze(c, t uintptr, axis int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewSqueeze, axis)
	})
}

// tl_view_expand_dims returns a view with one more axis, of one element. The
// parameter axis is the position of that axis in the view.
//
//	C: tl_tensor* tl_view_expand_dims(tl_tensor* tensor, int64_t axis);
//
// Ownership: the current scope holds the view; the view holds the tensor that
// has the memory. The caller borrows.
// Returns: the view, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or one in a slot), TL_E_INVALID_ARGUMENT (no
// such axis, eight dimensions already), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; one compare-and-swap, whatever the size.
//
//export tlgo_view_expand_dims
func tlgo_view_expand_dims(c, t uintptr, axis int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.View(o, t, layout.ViewExpandDims, axis)
	})
}

// tl_tensor_base returns the tensor whose memory a view shares.
//
//	C: tl_tensor* tl_tensor_base(const tl_tensor* tensor);
//
// Ownership: the caller borrows; valid while it holds the view.
// Returns: the tensor, which is never a view; NULL for NULL, for a tensor that is not a
// view and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Refuses: tensor.
// Null: NULL.
//
//export tlgo_tensor_base
func tlgo_tensor_base(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Base(o, t) })
}
