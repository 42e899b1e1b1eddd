package main

/*
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern void tlc_tensor_default_is_cpu(bool yes);
*/
import "C"

import (
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

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
