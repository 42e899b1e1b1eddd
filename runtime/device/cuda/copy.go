package cuda

import (
	"tlruntime/runtime/device"
)

// Copies go through the default stream. The driver may return before the last byte
// has arrived, so each waits for that stream. Addresses need not be blocks of ours:
// memory of a framework in the same process is as good, and the driver knows it.

// FromHost implements device.Copier.
func (d *Device) FromHost(to, from, n uintptr) error { return d.copy(cuMemcpyHtoD, to, from, n) }

// ToHost implements device.Copier.
func (d *Device) ToHost(to, from, n uintptr) error { return d.copy(cuMemcpyDtoH, to, from, n) }

// Within implements device.Copier.
func (d *Device) Within(to, from, n uintptr) error { return d.copy(cuMemcpyDtoD, to, from, n) }

// Fill implements device.Copier.
func (d *Device) Fill(to uintptr, value byte, n uintptr) error {
	return d.copy(cuMemsetD8, to, uintptr(value), n)
}

func (d *Device) copy(s symbol, to, from, n uintptr) error {
	return d.current(func() error {
		if err := d.do(s, sized(n), to, from, n); err != nil {
			return err
		}
		return d.do(cuStreamSynchronize, "", 0)
	})
}

// FromPeer implements device.Peer: between devices of one driver, by their own links
// where they have any.
func (d *Device) FromPeer(to uintptr, source device.Device, from, n uintptr) (bool, error) {
	other, ok := source.(*Device)
	if !ok || other.api != d.api {
		return false, nil
	}
	theirs, err := other.primary()
	if err != nil {
		return false, err
	}
	ours, err := d.primary()
	if err != nil {
		return false, err
	}
	err = d.current(func() error {
		if err := d.do(cuMemcpyPeer, "from "+other.Name()+", "+sized(n), to, ours, from, theirs, n); err != nil {
			return err
		}
		return d.do(cuStreamSynchronize, "", 0)
	})
	return err == nil, err
}
