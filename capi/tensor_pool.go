// # Tensor pool
//
// A list of dead tensors, up to 32 for each key (elements, dtype, device), which
// emitted code keeps across steps under its own control: a tensor that
// tl_pool_release was given is what the next tl_pool_acquire of its key returns,
// with header and contents as they were; one whose elements have moved as it grew is
// freed instead. Nothing else puts a tensor of the CPU
// into the list or takes one out: tl_tensor_empty and its siblings take memory
// from the heap, and tl_tensor_free returns it, about as fast for any shape.
//
// Each other device has a list of its own, its device tensor cache. Tensors of the
// device come from there and go there by themselves.
//
// The lists are emptied when memory is short and by tl_mem_purge. Near a limit they
// keep nothing new.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// The key that the older TL compiler means: TL_DTYPE_F32 on TL_DEVICE_CPU.
const compatDtype, compatDevice = 0, 0

// tl_pool_acquire takes the tensor of a key out of the pool that came last. Its
// contents are undefined and its shape is one dimension of that many elements.
// Hits and misses are counted: pool_hits and pool_misses of tl_stats.
//
//	C: tl_tensor* tl_pool_acquire(size_t elements, uint8_t dtype, uint8_t device);
//
// Ownership: the reference floats; only the caller can release it.
// Returns: the tensor, NULL on a miss, which is not a failure (TL_OK).
// Errors: TL_E_INVALID_ARGUMENT (no such dtype), TL_E_DEVICE (no such device).
// Cost: slow call; a lock.
//
//export tlgo_pool_acquire
func tlgo_pool_acquire(c, elements uintptr, dtype, device uint8) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return tensor.PoolAcquire(o, elements, dtype, device) })
}

// tl_pool_release gives a tensor that has no other holder to the pool. The tensor
// is freed when the pool is full for its key, and near a limit, and if it is a view
// or has the memory of somebody else.
//
//	C: tl_status tl_pool_release(tl_tensor* tensor, size_t elements, uint8_t dtype, uint8_t device);
//
// Ownership: takes the caller's reference.
// Returns: TL_OK, or why the tensor was not taken.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE (in the
// pool already), TL_E_UNSUPPORTED (not a tensor, or one in a slot),
// TL_E_INVALID_ARGUMENT (the key is not that of the tensor), TL_E_BUSY (another
// holder has a reference).
// Cost: slow call; a lock.
//
//export tlgo_pool_release
func tlgo_pool_release(c, t, elements uintptr, dtype, device uint8) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return tensor.PoolRelease(o, t, elements, dtype, device)
	})
}

// tl_pool_acquire_compat is tl_pool_acquire for f32 on the CPU, in the form
// that an older TL compiler emits.
//
//	C: tl_tensor* tl_pool_acquire_compat(size_t elements);
//
// Ownership: the reference floats; only the caller can release it.
// Returns: the tensor, NULL on a miss, which is not a failure (TL_OK).
// Errors: none.
// Cost: slow call; a lock.
//
//export tlgo_pool_acquire_compat
func tlgo_pool_acquire_compat(c, elements uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return tensor.PoolAcquire(o, elements, compatDtype, compatDevice)
	})
}

// tl_pool_release_compat is tl_pool_release for f32 on the CPU, in the form
// that an older TL compiler emits.
//
//	C: tl_status tl_pool_release_compat(tl_tensor* tensor, size_t elements);
//
// As: tl_pool_release.
//
//export tlgo_pool_release_compat
func tlgo_pool_release_compat(c, t, elements uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return tensor.PoolRelease(o, t, elements, compatDtype, compatDevice)
	})
}

// tl_get_pool_count returns how many tensors the pool keeps, over all keys, those
// of device tensor caches included.
//
//	C: int64_t tl_get_pool_count(void);
//
// Ownership: none.
// Returns: the number.
// Errors: none.
//
//export tlgo_get_pool_count
func tlgo_get_pool_count(c uintptr) int64 {
	return guarded(c, 0, tensor.PoolCount)
}

// tl_get_refcount_count returns how many objects are counted: live tensors,
// heap objects and registered foreign pointers.
//
//	C: int64_t tl_get_refcount_count(void);
//
// Ownership: none.
// Returns: the number, exact at quiescence.
// Errors: none.
//
//export tlgo_get_refcount_count
func tlgo_get_refcount_count(c uintptr) int64 {
	return guarded(c, 0, tensor.LiveCount)
}

// tl_get_gpu_total_allocated_bytes returns how many bytes are allocated on all
// devices except the CPU: the bytes of the blocks that their default memory
// pools have given to live tensors, to tensors that are kept and to PyTorch.
//
//	C: int64_t tl_get_gpu_total_allocated_bytes(void);
//
// Ownership: none.
// Returns: bytes, 0 without such a device.
// Errors: none.
//
//export tlgo_get_gpu_total_allocated_bytes
func tlgo_get_gpu_total_allocated_bytes(c uintptr) int64 {
	return guarded(c, 0, tensor.DeviceAllocatedBytes)
}

// tl_get_gpu_free_count returns how many tensors are kept for all devices
// except the CPU.
//
//	C: int64_t tl_get_gpu_free_count(void);
//
// Ownership: none.
// Returns: the number, 0 without such a device.
// Errors: none.
//
//export tlgo_get_gpu_free_count
func tlgo_get_gpu_free_count(c uintptr) int64 {
	return guarded(c, 0, tensor.DeviceFreeCount)
}

// tl_get_gpu_free_bytes returns the bytes of the tensors that are kept for all
// devices except the CPU.
//
//	C: int64_t tl_get_gpu_free_bytes(void);
//
// Ownership: none.
// Returns: bytes, 0 without such a device.
// Errors: none.
//
//export tlgo_get_gpu_free_bytes
func tlgo_get_gpu_free_bytes(c uintptr) int64 {
	return guarded(c, 0, tensor.DeviceFreeBytes)
}

// tl_get_metal_pool_bytes is tl_get_gpu_free_bytes under another name that the
// TL compiler emits.
//
//	C: int64_t tl_get_metal_pool_bytes(void);
//
// Ownership: none.
// Returns: bytes, 0 without such a device.
// Errors: none.
//
//export tlgo_get_metal_pool_bytes
func tlgo_get_metal_pool_bytes(c uintptr) int64 {
	return guarded(c, 0, tensor.DeviceFreeBytes)
}

// tl_get_metal_pool_mb is tl_get_gpu_free_bytes in units of 1024 * 1024 bytes,
// rounded down.
//
//	C: int64_t tl_get_metal_pool_mb(void);
//
// Ownership: none.
// Returns: mebibytes, 0 without such a device.
// Errors: none.
//
//export tlgo_get_metal_pool_mb
func tlgo_get_metal_pool_mb(c uintptr) int64 {
	return guarded(c, 0, func(o *object.Context) int64 { return tensor.DeviceFreeBytes(o) >> 20 })
}

// tl_get_metal_pool_count is tl_get_gpu_free_count under another name that the
// TL compiler emits.
//
//	C: int64_t tl_get_metal_pool_count(void);
//
// Ownership: none.
// Returns: the number, 0 without such a device.
// Errors: none.
//
//export tlgo_get_metal_pool_count
func tlgo_get_metal_pool_count(c uintptr) int64 {
	return guarded(c, 0, tensor.DeviceFreeCount)
}

// tl_get_gpu_pool_hit_rate returns the share of requests for tensors that kept
// ones have served, over all devices except the CPU.
//
//	C: double tl_get_gpu_pool_hit_rate(void);
//
// Ownership: none.
// Returns: 0.0 to 1.0; 0.0 before the first request.
// Errors: none.
//
//export tlgo_get_gpu_pool_hit_rate
func tlgo_get_gpu_pool_hit_rate(c uintptr) float64 {
	return guarded(c, 0, tensor.DeviceHitRate)
}

// tl_dump_gpu_pool_stats writes one line to standard error for each key of the
// pool, one for the default memory pool of each device in use, and one for the sum.
//
//	C: tl_status tl_dump_gpu_pool_stats(void);
//
// Ownership: none.
// Returns: TL_OK.
// Errors: none.
// Cost: slow call; linear in the number of keys.
//
//export tlgo_dump_gpu_pool_stats
func tlgo_dump_gpu_pool_stats(c uintptr) int32 {
	return guardedStatus(c, tensor.DumpPool)
}
