package object

import (
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
)

// What contexts and the heap do when memory is short.

func init() {
	limit.Register(limit.LIFOCaches, giveMagazines)
	limit.Register(limit.EmptyChunks, givePages)
	limit.Describe(describeHeap)
	limit.OnResetPeaks(func() {
		if Opened() {
			process.heap.ResetPeak()
		}
	})
}

// take obtains the slot for an object of n bytes, with the help of every cache of the
// process if need be; its record is dead still. zero tells that the memory reads as
// zero.
func (c *Context) take(n uintptr) (e layout.Entry, zero bool, st status.Status) {
	return c.takeAligned(n, 1)
}

func (c *Context) takeAligned(n, alignment uintptr) (e layout.Entry, zero bool, st status.Status) {
	if e, zero, st = c.obtain(n, alignment); isShort(st) {
		e, zero, st = c.takeReclaimed(n, alignment, st)
	}
	limit.Settle(limit.CPU)
	return e, zero, st
}

func isShort(st status.Status) bool { return st == status.OutOfMemory || st == status.Limit }

// takeReclaimed empties no cache for what the heap could not hold if it were empty.
func (c *Context) takeReclaimed(n, alignment uintptr, st status.Status) (
	e layout.Entry, zero bool, _ status.Status) {
	if uint64(n) > process.g.HeapBytes {
		return e, false, st
	}
	st = c.reclaimFor(heapBytes(roomFor(n, alignment)), st, func() (st status.Status) {
		e, zero, st = c.obtain(n, alignment)
		return st
	})
	return e, zero, st
}

// reclaimFor calls obtain again while it is short of memory, st, and there is a cache to empty.
func (c *Context) reclaimFor(bytes uint64, st status.Status, obtain func() status.Status) status.Status {
	r := limit.NewReclaim(limit.CPU, bytes)
	more := c.returnMagazines() > 0
	for more || r.Step() {
		if st = obtain(); !isShort(st) {
			return st
		}
		more = false
	}
	return st
}

// heapBytes is what an object of n bytes asks of the heap: spans.
func heapBytes(n uintptr) uint64 {
	class := layout.ClassOf(n)
	if class == 0 {
		return max(uint64(n), uint64(n)+layout.SpanBytes-1) &^ (layout.SpanBytes - 1)
	}
	return uint64(process.g.Classes[class].Mask) + 1
}

// Short marks a failure for want of memory that left everything as it was: the entry guard may
// ask the program to release something and repeat the call.
func (c *Context) Short(device int32, n uint64) {
	c.Shortage.IsOpen, c.Shortage.Device, c.Shortage.Bytes = 1, device, n
}

// giveMagazines returns the free objects of parked contexts, and asks the others for
// theirs; they come at the next slow call of each.
func giveMagazines(need limit.Need) (freed uint64) {
	if !need.Covers(limit.CPU) || !Opened() {
		return 0
	}
	atomic.AddUint32(&process.g.Purge, 1)
	eachParked(func(p *Context) {
		freed += p.returnMagazines()
		p.parkAgain()
	})
	return freed + emptyQuarantine()
}

// emptyQuarantine gives all slots that TL_DEBUG keeps back to the heap.
func emptyQuarantine() (freed uint64) {
	if process.debug == nil {
		return 0
	}
	waiting, freed := process.debug.Empty()
	for _, e := range waiting {
		giveDirectly(e)
	}
	return freed
}

// parkAgain ends a borrowing that did none of the context's work; what was delivered
// meanwhile waits for a reaper.
func (c *Context) parkAgain() {
	for {
		w := atomic.LoadUint64(&c.Word)
		if atomic.CompareAndSwapUint64(&c.Word, w, w&^layout.CtxState|layout.CtxParked) {
			if w>>2 != 0 {
				atomic.SwapUint32(&process.g.Reap, 1)
			}
			return
		}
	}
}

// givePages returns empty slabs and what is idle of the heap.
func givePages(need limit.Need) uint64 {
	if !need.Covers(limit.CPU) || !Opened() {
		return 0
	}
	before := limit.Used(limit.CPU)
	idle := process.heap.Purge()
	return before - min(before, limit.Used(limit.CPU)) + idle
}

// Discard frees the slot of a dead object for all: it passes by every magazine.
func Discard(e layout.Entry) {
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.Loc, 0)
	atomic.StoreUint32(&r.Sh, 0)
	countDiscarded(r.TypeFlags&layout.TypeMask, e)
	e, left := renew(r, e)
	if !left {
		return
	}
	giveDirectly(e)
}

// describeHeap counts live objects. Those that the tensor pool keeps are among them;
// package tensor takes them off.
func describeHeap(of limit.Need) limit.Part {
	if !of.Covers(limit.CPU) || !Opened() {
		return limit.Part{}
	}
	s := ReadStats()
	return limit.Part{InUse: s.LiveBytes, LargestFree: s.largestFree(), PeakInUse: process.heap.Peak(),
		Allocated: s.AllocatedBytes, Allocations: s.Allocations, Live: s.LiveObjects,
		Waiting: s.WaitingBytes, WaitingObjects: s.WaitingObjects}
}
