package limit

import (
	"maps"
	"sync"
)

// Names of the accounts that are no device.
const (
	totalName = "total"
	ownName   = "own"
)

// wanted are the limits that options give by name. The numbers of devices are known
// only when somebody asks for devices, so they wait here.
var wanted = struct {
	sync.Mutex // guards all
	soft, hard map[string]uint64
}{soft: map[string]uint64{}, hard: map[string]uint64{}}

// Named are limits by the name of the device; "" is the sum of all, "own" the memory of
// the program's own allocators.
type Named map[string]uint64

// ConfigureHard replaces the hard limits of every account.
func ConfigureHard(limits Named) { configure(limits, nil) }

// ConfigureSoft replaces the soft limits of every account.
func ConfigureSoft(limits Named) { configure(nil, limits) }

// configure replaces what is not nil.
func configure(hard, soft Named) {
	wanted.Lock()
	if hard != nil {
		wanted.hard = maps.Clone(hard)
	}
	if soft != nil {
		wanted.soft = maps.Clone(soft)
	}
	changed := []int32{}
	for device := int32(Own); device < maxDevices; device++ {
		if a := at(device); a.apply(key(device), hard != nil, soft != nil) {
			changed = append(changed, device)
		}
	}
	wanted.Unlock()
	for _, device := range changed {
		Set(device, at(device).soft.Load(), at(device).hard())
	}
}

// key is the name of an account in options; "-" is none's.
func key(device int32) string {
	switch device {
	case Total:
		return ""
	case Own:
		return ownName
	case CPU:
		return "cpu"
	}
	if name := at(device).name.Load(); name != nil {
		return *name
	}
	return "-"
}

// apply sets what the options want; the lock is held.
func (a *account) apply(name string, hard, soft bool) (changed bool) {
	oldSoft, oldHard := a.soft.Load(), a.hard()
	newSoft, newHard := oldSoft, oldHard
	if hard {
		newHard = wanted.hard[name]
	}
	if soft {
		newSoft = wanted.soft[name]
	}
	a.set(newSoft, newHard)
	return newSoft != oldSoft || newHard != oldHard
}

// Open gives a device's account its name, and with it the limits that options have for
// it. Later calls do nothing.
func Open(device int32, name string) {
	a := at(device)
	if device <= CPU || a.name.Load() != nil {
		return
	}
	wanted.Lock()
	defer wanted.Unlock()
	if a.name.CompareAndSwap(nil, &name) {
		_, hard := wanted.hard[name]
		_, soft := wanted.soft[name]
		a.apply(name, hard, soft)
	}
}

// Name returns how users call an account.
func Name(device int32) string {
	switch device {
	case Total:
		return totalName
	case Own:
		return "an allocator"
	}
	if name := key(device); name != "-" {
		return name
	}
	return "a device"
}
