package object

import (
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// What package tensor needs of contexts. A tensor's record is never biased: its
// local word is 0 and its shared word MERGED from birth.
const (
	unbiasedHeld     = layout.ShOne | layout.ShMerged | layout.ShAlive
	unbiasedFloating = unbiasedHeld | layout.ShFloat
)

// FindTensor looks p up. On the heap it returns the tensor's entry; for a tensor
// in live frame memory of the calling thread the entry's Object is 0.
func (c *Context) FindTensor(p uintptr) (layout.Entry, status.Status) {
	at := c.locate(p)
	switch at.where {
	case inHeap:
		if o, ok := at.object(p); ok {
			if o.typ() != layout.TypeTensor {
				return layout.Entry{}, c.Fail(status.Unsupported, TextTensorKind, p)
			}
			return o.Entry, status.OK
		}
	case inLiveStack:
		if !c.isSlotTensor(p) {
			return layout.Entry{}, c.Fail(status.Unsupported, TextNotTensor, p)
		}
		return layout.Entry{}, status.OK
	case elsewhere:
		if process.registry.Count(p) >= 0 {
			return layout.Entry{}, c.Fail(status.Unsupported, TextNotTensor, p)
		}
	}
	return layout.Entry{}, c.failPlace(p, at)
}

func (o object) typ() uint32 { return atomic.LoadUint32(&o.TypeFlags) & layout.TypeMask }

// isSlotTensor tells a tensor from other bytes of the frame stack. The data must
// be there as well: a header that survived its function may lie below the top.
func (c *Context) isSlotTensor(p uintptr) bool {
	if p%layout.TensorAlign != 0 || p < c.Frame.Base || p >= c.Frame.Top || c.Frame.Top-p < layout.TensorHeaderBytes {
		return false
	}
	h := layout.At[layout.TensorHeader](p)
	return h.Mark == uint64(p)^layout.TensorMark && h.Nbytes <= uint64(c.Frame.Top-p-layout.TensorHeaderBytes)
}

// HasRoom reports whether the scope stack can hold another entry, and records
// the error when it cannot.
func (c *Context) HasRoom() bool { return c.hasRoomFor(0) }

// Push records a reference in the current scope; the caller has asked HasRoom.
func (c *Context) Push(e layout.Entry) { c.push(e) }

// TakeTensor obtains a slot of n bytes for a tensor; its record is dead still.
// zero tells that the memory reads as zero. No slot: Object 0, the error recorded.
func (c *Context) TakeTensor(n uintptr) (e layout.Entry, zero bool) {
	e, zero, st := c.take(n)
	if st != status.OK {
		c.failAlloc(st, uint64(n))
		return layout.Entry{}, false
	}
	c.countTyped(layout.TypeTensor, e)
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.TypeFlags, layout.TypeTensor)
	atomic.StoreUint32(&r.Loc, 0)
	return e, zero
}

// GuardTensor moves the red zone of a tensor to behind its last element; n bytes are
// header and elements.
func (c *Context) GuardTensor(e layout.Entry, n uint64) {
	if process.debug != nil {
		process.debug.Guard(e, uintptr(n))
	}
}

// Revive makes a dead tensor live with one reference, which floats or will be
// held by the caller.
func (c *Context) Revive(e layout.Entry, floating bool) {
	sh := uint32(unbiasedHeld)
	if floating {
		sh = unbiasedFloating
	}
	atomic.StoreUint32(&process.heap.Record(e.Record).Sh, sh)
}

// Recycle makes the slot of a dead object available again; its fields are released.
func (c *Context) Recycle(e layout.Entry) {
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.Loc, 0)
	atomic.StoreUint32(&r.Sh, 0)
	c.recycle(r, e)
}

// TakeOut takes the newest entry that a scope of this function has for e out of
// it; the reference is the caller's then. False when there is none. Entries that
// meant an earlier object in the same slot go too.
func (c *Context) TakeOut(e layout.Entry) bool {
	for {
		position, found := c.find(e.Object, c.Floor)
		if !found {
			return false
		}
		same := *c.entry(position) == e
		c.takeOut(position)
		if same {
			return true
		}
		c.Skipped++
	}
}

// ReleaseOnly drops the only reference of a live tensor, which keep may put to rest; TL_E_BUSY when there are
// more.
func (c *Context) ReleaseOnly(e layout.Entry, keep func(*layout.Record, layout.Entry) bool) status.Status {
	r := process.heap.Record(e.Record)
	s, dropped := updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		if !s.Has(layout.ShAlive) || s.Count != 1 || s.Has(layout.ShImmortal) {
			return s, false
		}
		s.Count, s.Floats = 0, 0
		return s, true
	})
	switch {
	case dropped:
		c.killUnless(keep, r, e)
		return status.OK
	case s.Has(layout.ShAlive) && (s.Count > 0 || s.Has(layout.ShImmortal)):
		return c.Fail(status.Busy, TextPoolShared, e.Object, uint64(references(r)))
	}
	return c.orDead(e.Object, status.NotLive)
}

// Hold adds a reference to a live tensor, without garbage; what is not the common
// case is Acquire's.
func (c *Context) Hold(e layout.Entry) bool {
	r := process.heap.Record(e.Record)
	for {
		old := atomic.LoadUint32(&r.Sh)
		s := layout.UnpackSh(old)
		if !s.Has(layout.ShAlive|layout.ShMerged) || s.Has(layout.ShImmortal) || s.Count <= 0 || s.Count >= holdLimit {
			return c.Acquire(e.Object) == status.OK
		}
		if atomic.CompareAndSwapUint32(&r.Sh, old, old+layout.ShOne) {
			return true
		}
	}
}

// holdLimit is far below where counts stick.
const holdLimit = 1 << 16

// DropReference releases what a dying tensor refers to. What is not live there, in
// a header that was overwritten, is left alone.
func (c *Context) DropReference(p uintptr) { c.dropField(p) }

// AllocHeld returns an object of n plain bytes, n > 0, with one counted reference,
// which is the caller's, and no owner: it may go on any thread at once, as tensors
// do. zero tells that the memory reads as zero. No memory: 0, the error recorded.
func (c *Context) AllocHeld(n uintptr) (p uintptr, zero bool) {
	e, zero, st := c.take(n)
	if st != status.OK {
		return c.failAlloc(st, uint64(n)), false
	}
	r := process.heap.Record(e.Record)
	atomic.StoreUint32(&r.Loc, 0)
	atomic.StoreUint32(&r.Sh, unbiasedHeld)
	return e.Object, zero
}

// SlotAt returns the kind and the usable bytes of the object, live or not, whose slot
// starts at p.
func (c *Context) SlotAt(p uintptr) (typ uint32, bytes uint64, ok bool) {
	at := c.locate(p)
	if at.where != inHeap || at.Start != p || at.Record == 0 {
		return 0, 0, false
	}
	r := process.heap.Record(at.Record)
	return object{Record: r}.typ(), usable(layout.Entry{Object: p, Record: at.Record, Gen: at.Gen}), true
}

// IsLive reports whether a live object of the heap starts at p.
func (c *Context) IsLive(p uintptr) bool {
	at := c.locate(p)
	_, live := at.object(p)
	return live && at.where == inHeap
}

// IsOurs reports whether p lies in memory of the runtime's, whatever it is.
func (c *Context) IsOurs(p uintptr) bool { return c.locate(p).where != elsewhere || memory.Owns(p) }

// FailOurs records why p, which is memory of the runtime's, is no block that was given
// out. A live object is one that is not of plain bytes.
func (c *Context) FailOurs(p uintptr) status.Status {
	at := c.locate(p)
	if at.where == inLiveStack || c.IsLive(p) {
		return c.Fail(status.Unsupported, textReallocKind, p)
	}
	if at.where == elsewhere {
		at.where = inRuntime
	}
	return c.failPlace(p, at)
}

// Range is memory of the heap's for data that grows where it is.
type Range = heap.Range

// References returns how many references a live tensor has; 0: it is for ever.
func (c *Context) References(e layout.Entry) int64 {
	s := layout.UnpackSh(atomic.LoadUint32(&process.heap.Record(e.Record).Sh))
	if s.Has(layout.ShImmortal) {
		return 0
	}
	return int64(s.Count)
}

// TakeTable obtains a slot of n bytes, or of least, aligned as tensors are, and tells of how many. It belongs to
// another object: nobody can count it. Caches are emptied for the least alone. The caller records a refusal.
func (c *Context) TakeTable(n, least uintptr) (layout.Entry, uintptr, status.Status) {
	e, _, st := c.obtain(n, layout.TensorAlign)
	if isShort(st) {
		n = least
		e, _, st = c.takeAligned(n, layout.TensorAlign)
	}
	if st == status.OK {
		limit.Settle(limit.CPU)
		c.ownTable(e)
	}
	return e, n, st
}

// GiveTable gives such a slot back.
func (c *Context) GiveTable(e layout.Entry) { c.recycleData(e) }

// CutTensor gives back what a tensor that is a large object does not need for its header, but for the least such size.
func (c *Context) CutTensor(e layout.Entry) {
	if e.Gen&0xFF != layout.ClassLarge {
		return
	}
	before := process.heap.Size(e.Object)
	if process.heap.ResizeLarge(e.Object, layout.MaxSmall+1) {
		c.Kinds[layout.TypeTensor].BytesGone += before - process.heap.Size(e.Object)
	}
}

// NoMemory records that n bytes could not be had.
func (c *Context) NoMemory(st status.Status, n uint64) { c.failAlloc(st, n) }

// Guards reports whether objects have red zones.
func (c *Context) Guards() bool { return process.debug != nil }

// Null records that a NULL result is right.
func (c *Context) Null() uintptr { return c.null() }
