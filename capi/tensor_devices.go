// # Tensors on devices
//
// A tensor of a device other than the CPU is a header in the runtime's heap and a
// block of that device's default memory pool, which the runtime creates for the
// first such tensor. The tensor is counted, registered and viewed like any
// other. With the last reference it goes, with its block, to the device tensor
// cache (The tensor pool), or the block goes back to that memory pool.
// tl_tensor_data is an address of the device.
//
//	int64_t shape[2] = {64, 64};
//	tl_tensor* weights = tl_tensor_new_zeroed(TL_DTYPE_F32, gpu, 2, shape);
//	tl_tensor* here = tl_tensor_to(weights, TL_DEVICE_CPU);
//
// A stream is a queue of a device's work. A copy by the runtime is complete
// when the call returns. Work that the program queues continues after the call
// that queued it. tl_tensor_record_stream names a stream that uses a tensor, so
// that the tensor's memory is not reused before that work is done.
package main

import "C"

import (
	"tlruntime/runtime/device"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_tensor_to returns a contiguous copy of a tensor on a device, which may be
// the tensor's own device.
//
//	C: tl_tensor* tl_tensor_to(const tl_tensor* tensor, int32_t device);
//
// Ownership: the current scope holds the copy; the caller borrows.
// Threads: any thread, while no other writes the tensor.
// Returns: the copy, NULL on failure or for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or a device that does not copy), TL_E_DEVICE (no
// such device, or its driver failed), TL_E_INVALID_ARGUMENT (memory that was lent
// is none of its device), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope
// stack is full).
// Cost: fast; on the CPU as tl_tensor_clone; a slow call for other devices, where elements with gaps between them go
// by way of the CPU, if it cannot reach their memory.
//
//export tlgo_tensor_to
func tlgo_tensor_to(c, t uintptr, id int32) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.To(o, t, id) })
}

// tl_tensor_copy copies the elements of one tensor into another of the same shape
// and element type, on whatever devices the two are. The tensor that is read
// may have gaps and permuted axes. The tensor that is written may have them
// where the CPU reaches its memory. The two may share memory.
//
//	C: tl_status tl_tensor_copy(tl_tensor* to, const tl_tensor* from);
//
// Ownership: unchanged.
// Threads: any thread, while no other uses to or writes from.
// Returns: TL_OK, or why the copy was not completed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_INVALID_ARGUMENT (NULL, or they differ in shape or type), TL_E_UNSUPPORTED
// (not a tensor; to is read-only, has one element under several indices, or has
// gaps on a device whose memory the CPU cannot reach; a device that cannot
// copy), TL_E_DEVICE, TL_E_OUT_OF_MEMORY.
// Cost: fast; about 50 ns and the copy on the CPU; a slow call for other devices and where the two share memory.
//
//export tlgo_tensor_copy
func tlgo_tensor_copy(c, to, from uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return tensor.Copy(o, to, from) })
}

// tl_tensor_record_stream tells the runtime that work in a stream uses a
// tensor. When the last reference to the tensor is dropped, its memory is
// reused only after the work that is in the stream at that moment. The stream
// has to exist until then.
//
//	C: tl_status tl_tensor_record_stream(tl_tensor* tensor, void* stream);
//
// Ownership: unchanged.
// Returns: TL_OK, also for a NULL tensor, and for the stream NULL on a device without
// streams; or why nothing was recorded.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, a stream where the device has none, or a
// borrowed buffer), TL_E_DEVICE (the tensor's device is not available).
// Cost: slow call. The release costs an event for each stream.
//
//export tlgo_tensor_record_stream
func tlgo_tensor_record_stream(c, t, stream uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return tensor.RecordStream(o, t, device.Stream(stream))
	})
}

// tl_tensor_sync_stream makes later work in a stream wait for the work that is
// now in the streams that use the tensor. These are the recorded streams, or
// the default stream if none is recorded. The CPU does not wait. A consumer of
// the tensor's memory calls this function before it uses the memory in a stream
// of its own.
//
//	C: tl_status tl_tensor_sync_stream(tl_tensor* tensor, void* stream);
//
// Ownership: unchanged.
// Returns: TL_OK, or why the stream does not wait.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (not a tensor, or a stream where the device has none),
// TL_E_OUT_OF_MEMORY (no memory for an event), TL_E_DEVICE.
// Cost: slow call; four calls of the driver for each stream.
//
//export tlgo_tensor_sync_stream
func tlgo_tensor_sync_stream(c, t, stream uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return tensor.AwaitStreams(o, t, device.Stream(stream))
	})
}
