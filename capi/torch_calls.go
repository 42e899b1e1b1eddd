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
