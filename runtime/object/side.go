package object

import (
	"sync"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// side holds one value a record while a graph is walked, beside the records so
// that counts stay untouched. Values of earlier walks are told by their epoch and
// need no clearing. One walk at a time.
type side struct {
	mu    sync.Mutex
	base  uintptr
	limit uint64
	epoch uint32
	used  uint64 // values set in this walk
}

type sideValue struct {
	epoch uint32
	flags uint32
	value uint64
}

const sideBytes = 16

// begin starts a walk; the caller ends it.
func (s *side) begin() status.Status {
	s.mu.Lock()
	if s.base == 0 {
		s.limit = process.heap.RecordLimit()
		base, err := memory.Map(uintptr(s.limit*sideBytes), "graph walks")
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

// end finishes a walk; after a large one the pages go back.
func (s *side) end() {
	if s.used > 1<<16 || s.epoch == ^uint32(0) {
		memory.Purge(s.base, uintptr(s.limit*sideBytes))
		s.epoch = 0
	}
	s.mu.Unlock()
}

// at returns the value of a record, zero when this walk has not set it.
func (s *side) at(record uint32) *sideValue {
	v := layout.At[sideValue](s.base + uintptr(record)*sideBytes)
	if v.epoch != s.epoch {
		*v = sideValue{epoch: s.epoch}
		s.used++
	}
	return v
}
