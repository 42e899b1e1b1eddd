// Package device obtains memory of devices. An Allocator is all that the rest of the
// runtime knows of one: the memory pool takes chunks from it and gives them back, and
// keeps its books elsewhere, since a device's memory need not be readable by the CPU.
package device

import "tlruntime/runtime/status"

// Allocator obtains and returns blocks of one device's memory. It is safe for use by
// any number of threads, keeps no caches, and never calls back into the runtime.
type Allocator interface {
	// Name is the device as users write it: "cpu", "cuda:0", "opencl:0".
	Name() string
	// Alignment is what every block is aligned to, a power of two.
	Alignment() uintptr
	// Allocate returns a block of at least n > 0 bytes, or an *Error.
	Allocate(n uintptr) (uintptr, error)
	// Deallocate returns a block; n is what was asked for.
	Deallocate(block, n uintptr) error
}

// Error is a failure of a device: a status and what was found.
type Error struct {
	Status status.Status
	Text   string
}

func (e *Error) Error() string { return e.Text }
