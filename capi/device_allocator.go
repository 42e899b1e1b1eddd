package main

/*
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tl_device_allocator tl_device_allocator;
extern const tl_device_allocator* tlc_device_allocator(uintptr_t which, const char* name, size_t alignment);
extern bool tlc_device_is_own(const tl_device_allocator* a);

static uintptr_t tlc_make_allocator(uintptr_t which, uintptr_t name, size_t alignment)
{
	return (uintptr_t)tlc_device_allocator(which, (const char*)name, alignment);
}

static bool tlc_is_own(uintptr_t a) { return tlc_device_is_own((const tl_device_allocator*)a); }

extern void tlc_tensor_default_is_cpu(bool yes);
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
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
	return fillStruct(o, out, "tl_memory_pool_stats", func() tl_memory_pool_stats {
		return tl_memory_pool_stats{0, s.TotalAllocated, s.TotalFreed, s.CurrentUsage, s.PeakUsage, s.Allocations,
			s.Deallocations, s.Allocations, s.DeviceAllocations, s.Reserved, s.LargestFreeBlock, s.FreeBlocks,
			s.WaitingBytes, s.WaitingBlocks}
	})
}

// An allocator's ctx is the number of its device, plus pinnedRow for pinned memory.
const pinnedRow = device.MaxDevices

// deviceAllocator returns the allocator that a ctx stands for.
func deviceAllocator(which uintptr) (device.Allocator, error) {
	if which >= 2*pinnedRow {
		return nil, device.Errorf(status.Device, "%#x is not the ctx of an allocator of a device", which)
	}
	d, err := devices().At(int32(which % pinnedRow))
	if err != nil || which < pinnedRow {
		return d, err
	}
	if p, ok := d.(device.Pinner); ok {
		return p.Pinned(), nil
	}
	return nil, device.Errorf(status.Unsupported, "%s has no pinned memory", d.Name())
}

// allocatorRows are the addresses of the allocators in C, by ctx.
var allocatorRows struct {
	sync.Mutex // guards all
	all        [2 * pinnedRow]uintptr
}

func allocatorFor(o *object.Context, id int32, pinned bool) uintptr {
	which := uintptr(uint32(id))
	if pinned && which < pinnedRow {
		which += pinnedRow
	}
	if id < 0 || id >= device.MaxDevices {
		_, err := devices().At(id)
		deviceStatus(o, err)
		return 0
	}
	a, err := deviceAllocator(which)
	if err != nil {
		deviceStatus(o, err)
		return 0
	}
	allocatorRows.Lock()
	defer allocatorRows.Unlock()
	if allocatorRows.all[which] == 0 {
		allocatorRows.all[which] = uintptr(C.tlc_make_allocator(C.uintptr_t(which), C.uintptr_t(kept(a.Name())),
			C.size_t(a.Alignment())))
	}
	return allocatorRows.all[which]
}

// ownAllocator returns the device behind an allocator that a caller passes,
// when it is one of tl_device_allocator_for, so that calls need not go through
// C. Pinned memory counts for the CPU.
func ownAllocator(addr uintptr) (a device.Allocator, account int32, ok bool) {
	if !bool(C.tlc_is_own(C.uintptr_t(addr))) {
		return nil, 0, false
	}
	which := load[tl_device_allocator](addr).Ctx
	a, err := deviceAllocator(which)
	if which >= pinnedRow {
		return a, limit.CPU, err == nil
	}
	return a, int32(which), err == nil
}

// tlentry_device_allocate is behind `allocate` of the allocators of
// tl_device_allocator_for.
//
//export tlentry_device_allocate
func tlentry_device_allocate(c, which, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		if bytes == 0 {
			return o.Null()
		}
		a, err := deviceAllocator(which)
		if err != nil {
			deviceStatus(o, err)
			return 0
		}
		block, err := a.Allocate(bytes)
		deviceStatus(o, err)
		return block
	})
}

// tlentry_device_deallocate is behind `deallocate` of the allocators of
// tl_device_allocator_for.
//
//export tlentry_device_deallocate
func tlentry_device_deallocate(c, which, block, bytes uintptr) {
	guarded(c, 0, func(o *object.Context) int {
		if block == 0 {
			return int(o.Null())
		}
		a, err := deviceAllocator(which)
		if err == nil {
			err = a.Deallocate(block, bytes)
		}
		deviceStatus(o, err)
		return 0
	})
}

// foreignCopier copies with the user's functions. If one is missing, the CPU
// can use the memory and does its work.
type foreignCopier struct {
	name string
	tl_device_copier
	device.HostMemory
}

func (f *foreignCopier) move(function, to, from, n uintptr, what string) error {
	return f.outcome(what, callProgram(function, f.Ctx, to, from, n))
}

// outcome turns the status that a user's function returned into an error.
func (f *foreignCopier) outcome(what string, answer uintptr) error {
	st := status.Status(int32(answer))
	switch st {
	case status.OK:
		return nil
	case status.OutOfMemory, status.Unsupported, status.InvalidArgument:
	default:
		st = status.Device
	}
	return device.Errorf(st, "%s of %s answered %d", what, f.name, answer)
}

func (f *foreignCopier) FromHost(to, from, n uintptr) error {
	if f.tl_device_copier.FromHost == 0 {
		return f.HostMemory.FromHost(to, from, n)
	}
	return f.move(f.tl_device_copier.FromHost, to, from, n, "from_host")
}

func (f *foreignCopier) ToHost(to, from, n uintptr) error {
	if f.tl_device_copier.ToHost == 0 {
		return f.HostMemory.ToHost(to, from, n)
	}
	return f.move(f.tl_device_copier.ToHost, to, from, n, "to_host")
}

func (f *foreignCopier) Within(to, from, n uintptr) error {
	if f.tl_device_copier.Within == 0 {
		return f.HostMemory.Within(to, from, n)
	}
	return f.move(f.tl_device_copier.Within, to, from, n, "within")
}

func (f *foreignCopier) Fill(to uintptr, value byte, n uintptr) error {
	switch {
	case f.tl_device_copier.Fill != 0:
		return f.outcome("fill", callProgram(f.tl_device_copier.Fill, f.Ctx, to, uintptr(value), n))
	case f.HostAccess != 0:
		return f.HostMemory.Fill(to, value, n)
	}
	return device.FillByCopies(f.FromHost, to, value, n)
}

// copierAt reads a tl_device_copier; for an invalid one it records the error
// and returns false.
func copierAt(o *object.Context, addr uintptr, own *device.Own) bool {
	if addr == 0 {
		return true
	}
	if !usable(addr) {
		fail(o, status.InvalidArgument, "%#x is no tl_device_copier", addr)
		return false
	}
	if size := load[uintptr](addr); size < unsafe.Sizeof(tl_device_copier{}) {
		fail(o, status.InvalidArgument, "struct_size is %d; set it to sizeof(tl_device_copier)", size)
		return false
	}
	d := load[tl_device_copier](addr)
	for _, f := range []uintptr{d.FromHost, d.ToHost, d.Within} {
		if !usable(f) && (d.HostAccess == 0 || f != 0) {
			fail(o, status.InvalidArgument, "memory that the CPU cannot use needs from_host, to_host and within")
			return false
		}
	}
	if d.Fill != 0 && !usable(d.Fill) {
		fail(o, status.InvalidArgument, "%#x is no function", d.Fill)
		return false
	}
	own.HostAccess, own.TotalBytes = d.HostAccess != 0, d.TotalBytes
	own.Copier = &foreignCopier{name: own.Allocator.Name(), tl_device_copier: d}
	return true
}

func registerDevice(o *object.Context, allocator, copier, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_device is NULL")
	}
	a, _ := allocatorAt(o, allocator)
	if a == nil {
		return status.InvalidArgument
	}
	if alignment := a.Alignment(); alignment == 0 || alignment&(alignment-1) != 0 {
		return fail(o, status.InvalidArgument, "the alignment %d is no power of two", alignment)
	}
	own := device.Own{Allocator: a}
	if !copierAt(o, copier, &own) {
		return status.InvalidArgument
	}
	number, err := devices().Register(device.NewOwn(own))
	if err == nil {
		if family, _, err := device.ParseName(a.Name()); err == nil {
			ownFamilies.Store(family, true)
		}
		store(out, number)
	}
	return deviceStatus(o, err)
}

// publishDefaultDevice tells the fast path whether TL_DEVICE_DEFAULT is the
// CPU.
func publishDefaultDevice() {
	name := options.Word("TL_DEVICE")
	C.tlc_tensor_default_is_cpu(C.bool(name == "cpu" || name == "cpu:0"))
}

// tensorsOnDevices gives package tensor the devices of this process.
func tensorsOnDevices() {
	tensor.Devices.Set = devices
	tensor.Devices.Default = func() (int32, error) { return devices().ByName(options.Word("TL_DEVICE")) }
}

func dlpackDevice(o *object.Context, t, outType, outOrdinal uintptr) status.Status {
	if !usable(outType) || !usable(outOrdinal) {
		return fail(o, status.InvalidArgument, "out_type and out_ordinal are both needed")
	}
	kind, ordinal, st := tensor.DLDevice(o, t)
	if st == status.OK {
		store(outType, kind)
		store(outOrdinal, ordinal)
	}
	return st
}
