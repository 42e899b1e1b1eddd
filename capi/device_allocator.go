package main

import (
	"errors"
	"fmt"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// foreignAllocator is a device with the user's functions. Pools over the same
// allocator have equal values.
type foreignAllocator struct {
	name      string
	alignment uintptr
	ctx       uintptr
	allocate  uintptr
	release   uintptr
}

func (a foreignAllocator) Name() string       { return a.name }
func (a foreignAllocator) Alignment() uintptr { return a.alignment }

func (a foreignAllocator) Allocate(n uintptr) (uintptr, error) {
	block := callProgram(a.allocate, a.ctx, n, 0, 0)
	if block == 0 {
		return 0, &device.Error{Status: status.OutOfMemory, Text: fmt.Sprintf("%s has no %d bytes", a.name, n)}
	}
	return block, nil
}

func (a foreignAllocator) Deallocate(block, n uintptr) error {
	callProgram(a.release, a.ctx, block, n, 0)
	return nil
}

// allocatorAt reads a tl_device_allocator and returns it with the account of
// its memory. For an invalid one it records the error and returns nil.
func allocatorAt(o *object.Context, addr uintptr) (a device.Allocator, account int32) {
	if !usable(addr) {
		fail(o, status.InvalidArgument, "the allocator is NULL")
		return nil, 0
	}
	if a, account, ok := ownAllocator(addr); ok {
		return a, account
	}
	return foreignAllocatorAt(o, addr), limit.Own
}

func foreignAllocatorAt(o *object.Context, addr uintptr) device.Allocator {
	if size := load[uintptr](addr); size < unsafe.Sizeof(tl_device_allocator{}) {
		fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_device_allocator)", size)
		return nil
	}
	d := load[tl_device_allocator](addr)
	if !usable(d.Allocate) || !usable(d.Deallocate) {
		fail(o, status.InvalidArgument, "an allocator needs both functions")
		return nil
	}
	name, named := text(d.Name)
	if !named {
		name = "unnamed"
	}
	return foreignAllocator{name, d.Alignment, d.Ctx, d.Allocate, d.Deallocate}
}

func createPool(o *object.Context, allocator, bytes, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_pool is NULL")
	}
	d, account := allocatorAt(o, allocator)
	if d == nil {
		return status.InvalidArgument
	}
	h, err := mempool.Create(d, account, bytes)
	if err == nil {
		store(out, uintptr(h))
	}
	return poolStatus(o, err)
}

// poolStatus records why a call of package pool failed.
func poolStatus(o *object.Context, err error) status.Status {
	if err == nil {
		return status.OK
	}
	var e *mempool.Error
	if !errors.As(err, &e) {
		return fail(o, status.Internal, "%v", err)
	}
	o.Failf(e.Status, "%s", e.Text)
	if e.Short > 0 {
		o.Short(e.Device, e.Short)
	}
	return e.Status
}

// blockOr returns a block, or 0 after it has recorded why: a failure, or a
// request for zero bytes.
func blockOr(o *object.Context, block uintptr, err error) uintptr {
	if poolStatus(o, err) == status.OK && block == 0 {
		return o.Null()
	}
	return block
}

// poolStats writes as much of the counters as the caller's struct has room for.
func poolStats(o *object.Context, handle, out uintptr) status.Status {
	s, err := mempool.ReadStats(mempool.Handle(handle))
	if err != nil {
		return poolStatus(o, err)
	}
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_stats is NULL")
	}
	size := load[uintptr](out)
	if size < smallestStats {
		return fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_memory_pool_stats)", size)
	}
	stats := tl_memory_pool_stats{0, s.TotalAllocated, s.TotalFreed, s.CurrentUsage, s.PeakUsage, s.Allocations,
		s.Deallocations, s.Allocations, s.DeviceAllocations, s.Reserved, s.LargestFreeBlock, s.FreeBlocks,
		s.WaitingBytes, s.WaitingBlocks}
	stats.StructSize = min(size, unsafe.Sizeof(stats)) &^ 7
	for i, word := range layout.Slice[uint64](layout.Address(&stats), uint64(stats.StructSize)/8) {
		store(out+uintptr(i)*8, word)
	}
	return status.OK
}
