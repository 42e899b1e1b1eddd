package device

import "tlruntime/runtime/layout"

// HostMemory is the Copier of devices whose memory the CPU reads and writes at its
// addresses. It does not check them, because Copy and Fill have done so.
type HostMemory struct{}

// FromHost implements Copier.
func (HostMemory) FromHost(to, from, n uintptr) error { return move(to, from, n) }

// ToHost implements Copier.
func (HostMemory) ToHost(to, from, n uintptr) error { return move(to, from, n) }

// Within implements Copier.
func (HostMemory) Within(to, from, n uintptr) error { return move(to, from, n) }

// Fill implements Copier.
func (HostMemory) Fill(to uintptr, value byte, n uintptr) error {
	bytes := layout.Bytes(to, uint64(n))
	bytes[0] = value
	for done := 1; done < len(bytes); done *= 2 {
		copy(bytes[done:], bytes[:done])
	}
	return nil
}

func move(to, from, n uintptr) error {
	copy(layout.Bytes(to, uint64(n)), layout.Bytes(from, uint64(n)))
	return nil
}
