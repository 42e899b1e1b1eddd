// # Tensor properties
//
// These functions return the properties of a tensor, all at once or one at a
// time. The tensor itself is opaque, because a struct that compiled code reads
// in place could never change. Each call costs a lookup of the pointer and one
// load; emitted code calls once, before its loops.
package main

import "C"

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_tensor_info_get returns all the properties below in one call.
//
//	C: tl_status tl_tensor_info_get(const tl_tensor* tensor, tl_tensor_info* out_info);
//
// Ownership: what out_info points to is borrowed; valid while the caller holds
// the tensor.
// Returns: TL_OK, or why nothing was filled in. For a NULL tensor all fields are zero.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor), TL_E_INVALID_ARGUMENT (NULL out_info, or a
// struct_size that is too small).
// Cost: fast; about 5 ns.
//
//export tlgo_tensor_info_get
func tlgo_tensor_info_get(c, t, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return fillTensorInfo(o, t, out) })
}

// tl_tensor_data returns the address of the first element. For a device other
// than the CPU it is an address of that device.
//
//	C: void* tl_tensor_data(const tl_tensor* tensor);
//
// Ownership: the caller borrows; valid while it holds the tensor.
// Returns: the address; NULL for NULL, for a tensor without elements and on
// failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Refuses: tensor.
// Null: NULL.
//
//export tlgo_tensor_data
func tlgo_tensor_data(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Data(o, t) })
}

// tl_tensor_nbytes returns the number of bytes of the elements.
//
//	C: size_t tl_tensor_nbytes(const tl_tensor* tensor);
//
// Ownership: none.
// Returns: bytes; 0 for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Refuses: tensor.
// Null: 0.
//
//export tlgo_tensor_nbytes
func tlgo_tensor_nbytes(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Nbytes(o, t) })
}

// tl_tensor_numel returns the number of elements.
//
//	C: int64_t tl_tensor_numel(const tl_tensor* tensor);
//
// Ownership: none.
// Returns: the number, 1 for rank 0; 0 for NULL; -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: tensor.
// Null: 0.
//
//export tlgo_tensor_numel
func tlgo_tensor_numel(c, t uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return tensor.Numel(o, t) })
}

// tl_tensor_len is tl_tensor_numel under the name that the TL compiler emits.
//
//	C: int64_t tl_tensor_len(const tl_tensor* tensor);
//
// As: tl_tensor_numel.
//
//export tlgo_tensor_len
func tlgo_tensor_len(c, t uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return tensor.Numel(o, t) })
}

// tl_tensor_rank returns the number of dimensions.
//
//	C: int64_t tl_tensor_rank(const tl_tensor* tensor);
//
// Ownership: none.
// Returns: the rank; 0 for NULL; -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: tensor.
// Null: 0.
//
//export tlgo_tensor_rank
func tlgo_tensor_rank(c, t uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return tensor.Rank(o, t) })
}

// tl_tensor_shape returns the extents, one for each dimension.
//
//	C: const int64_t* tl_tensor_shape(const tl_tensor* tensor);
//
// Ownership: the caller borrows; valid while it holds the tensor.
// Returns: the first of rank numbers; NULL for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Refuses: tensor.
// Null: NULL.
//
//export tlgo_tensor_shape
func tlgo_tensor_shape(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Shape(o, t) })
}

// tl_tensor_strides returns the distance between neighbours in each dimension,
// in elements.
//
//	C: const int64_t* tl_tensor_strides(const tl_tensor* tensor);
//
// As: tl_tensor_shape.
//
//export tlgo_tensor_strides
func tlgo_tensor_strides(c, t uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.Strides(o, t) })
}

// tl_tensor_dtype returns the element type.
//
//	C: int32_t tl_tensor_dtype(const tl_tensor* tensor);
//
// Ownership: none.
// Returns: a value of tl_dtype; 0 for NULL; -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: tensor.
// Null: 0.
//
//export tlgo_tensor_dtype
func tlgo_tensor_dtype(c, t uintptr) int32 {
	return guarded(c, -1, func(o *object.Context) int32 { return tensor.Dtype(o, t) })
}

// tl_tensor_device returns the device that holds the data.
//
//	C: int32_t tl_tensor_device(const tl_tensor* tensor);
//
// Ownership: none.
// Returns: its number; 0 for NULL; -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: tensor.
// Null: 0.
//
//export tlgo_tensor_device
func tlgo_tensor_device(c, t uintptr) int32 {
	return guarded(c, -1, func(o *object.Context) int32 { return tensor.Device(o, t) })
}

// tl_tensor_is_contiguous tells whether the elements lie one after another in
// row-major order.
//
//	C: bool tl_tensor_is_contiguous(const tl_tensor* tensor);
//
// Ownership: none.
// Returns: true when they do, and for NULL; false on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor).
// Cost: fast; about 3 ns.
// Refuses: tensor.
// Null: true.
//
//export tlgo_tensor_is_contiguous
func tlgo_tensor_is_contiguous(c, t uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool { return tensor.IsContiguous(o, t) })
}

// tl_tensor_dim returns the extent of one dimension. Negative axes count from
// the last one.
//
//	C: int64_t tl_tensor_dim(const tl_tensor* tensor, int64_t axis);
//
// Ownership: none.
// Returns: the extent; 0 for NULL; -1 on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor), TL_E_INVALID_ARGUMENT (no such axis).
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: tensor.
// Null: 0.
//
//export tlgo_tensor_dim
func tlgo_tensor_dim(c, t uintptr, axis int64) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return tensor.Dim(o, t, axis) })
}

// fillTensorInfo describes the tensor at t in the caller's struct.
func fillTensorInfo(o *object.Context, t, out uintptr) status.Status {
	return fillWhole(o, out, "tl_tensor_info", func() (info tl_tensor_info, st status.Status) {
		h, st := tensor.Describe(o, t)
		if t == 0 || st != status.OK {
			return info, st
		}
		return tl_tensor_info{
			Data: h.Data, Numel: int64(h.Numel), Nbytes: uintptr(h.Nbytes),
			Shape:   t + unsafe.Offsetof(h.Shape),
			Strides: t + unsafe.Offsetof(h.Strides),
			Dtype:   int32(h.Dtype), Device: int32(h.Device), Rank: int32(h.Rank), Flags: h.Flags, Base: h.Base,
		}, st
	})
}

// wrapTensor makes a tensor over the memory that a tl_tensor_info describes.
func wrapTensor(o *object.Context, at, deleter, ctx uintptr) uintptr {
	switch {
	case !usable(at):
		fail(o, status.InvalidArgument, "a tl_tensor_info is needed, not NULL")
		return 0
	case load[uintptr](at) < unsafe.Sizeof(tl_tensor_info{}):
		fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_tensor_info)", load[uintptr](at))
		return 0
	}
	info := load[tl_tensor_info](at)
	return tensor.Borrow(o, tensor.Borrowed{
		Dtype: info.Dtype, Device: info.Device, Rank: int64(info.Rank), Shape: info.Shape, Strides: info.Strides,
		Data: info.Data, ReadOnly: info.Flags&layout.TensorReadOnly != 0, Deleter: deleter, Context: ctx,
	})
}
