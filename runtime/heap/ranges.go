package heap

import (
	"slices"
	"sync"
	"sync/atomic"

	core "tlruntime/cshim/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// Range is address space of its own for one block of memory that grows where it is. All of it is mapped, outside of the
// spans, and the kernel brings each page when it is first touched; as far as its owner has asked it is in use, and
// charged. vAttention (Prabhu et al., 2025) keeps the cache of a GPU so.
//
//	used <= charged <= reserved
//
// A tensor that C makes smaller leaves the rest to the clock, which takes it when no more was left for one to two
// periods. What is charged and not used is idle. While the heap has more than layout.HeapKeeps idle, it goes back to
// the system after one to two periods of the clock; limits count it until then. No core dump has a range: the kernel
// would visit each page of what was reserved.
type Range struct {
	Start                   uintptr
	reserved, charged, used uintptr
	since                   uint32 // the clock when something became idle
	huge                    bool   // huge pages were asked for
	owner                   layout.Entry
	place                   int // in layout.Globals.Ranges; -1: none was free
}

// Bytes returns how far a range can grow.
func (r *Range) Bytes() uintptr { return r.reserved }

// Used returns how far its owner may use it.
func (r *Range) Used() uintptr { return r.used }

type ranges struct {
	// mu guards all. The start of a range, how much is reserved and how much is used change only on its owner's thread,
	// under mu, so that the owner reads them without it.
	mu      sync.Mutex
	all     map[*Range]struct{}
	charged uint64
	used    uint64
	idle    atomic.Uint64 // charged - used
	left    atomic.Uint64 // what tensors had left of what they use, and not long enough, when the clock looked last
	outside uint64        // ranges without a place
}

func (a *ranges) note(r *Range, charged, used uintptr) {
	a.charged += uint64(charged) - uint64(r.charged)
	a.used += uint64(used) - uint64(r.used)
	a.idle.Store(a.charged - a.used)
	r.charged = charged
	if r.used != used { // the clock gives back what is charged and writes nothing that the owner reads
		r.used = used
	}
}

// Ranges returns the bytes of all ranges that are charged, and of them those in use.
func (h *Heap) Ranges() (charged, used uint64) {
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	return h.ranges.charged, h.ranges.used
}

// Reserve returns a range of at least so many bytes for an object, of which none is in use yet; nil: the system has no
// such address space.
func (h *Heap) Reserve(bytes uintptr, owner layout.Entry) *Range {
	r := &Range{reserved: memory.Round(bytes, layout.SpanBytes), owner: owner}
	if r.reserved < bytes {
		return nil
	}
	var err error
	if r.Start, err = memory.MapUndumped(r.reserved, "ranges"); err != nil {
		return nil
	}
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	if h.ranges.all == nil {
		h.ranges.all = map[*Range]struct{}{}
	}
	h.ranges.all[r] = struct{}{}
	h.takePlace(r)
	h.cover(r)
	return r
}

// takePlace gives a range a place where C finds it (tlc_is_in_range).
func (h *Heap) takePlace(r *Range) {
	places := h.G.Ranges[:]
	used := min(atomic.LoadUint64(&h.G.RangesUsed), layout.Ranges)
	r.place = slices.IndexFunc(places[:used], func(p layout.Range) bool { return p.Bytes == 0 })
	if r.place < 0 && used < layout.Ranges {
		r.place = int(used)
	}
	if r.place < 0 {
		h.ranges.outside++
		atomic.StoreUint64(&h.G.RangesUsed, layout.Ranges+h.ranges.outside)
		return
	}
	h.tellPlace(r, r.reserved)
	if uint64(r.place) == used {
		atomic.StoreUint64(&h.G.RangesUsed, used+1)
	}
}

func (h *Heap) leavePlace(r *Range) {
	if r.place < 0 {
		h.ranges.outside--
		atomic.StoreUint64(&h.G.RangesUsed, layout.Ranges+h.ranges.outside)
		return
	}
	h.tellPlace(r, 0)
}

// tellPlace tells C where a range is, and of how many bytes.
func (h *Heap) tellPlace(r *Range, bytes uintptr) {
	if r.place >= 0 {
		p := &h.G.Ranges[r.place]
		atomic.StoreUint64(&p.Bytes, 0)
		atomic.StoreUintptr(&p.Start, r.Start)
		atomic.StoreUint64(&p.Bytes, uint64(bytes))
	}
}

// cover widens what may be a range's to this one: outside of it nobody has to look (cshim/guard/guard.h).
func (h *Heap) cover(r *Range) {
	base, bytes := atomic.LoadUintptr(&h.G.RangesBase), uintptr(atomic.LoadUint64(&h.G.RangesBytes))
	low, high := r.Start, r.Start+r.reserved
	if bytes > 0 {
		low, high = min(low, base), max(high, base+bytes)
	}
	atomic.StoreUint64(&h.G.RangesBytes, uint64(high-low)) // first: who reads both meanwhile asks too often
	atomic.StoreUintptr(&h.G.RangesBase, low)
}

// rangeAt returns the range that an address is in; nil: none.
func (h *Heap) rangeAt(addr uintptr) *Range {
	if addr-atomic.LoadUintptr(&h.G.RangesBase) >= uintptr(atomic.LoadUint64(&h.G.RangesBytes)) {
		return nil
	}
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	for r := range h.ranges.all {
		if addr-r.Start < r.reserved {
			return r
		}
	}
	return nil
}

// Extend reserves more behind a range, or elsewhere: then it takes its pages along. False: the system has no such
// address space.
func (h *Heap) Extend(r *Range, bytes uintptr) bool {
	to := memory.Round(bytes, layout.SpanBytes)
	if to < bytes {
		return false
	}
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	start, err := memory.Remap(r.Start, r.reserved, r.used, to, "ranges")
	if err == nil {
		r.Start, r.reserved, r.huge = start, to, false // where pages were copied, the advice is lost
		h.tellPlace(r, r.reserved)
		h.cover(r)
	}
	return err == nil
}

// Use lets the owner use at least so many bytes, and an eighth more where limits allow it, so that a block
// that grows by little asks seldom.
func (h *Heap) Use(r *Range, bytes uintptr) status.Status {
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	least := memory.Round(bytes, layout.SpanBytes)
	more := memory.Round(r.used+r.used/8, layout.SpanBytes)
	to := min(max(least, more), r.reserved)
	switch {
	case bytes <= r.used:
		r.tell(uint64(bytes), true)
		return status.OK
	case least <= r.charged:
		h.ranges.note(r, r.charged, min(to, r.charged))
		r.tell(uint64(bytes), false)
		return status.OK
	}
	if to == least || !limit.TryCharge(limit.CPU, uint64(to-r.charged)) {
		to = least
		if st := limit.Charge(limit.CPU, uint64(to-r.charged)); st != status.OK {
			r.tell(r.header().Nbytes, true)
			return st
		}
	}
	h.ranges.note(r, to, to)
	r.tell(uint64(bytes), false)
	if h.ranges.charged > layout.HeapKeeps {
		h.startClock()
	}
	if to >= layout.HeapHugeFrom && !r.huge && h.huge != nil && h.huge() {
		r.huge = true
		memory.AdviseHuge(r.Start, r.reserved)
	}
	return status.OK
}

// Trim takes what lies behind so many bytes from the owner. It is idle then.
func (h *Heap) Trim(r *Range, bytes uintptr) {
	h.ranges.mu.Lock()
	if used := memory.Round(bytes, layout.SpanBytes); used < r.used {
		r.since = atomic.LoadUint32(&h.s.Clock)
		h.ranges.note(r, r.charged, used)
	}
	r.tell(uint64(bytes), false)
	h.ranges.mu.Unlock()
	if h.idle() > layout.HeapKeeps {
		h.startClock()
		core.Watch(h.s)
	}
}

// header returns that of the tensor whose range it is.
func (r *Range) header() *layout.TensorHeader { return layout.At[layout.TensorHeader](r.owner.Object) }

// tell has the header of a tensor whose elements are here say how many bytes it has, and how many it may have, with a
// sum by which cshim/tensor/grow.c knows that nobody has written over it. What it has left before it has left still, or
// has taken again. The caller has ranges.mu.
func (r *Range) tell(nbytes uint64, left bool) {
	h := r.header()
	if h.Data != r.Start {
		return
	}
	atomic.StoreUint64(&h.Nbytes, nbytes)
	h.TellRoom(r.used)
	if !left {
		atomic.StoreUint64(&h.Mark, 0)
	}
}

// leaves returns what a tensor has left of what it uses, and the clock when it did so last; 0: nothing. A header that
// was overwritten tells nothing: by its flags, too, since such a tensor may end as one that has no range, and its slot
// have another object by now.
func (r *Range) leaves() (bytes uintptr, since uint32) {
	h := r.header()
	mark := atomic.LoadUint64(&h.Mark)
	nbytes := atomic.LoadUint64(&h.Nbytes)
	used := memory.Round(uintptr(nbytes), layout.SpanBytes)
	if mark == 0 || h.Flags != layout.TensorContiguous|layout.TensorGrown || h.Data != r.Start ||
		!h.TellsRoom(r.used) || nbytes > uint64(r.used) || used >= r.used {
		return 0, 0
	}
	return r.used - used, uint32(mark - 1)
}

// takeTails takes what tensors have left before an epoch. A tensor grows into what it has left without a call, so its
// header tells less room first. Once every thread has passed a barrier, its size is seen here, or the smaller room
// there. The mark stays: the tensor may have left more meanwhile.
func (h *Heap) takeTails(epoch uint32) {
	type tail struct {
		r    *Range
		used uintptr
	}
	var tails []tail
	wait := uint64(0)
	for r := range h.ranges.all {
		switch bytes, since := r.leaves(); {
		case bytes == 0:
		case int32(since-epoch) > 0:
			wait += uint64(bytes)
		default:
			tails = append(tails, tail{r, r.used - bytes})
			r.header().TellRoom(r.used - bytes)
		}
	}
	h.ranges.left.Store(wait)
	if len(tails) == 0 {
		return
	}
	passed := core.PassBarriers()
	if !passed {
		atomic.StoreUint32(&h.s.Barriers, 0) // a filter refuses it now
	}
	for _, t := range tails {
		if passed && atomic.LoadUint64(&t.r.header().Nbytes) <= uint64(t.used) {
			h.ranges.note(t.r, t.r.charged, t.used)
			t.r.since = epoch
		} else {
			t.r.header().TellRoom(t.r.used)
		}
	}
}

// tailsWait tells whether some tensor has left something. Every thread passes a barrier first, so that one which has
// found the clock running has told.
func (h *Heap) tailsWait() bool {
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	if atomic.LoadUint32(&h.s.Barriers) == 0 || h.ranges.charged <= layout.HeapKeeps || !core.PassBarriers() {
		return false
	}
	for r := range h.ranges.all {
		if bytes, _ := r.leaves(); bytes > 0 {
			return true
		}
	}
	return false
}

// Release ends a range.
func (h *Heap) Release(r *Range) {
	h.ranges.mu.Lock()
	charged := r.charged
	h.ranges.note(r, 0, 0)
	delete(h.ranges.all, r)
	h.leavePlace(r)
	h.ranges.mu.Unlock()
	memory.Unmap(r.Start, r.reserved, "ranges")
	limit.Credit(limit.CPU, uint64(charged))
}

// purgeRanges gives to the system what is idle of ranges, and was so before an epoch.
func (h *Heap) purgeRanges(epoch uint32) {
	h.ranges.mu.Lock()
	defer h.ranges.mu.Unlock()
	if atomic.LoadUint32(&h.s.Barriers) != 0 {
		h.takeTails(epoch)
	}
	if h.ranges.idle.Load() == 0 {
		return
	}
	for r := range h.ranges.all {
		idle := r.charged - r.used
		if idle == 0 || int32(r.since-epoch) > 0 || !memory.Purge(r.Start+r.used, idle) {
			continue
		}
		h.ranges.note(r, r.used, r.used)
		limit.Credit(limit.CPU, uint64(idle))
	}
}
