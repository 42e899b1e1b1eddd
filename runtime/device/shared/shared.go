// Package shared is memory of the CPU that other processes can map: each block is a file of its own without a name
// (memfd). A process sends the descriptor, the kernel counts who has the file, and the memory goes with its last
// descriptor and mapping, however the processes end. Nothing has a name, so nothing is left in the file system.
package shared

import (
	"errors"
	"runtime"
	"sync"

	"tlruntime/runtime/device"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Name is what users call the device.
const Name = "shared"

// alignment is what the CPU's blocks have. Those that are made here begin with a page.
const alignment = 64

const purpose = "shared blocks"

// Device implements device.Device and device.Sharer.
type Device struct {
	device.HostMemory
	*device.Ledger
	info device.Info

	mu    sync.Mutex // guards files
	files map[uintptr]file
}

// file is behind a block: its descriptor, and where in it the block begins.
type file struct {
	descriptor int
	offset     uint64
	readOnly   bool
}

// New returns the device.
func New() *Device {
	return &Device{Ledger: device.NewLedger(Name), files: map[uintptr]file{}, info: device.Info{
		Name:        Name,
		Kind:        device.Shared,
		Description: "memory that processes share",
		Driver:      runtime.GOOS,
		TotalBytes:  memory.Physical(),
		Alignment:   alignment,
		HostAccess:  true,
	}}
}

// Name implements device.Allocator.
func (d *Device) Name() string { return Name }

// Alignment implements device.Allocator.
func (d *Device) Alignment() uintptr { return alignment }

// Info implements device.Device.
func (d *Device) Info() device.Info { return d.info }

// Memory implements device.Device: what the system can give without paging.
func (d *Device) Memory() (free, total uint64, err error) {
	return memory.Available(), memory.Physical(), nil
}

// Allocate implements device.Allocator. A block is address space until it is written to; more than the machine has is
// refused, as on the CPU.
func (d *Device) Allocate(n uintptr) (uintptr, error) {
	if err := device.CheckSize(Name, n); err != nil {
		return 0, err
	}
	if has := memory.Physical(); has > 0 && uint64(n) > has {
		return 0, device.Errorf(status.OutOfMemory, "%s has no block of %d bytes; the machine has %d", Name, n, has)
	}
	descriptor, block, err := memory.NewShared(n, purpose)
	if err != nil {
		return 0, refusal(err, n)
	}
	d.enter(device.Block{Start: block, Bytes: n}, file{descriptor: descriptor})
	return block, nil
}

func (d *Device) enter(b device.Block, f file) {
	d.mu.Lock()
	d.files[b.Start] = f
	d.mu.Unlock()
	d.Add(b)
}

// refusal says why there is no block of n bytes.
func refusal(err error, n uintptr) error {
	st := status.OutOfMemory
	switch {
	case errors.Is(err, memory.ErrNoSharing):
		st = status.Device
	case err == memory.ErrNoDescriptor:
		st = status.Limit
	}
	return device.Errorf(st, "%s: %d bytes: %v", Name, n, err)
}

// Deallocate implements device.Allocator.
func (d *Device) Deallocate(block, n uintptr) error {
	b, err := d.Take(block, n)
	if err != nil {
		return err
	}
	d.mu.Lock()
	f := d.files[block]
	delete(d.files, block)
	d.mu.Unlock()
	memory.UnmapShared(b.Start, b.Bytes, purpose)
	memory.CloseFile(f.descriptor)
	return nil
}

// Share implements device.Sharer.
func (d *Device) Share(p uintptr, readOnly bool) (device.Part, error) {
	b, err := d.Find(p, 1)
	if err != nil {
		return device.Part{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock() // the descriptor stays open while it is duplicated
	f := d.files[b.Start]
	about, err := memory.InspectShared(f.descriptor) // another process may have sealed it
	if err == nil && readOnly && !about.ReadOnly {
		about.ReadOnly, err = true, memory.SealReadOnly(f.descriptor)
	}
	if err != nil {
		return device.Part{}, device.Errorf(status.Device, "%s: the file behind %#x: %v", Name, p, err)
	}
	other, err := memory.DuplicateFile(f.descriptor)
	if err != nil {
		return device.Part{}, refusal(err, b.Bytes)
	}
	return device.Part{File: other, Offset: f.offset + uint64(p-b.Start), ReadOnly: f.readOnly || about.ReadOnly}, nil
}

// Where implements device.Sharer.
func (d *Device) Where(p uintptr) device.Part {
	b, err := d.Find(p, 1)
	if err != nil {
		return device.Part{File: -1}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[b.Start]
	return device.Part{File: f.descriptor, Offset: f.offset + uint64(p-b.Start), ReadOnly: f.readOnly}
}

// ShareNothing implements device.Sharer.
func (d *Device) ShareNothing() (device.Part, error) {
	descriptor, err := memory.EmptyShared()
	if err != nil {
		return device.Part{}, refusal(err, 0)
	}
	return device.Part{File: descriptor}, nil
}

// Open implements device.Sharer. Only the pages that have the bytes are mapped.
func (d *Device) Open(from device.Part, n uintptr) (m device.Mapped, err error) {
	about, err := memory.InspectShared(from.File)
	if err != nil {
		return m, device.Errorf(status.InvalidArgument, "%v", err)
	}
	m.ReadOnly = from.ReadOnly || about.ReadOnly
	if n > device.MaxBytes || from.Offset > about.Bytes || uint64(n) > about.Bytes-from.Offset {
		return m, device.Errorf(status.InvalidArgument, "%d bytes from byte %d on are more than the %d of the memory "+
			"behind descriptor %d", n, from.Offset, about.Bytes, from.File)
	}
	if n == 0 {
		return m, nil
	}
	f := file{offset: memory.SharedPage(from.Offset), readOnly: m.ReadOnly}
	before := uintptr(from.Offset - f.offset)
	if f.descriptor, err = memory.DuplicateFile(from.File); err != nil {
		return m, refusal(err, n)
	}
	m.Bytes = before + n
	if m.Block, err = memory.MapShared(f.descriptor, f.offset, m.Bytes, !f.readOnly, purpose); err != nil {
		memory.CloseFile(f.descriptor)
		return m, refusal(err, n)
	}
	m.At = m.Block + before
	d.enter(device.Block{Start: m.Block, Bytes: m.Bytes}, f)
	return m, nil
}
