// Package devicetest is for tests: a device that fails on command and notices what
// is returned wrongly, and the suite that every device passes.
package devicetest

import (
	"slices"
	"sync"

	"tlruntime/runtime/device"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
)

// Addresses of a Fake are those of no real memory: who touches them instead of
// copying faults. Equal calls get equal addresses.
const (
	fakeBase      = 0x2080_0000_0000_0000
	fakeAlignment = 256
)

// Fake is a device in the test's own memory. It implements device.Device.
type Fake struct {
	*device.Ledger
	info     device.Info
	capacity uintptr

	mu     sync.Mutex // guards the rest
	next   uintptr
	memory map[uintptr][]byte // by start of the block
	calls  map[Call]int       // since the last FailAt
	failAt map[Call]int
	faults []error
}

// Call is a function of a Fake that can be made to fail.
type Call string

// The calls of a Fake.
const (
	Allocate   Call = "Allocate"
	Deallocate Call = "Deallocate"
	FromHost   Call = "FromHost"
	ToHost     Call = "ToHost"
	Within     Call = "Within"
	Fill       Call = "Fill"
)

// NewFake returns a device with that much memory.
func NewFake(name string, capacity uintptr) *Fake {
	return &Fake{
		Ledger: device.NewLedger(name),
		info: device.Info{Name: name, Kind: device.Custom, Description: "a device of tests", Driver: "none",
			TotalBytes: uint64(capacity), Alignment: fakeAlignment},
		capacity: capacity,
		next:     fakeBase,
		memory:   map[uintptr][]byte{},
		calls:    map[Call]int{},
		failAt:   map[Call]int{},
	}
}

// FailAt lets the k-th of that call from now on fail, 1 being the next one; 0 ends it.
// An Allocate that fails is out of memory, the others answer TL_E_DEVICE.
func (f *Fake) FailAt(call Call, k int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call], f.failAt[call] = 0, k
}

// Calls returns how often a call was made since its last FailAt.
func (f *Fake) Calls(call Call) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

// Faults returns what was returned to the device wrongly: twice, with another size,
// from the middle of a block, or without ever having come from it.
func (f *Fake) Faults() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.faults)
}

// enter counts a call and tells whether it is the one to fail. mu is held.
func (f *Fake) enter(call Call) error {
	f.calls[call]++
	if f.calls[call] != f.failAt[call] {
		return nil
	}
	st := status.Device
	if call == Allocate {
		st = status.OutOfMemory
	}
	return device.Errorf(st, "%s: %s number %d fails on command", f.info.Name, call, f.calls[call])
}

// Name implements device.Allocator.
func (f *Fake) Name() string { return f.info.Name }

// Alignment implements device.Allocator.
func (f *Fake) Alignment() uintptr { return fakeAlignment }

// Info implements device.Device.
func (f *Fake) Info() device.Info { return f.info }

// Memory implements device.Device.
func (f *Fake) Memory() (free, total uint64, err error) {
	_, taken := f.Outstanding()
	return uint64(f.capacity - taken), uint64(f.capacity), nil
}

// Allocate implements device.Allocator.
func (f *Fake) Allocate(n uintptr) (uintptr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter(Allocate); err != nil {
		return 0, err
	}
	if err := device.CheckSize(f.info.Name, n); err != nil {
		return 0, err
	}
	if _, taken := f.Outstanding(); n > f.capacity-taken {
		return 0, device.Errorf(status.OutOfMemory, "%s has %d of %d bytes left, not %d", f.info.Name, f.capacity-taken,
			f.capacity, n)
	}
	block := f.next
	f.next += (n + 2*fakeAlignment - 1) &^ (fakeAlignment - 1) // a gap behind each block
	f.memory[block] = make([]byte, n)
	f.Add(device.Block{Start: block, Bytes: n})
	return block, nil
}

// Deallocate implements device.Allocator.
func (f *Fake) Deallocate(block, n uintptr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter(Deallocate); err != nil {
		return err
	}
	b, err := f.Take(block, n)
	if err != nil {
		f.faults = append(f.faults, err)
		return err
	}
	delete(f.memory, b.Start)
	return nil
}

// bytes returns the n bytes at p. mu is held.
func (f *Fake) bytes(p, n uintptr) ([]byte, error) {
	b, err := f.Find(p, n)
	if err != nil {
		return nil, err
	}
	return f.memory[b.Start][p-b.Start:][:n], nil
}

// FromHost implements device.Copier.
func (f *Fake) FromHost(to, from, n uintptr) error {
	return f.with(FromHost, to, n, func(m []byte) { copy(m, layout.Bytes(from, uint64(n))) })
}

// ToHost implements device.Copier.
func (f *Fake) ToHost(to, from, n uintptr) error {
	return f.with(ToHost, from, n, func(m []byte) { copy(layout.Bytes(to, uint64(n)), m) })
}

// Within implements device.Copier.
func (f *Fake) Within(to, from, n uintptr) error {
	f.mu.Lock()
	source, err := f.bytes(from, n)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.with(Within, to, n, func(m []byte) { copy(m, source) })
}

// Fill implements device.Copier.
func (f *Fake) Fill(to uintptr, value byte, n uintptr) error {
	return f.with(Fill, to, n, func(m []byte) {
		for i := range m {
			m[i] = value
		}
	})
}

func (f *Fake) with(call Call, p, n uintptr, use func(m []byte)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.enter(call); err != nil {
		return err
	}
	m, err := f.bytes(p, n)
	if err == nil {
		use(m)
	}
	return err
}
