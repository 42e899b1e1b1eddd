// # DLPack
//
// The structs by which array libraries hand tensors to each other without a
// copy, in both directions: version 1 (struct DLManagedTensorVersioned of
// dlpack.h) and the one before it (struct DLManagedTensor), which cannot say
// that memory is read-only. Both are only declared here; include dlpack.h, before
// or after this header, to look inside.
//
// What is exported holds a reference to the tensor until the consumer calls its
// deleter, on any thread, attached or not, scopes or not, and as late as it
// likes. Exported structs say version 1.3, with strides always there, byte_offset
// 0 for addresses, and data NULL when there are no elements. Imported tensors hold the
// producer's struct, and call its deleter when the last reference goes; views of
// them count.
//
// Memory passes of the CPU, of CUDA devices and of pinned CPU memory as addresses, and
// of OpenCL and Metal devices as a buffer with byte_offset, where this library has made
// it. The ordinal of a device is the number in its name. Memory of other devices passes
// as the CPU's if the CPU may use it. Element types are those of tl_dtype.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// DLManagedTensorVersioned is DLPack's struct from version 1.0 on.
//
//	C: struct DLManagedTensorVersioned;
const _ = "DLManagedTensorVersioned"

// DLManagedTensor is DLPack's struct before version 1.0.
//
//	C: struct DLManagedTensor;
const _ = "DLManagedTensor"

// tl_tensor_to_dlpack exports a tensor, or with copy a contiguous copy of it,
// flagged as such, which is all the consumer's. A read-only tensor is flagged
// read-only.
//
//	C: struct DLManagedTensorVersioned* tl_tensor_to_dlpack(tl_tensor* tensor, bool copy);
//
// Ownership: the caller holds the struct, and with it a reference to the tensor,
// and gives both back with the struct's deleter.
// Threads: any thread; so is the deleter.
// Returns: the struct, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, one in a slot that is not copied, or one on a device
// that DLPack has no number for), TL_E_DEVICE (the driver failed to copy),
// TL_E_OUT_OF_MEMORY.
// Cost: about 20 ns without a copy.
// Path: fast.
//
//export tlgo_tensor_to_dlpack
func tlgo_tensor_to_dlpack(c, t uintptr, copied bool) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.ToDLPack(o, t, copied) })
}

// tl_tensor_to_dlpack_legacy is tl_tensor_to_dlpack for consumers of before 1.0.
//
//	C: struct DLManagedTensor* tl_tensor_to_dlpack_legacy(tl_tensor* tensor, bool copy);
//
// Ownership: the caller holds the struct, and with it a reference to the tensor,
// and gives both back with the struct's deleter.
// Threads: any thread; so is the deleter.
// Returns: the struct, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, one that is read-only or in a slot and not copied, or
// one on a device that DLPack has no number for), TL_E_DEVICE (the driver failed to
// copy), TL_E_OUT_OF_MEMORY.
// Cost: about 20 ns without a copy.
// Path: fast.
//
//export tlgo_tensor_to_dlpack_legacy
func tlgo_tensor_to_dlpack_legacy(c, t uintptr, copied bool) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.ToDLPackLegacy(o, t, copied) })
}

// tl_tensor_dlpack_device returns the device of a tensor as DLPack numbers it: a
// DLDeviceType and an ordinal.
//
//	C: tl_status tl_tensor_dlpack_device(const tl_tensor* tensor, int32_t* out_type, int32_t* out_ordinal);
//
// Ownership: none.
// Threads: any thread.
// Returns: TL_OK, or why there are no numbers. NULL is on the CPU.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or a device that DLPack has no number for),
// TL_E_INVALID_ARGUMENT (NULL).
// Cost: one cgo call.
//
//export tlgo_tensor_dlpack_device
func tlgo_tensor_dlpack_device(c, t, outType, outOrdinal uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return dlpackDevice(o, t, outType, outOrdinal) })
}

// tl_tensor_from_dlpack imports a tensor: it stands for the producer's memory. A
// struct of another major version is refused, and its deleter called, because
// nothing else may be done with it.
//
//	C: tl_tensor* tl_tensor_from_dlpack(struct DLManagedTensorVersioned* managed);
//
// Ownership: the tensor takes the struct, and calls its deleter after the last
// reference. On failure it stays the caller's, but for another major version. The
// current scope holds the tensor.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, more than 8 dimensions, no data for any
// elements, impossible extents, strides or byte_offset), TL_E_DEVICE (no
// such device), TL_E_UNSUPPORTED (another major version, an element type that is not
// one of tl_dtype, or a buffer of another library's), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: one cgo call.
// Path: fast.
//
//export tlgo_tensor_from_dlpack
func tlgo_tensor_from_dlpack(c, managed uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.FromDLPack(o, managed) })
}

// tl_tensor_from_dlpack_legacy imports a tensor of a producer of before 1.0.
//
//	C: tl_tensor* tl_tensor_from_dlpack_legacy(struct DLManagedTensor* managed);
//
// Ownership: the tensor takes the struct, and calls its deleter after the last
// reference. On failure it stays the caller's. The current scope holds the tensor.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, more than 8 dimensions, no data for any
// elements, impossible extents, strides or byte_offset), TL_E_DEVICE (no
// such device), TL_E_UNSUPPORTED (an element type that is not one of tl_dtype, or a
// buffer of another library's),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: one cgo call.
//
//export tlgo_tensor_from_dlpack_legacy
func tlgo_tensor_from_dlpack_legacy(c, managed uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.FromDLPackLegacy(o, managed) })
}
