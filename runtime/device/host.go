package device

import (
	"runtime/debug"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// HostMemory is the Copier of devices whose memory the CPU reads and writes at its
// addresses.
type HostMemory struct{}

// FromHost implements Copier.
func (HostMemory) FromHost(to, from, n uintptr) error { return move(to, from, n) }

// ToHost implements Copier.
func (HostMemory) ToHost(to, from, n uintptr) error { return move(to, from, n) }

// Within implements Copier.
func (HostMemory) Within(to, from, n uintptr) error { return move(to, from, n) }

// Fill implements Copier.
func (HostMemory) Fill(to uintptr, value byte, n uintptr) error {
	return touching(func() {
		bytes := layout.Bytes(to, uint64(n))
		bytes[0] = value
		for done := 1; done < len(bytes); done *= 2 {
			copy(bytes[done:], bytes[:done])
		}
	})
}

func move(to, from, n uintptr) error {
	return touching(func() { copy(layout.Bytes(to, uint64(n)), layout.Bytes(from, uint64(n))) })
}

// probe reads the ends of memory that a driver will read or write: a driver that
// faults takes the process with it.
func probe(p, n uintptr) error {
	return touching(func() {
		peek(p)
		peek(p + n - 1)
	})
}

// peek is out of line, where the load of a byte that nobody wants stays.
//
//go:noinline
func peek(p uintptr) byte { return *layout.At[byte](p) }

// touching runs a body that reads and writes at addresses of a caller. A fault
// becomes an error; what was written before it stays.
func touching(body func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		fault, ok := cause.(interface{ Addr() uintptr })
		if !ok {
			panic(cause)
		}
		err = Errorf(status.InvalidArgument, "no memory that can be used so at %#x", fault.Addr())
	}()
	body()
	return nil
}
