package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// lateWaits counts objects that wait for their owners, and that were referred to when they were handed over: of
// several threads that hold an object the first that releases it puts the node into the inbox, and the last one
// makes it wait. Nodes tell nothing of that, so the units of what waits stand beside the records.
type lateWaits struct {
	mu             sync.Mutex // guards writing
	units          uintptr    // uint32 by record, 0 = does not wait, or its node counts it
	objects, total atomic.Uint64
}

// add comes before the change of the shared word after which the object waits; when that does not take place,
// remove takes the object out. False: it is in already, or there is no memory.
func (l *lateWaits) add(record, units uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.units == 0 {
		base, err := memory.MapUndumped(uintptr(process.heap.RecordLimit()*4), "waiting objects")
		if err != nil {
			return false
		}
		l.units = base
	}
	at := l.at(record)
	if *at != 0 {
		return false
	}
	*at = units
	l.objects.Add(1)
	l.total.Add(uint64(units))
	return true
}

// remove comes after the merge, when no thread can make the object wait any more.
func (l *lateWaits) remove(record uint32) {
	if l.objects.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.at(record); *at != 0 {
		l.objects.Add(^uint64(0))
		l.total.Add(-uint64(*at))
		*at = 0
	}
}

func (l *lateWaits) at(record uint32) *uint32 { return layout.At[uint32](l.units + uintptr(record)*4) }

// of returns the units of a record that waits, else 0.
func (l *lateWaits) of(record uint32) uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.units == 0 {
		return 0
	}
	return *l.at(record)
}

// waitsLate counts an object of whose references the last one goes when the shared word becomes s. It was queued
// before. With fewer than none in the shared word it is Go that merges it.
func waitsLate(r *layout.Record, e layout.Entry, s layout.Sh) bool {
	loc := atomic.LoadUint32(&r.Loc)
	if s.Count >= 0 || layout.LocOwner(loc) == 0 {
		return false
	}
	references, _ := sums(loc, s)
	return references == 0 && process.late.add(e.Record, unitsOf(r, e))
}
