// # PyTorch
//
// PyTorch can take the memory of CUDA devices from any library that has two
// functions of these signatures:
//
//	allocator = torch.cuda.memory.CUDAPluggableAllocator(
//	    tl_runtime.path, "tl_torch_malloc", "tl_torch_free")
//	torch.cuda.memory.change_current_allocator(allocator)
//
// The memory comes from the device's default pool, and is given back in the
// order of the stream that used it.
package main

import "C"

import (
	"strconv"

	"tlruntime/runtime/device"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_torch_malloc returns memory of a CUDA device for work in a stream.
//
//	C: void* tl_torch_malloc(int64_t size, int32_t device, void* stream);
//
// Ownership: the caller gives the block back with tl_torch_free.
// Returns: the block; NULL on failure or for 0 bytes. device is the number that
// CUDA has for it.
// Errors: TL_E_INVALID_ARGUMENT (a negative size), TL_E_DEVICE (no such device, or
// its driver failed), TL_E_OVERFLOW (more bytes than a block can have),
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; about 200 ns from the pool.
//
//export tlgo_torch_malloc
func tlgo_torch_malloc(c uintptr, size int64, cuda int32, stream uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return torchMalloc(o, size, cuda, device.Stream(stream)) })
}

// tl_torch_free gives memory of tl_torch_malloc back. Work in the same stream
// may reuse it at once, other work only after the work that is in the stream
// now. tl_last_status tells what went wrong.
//
//	C: void tl_torch_free(void* block, int64_t size, int32_t device, void* stream);
//
// Ownership: takes the block. NULL is fine.
// Returns: nothing.
// Errors: TL_E_UNKNOWN_POINTER (not a block of the device's default pool), TL_E_DEVICE
// (no such device, or its driver failed; the block stays the caller's).
// Cost: slow call; an event.
const _ = "tl_torch_free"

func torchMalloc(o *object.Context, size int64, cuda int32, s device.Stream) uintptr {
	if size < 0 {
		fail(o, status.InvalidArgument, "%d is negative; sizes are not", size)
		return 0
	}
	number, err := cudaDevice(cuda)
	if err != nil {
		deviceStatus(o, err)
		return 0
	}
	if size == 0 {
		return o.Null()
	}
	block, err := tensor.Allocate(uint8(number), func(h mempool.Handle) (uintptr, error) {
		return mempool.AllocateAsync(h, uintptr(size), s)
	})
	anyStatus(o, err)
	return block
}

// tlentry_torch_free is tl_torch_free inside the entry guard.
//
//export tlentry_torch_free
func tlentry_torch_free(c, block uintptr, cuda int32, stream uintptr) {
	guarded(c, 0, func(o *object.Context) int {
		torchFree(o, block, cuda, device.Stream(stream))
		return 0
	})
}

func torchFree(o *object.Context, block uintptr, cuda int32, s device.Stream) {
	if block == 0 {
		return
	}
	number, err := cudaDevice(cuda)
	if err != nil {
		deviceStatus(o, err)
		return
	}
	h, err := tensor.DefaultPool(number)
	if err == nil {
		err = mempool.DeallocateAsync(h, block, s)
	}
	anyStatus(o, err)
}

// cudaDevice converts CUDA's number of a device into the runtime's.
func cudaDevice(ordinal int32) (int32, error) {
	if ordinal < 0 {
		return 0, device.Errorf(status.Device, "there is no CUDA device %d", ordinal)
	}
	return devices().ByName("cuda:" + strconv.Itoa(int(ordinal)))
}

// anyStatus records why a call about a device, or about its pool, failed.
func anyStatus(o *object.Context, err error) status.Status {
	if _, ofPool := err.(*mempool.Error); ofPool {
		return poolStatus(o, err)
	}
	return deviceStatus(o, err)
}
