// # DLPack
//
// Array libraries exchange tensors without a copy in the structs of DLPack. The
// functions below export and import them, in version 1 (struct
// DLManagedTensorVersioned of dlpack.h) and in the version before it (struct
// DLManagedTensor), which cannot mark memory as read-only. This header only
// declares the structs; include dlpack.h, before or after it, to use their
// fields.
//
// An exported struct holds a reference to the tensor until the consumer calls
// the struct's deleter. The consumer may do so on any thread, attached or not,
// at any time, and whatever scopes are open. Exported structs have version 1.3
// and always have strides. byte_offset is 0 where data is an address, and data
// is NULL when there are no elements. An imported tensor holds the producer's
// struct, and calls its deleter when the last reference to the tensor and its
// views is dropped.
//
// CPU memory, pinned CPU memory and memory of CUDA devices are passed as
// addresses. Memory of OpenCL and Metal devices is passed as a buffer with
// byte_offset, if this library has allocated it. Memory of other devices is
// passed as memory of the CPU, if the CPU may use it. The ordinal of a device
// is the number in its name. Element types are those of tl_dtype.
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

// tl_tensor_to_dlpack exports a tensor. With copy it exports a contiguous copy,
// which is flagged as a copy and belongs to the consumer alone. A read-only
// tensor is flagged read-only.
//
//	C: struct DLManagedTensorVersioned* tl_tensor_to_dlpack(tl_tensor* tensor, bool copy);
//
// Ownership: the caller holds the struct, and with it a reference to the tensor,
// and gives both back with the struct's deleter.
// Threads: any thread; the deleter may also run on any thread.
// Returns: the struct, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, one in a slot that is not copied, or one on a device
// that DLPack has no number for), TL_E_DEVICE (the driver failed to copy),
// TL_E_OUT_OF_MEMORY.
// Cost: fast; about 20 ns without a copy.
//
//export tlgo_tensor_to_dlpack
func tlgo_tensor_to_dlpack(c, t uintptr, copied bool) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.ToDLPack(o, t, copied, false) })
}

// tl_tensor_to_dlpack_legacy is tl_tensor_to_dlpack for consumers that use
// DLPack before 1.0.
//
//	C: struct DLManagedTensor* tl_tensor_to_dlpack_legacy(tl_tensor* tensor, bool copy);
//
// Ownership: the caller holds the struct, and with it a reference to the tensor,
// and gives both back with the struct's deleter.
// Threads: any thread; the deleter may also run on any thread.
// Returns: the struct, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, one that is read-only or in a slot and not copied, or
// one on a device that DLPack has no number for), TL_E_DEVICE (the driver failed to
// copy), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 20 ns without a copy.
//
//export tlgo_tensor_to_dlpack_legacy
func tlgo_tensor_to_dlpack_legacy(c, t uintptr, copied bool) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.ToDLPack(o, t, copied, true) })
}

// tl_tensor_dlpack_device returns the device of a tensor as DLPack numbers it: a
// DLDeviceType and an ordinal.
//
//	C: tl_status tl_tensor_dlpack_device(const tl_tensor* tensor, int32_t* out_type, int32_t* out_ordinal);
//
// Ownership: none.
// Returns: TL_OK, or why there are no numbers. A NULL tensor is on the CPU.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or a device that DLPack has no number for),
// TL_E_INVALID_ARGUMENT (NULL).
//
//export tlgo_tensor_dlpack_device
func tlgo_tensor_dlpack_device(c, t, outType, outOrdinal uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return dlpackDevice(o, t, outType, outOrdinal) })
}

// tl_tensor_from_dlpack imports a tensor over the producer's memory. A struct
// of another major version is refused and its deleter called, because DLPack
// allows no other use of it.
//
//	C: tl_tensor* tl_tensor_from_dlpack(struct DLManagedTensorVersioned* managed);
//
// Ownership: the tensor takes the struct, and calls its deleter after the last
// reference. On failure the struct stays the caller's, except with another
// major version. The current scope holds the tensor.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, more than 8 dimensions, no data although there
// are elements, impossible extents, strides or byte_offset), TL_E_DEVICE (no such
// device), TL_E_UNSUPPORTED (another major version, an element type that is not one of
// tl_dtype, or a buffer of another library), TL_E_OUT_OF_MEMORY,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 50 ns with its release, for memory of the CPU; a slow call for that of other devices.
//
//export tlgo_tensor_from_dlpack
func tlgo_tensor_from_dlpack(c, managed uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.FromDLPack(o, managed, false) })
}

// tl_tensor_from_dlpack_legacy imports a tensor of a producer that uses DLPack
// before 1.0.
//
//	C: tl_tensor* tl_tensor_from_dlpack_legacy(struct DLManagedTensor* managed);
//
// Ownership: the tensor takes the struct, and calls its deleter after the last
// reference. On failure the struct stays the caller's. The current scope holds
// the tensor.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: the tensor, NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, more than 8 dimensions, no data although there
// are elements, impossible extents, strides or byte_offset), TL_E_DEVICE (no such
// device), TL_E_UNSUPPORTED (an element type that is not one of tl_dtype, or a
// buffer of another library), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the
// scope stack is full).
// Cost: fast; as tl_tensor_from_dlpack.
//
//export tlgo_tensor_from_dlpack_legacy
func tlgo_tensor_from_dlpack_legacy(c, managed uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.FromDLPack(o, managed, true) })
}
