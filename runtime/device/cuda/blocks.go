package cuda

import (
	"fmt"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// portable is CU_MEMHOSTALLOC_PORTABLE: pinned for every context of the process.
const portable = 1

// Allocate implements device.Allocator.
func (d *Device) Allocate(n uintptr) (uintptr, error) {
	return d.take(d.Ledger, d.Name(), n, d.info.TotalBytes, func(block *uintptr) error {
		return d.do(cuMemAlloc, sized(n), uintptr(unsafe.Pointer(block)), n)
	})
}

// Deallocate implements device.Allocator. The driver waits for work that may still
// use the block.
func (d *Device) Deallocate(block, n uintptr) error {
	return d.giveBack(d.Ledger, block, n, func() error { return d.do(cuMemFree, "", block) })
}

// take obtains a block of at most that many bytes and enters it into a ledger. The
// driver is not asked for what cannot be: its answer to that differs from version to
// version.
func (d *Device) take(ledger *device.Ledger, name string, n uintptr, most uint64,
	obtain func(block *uintptr) error) (uintptr, error) {
	if err := device.CheckSize(name, n); err != nil {
		return 0, err
	}
	if uint64(n) > most {
		return 0, device.Errorf(status.OutOfMemory, "%s has no block of %d bytes; it has %d in all", name, n, most)
	}
	block := new(uintptr)
	if err := d.current(func() error { return obtain(block) }); err != nil {
		return 0, err
	}
	ledger.Add(device.Block{Start: *block, Bytes: n})
	return *block, nil
}

// giveBack returns a block; it stays outstanding when the driver refuses.
func (d *Device) giveBack(ledger *device.Ledger, block, n uintptr, back func() error) error {
	b, err := ledger.Take(block, n)
	if err != nil {
		return err
	}
	if err := d.current(back); err != nil {
		ledger.Add(b)
		return err
	}
	return nil
}

func sized(n uintptr) string { return fmt.Sprintf("%d bytes", n) }

// Pinned implements device.Pinner.
func (d *Device) Pinned() device.Allocator { return pinned{d} }

// pinned is the CPU's memory that a device copies to and from at full speed.
type pinned struct{ of *Device }

// Name implements device.Allocator.
func (p pinned) Name() string { return p.of.Name() + " pinned" }

// Alignment implements device.Allocator: such memory comes in pages.
func (p pinned) Alignment() uintptr { return alignment }

// Allocate implements device.Allocator.
func (p pinned) Allocate(n uintptr) (uintptr, error) {
	return p.of.take(p.of.pinnedBlocks, p.Name(), n, memory.Physical(), func(block *uintptr) error {
		return p.of.do(cuMemHostAlloc, sized(n), uintptr(unsafe.Pointer(block)), n, portable)
	})
}

// Deallocate implements device.Allocator.
func (p pinned) Deallocate(block, n uintptr) error {
	return p.of.giveBack(p.of.pinnedBlocks, block, n, func() error { return p.of.do(cuMemFreeHost, "", block) })
}

// Outstanding returns what of the pinned memory is given out.
func (p pinned) Outstanding() (blocks int, bytes uintptr) { return p.of.pinnedBlocks.Outstanding() }
