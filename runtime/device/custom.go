package device

import (
	"runtime"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Own is a device of a program's own.
type Own struct {
	Allocator  Allocator
	Copier     Copier // nil: the CPU copies, if it has access; else nobody does
	HostAccess bool   // the CPU may use the memory at its addresses
	TotalBytes uint64 // 0: it does not say
}

// NewOwn makes a device of it. The device validates addresses before it calls a
// function, so the functions may trust them.
func NewOwn(o Own) Device {
	a := o.Allocator
	c := &custom{Ledger: NewLedger(a.Name()), allocator: a, Copier: o.Copier, info: Info{
		Name: a.Name(), Kind: Custom, Description: a.Name(), Driver: "of the program's own", Alignment: a.Alignment(),
		HostAccess: o.HostAccess, TotalBytes: o.TotalBytes,
	}}
	switch {
	case o.Copier != nil:
		c.Copier = known{c.Ledger, o.Copier}
	case o.HostAccess:
		c.Copier = HostMemory{}
	default:
		c.Copier = unreachable{a.Name()}
	}
	return c
}

type custom struct {
	*Ledger
	Copier
	allocator Allocator
	info      Info
}

func (c *custom) Name() string       { return c.info.Name }
func (c *custom) Alignment() uintptr { return c.info.Alignment }
func (c *custom) Info() Info         { return c.info }

// Memory is what the program has said, less what was taken.
func (c *custom) Memory() (free, total uint64, err error) {
	_, taken := c.Outstanding()
	return c.info.TotalBytes - min(uint64(taken), c.info.TotalBytes), c.info.TotalBytes, nil
}

func (c *custom) Allocate(n uintptr) (uintptr, error) {
	if err := CheckSize(c.info.Name, n); err != nil {
		return 0, err
	}
	block, err := c.allocator.Allocate(n)
	if err == nil && block != 0 {
		c.Add(Block{Start: block, Bytes: n})
	}
	return block, err
}

func (c *custom) Deallocate(block, n uintptr) error {
	b, err := c.Take(block, n)
	if err != nil {
		return err
	}
	if err := c.allocator.Deallocate(block, n); err != nil {
		c.Add(b)
		return err
	}
	return nil
}

// known is a Copier that is asked for memory of its own device alone.
type known struct {
	ledger *Ledger
	Copier
}

func (k known) FromHost(to, from, n uintptr) error {
	if _, err := k.ledger.Find(to, n); err != nil {
		return err
	}
	return k.Copier.FromHost(to, from, n)
}

func (k known) ToHost(to, from, n uintptr) error {
	if _, err := k.ledger.Find(from, n); err != nil {
		return err
	}
	return k.Copier.ToHost(to, from, n)
}

func (k known) Within(to, from, n uintptr) error {
	if _, err := k.ledger.Find(to, n); err != nil {
		return err
	}
	if _, err := k.ledger.Find(from, n); err != nil {
		return err
	}
	return k.Copier.Within(to, from, n)
}

func (k known) Fill(to uintptr, value byte, n uintptr) error {
	if _, err := k.ledger.Find(to, n); err != nil {
		return err
	}
	return k.Copier.Fill(to, value, n)
}

// FillByCopies is Fill for devices that have no way of their own: it copies a piece of
// the CPU's memory again and again.
func FillByCopies(fromHost func(to, from, n uintptr) error, to uintptr, value byte, n uintptr) error {
	piece := make([]byte, min(n, stagingBytes))
	var pin runtime.Pinner // else a few bytes may lie in a stack, which moves
	pin.Pin(&piece[0])
	defer pin.Unpin()
	for i := range piece {
		piece[i] = value
	}
	for done := uintptr(0); done < n; {
		now := min(n-done, uintptr(len(piece)))
		if err := fromHost(to+done, layout.Address(&piece[0]), now); err != nil {
			return err
		}
		done += now
	}
	return nil
}

// unreachable is the Copier of memory that nobody said how to copy.
type unreachable struct{ name string }

func (u unreachable) refuse() error {
	return Errorf(status.Unsupported, "%s was registered without a way to copy its memory", u.name)
}

func (u unreachable) FromHost(to, from, n uintptr) error           { return u.refuse() }
func (u unreachable) ToHost(to, from, n uintptr) error             { return u.refuse() }
func (u unreachable) Within(to, from, n uintptr) error             { return u.refuse() }
func (u unreachable) Fill(to uintptr, value byte, n uintptr) error { return u.refuse() }
