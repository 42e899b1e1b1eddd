package heap

import (
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Side holds one value a record while a graph is walked, beside the records so
// that counts stay untouched. Values of earlier walks are told by their epoch and
// need no clearing. One walk at a time.
type Side struct {
	mu      sync.Mutex // held during a walk; guards the rest
	base    uintptr
	records uint64
	epoch   uint32
	used    uint64 // values set in this walk
}

// SideValue is what a walk knows of a record.
type SideValue struct {
	epoch uint32
	Flags uint32
	Value uint64
}

// Side returns the values beside the heap's records.
func (h *Heap) Side() *Side { return &h.side }

const (
	sideBytes   = 16
	sidePurpose = "graph walks"
)

// Begin starts a walk; the caller ends it.
func (s *Side) Begin() status.Status {
	s.mu.Lock()
	if s.base == 0 {
		base, err := memory.MapUndumped(uintptr(s.records*sideBytes), sidePurpose)
		if err != nil {
			s.mu.Unlock()
			return status.OutOfMemory
		}
		s.base = base
	}
	s.epoch++
	s.used = 0
	return status.OK
}

// End finishes a walk; after a large one the pages go back.
func (s *Side) End() {
	if s.used > 1<<16 && memory.Purge(s.base, uintptr(s.records*sideBytes)) {
		s.epoch = 0
	}
	if s.epoch == ^uint32(0) {
		s.close()
	}
	s.mu.Unlock()
}

// At returns the value of a record, zero when this walk has not set it.
func (s *Side) At(record uint32) *SideValue {
	v := layout.At[SideValue](s.base + uintptr(record)*sideBytes)
	if v.epoch != s.epoch {
		*v = SideValue{epoch: s.epoch}
		s.used++
	}
	return v
}

func (s *Side) close() {
	if s.base != 0 {
		memory.Unmap(s.base, uintptr(s.records*sideBytes), sidePurpose)
		s.base, s.epoch = 0, 0
	}
}
