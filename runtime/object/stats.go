package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Stats are the process's counters. At quiescence they are exact:
//
//	allocations - frees = live objects
//
// While others run, frees are read before allocations, so live is never negative.
type Stats struct {
	LiveObjects, LiveBytes   uint64
	Allocations, Frees       uint64
	ForeignLive, ForeignBack uint64
	TensorsMade, TensorsGone uint64
	Reserved, Committed      uint64
	Skipped, Deferred        uint64
	SlowCalls, SystemCalls   uint64
	Contexts                 uint64
}

// ReadStats sums up the contexts and the depots.
func ReadStats() Stats {
	usage := process.heap.Usage()
	s := Stats{Reserved: usage.Reserved + process.g.SlicesBytes, Committed: usage.Committed, SystemCalls: memory.Calls()}
	cached, large := process.debug.quarantined()
	process.slices.each(func(c *Context) {
		if c.Self == 0 {
			return
		}
		s.addContext(c, &cached)
	})
	for class := uint32(1); class < layout.ClassRest; class++ {
		live := max(usage.Out[class]-cached[class], 0)
		s.LiveObjects += uint64(live)
		if class == layout.ClassLarge {
			s.LiveBytes += (usage.LargeSpan - uint64(large)) << layout.SpanShift
		} else {
			s.LiveBytes += uint64(live) * uint64(process.g.Classes[class].Size)
		}
	}
	s.Frees = s.Allocations - min(s.Allocations, s.LiveObjects)
	foreign := process.registry.Totals()
	s.ForeignBack = foreign.HandedBack
	s.ForeignLive = foreign.Pointers - min(foreign.Pointers, foreign.HandedBack)
	return s
}

func (s *Stats) addContext(c *Context, cached *[layout.Classes]int64) {
	for class := uint32(1); class < layout.ClassRest; class++ {
		m := &c.Magazines[class]
		s.Allocations += c.allocated(class)
		cached[class] += int64(atomic.LoadUintptr(&m.Top)-m.Base) / layout.EntryBytes
	}
	if atomic.LoadUint64(&c.Word)&layout.CtxState != layout.CtxFree && c.Id != 0 {
		s.Contexts++
	}
	s.Skipped += c.Skipped
	s.Deferred += c.Deferred
	s.SlowCalls += c.SlowCalls
	s.TensorsMade += c.TensorsMade
	s.TensorsGone += c.TensorsGone
}

// Shutdown leaves the caller's scopes, its root scope included, finishes what
// ended threads left, and gives idle memory back. Live objects stay valid.
func (c *Context) Shutdown() status.Status {
	busy := false
	process.slices.each(func(p *Context) {
		if p != c && p.Self != 0 && atomic.LoadUint64(&p.Word)&layout.CtxState == layout.CtxActive && p.MarkTop != p.Marks {
			busy = true
		}
	})
	if busy {
		return c.Fail(status.Busy, textOpenScopes, 0)
	}
	c.drain(c)
	c.finish(c)
	atomic.StoreUint32(&process.g.Reap, 1)
	c.Reap()
	c.Purge()
	return status.OK
}
