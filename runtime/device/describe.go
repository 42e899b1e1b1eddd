package device

import (
	"fmt"

	"tlruntime/runtime/status"
)

// Kind tells what stands behind a device. The numbers are those of the C
// enumeration tl_device_kind.
type Kind int32

// The kinds of devices.
const (
	CPU Kind = iota
	CUDA
	OpenCL
	Metal
	Custom
	Shared
)

var kindNames = [...]string{"cpu", "cuda", "opencl", "metal", "custom", "shared"}

// String returns the kind as it stands in names of devices.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int32(k))
	}
	return kindNames[k]
}

// Info is what does not change about a device.
type Info struct {
	Name          string // "cuda:0"
	Kind          Kind
	Description   string // what the driver calls it: "NVIDIA H100 80GB HBM3"
	Driver        string // and itself: "CUDA 12.4"
	TotalBytes    uint64 // of its memory; 0 when it does not say
	Alignment     uintptr
	HostAccess    bool // the CPU may read and write its memory at its addresses
	StreamOrdered bool // Streams serves AllocateAsync
}

// Device is memory that is obtained, described and copied. Implementations embed
// a Ledger, so that no address reaches a driver that did not give it out.
type Device interface {
	Allocator
	Copier
	// Info describes the device. It asks nothing of a driver that takes memory or time.
	Info() Info
	// Memory measures now; both are 0 where the device does not say.
	Memory() (free, total uint64, err error)
}

// Copier moves bytes. A copy has happened when its function returns. Addresses on
// the device may lie anywhere inside a block. n is above 0.
type Copier interface {
	// FromHost copies from memory that the CPU reads.
	FromHost(to, from, n uintptr) error
	// ToHost copies to memory that the CPU writes.
	ToHost(to, from, n uintptr) error
	// Within copies inside the device; the ranges do not overlap.
	Within(to, from, n uintptr) error
	// Fill sets every byte.
	Fill(to uintptr, value byte, n uintptr) error
}

// Peer is a device that can copy from others of its kind without the CPU.
type Peer interface {
	// FromPeer reports false, with nothing done, when it has no way to source.
	FromPeer(to uintptr, source Device, from, n uintptr) (bool, error)
}

// Pinner is a device with an allocator of CPU memory that it copies to and from
// at full speed, because the memory is never paged out.
type Pinner interface {
	Pinned() Allocator
}

// Buffers is a device whose memory has handles: its kernels, and other libraries, are given
// a buffer and a place inside.
type Buffers interface {
	// Buffer returns the handle of the buffer that the byte at p is in, and where in there.
	Buffer(p uintptr) (handle, offset uintptr, err error)
	// Place returns where a buffer of the device begins.
	Place(handle uintptr) (p uintptr, err error)
}

// Sharer is a device whose memory other processes can map. A tensor there has a block of its own, which the device
// makes for it and no pool hands out again. New blocks are zeros.
type Sharer interface {
	// Share returns a new descriptor of the file that the byte at p is in, for the caller to close. readOnly lets
	// nobody map the file for writing any more.
	Share(p uintptr, readOnly bool) (Part, error)
	// Where returns the device's own descriptor of the file that the byte at p is in, and where.
	Where(p uintptr) Part
	// ShareNothing returns the same for a tensor without elements.
	ShareNothing() (Part, error)
	// Open maps n bytes of a file that another process has sent, after it has made sure that nobody can take them away.
	// For 0 bytes it maps nothing. The descriptor stays the caller's.
	Open(from Part, n uintptr) (Mapped, error)
}

// Mapped is a block that has bytes of a file of another process.
type Mapped struct {
	Block, Bytes uintptr
	At           uintptr // where the bytes begin that were asked for
	ReadOnly     bool
}

// Part is a place in a file that processes share.
type Part struct {
	File     int
	Offset   uint64
	ReadOnly bool
}

// Stream is a queue of a device's work, Event a mark in one. 0 is the default
// stream. Handles may come from elsewhere, a framework say, and are trusted: a
// driver follows them as pointers.
type (
	Stream uintptr
	Event  uintptr
)

// Streams is a device whose memory can be obtained and returned in the order of a
// stream: AllocateAsync's block may be used by work that is put into that stream
// later, without waiting; DeallocateAsync's block stays whole for work that was put
// into it before, and is reused only after that. Another stream that is to use the
// memory waits for an event first. A block goes back the way it came: Deallocate knows
// none of these.
type Streams interface {
	AllocateAsync(n uintptr, s Stream) (uintptr, error)
	DeallocateAsync(block, n uintptr, s Stream) error

	NewStream() (Stream, error)
	CloseStream(s Stream) error
	// Synchronize waits until the work in s is done.
	Synchronize(s Stream) error

	NewEvent() (Event, error)
	CloseEvent(e Event) error
	// Record puts e behind the work that is in s now.
	Record(e Event, s Stream) error
	// Query reports whether the work before e is done.
	Query(e Event) (bool, error)
	// Await waits until it is.
	Await(e Event) error
	// Wait lets later work in s wait for e.
	Wait(s Stream, e Event) error
}

// Errorf returns an *Error.
func Errorf(st status.Status, format string, args ...any) *Error {
	return &Error{Status: st, Text: fmt.Sprintf(format, args...)}
}

// StatusOf returns the status of an error, OK for nil; what is not an *Error is a
// defect.
func StatusOf(err error) status.Status {
	switch e := err.(type) {
	case nil:
		return status.OK
	case *Error:
		return e.Status
	}
	return status.Internal
}

// CheckSize refuses sizes that no block has. Half of the address space is more than
// any device's memory; sums of an address and a size then never overflow.
func CheckSize(name string, n uintptr) error {
	if n == 0 {
		return Errorf(status.InvalidArgument, "a block of %s has at least one byte", name)
	}
	if n > MaxBytes {
		return Errorf(status.OutOfMemory, "%s has no block of %d bytes", name, n)
	}
	return nil
}

// MaxBytes is above every size that a device can have.
const MaxBytes = 1 << 56
