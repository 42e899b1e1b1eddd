// Package metal is the memory of Apple's devices, as buffers that the CPU shares.
// It compiles and is checked by go vet; it was never run.
package metal

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/ebitengine/purego/objc"

	"tlruntime/runtime/device"
	"tlruntime/runtime/device/driver"
	"tlruntime/runtime/status"
)

const framework = "/System/Library/Frameworks/Metal.framework/Metal"

// alignment is what every buffer's contents have; they are pages as a rule.
const alignment = 256

// storageModeShared is MTLResourceStorageModeShared: one memory for CPU and device.
const storageModeShared = 0

// selectors are the messages that are sent, registered once.
type selectors struct {
	count, objectAt, name, utf8           objc.SEL
	workingSet, taken, longest            objc.SEL
	newBuffer, contents, release, newPool objc.SEL
	retain, drain                         objc.SEL
}

var messages = sync.OnceValue(func() selectors {
	return selectors{
		count:      objc.RegisterName("count"),
		objectAt:   objc.RegisterName("objectAtIndex:"),
		name:       objc.RegisterName("name"),
		utf8:       objc.RegisterName("UTF8String"),
		workingSet: objc.RegisterName("recommendedMaxWorkingSetSize"),
		taken:      objc.RegisterName("currentAllocatedSize"),
		longest:    objc.RegisterName("maxBufferLength"),
		newBuffer:  objc.RegisterName("newBufferWithLength:options:"),
		contents:   objc.RegisterName("contents"),
		release:    objc.RegisterName("release"),
		newPool:    objc.RegisterName("new"),
		retain:     objc.RegisterName("retain"),
		drain:      objc.RegisterName("drain"),
	}
})

// pooled runs body with a pool for the objects that Objective-C hands out on loan.
// Such a pool belongs to a thread of the system.
func pooled(body func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pool := objc.ID(objc.GetClass("NSAutoreleasePool")).Send(messages().newPool)
	defer pool.Send(messages().drain)
	body()
}

// Driver finds the Metal devices.
func Driver() device.Driver {
	return device.Driver{Kind: device.Metal, Discover: discover}
}

func discover() ([]device.Device, error) {
	lib, err := driver.Open("Metal framework", framework)
	if err != nil {
		return nil, err
	}
	functions, err := lib.Bind([]string{"MTLCopyAllDevices"})
	if err != nil {
		return nil, err
	}
	var all []device.Device
	pooled(func() {
		array := objc.ID(driver.Call(functions[0]))
		if array == 0 {
			return
		}
		m := messages()
		for i := range objc.Send[uint](array, m.count) {
			all = append(all, describe(array.Send(m.objectAt, i), len(all)))
		}
		array.Send(m.release)
	})
	if len(all) == 0 {
		return nil, device.Errorf(status.Device, "MTLCopyAllDevices found no device")
	}
	return all, nil
}

// Device is one Metal device. It implements device.Device.
type Device struct {
	device.HostMemory
	*device.Ledger
	id      objc.ID // retained for ever
	longest uint64
	info    device.Info
}

func describe(id objc.ID, ordinal int) *Device {
	m := messages()
	name := fmt.Sprintf("metal:%d", ordinal)
	id.Send(m.retain)
	return &Device{
		Ledger:  device.NewLedger(name),
		id:      id,
		longest: objc.Send[uint64](id, m.longest),
		info: device.Info{
			Name:        name,
			Kind:        device.Metal,
			Description: objc.Send[string](id.Send(m.name), m.utf8),
			Driver:      "Metal",
			TotalBytes:  objc.Send[uint64](id, m.workingSet),
			Alignment:   alignment,
			HostAccess:  true,
		},
	}
}

// Name implements device.Allocator.
func (d *Device) Name() string { return d.info.Name }

// Alignment implements device.Allocator.
func (d *Device) Alignment() uintptr { return alignment }

// Info implements device.Device.
func (d *Device) Info() device.Info { return d.info }

// Memory implements device.Device.
func (d *Device) Memory() (free, total uint64, err error) {
	taken := objc.Send[uint64](d.id, messages().taken)
	return d.info.TotalBytes - min(taken, d.info.TotalBytes), d.info.TotalBytes, nil
}

// Allocate implements device.Allocator.
func (d *Device) Allocate(n uintptr) (block uintptr, err error) {
	if err := device.CheckSize(d.info.Name, n); err != nil {
		return 0, err
	}
	if uint64(n) > d.longest {
		return 0, device.Errorf(status.OutOfMemory, "%s has no block of %d bytes; its largest is %d", d.info.Name, n,
			d.longest)
	}
	pooled(func() { block, err = d.newBuffer(n) })
	return block, err
}

func (d *Device) newBuffer(n uintptr) (uintptr, error) {
	m := messages()
	buffer := d.id.Send(m.newBuffer, uint64(n), uint64(storageModeShared))
	if buffer == 0 {
		return 0, device.Errorf(status.OutOfMemory, "newBufferWithLength (%s, %d bytes) answered nil", d.info.Name, n)
	}
	block := objc.Send[uintptr](buffer, m.contents)
	if block == 0 {
		buffer.Send(m.release)
		return 0, device.Errorf(status.Device, "a buffer of %s has no contents", d.info.Name)
	}
	d.Add(device.Block{Start: block, Bytes: n, Handle: uintptr(buffer)})
	return block, nil
}

// Deallocate implements device.Allocator.
func (d *Device) Deallocate(block, n uintptr) error {
	b, err := d.Take(block, n)
	if err == nil {
		pooled(func() { objc.ID(b.Handle).Send(messages().release) })
	}
	return err
}

// Buffer returns the MTLBuffer that the byte at p is in, and its place there: kernels
// are given buffers.
func (d *Device) Buffer(p uintptr) (buffer, offset uintptr, err error) {
	b, err := d.Find(p, 1)
	return b.Handle, p - b.Start, err
}
