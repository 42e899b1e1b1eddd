// Package pools holds the differential test of memory pools: pools and a model of exact
// best fit see the same calls and have to give the same addresses, statuses and counters;
// the checker looks at the tables after each call.
package pools

import (
	"fmt"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Device grants ranges of addresses where no memory is: whoever reads or writes there
// dies. The same calls have the same answers.
type Device struct {
	Granule uintptr
	Refuse  bool // every request
	Calls   int  // that were granted
	Granted map[uintptr]uintptr
	Faults  []string // what was returned and never granted
}

// NewDevice returns a device with that alignment.
func NewDevice(granule uintptr) *Device {
	return &Device{Granule: granule, Granted: map[uintptr]uintptr{}}
}

// Name is for messages.
func (d *Device) Name() string { return "fake" }

// Alignment is what every range is aligned to.
func (d *Device) Alignment() uintptr { return d.Granule }

// Allocate grants a range, now below and now above those before; some touch.
func (d *Device) Allocate(n uintptr) (uintptr, error) {
	if d.Refuse || n > 1<<40 {
		return 0, &device.Error{Status: status.OutOfMemory, Text: "fake has nothing"}
	}
	d.Calls++ // a request that is refused is made again as often as other pools gave something
	const middle = 1 << 45
	at := uintptr(middle)
	if d.Calls%2 == 0 {
		for start, size := range d.Granted {
			at = max(at, (start+size+d.Granule-1)&^(d.Granule-1))
		}
	} else {
		for start := range d.Granted {
			at = min(at, start)
		}
		at = (at - n) &^ (d.Granule - 1)
	}
	d.Granted[at] = n
	return at, nil
}

// Deallocate takes a range back.
func (d *Device) Deallocate(block, n uintptr) error {
	if d.Granted[block] != n {
		d.Faults = append(d.Faults, fmt.Sprintf("%d bytes at %#x were never granted", n, block))
	}
	delete(d.Granted, block)
	return nil
}
