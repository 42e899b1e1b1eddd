package track

import (
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// table holds entries by address: open addressing with linear probing, off the Go heap.
// Not more than half of the slots are used. tracker.mu guards it.
type table struct {
	base  uintptr
	slots uint64 // a power of two, or 0
	used  uint64
	// refusals is how many new keys are refused before a full table asks for memory again. Asking
	// means looking through all of it.
	refusals uint64
	// current tells whether what is known of an address holds still; nil = always.
	current func(address uint64, gen uint32) bool
}

type slot struct {
	key   uint64 // 0 = empty
	entry Entry
}

const (
	slotBytes  = unsafe.Sizeof(slot{})
	firstSlots = 1024
)

func (t *table) at(i uint64) *slot {
	return layout.At[slot](t.base + uintptr(i&(t.slots-1))*slotBytes)
}

func (t *table) home(key uint64) uint64 { return key * layout.HashFactor >> 20 }

// look returns the slot of key, or the empty one where it belongs.
func (t *table) look(key uint64) *slot {
	for i := t.home(key); ; i++ {
		if s := t.at(i); s.key == key || s.key == 0 {
			return s
		}
	}
}

func (t *table) find(key uint64) *Entry {
	if t.slots == 0 {
		return nil
	}
	if s := t.look(key); s.key == key {
		return &s.entry
	}
	return nil
}

// place returns the entry of key, a new one if need be; nil: there is no memory.
func (t *table) place(key uint64) *Entry {
	if e := t.find(key); e != nil {
		return e
	}
	if 2*(t.used+1) > t.slots && !t.grow() {
		return nil
	}
	s := t.look(key)
	s.key = key
	t.used++
	return &s.entry
}

// remove forgets key, which may not be there, and shifts back what probed past it (Knuth, The Art of Computer
// Programming 3, 6.4, algorithm R).
func (t *table) remove(key uint64) bool {
	if t.slots == 0 {
		return false
	}
	hole := t.home(key)
	for ; t.at(hole).key != key; hole++ {
		if t.at(hole).key == 0 {
			return false
		}
	}
	for i := hole + 1; t.at(i).key != 0; i++ {
		if away := (i - t.home(t.at(i).key)) & (t.slots - 1); away >= (i-hole)&(t.slots-1) {
			*t.at(hole) = *t.at(i)
			hole = i
		}
	}
	*t.at(hole) = slot{}
	t.used--
	return true
}

// grow makes room for more keys; false: there was no memory, just now or a few keys ago.
func (t *table) grow() bool {
	if t.refusals > 0 {
		t.refusals--
		return false
	}
	if t.rebuild() {
		return true
	}
	t.refusals = t.used / 16
	return false
}

// rebuild drops what has lapsed, and makes room for twice of what is left.
func (t *table) rebuild() bool {
	kept := t.all()
	slots := uint64(firstSlots)
	for slots < 4*uint64(len(kept)+1) {
		slots *= 2
	}
	base, err := memory.Map(uintptr(slots)*slotBytes, purpose)
	if err != nil {
		return false
	}
	old, bytes := t.base, uintptr(t.slots)*slotBytes
	t.base, t.slots, t.used = base, slots, uint64(len(kept))
	for _, s := range kept {
		*t.look(s.key) = s
	}
	if bytes > 0 {
		memory.Unmap(old, bytes, purpose)
	}
	return true
}

// all returns what holds still.
func (t *table) all() (kept []slot) {
	for i := range t.slots {
		s := t.at(i)
		if s.key != 0 && (t.current == nil || t.current(s.key, s.entry.Gen)) {
			kept = append(kept, *s)
		}
	}
	return kept
}
