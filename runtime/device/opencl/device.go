package opencl

import (
	"fmt"
	"sync"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// Properties of platforms and devices.
const (
	platformName      = 0x0902
	deviceName        = 0x102B
	deviceDriver      = 0x102D
	deviceVersion     = 0x102F
	deviceGlobalBytes = 0x101F
	deviceLargest     = 0x1010 // CL_DEVICE_MAX_MEM_ALLOC_SIZE
	deviceAlignBits   = 0x1019 // CL_DEVICE_MEM_BASE_ADDR_ALIGN
	deviceSVM         = 0x1053 // CL_DEVICE_SVM_CAPABILITIES
)

// What a device can share with the CPU, bits of deviceSVM.
const (
	coarseGrain = 1
	fineGrain   = 2
)

const allDevices = 0xFFFFFFFF

// Options of Open.
type Options struct {
	Library string // the library's file; "" finds the system's
	Buffers bool   // use buffers even where the device shares virtual memory
}

// Driver finds the OpenCL devices.
func Driver(o Options) device.Driver {
	return device.Driver{Kind: device.OpenCL, Discover: func() ([]device.Device, error) {
		found, err := Open(o)
		all := make([]device.Device, len(found))
		for i, d := range found {
			all[i] = d
		}
		return all, err
	}}
}

// Open loads the library and returns the devices of every platform, in its order,
// or why there is none.
func Open(o Options) ([]*Device, error) {
	a, err := load(o.Library)
	if err != nil {
		return nil, err
	}
	platforms, err := a.platforms()
	if err != nil {
		return nil, err
	}
	var all []*Device
	var why error
	for _, p := range platforms {
		handles, err := a.devices(p)
		if err != nil {
			why = err // a platform without devices is no reason to do without the others
			continue
		}
		for _, h := range handles {
			d, err := describe(a, o, p, h, len(all))
			if err != nil {
				return all, err
			}
			all = append(all, d)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	if why == nil {
		why = device.Errorf(status.Device, "%s has no platform with a device", a.library)
	}
	return nil, why
}

// Device is one OpenCL device. It implements device.Device.
type Device struct {
	*device.Ledger
	api     *api
	handle  uintptr // cl_device_id
	info    device.Info
	largest uint64 // block
	memory  memory

	mu             sync.Mutex // guards context and queue
	context, queue uintptr    // 0 until needed; a queue may be used by all threads
	places         places
}

// describe asks about a device, which takes no memory on it.
func describe(a *api, o Options, platform, handle uintptr, ordinal int) (*Device, error) {
	name := fmt.Sprintf("opencl:%d", ordinal)
	d := &Device{Ledger: device.NewLedger(name), api: a, handle: handle, places: newPlaces(ordinal)}
	total, err := number[uint64](a, handle, deviceGlobalBytes)
	if err != nil {
		return nil, err
	}
	if d.largest, err = number[uint64](a, handle, deviceLargest); err != nil {
		return nil, err
	}
	bits, err := number[uint32](a, handle, deviceAlignBits)
	if err != nil {
		return nil, err
	}
	d.memory = d.choose(o.Buffers)
	d.info = device.Info{
		Name:        name,
		Kind:        device.OpenCL,
		Description: a.text(clGetDeviceInfo, handle, deviceName),
		Driver: fmt.Sprintf("%s, %s %s", a.text(clGetDeviceInfo, handle, deviceVersion),
			a.text(clGetPlatformInfo, platform, platformName), a.text(clGetDeviceInfo, handle, deviceDriver)),
		TotalBytes: total,
		Alignment:  max(uintptr(bits/8), 64),
		HostAccess: d.memory.hostAccess(),
	}
	return d, nil
}

// choose returns the kind of memory that the device is used with.
func (d *Device) choose(buffers bool) memory {
	shared, err := number[uint64](d.api, d.handle, deviceSVM)
	switch {
	case err != nil || buffers || !d.api.hasSVM() || shared&(coarseGrain|fineGrain) == 0:
		return bufferMemory{d}
	case shared&fineGrain != 0:
		return sharedMemory{d, true}
	}
	return sharedMemory{d, false}
}

// Name implements device.Allocator.
func (d *Device) Name() string { return d.info.Name }

// Alignment implements device.Allocator.
func (d *Device) Alignment() uintptr { return d.info.Alignment }

// Info implements device.Device.
func (d *Device) Info() device.Info { return d.info }

// Memory implements device.Device. OpenCL does not tell what is free: it is what
// this process has not taken.
func (d *Device) Memory() (free, total uint64, err error) {
	_, taken := d.Outstanding()
	return d.info.TotalBytes - min(uint64(taken), d.info.TotalBytes), d.info.TotalBytes, nil
}

// ready makes context and queue when they are first needed.
func (d *Device) ready() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue != 0 {
		return nil
	}
	var c code
	context := d.api.pointer(clCreateContext, 0, 1, uintptr(unsafe.Pointer(&d.handle)), 0, 0,
		uintptr(unsafe.Pointer(&c)))
	if c != 0 {
		return failure(clCreateContext, c, d.info.Name)
	}
	queue := d.api.pointer(clCreateCommandQueue, context, d.handle, 0, uintptr(unsafe.Pointer(&c)))
	if c != 0 {
		d.api.call(clReleaseContext, context)
		return failure(clCreateCommandQueue, c, d.info.Name)
	}
	d.context, d.queue = context, queue
	return nil
}

// Allocate implements device.Allocator.
func (d *Device) Allocate(n uintptr) (uintptr, error) {
	if err := device.CheckSize(d.info.Name, n); err != nil {
		return 0, err
	}
	if uint64(n) > d.largest {
		return 0, device.Errorf(status.OutOfMemory, "%s has no block of %d bytes; its largest is %d", d.info.Name, n,
			d.largest)
	}
	if err := d.ready(); err != nil {
		return 0, err
	}
	return d.memory.allocate(n)
}

// Deallocate implements device.Allocator.
func (d *Device) Deallocate(block, n uintptr) error {
	b, err := d.Take(block, n)
	if err != nil {
		return err
	}
	if err := d.memory.release(b); err != nil {
		d.Add(b)
		return err
	}
	return nil
}

// FromHost implements device.Copier.
func (d *Device) FromHost(to, from, n uintptr) error {
	return d.run(func() error { return d.memory.fromHost(to, from, n) })
}

// ToHost implements device.Copier.
func (d *Device) ToHost(to, from, n uintptr) error {
	return d.run(func() error { return d.memory.toHost(to, from, n) })
}

// Within implements device.Copier.
func (d *Device) Within(to, from, n uintptr) error {
	return d.run(func() error { return d.memory.within(to, from, n) })
}

// Fill implements device.Copier.
func (d *Device) Fill(to uintptr, value byte, n uintptr) error {
	return d.run(func() error { return d.memory.fill(to, value, n) })
}

// Buffer returns the cl_mem that the byte at p is in, and its place there: kernels are
// given buffers. Where memory is shared there is none, and kernels take the address.
func (d *Device) Buffer(p uintptr) (buffer, offset uintptr, err error) {
	b, err := d.Find(p, 1)
	if err == nil && b.Handle == 0 {
		err = device.Errorf(status.Unsupported, "%s shares its memory: kernels take %#x itself", d.info.Name, p)
	}
	return b.Handle, p - b.Start, err
}

// run puts work into the queue and waits for it.
func (d *Device) run(enqueue func() error) error {
	if err := d.ready(); err != nil {
		return err
	}
	if err := enqueue(); err != nil {
		return err
	}
	return d.do(clFinish, "", d.queue)
}

//go:uintptrescapes
func (d *Device) do(s symbol, detail string, args ...uintptr) error {
	if c := d.api.call(s, args...); c != 0 {
		return d.failure(s, c, detail)
	}
	return nil
}

func (d *Device) failure(s symbol, c code, detail string) error {
	if detail != "" {
		detail = ", " + detail
	}
	return failure(s, c, d.info.Name+detail)
}
