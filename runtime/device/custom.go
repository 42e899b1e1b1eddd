package device

import "tlruntime/runtime/status"

// NewCustom makes a device of an allocator. When the CPU may use its memory at its
// addresses, host is true and copies work; otherwise copies are refused, and a
// program that wants them implements Device itself.
func NewCustom(a Allocator, host bool) Device {
	info := Info{Name: a.Name(), Kind: Custom, Description: a.Name(), Driver: "of the program's own", Alignment: a.Alignment(), HostAccess: host}
	if host {
		return &custom{Allocator: a, Copier: HostMemory{}, info: info}
	}
	return &custom{Allocator: a, Copier: unreachable{a.Name()}, info: info}
}

type custom struct {
	Allocator
	Copier
	info Info
}

func (c *custom) Info() Info { return c.info }

func (c *custom) Memory() (free, total uint64, err error) { return 0, 0, nil }

// unreachable is the Copier of memory that nobody said how to copy.
type unreachable struct{ name string }

func (u unreachable) refuse() error {
	return Errorf(status.Unsupported, "%s was registered without a way to copy its memory", u.name)
}

func (u unreachable) FromHost(to, from, n uintptr) error           { return u.refuse() }
func (u unreachable) ToHost(to, from, n uintptr) error             { return u.refuse() }
func (u unreachable) Within(to, from, n uintptr) error             { return u.refuse() }
func (u unreachable) Fill(to uintptr, value byte, n uintptr) error { return u.refuse() }
