package device

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/config"
	"tlruntime/runtime/status"
)

// MaxDevices is how many devices a Set holds: tensors keep theirs in a byte.
const MaxDevices = 256

// Driver looks for the devices of one kind. Discover is called once; its error says
// what was looked for and what was found instead.
type Driver struct {
	Kind     Kind
	Discover func() ([]Device, error)
}

// WithStandardFilled runs a function in which a driver makes the descriptors that it keeps. The
// library replaces it: these must not become standard input, output or error where the program
// has closed them.
var WithStandardFilled = func(body func()) { body() }

// Set numbers the devices of a process. Id 0 is the CPU, 1 the memory that processes share; neither
// costs anything. The drivers are asked when another device is first wanted, all of them, in order, so
// that a machine numbers its devices the same way in every run: CUDA, OpenCL,
// Metal. Devices that the program registers are numbered as they come. An id is
// never given twice.
type Set struct {
	devices atomic.Pointer[[]Device] // by id; replaced, never changed

	mu      sync.Mutex // guards the rest and replacing devices; held while drivers are asked
	drivers []Driver   // not asked yet
	missing map[Kind]error
}

// NewSet returns the set of devices that are always there, the CPU first, and what the drivers will find.
func NewSet(always []Device, drivers ...Driver) *Set {
	s := &Set{drivers: drivers, missing: map[Kind]error{}}
	s.devices.Store(&always)
	return s
}

// Known returns the devices by id that have one so far, without asking any driver.
func (s *Set) Known() []Device { return *s.devices.Load() }

// All returns every device by id.
func (s *Set) All() []Device {
	s.discover()
	return s.Known()
}

// discover asks the drivers that were not asked.
func (s *Set) discover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.drivers) > 0 {
		d := s.drivers[0]
		s.drivers = s.drivers[1:]
		var found []Device
		var err error
		WithStandardFilled(func() { found, err = d.Discover() })
		if err != nil {
			s.missing[d.Kind] = err
		}
		s.add(found...)
	}
}

// add numbers devices, as many as there are numbers for. mu is held.
func (s *Set) add(found ...Device) {
	known := s.Known()
	found = found[:min(len(found), MaxDevices-len(known))]
	all := append(slices.Clone(known), found...)
	s.devices.Store(&all)
}

// At returns the device with an id.
func (s *Set) At(id int32) (Device, error) {
	if known := s.Known(); id >= 0 && int(id) < len(known) {
		return known[id], nil
	}
	all := s.Known()
	if id > 0 && id < MaxDevices {
		all = s.All()
		if int(id) < len(all) {
			return all[id], nil
		}
	}
	return nil, Errorf(status.Device, "there is no device %d; %s", id, listing(all))
}

// listing names devices with their ids: "known devices: cpu, cuda:0".
func listing(all []Device) string {
	var b strings.Builder
	b.WriteString("known devices: ")
	for id, d := range all {
		if id > 0 {
			b.WriteString(", ")
		}
		if id == 8 {
			b.WriteString("...")
			break
		}
		b.WriteString(d.Name())
	}
	return b.String()
}

// ByName returns the id of the device that a user calls by name; "cuda" is "cuda:0".
func (s *Set) ByName(name string) (int32, error) {
	family, ordinal, err := ParseName(name)
	if err != nil {
		return 0, err
	}
	wanted := config.DeviceName(family, ordinal)
	if id := find(s.Known(), wanted); id >= 0 {
		return id, nil
	}
	all := s.All()
	if id := find(all, wanted); id >= 0 {
		return id, nil
	}
	kind, ours := builtin(family)
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.missing[kind]; ours && why != nil {
		return 0, Errorf(status.Device, "%s: %s", wanted, why)
	}
	return 0, Errorf(status.Device, "there is no device %s; %s", wanted, listing(all))
}

func find(all []Device, name string) int32 {
	return int32(slices.IndexFunc(all, func(d Device) bool { return d.Name() == name }))
}

// Register adds a device of the program's own and returns its id. Its name must be
// in the form that ParseName returns, "npu:0", and new.
func (s *Set) Register(d Device) (int32, error) {
	family, ordinal, err := ParseName(d.Name())
	if err != nil {
		return 0, err
	}
	if _, ours := builtin(family); ours || d.Name() != config.DeviceName(family, ordinal) {
		return 0, Errorf(status.InvalidArgument,
			"%q cannot name a device of your own; use a family of your own and a number, npu:0",
			d.Name())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if find(s.Known(), d.Name()) >= 0 {
		return 0, Errorf(status.AlreadyRegistered, "there is a device %s", d.Name())
	}
	if len(s.Known()) == MaxDevices {
		return 0, Errorf(status.Limit, "there are %d devices; more have no number", MaxDevices)
	}
	s.add(d)
	return int32(len(s.Known()) - 1), nil
}

// Copy copies between devices by id.
func (s *Set) Copy(target int32, to uintptr, source int32, from, n uintptr) error {
	t, err := s.At(target)
	if err != nil {
		return err
	}
	f, err := s.At(source)
	if err != nil {
		return err
	}
	return Copy(t, to, f, from, n)
}
