package opencl

import (
	"fmt"
	"unsafe"

	"tlruntime/runtime/device"
	"tlruntime/runtime/status"
)

// memory is one of the two kinds of memory that OpenCL has.
type memory interface {
	hostAccess() bool
	allocate(n uintptr) (uintptr, error)
	release(b device.Block) error
	fromHost(to, from, n uintptr) error
	toHost(to, from, n uintptr) error
	within(to, from, n uintptr) error
	fill(to uintptr, value byte, n uintptr) error
}

// Flags of memory, and whether a call waits.
const (
	readWrite     = 1
	fineGrainFlag = 1 << 10 // CL_MEM_SVM_FINE_GRAIN_BUFFER
	wait          = 1
)

func sized(n uintptr) string { return fmt.Sprintf("%d bytes", n) }

// sharedMemory is shared virtual memory: its addresses are the same on the device
// and on the CPU. Fine-grained, the CPU may use it at any time; coarse-grained, only
// what a program maps, so that the CPU counts as having no access.
type sharedMemory struct {
	d    *Device
	fine bool
}

func (m sharedMemory) hostAccess() bool { return m.fine }

func (m sharedMemory) allocate(n uintptr) (uintptr, error) {
	flags := uintptr(readWrite)
	if m.fine {
		flags |= fineGrainFlag
	}
	// It tells no reason; the arguments being right, only memory is left.
	block := m.d.api.pointer(clSVMAlloc, m.d.context, flags, n, m.d.info.Alignment)
	if block == 0 {
		return 0, device.Errorf(status.OutOfMemory, "clSVMAlloc (%s, %d bytes) answered NULL", m.d.info.Name, n)
	}
	m.d.Add(device.Block{Start: block, Bytes: n})
	return block, nil
}

func (m sharedMemory) release(b device.Block) error {
	m.d.api.call(clSVMFree, m.d.context, b.Start) // returns nothing
	return nil
}

func (m sharedMemory) fromHost(to, from, n uintptr) error { return m.copy(to, from, n) }
func (m sharedMemory) toHost(to, from, n uintptr) error   { return m.copy(to, from, n) }
func (m sharedMemory) within(to, from, n uintptr) error   { return m.copy(to, from, n) }

func (m sharedMemory) copy(to, from, n uintptr) error {
	return m.d.do(clEnqueueSVMMemcpy, sized(n), m.d.queue, wait, to, from, n, 0, 0, 0)
}

func (m sharedMemory) fill(to uintptr, value byte, n uintptr) error {
	return m.d.do(clEnqueueSVMMemFill, sized(n), m.d.queue, to, uintptr(unsafe.Pointer(&value)), 1, n, 0, 0, 0)
}

// bufferMemory is memory of the device that has a handle and no address. It gets one
// that nothing else has, see places.
type bufferMemory struct{ d *Device }

func (m bufferMemory) hostAccess() bool { return false }

func (m bufferMemory) allocate(n uintptr) (uintptr, error) {
	var c code
	buffer := m.d.api.pointer(clCreateBuffer, m.d.context, readWrite, n, 0, uintptr(unsafe.Pointer(&c)))
	if c != 0 {
		return 0, m.d.failure(clCreateBuffer, c, sized(n))
	}
	start, err := m.d.places.take(m.d.Ledger, device.Block{Bytes: n, Handle: buffer})
	if err != nil {
		m.d.api.call(clReleaseMemObject, buffer)
	}
	return start, err
}

func (m bufferMemory) release(b device.Block) error { return m.d.do(clReleaseMemObject, "", b.Handle) }

// locate returns the buffer that n bytes at p are in, and how far inside they begin.
func (m bufferMemory) locate(p, n uintptr) (buffer, offset uintptr, err error) {
	b, err := m.d.Find(p, n)
	return b.Handle, p - b.Start, err
}

func (m bufferMemory) fromHost(to, from, n uintptr) error {
	buffer, offset, err := m.locate(to, n)
	if err != nil {
		return err
	}
	return m.d.do(clEnqueueWriteBuffer, sized(n), m.d.queue, buffer, wait, offset, n, from, 0, 0, 0)
}

func (m bufferMemory) toHost(to, from, n uintptr) error {
	buffer, offset, err := m.locate(from, n)
	if err != nil {
		return err
	}
	return m.d.do(clEnqueueReadBuffer, sized(n), m.d.queue, buffer, wait, offset, n, to, 0, 0, 0)
}

func (m bufferMemory) within(to, from, n uintptr) error {
	target, at, err := m.locate(to, n)
	if err != nil {
		return err
	}
	source, begin, err := m.locate(from, n)
	if err != nil {
		return err
	}
	return m.d.do(clEnqueueCopyBuffer, sized(n), m.d.queue, source, target, begin, at, n, 0, 0, 0)
}

func (m bufferMemory) fill(to uintptr, value byte, n uintptr) error {
	buffer, offset, err := m.locate(to, n)
	if err != nil {
		return err
	}
	return m.d.do(clEnqueueFillBuffer, sized(n), m.d.queue, buffer, uintptr(unsafe.Pointer(&value)), 1, offset, n, 0, 0,
		0)
}
