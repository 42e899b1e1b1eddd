package cuda

import (
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Flags of streams and events: no stream of ours waits for the default one, and
// events carry no times.
const (
	nonBlocking   = 1
	disableTiming = 2
)

// AllocateAsync implements device.Streams.
func (d *Device) AllocateAsync(n uintptr, s device.Stream) (uintptr, error) {
	if err := d.needsPools(); err != nil {
		return 0, err
	}
	return d.take(d.ordered, d.Name(), n, d.info.TotalBytes, func(block *uintptr) error {
		return d.do(cuMemAllocAsync, sized(n), uintptr(unsafe.Pointer(block)), n, uintptr(s))
	})
}

// DeallocateAsync implements device.Streams.
func (d *Device) DeallocateAsync(block, n uintptr, s device.Stream) error {
	if err := d.needsPools(); err != nil {
		return err
	}
	return d.giveBack(d.ordered, block, n, func() error { return d.do(cuMemFreeAsync, "", block, uintptr(s)) })
}

func (d *Device) needsPools() error {
	if d.info.StreamOrdered {
		return nil
	}
	return device.Errorf(status.Unsupported,
		"%s with %s has no cuMemAllocAsync; it needs CUDA 11.2 and a device with memory pools",
		d.info.Name, d.info.Driver)
}

// NewStream implements device.Streams.
func (d *Device) NewStream() (device.Stream, error) {
	stream, err := d.create(cuStreamCreate, nonBlocking)
	return device.Stream(stream), err
}

// NewEvent implements device.Streams.
func (d *Device) NewEvent() (device.Event, error) {
	event, err := d.create(cuEventCreate, disableTiming)
	return device.Event(event), err
}

func (d *Device) create(s symbol, flags uintptr) (handle uintptr, err error) {
	err = d.current(func() error { return d.do(s, "", uintptr(unsafe.Pointer(&handle)), flags) })
	return handle, err
}

// CloseStream implements device.Streams.
func (d *Device) CloseStream(s device.Stream) error { return d.check(cuStreamDestroy, uintptr(s)) }

// CloseEvent implements device.Streams.
func (d *Device) CloseEvent(e device.Event) error { return d.check(cuEventDestroy, uintptr(e)) }

// Synchronize implements device.Streams.
func (d *Device) Synchronize(s device.Stream) error { return d.check(cuStreamSynchronize, uintptr(s)) }

// Record implements device.Streams.
func (d *Device) Record(e device.Event, s device.Stream) error {
	return d.check(cuEventRecord, uintptr(e), uintptr(s))
}

// Await implements device.Streams.
func (d *Device) Await(e device.Event) error { return d.check(cuEventSynchronize, uintptr(e)) }

// Wait implements device.Streams.
func (d *Device) Wait(s device.Stream, e device.Event) error {
	return d.check(cuStreamWaitEvent, uintptr(s), uintptr(e), 0)
}

// Query implements device.Streams.
func (d *Device) Query(e device.Event) (done bool, err error) {
	err = d.current(func() error {
		switch r := d.api.call(cuEventQuery, uintptr(e)); r {
		case 0:
			done = true
		case notReady:
		default:
			return d.failure(cuEventQuery, r, "")
		}
		return nil
	})
	return done, err
}

func (d *Device) check(s symbol, args ...uintptr) error {
	return d.current(func() error { return d.do(s, "", args...) })
}
