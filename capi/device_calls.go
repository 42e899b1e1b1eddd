package main

/*
#include <stdbool.h>
#include <stdint.h>
#include "../cshim/entry_descriptors.h"

typedef struct tl_device_allocator tl_device_allocator;
extern const tl_device_allocator* tlc_device_allocator(uintptr_t which, const char* name, size_t alignment);
extern const char* tlc_device_text(const char* text, size_t length);
extern bool tlc_device_is_own(const tl_device_allocator* a);

static uintptr_t tlc_make_allocator(uintptr_t which, uintptr_t name, size_t alignment)
{
	return (uintptr_t)tlc_device_allocator(which, (const char*)name, alignment);
}

static uintptr_t tlc_text(const char* text, size_t length) { return (uintptr_t)tlc_device_text(text, length); }

static bool tlc_is_own(uintptr_t a) { return tlc_device_is_own((const tl_device_allocator*)a); }
*/
import "C"

import (
	"sync"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/backends"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// devices are those of this process; the first call about a device makes them.
var devices = sync.OnceValue(func() *device.Set {
	return backends.New(backends.Options{
		HugePages:     func() bool { return options.Word("TL_HUGE_PAGES") == "1" },
		CUDALibrary:   options.Word("TL_CUDA_LIBRARY"),
		OpenCLLibrary: options.Word("TL_OPENCL_LIBRARY"),
	})
})

// withStandardFilled runs body while no descriptor of standard input, output or error is free.
func withStandardFilled(body func()) {
	var filled C.tlc_filled_descriptors
	C.tlc_fill_standard_descriptors(&filled)
	defer C.tlc_close_filled_descriptors(&filled)
	body()
}

// deviceStatus records why a call about a device failed.
func deviceStatus(o *object.Context, err error) status.Status {
	if err == nil {
		return status.OK
	}
	return o.Failf(device.StatusOf(err), "%v", err)
}

func deviceInfo(o *object.Context, id int32, out uintptr) status.Status {
	d, err := devices().At(id)
	if err != nil {
		return deviceStatus(o, err)
	}
	info, name := d.Info(), kept(d.Name())
	return fillStruct(o, out, "tl_device_properties", func() tl_device_properties {
		return tl_device_properties{
			Name:          name,
			Description:   kept(info.Description),
			Driver:        kept(info.Driver),
			TotalBytes:    info.TotalBytes,
			Alignment:     info.Alignment,
			Device:        id,
			Kind:          int32(info.Kind),
			HostAccess:    word(info.HostAccess),
			StreamOrdered: word(info.StreamOrdered),
		}
	})
}

func word(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func deviceByName(o *object.Context, name, out uintptr) status.Status {
	wanted, st := textOf(o, name, "name")
	if st != status.OK {
		return st
	}
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_device is NULL")
	}
	return storeDevice(o, wanted, out)
}

func deviceDefault(o *object.Context, out uintptr) status.Status {
	if !usable(out) {
		return fail(o, status.InvalidArgument, "out_device is NULL")
	}
	return storeDevice(o, options.Word("TL_DEVICE"), out)
}

func storeDevice(o *object.Context, name string, out uintptr) status.Status {
	id, err := devices().ByName(name)
	if err == nil {
		store(out, id)
	}
	return deviceStatus(o, err)
}

func deviceMemory(o *object.Context, id int32, outFree, outTotal uintptr) status.Status {
	if !usable(outFree) || !usable(outTotal) {
		return fail(o, status.InvalidArgument, "out_free and out_total are both needed")
	}
	d, err := devices().At(id)
	if err != nil {
		return deviceStatus(o, err)
	}
	free, total, err := d.Memory()
	if err == nil {
		store(outFree, free)
		store(outTotal, total)
	}
	return deviceStatus(o, err)
}

func fillDevice(o *object.Context, id int32, to uintptr, value uint8, bytes uintptr) status.Status {
	d, err := devices().At(id)
	if err == nil {
		err = device.Fill(d, to, value, bytes)
	}
	return deviceStatus(o, err)
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

var keeping sync.Mutex // guards the strings that C keeps

// kept returns the address of a copy in C's memory that is never freed.
func kept(text string) uintptr {
	keeping.Lock()
	defer keeping.Unlock()
	bytes := []byte(text)
	return uintptr(C.tlc_text((*C.char)(unsafe.Pointer(unsafe.SliceData(bytes))), C.size_t(len(bytes))))
}
