// Package cpu is the CPU's memory as a device: fresh pages of the operating system,
// zero at first. No page is touched here, so on machines with several memory nodes
// each page comes to lie beside the thread that writes it first.
package cpu

import (
	"runtime"

	"tlruntime/runtime/device"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// alignment is what a vector unit or a cache line wants. Blocks start on pages.
const alignment = 64

const purpose = "device blocks"

// Device is the CPU. It implements device.Device.
type Device struct {
	device.HostMemory
	*device.Ledger
	hugePages func() bool
	info      device.Info
}

// New returns the CPU. hugePages is asked at every allocation whether blocks of 2 MiB
// and more ask the system for huge pages.
func New(hugePages func() bool) *Device {
	return &Device{Ledger: device.NewLedger("cpu"), hugePages: hugePages, info: device.Info{
		Name:        "cpu",
		Kind:        device.CPU,
		Description: runtime.GOARCH,
		Driver:      runtime.GOOS,
		TotalBytes:  memory.Physical(),
		Alignment:   alignment,
		HostAccess:  true,
	}}
}

// Name implements device.Allocator.
func (d *Device) Name() string { return "cpu" }

// Alignment implements device.Allocator.
func (d *Device) Alignment() uintptr { return alignment }

// Allocate implements device.Allocator. More than the machine has is refused: the
// system would promise it, and end the process when it is used.
func (d *Device) Allocate(n uintptr) (uintptr, error) {
	if err := device.CheckSize("cpu", n); err != nil {
		return 0, err
	}
	if has := memory.Physical(); has > 0 && uint64(n) > has {
		return 0, device.Errorf(status.OutOfMemory, "cpu has no block of %d bytes; the machine has %d", n, has)
	}
	take := memory.Map
	if d.hugePages() && n >= memory.HugePageBytes {
		take = memory.MapHuge
	}
	block, err := take(n, purpose)
	if err != nil {
		return 0, device.Errorf(status.OutOfMemory, "cpu: %d bytes: %v", n, err)
	}
	d.Add(device.Block{Start: block, Bytes: n})
	return block, nil
}

// Deallocate implements device.Allocator.
func (d *Device) Deallocate(block, n uintptr) error {
	b, err := d.Take(block, n)
	if err == nil {
		memory.Unmap(b.Start, b.Bytes, purpose)
	}
	return err
}

// Info implements device.Device.
func (d *Device) Info() device.Info { return d.info }

// Memory implements device.Device: what the system can give without paging.
func (d *Device) Memory() (free, total uint64, err error) {
	return memory.Available(), memory.Physical(), nil
}
