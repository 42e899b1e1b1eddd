package cuda

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// alignment is what cuMemAlloc promises for any kind of variable.
const alignment = 256

// memoryPoolsSupported is CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: whether the
// device serves cuMemAllocAsync.
const memoryPoolsSupported = 115

// Driver finds the CUDA devices. library names the driver's file, "" the system's.
func Driver(library string) device.Driver {
	return device.Driver{Kind: device.CUDA, Discover: func() ([]device.Device, error) {
		found, err := Open(library)
		all := make([]device.Device, len(found))
		for i, d := range found {
			all[i] = d
		}
		return all, err
	}}
}

// Open loads the driver and returns every device, or why there is none.
func Open(library string) ([]*Device, error) {
	a, err := load(library)
	if err != nil {
		return nil, err
	}
	var count int32
	if r := a.call(cuDeviceGetCount, uintptr(unsafe.Pointer(&count))); r != 0 {
		return nil, a.failure(cuDeviceGetCount, r, "")
	}
	if count == 0 {
		return nil, device.Errorf(status.Device, "the CUDA driver %s has no device", a.library)
	}
	var all []*Device
	for i := range int(count) {
		d, err := describe(a, i)
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	return all, nil
}

// Device is one CUDA device. It implements device.Device, Streams, Peer and Pinner.
type Device struct {
	*device.Ledger        // of cuMemAlloc
	ordered, pinnedBlocks *device.Ledger
	api                   *api
	handle                int32 // CUdevice
	info                  device.Info

	mu      sync.Mutex // guards context
	context uintptr    // the primary one, shared with whatever else in the process uses CUDA; 0 until needed
}

// describe asks about device i, which takes no memory on it.
func describe(a *api, i int) (*Device, error) {
	name := fmt.Sprintf("cuda:%d", i)
	d := &Device{
		Ledger:       device.NewLedger(name),
		ordered:      device.NewLedger(name + ", in the order of streams,"),
		pinnedBlocks: device.NewLedger("the pinned memory of " + name),
		api:          a,
	}
	if r := a.call(cuDeviceGet, uintptr(unsafe.Pointer(&d.handle)), uintptr(i)); r != 0 {
		return nil, a.failure(cuDeviceGet, r, name)
	}
	var text [128]byte
	if r := a.call(cuDeviceGetName, uintptr(unsafe.Pointer(&text)), uintptr(len(text)-1), uintptr(d.handle)); r != 0 {
		return nil, a.failure(cuDeviceGetName, r, name)
	}
	var total uint64
	if r := a.call(cuDeviceTotalMem, uintptr(unsafe.Pointer(&total)), uintptr(d.handle)); r != 0 {
		return nil, a.failure(cuDeviceTotalMem, r, name)
	}
	var pools int32
	if r := a.call(cuDeviceGetAttribute, uintptr(unsafe.Pointer(&pools)), memoryPoolsSupported,
		uintptr(d.handle)); r != 0 {
		pools = 0 // a driver that does not know the attribute
	}
	d.info = device.Info{
		Name:          name,
		Kind:          device.CUDA,
		Description:   string(text[:bytes.IndexByte(text[:], 0)]),
		Driver:        a.version(),
		TotalBytes:    total,
		Alignment:     alignment,
		StreamOrdered: pools != 0 && a.has(cuMemAllocAsync) && a.has(cuMemFreeAsync),
	}
	return d, nil
}

// Name implements device.Allocator.
func (d *Device) Name() string { return d.info.Name }

// Alignment implements device.Allocator.
func (d *Device) Alignment() uintptr { return alignment }

// Info implements device.Device.
func (d *Device) Info() device.Info { return d.info }

// Memory implements device.Device.
func (d *Device) Memory() (free, total uint64, err error) {
	err = d.current(func() error {
		return d.do(cuMemGetInfo, "", uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return free, total, err
}

// Outstanding adds up the blocks of all three kinds.
func (d *Device) Outstanding() (blocks int, bytes uintptr) {
	for _, l := range []*device.Ledger{d.Ledger, d.ordered, d.pinnedBlocks} {
		n, b := l.Outstanding()
		blocks, bytes = blocks+n, bytes+b
	}
	return blocks, bytes
}

// do calls a function of the driver for this device.
//
//go:uintptrescapes
func (d *Device) do(s symbol, detail string, args ...uintptr) error {
	if r := d.api.call(s, args...); r != 0 {
		return d.failure(s, r, detail)
	}
	return nil
}

func (d *Device) failure(s symbol, r result, detail string) error {
	if detail != "" {
		detail = ", " + detail
	}
	return d.api.failure(s, r, d.info.Name+detail)
}

// current runs body with the device's context current. Contexts belong to threads
// of the system, and the thread may be one of the program's with a context of its
// own: that is current again afterwards. What body did stands even if the driver
// should not want to take the context back, which it refuses when it is shutting down.
func (d *Device) current(body func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	context, err := d.primary()
	if err != nil {
		return err
	}
	if err := d.do(cuCtxPushCurrent, "", context); err != nil {
		return err
	}
	err = body()
	var popped uintptr
	d.api.call(cuCtxPopCurrent, uintptr(unsafe.Pointer(&popped)))
	return err
}

// primary returns the device's context. It is retained when first needed, which
// takes time and memory on the device, and for ever: blocks live in it.
func (d *Device) primary() (uintptr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.context != 0 {
		return d.context, nil
	}
	var context uintptr
	var err error
	device.WithStandardFilled(func() {
		err = d.do(cuDevicePrimaryCtxRetain, "", uintptr(unsafe.Pointer(&context)), uintptr(d.handle))
	})
	if err != nil {
		return 0, err
	}
	d.context = context
	return context, nil
}
