package heap

import (
	"sync"
	"sync/atomic"
	"time"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// Idle memory above layout.HeapKeeps goes back to the system when it was idle for one to two periods of the clock:
// long enough that a steady program never meets a purge. What else is kept are magazines, and records of free
// slots.
const period = 200 * time.Millisecond

// clock is the goroutine that ticks. It starts when the heap first has more than may be idle, so that small programs
// have no thread for it.
type clock struct {
	start   sync.Once
	closing chan struct{} // nil: it did not start
	done    chan struct{}
}

// startClock is called before so much can be idle that it has to tick. Under the race detector nothing ticks: it does
// not see the locks that C takes, by which a page that is purged has no other user.
func (h *Heap) startClock() {
	if memory.Instrumented {
		return
	}
	h.clock.start.Do(func() {
		h.clock.closing, h.clock.done = make(chan struct{}), make(chan struct{})
		go h.run()
	})
}

func (h *Heap) stopClock() {
	if h.clock.closing != nil {
		close(h.clock.closing)
		for done := false; !done; { // it may be about to wait
			atomic.StoreUint32(&h.s.Ticking, 1)
			memory.Wake(&h.s.Ticking)
			select {
			case <-h.clock.done:
				done = true
			case <-time.After(time.Millisecond):
			}
		}
	}
}

// run ticks while there is more than is kept, or threads use what they keep, until nothing changes any more: what is
// left then cannot be had, because every page of it has an object, or the system refuses it. Then it waits for
// cshim/heap, which asks for the next tick.
func (h *Heap) run() {
	defer close(h.clock.done)
	for {
		memory.WaitWhileZero(&h.s.Ticking)
		before := uint64(0)
		for still := 0; still < 3; still++ {
			select {
			case <-h.clock.closing:
				return
			case <-time.After(period):
			}
			used := h.rest != nil && h.rest(h.idle())
			h.tick()
			left := h.ranges.left.Load()
			if idle := h.idle() + left; idle != before || used || left > 0 {
				before, still = idle, 0
			}
			if before <= layout.HeapKeeps && !used {
				break
			}
		}
		atomic.StoreUint32(&h.s.Ticking, 0)
		h.lock() // who gave a run back before it has asked for nothing, and who does so later asks
		idle := h.idle()
		h.unlock()
		if idle > layout.HeapKeeps && idle != before || h.tailsWait() || h.rest != nil && h.rest(idle) {
			atomic.StoreUint32(&h.s.Ticking, 1)
		}
	}
}

// idle is what may be resident and has no object.
func (h *Heap) idle() uint64 {
	return atomic.LoadUint64(&h.s.Dirty) + atomic.LoadUint64(&h.s.Idle) + h.ranges.idle.Load()
}

// tick gives back what was idle for a whole period.
func (h *Heap) tick() {
	epoch := atomic.AddUint32(&h.s.Clock, 1) - 2
	h.purge(layout.HeapKeeps, epoch)
	h.purgeRecords()
}

// purge gives memory that was not used after an epoch to the system until no more than `keep` is idle, and returns what
// the system took of spans: free runs first, then pages of slabs. What is idle of ranges goes in any case.
func (h *Heap) purge(keep uint64, epoch uint32) (taken uint64) {
	h.purgeRanges(epoch)
	for {
		slots := atomic.LoadUint64(&h.s.Idle)
		first, n := core.TakeIdle(h.s, keep-min(keep, slots), epoch)
		if first == 0 {
			break
		}
		bytes := uintptr(n) << layout.SpanShift
		purged := memory.Purge(h.address(first), bytes)
		core.GiveIdle(h.s, first, n, purged)
		if !purged {
			return taken
		}
		taken += uint64(bytes)
	}
	for class := uint32(layout.ClassLarge - 1); class >= 1 && h.idle() > keep; class-- {
		pages, refused := h.purgeSlabs(class, keep, epoch)
		taken += pages
		if refused {
			break
		}
	}
	return taken
}

// purgeSlabs gives the pages of a class's slabs that hold no object to the system.
func (h *Heap) purgeSlabs(class uint32, keep uint64, epoch uint32) (taken uint64, refused bool) {
	var some core.HeldSlabs
	for h.idle() > keep && !refused {
		held := core.HoldSlabs(h.s, class, epoch, &some)
		if len(held) == 0 {
			break
		}
		for _, slab := range held {
			purged := uint32(0)
			if !refused && h.purgePages(slab) {
				purged = slab.Count
			} else {
				refused = true
			}
			taken += uint64(purged) << h.s.PageShift
			core.LetGo(h.s, class, slab.Span, purged)
		}
	}
	return taken, refused
}

func (h *Heap) purgePages(slab core.Held) bool {
	const pages = uint32(len(slab.Pages) * 64)
	has := func(page uint32) bool { return page < pages && slab.Pages[page/64]>>(page%64)&1 != 0 }
	for page := uint32(0); page < pages; page++ {
		end := page
		for has(end) {
			end++
		}
		if end == page {
			continue
		}
		start := h.address(slab.Span) + uintptr(page)<<h.s.PageShift
		if !memory.Purge(start, uintptr(end-page)<<h.s.PageShift) {
			return false
		}
		page = end
	}
	return true
}

// Purge gives all idle memory to the system and returns the bytes that it took.
func (h *Heap) Purge() uint64 {
	h.DropEmpty()
	taken := h.purge(0, atomic.LoadUint32(&h.s.Clock))
	h.purgeRecords()
	return taken
}

// DropEmpty takes the slabs without an object out of the depots.
func (h *Heap) DropEmpty() { core.DropEmpty(h.s) }
