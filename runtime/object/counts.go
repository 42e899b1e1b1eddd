package object

import (
	"runtime"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/status"
	"tlruntime/runtime/usdt"
)

// The counting protocol. `c` is always the context whose objects may be counted
// in the local word: the caller's own, or one it has adopted or borrowed. `me` is
// the caller's own; what dies is queued and recycled there.
//
//	claimed    = min(sh.claims, loc.floats), see sink
//	references = loc.count + sh.count - claimed - (1 while QUEUED)
//	floats     = loc.floats + sh.floats - claimed, loc.floats <= loc.count
//
// A release drops a counted reference before a float: a float goes with the reference when every
// reference floats. The owner of an object whose local word shows no float does not look for
// those of the shared word, which other threads have made (RATIONALE.md).
//
// Memory orders: the local word is relaxed, its holder's alone. A thread that
// drops a shared reference releases its writes to the object (compare and swap on
// sh); whoever brings the sum to zero acquires them by the same operation, or, in
// the owner's free, by the load of sh. Go's atomics are sequentially consistent.

func (c *Context) owns(loc uint32) bool { return loc&^0xFFFFF == c.Owner }

// updateSh applies change until it sticks; change returns false to leave the word
// alone. It returns the word after, and whether it was changed. The word goes by value:
// a pointer that an unknown function gets would have it allocated each time.
func updateSh(r *layout.Record, change func(layout.Sh) (layout.Sh, bool)) (layout.Sh, bool) {
	for {
		old := atomic.LoadUint32(&r.Sh)
		s, changed := change(layout.UnpackSh(old))
		if !changed {
			return s, false
		}
		if atomic.CompareAndSwapUint32(&r.Sh, old, s.Pack()) {
			return s, true
		}
	}
}

// clampFloats keeps the floats of a merged word within its references; that of the queue is not one to float.
func clampFloats(s *layout.Sh) {
	references, _ := sums(0, *s)
	s.Floats = min(s.Floats, references, layout.MaxFloats)
}

// addShared adds n to a shared count, which sticks at its limit for ever.
func addShared(s *layout.Sh, n int32) {
	if s.Count+n > layout.ShCountMax {
		s.Flags |= layout.ShImmortal
		return
	}
	s.Count += n
}

// retain adds a reference to a live object.
func (c *Context) retain(r *layout.Record) status.Status {
	loc := atomic.LoadUint32(&r.Loc)
	if c.owns(loc) {
		if layout.LocCountOf(loc) == layout.LocCount {
			updateSh(r, func(s layout.Sh) (layout.Sh, bool) { addShared(&s, 0x8000); return s, true })
			loc -= 0x8000
		}
		atomic.StoreUint32(&r.Loc, loc+1)
		return status.OK
	}
	st := status.OK
	updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		if !s.Has(layout.ShAlive) || s.Has(layout.ShMerged) && s.Count <= 0 && !s.Has(layout.ShImmortal) {
			st = status.NotLive
			return s, false
		}
		if s.Has(layout.ShImmortal) {
			return s, false
		}
		addShared(&s, 1)
		return s, true
	})
	return st
}

// outcome is what dropping a reference came to.
type outcome int

const (
	kept outcome = iota
	zero         // no reference is left: the caller disposes of the object
	dead         // there was none to drop
	full         // no inbox node left; nothing changed
)

// drop removes one reference.
func (c *Context) drop(me *Context, r *layout.Record, e layout.Entry) (out outcome) {
	loc := atomic.LoadUint32(&r.Loc)
	if c.owns(loc) {
		out = c.dropOwn(r, loc)
	} else {
		out = me.dropShared(r, e)
	}
	if out == kept && process.debug != nil {
		me.tellLeftFloat(r, e)
	}
	return out
}

func (c *Context) dropOwn(r *layout.Record, loc uint32) outcome {
	count, floats := int32(layout.LocCountOf(loc)), int32(layout.LocFloatsOf(loc))
	if count > 1 && floats == 0 {
		atomic.StoreUint32(&r.Loc, loc-1)
		return kept
	}
	s := layout.UnpackSh(atomic.LoadUint32(&r.Sh))
	switch {
	case count > 1 && !hasNews(s) && floats < count && floats+s.Floats < count+s.Count:
		atomic.StoreUint32(&r.Loc, loc-1)
		return kept
	case count > 1 && !hasNews(s) && floats < count:
		return c.dropFloat(r, loc-1)
	case s != layout.Sh{Flags: layout.ShAlive}:
		return merge(r, loc, -1)
	case count > 1:
		atomic.StoreUint32(&r.Loc, loc-1-layout.LocFloat)
		return kept
	}
	return zero
}

// dropFloat stores a local word of the owner's that has a reference less, and takes a float of the shared word along.
func (c *Context) dropFloat(r *layout.Record, loc uint32) outcome {
	atomic.StoreUint32(&r.Loc, loc)
	_, taken := updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		s.Floats--
		return s, s.Floats >= 0 && !hasNews(s)
	})
	if taken {
		return kept
	}
	return merge(r, loc, 0)
}

// hasNews reports whether the shared word of an object that has an owner says more than how many references and floats
// others have added. The owner merges before it makes or takes a float: a claim must not meet a float that was made
// after it.
func hasNews(s layout.Sh) bool { return s.Claims > 0 || s.Has(layout.ShQueued) }

// merge ends bias: the local word moves into the shared one, changed by delta.
// loc is cleared before MERGED is published; the other order would let a remote
// thread free the object while its old local word still counts.
func merge(r *layout.Record, loc uint32, delta int32) outcome {
	atomic.StoreUint32(&r.Loc, 0)
	s, _ := updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		mergeWord(&s, loc, delta)
		return s, true
	})
	if s.Count <= 0 && !s.Has(layout.ShQueued) && !s.Has(layout.ShImmortal) {
		return zero
	}
	return kept
}

// mergeWord adds a local word to the shared one. Claimed floats are dropped, and nowhere else.
func mergeWord(s *layout.Sh, loc uint32, delta int32) {
	n := claimed(loc, *s)
	addShared(s, int32(layout.LocCountOf(loc))+delta-n)
	s.Floats += int32(layout.LocFloatsOf(loc)) - n
	s.Claims = 0
	s.Flags |= layout.ShMerged
	clampFloats(s)
}

// mergeQueued handles one inbox node: the queue's reference is dropped and bias ends. A live object
// that is not queued any more had a second node, see tlc_queue, and has a reference for it.
func (c *Context) mergeQueued(me *Context, e layout.Entry) {
	r := process.heap.Record(e.Record)
	if atomic.LoadUint32(&r.Gen) != e.Gen {
		return
	}
	if sh := atomic.LoadUint32(&r.Sh); sh&layout.ShQueued == 0 {
		if sh&layout.ShMerged != 0 && me.dropShared(r, e) == zero {
			me.kill(r, e)
		}
		return
	}
	loc := atomic.LoadUint32(&r.Loc)
	if !c.owns(loc) {
		loc = 0
	}
	atomic.StoreUint32(&r.Loc, 0)
	s, _ := updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		s.Flags &^= layout.ShQueued
		mergeWord(&s, loc, -1)
		return s, true
	})
	process.late.remove(e.Record)
	if s.Count <= 0 && !s.Has(layout.ShImmortal) {
		me.kill(r, e)
	}
}

// dropShared removes a reference that is not the owner's to count. The local word is read while the shared one stays
// what it is, so that both were so at one moment. MERGED follows owner = 0: an owner that was there will see QUEUED.
// The generation is read after the shared word: what was read of a later object in the slot is never counted down.
func (c *Context) dropShared(r *layout.Record, e layout.Entry) outcome {
	for {
		old := atomic.LoadUint32(&r.Sh)
		s, loc := layout.UnpackSh(old), atomic.LoadUint32(&r.Loc)
		merged := s.Has(layout.ShMerged)
		switch {
		case !s.Has(layout.ShAlive), atomic.LoadUint32(&r.Gen) != e.Gen:
			return dead
		case s.Has(layout.ShImmortal):
			return kept
		case merged && s.Count <= 0:
			return dead // brought to zero by dec_ref, waiting for free
		case !merged && layout.LocOwner(loc) == 0:
			runtime.Gosched() // its owner is merging: the floats arrive in the shared word
			continue
		}
		if references, floats := sums(loc, s); !merged && references > 1 && floats == references {
			takeFloat(&s)
		}
		if !merged && !s.Has(layout.ShQueued) && s.Count <= s.Claims {
			s.Flags |= layout.ShQueued
			if done, out := c.queue(r, e, old, s.Pack(), loc); done {
				return out
			}
			continue
		}
		s.Count--
		if merged {
			clampFloats(&s)
		}
		counted := s.Has(layout.ShQueued) && !merged && waitsLate(r, e, s)
		if !atomic.CompareAndSwapUint32(&r.Sh, old, s.Pack()) {
			if counted {
				process.late.remove(e.Record)
			}
			continue
		}
		if merged && !s.Has(layout.ShQueued) && s.Count == 0 {
			return zero
		}
		return kept
	}
}

// kill marks an object dead and disposes of it: at once when it is plain bytes or a tensor that ends with its slot,
// through the destruction queue when it has fields, elements or a destructor.
func (me *Context) kill(r *layout.Record, e layout.Entry) { me.killUnless(keepTensor, r, e) }

func keepTensor(r *layout.Record, e layout.Entry) bool { return tensors.Keep(r, e) }

// killUnless is kill of an object that is a tensor which keep may put to rest.
func (me *Context) killUnless(keep func(*layout.Record, layout.Entry) bool, r *layout.Record, e layout.Entry) {
	e.Gen = atomic.LoadUint32(&r.Gen)
	typ := atomic.LoadUint32(&r.TypeFlags) & layout.TypeMask
	if typ == layout.TypeTensor && Tracing.Load() && process.debug == nil {
		recorder.Rested(me, e)
	}
	if typ == layout.TypeTensor && process.debug == nil && keep(r, e) {
		usdt.Free(e.Object)
		return
	}
	if atomic.SwapUint32(&r.Sh, 0)&layout.ShAlive == 0 {
		return // somebody who had no reference was faster; the object dies once
	}
	if typ == layout.TypePlain || typ == layout.TypeTensor && tensors.IsWhole(e.Object) {
		atomic.StoreUint32(&r.Loc, 0)
		me.recycle(r, e)
		return
	}
	me.queueDestruction(r, e)
}

// share ends bias without dropping a reference.
func (c *Context) share(r *layout.Record) status.Status {
	loc := atomic.LoadUint32(&r.Loc)
	if c.owns(loc) {
		merge(r, loc, 0)
		return status.OK
	}
	if atomic.LoadUint32(&r.Sh)&layout.ShMerged == 0 {
		return status.Busy
	}
	return status.OK
}

// ownersAlone reports whether a shared word says that no other thread counts the object.
// Floats say nothing: the owner's own stand there beyond the third.
func ownersAlone(sh uint32) bool {
	s := layout.UnpackSh(sh)
	return s.Flags == layout.ShAlive && s.Count == 0 && s.Claims == 0
}

// sums returns the references of an object and how many of them float. Those in the
// shared word stay when the owner drops floats from its own until there are none.
func sums(loc uint32, s layout.Sh) (references, floats int32) {
	n := claimed(loc, s)
	references = int32(layout.LocCountOf(loc)) + s.Count - n
	if s.Has(layout.ShQueued) {
		references--
	}
	references = max(references, 0)
	return references, min(int32(layout.LocFloatsOf(loc))+s.Floats-n, references)
}

// tally returns how many references a live object has and how many of them float, as both were at one moment. Its
// owner may be merging: then its references are in neither word, and tally waits for them.
func tally(r *layout.Record) (held, floating int64) {
	for ; ; runtime.Gosched() {
		sh := atomic.LoadUint32(&r.Sh)
		s, loc := layout.UnpackSh(sh), atomic.LoadUint32(&r.Loc)
		merging := s.Has(layout.ShAlive) && !s.Has(layout.ShMerged) && layout.LocOwner(loc) == 0
		if merging || sh != atomic.LoadUint32(&r.Sh) {
			continue
		}
		references, floats := sums(loc, s)
		if s.Has(layout.ShImmortal) {
			return ImmortalCount, int64(floats)
		}
		return int64(references), int64(floats)
	}
}

// references returns how many references a live object has; those that float count.
func references(r *layout.Record) int64 {
	n, _ := tally(r)
	return n
}

// ImmortalCount is the count that an immortal object shows.
const ImmortalCount = 1<<31 - 1

// float makes one reference floating: it has left its scope or container. When every
// reference floats already, so does this one; but that must be read where nobody else
// can change the sum in between: in one word, or by the owner (docs/model, mutant 40).
func (c *Context) float(r *layout.Record) status.Status {
	if loc := atomic.LoadUint32(&r.Loc); c.owns(loc) {
		s := layout.UnpackSh(atomic.LoadUint32(&r.Sh))
		switch references, floats := sums(loc, s); {
		case hasNews(s):
			merge(r, loc, 0)
		case s.Has(layout.ShImmortal), floats >= references:
			return status.OK
		case floats >= layout.MaxFloats:
			return status.Overflow
		case layout.LocFloatsOf(loc) < min(layout.ShClaimMax, layout.LocCountOf(loc)): // no more than claims can count
			atomic.StoreUint32(&r.Loc, loc+layout.LocFloat)
			return status.OK
		}
	}
	st := status.OK
	updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		references, floats := sums(0, s)
		if s.Has(layout.ShImmortal) || s.Has(layout.ShMerged) && floats >= references {
			return s, false
		}
		if floats >= layout.MaxFloats {
			st = status.Overflow
			return s, false
		}
		s.Floats++
		return s, true
	})
	return st
}

// sinkResult is what came of an attempt to sink a float.
type sinkResult int

const (
	tookFloat sinkResult = iota // a reference is the caller's
	noFloat                     // there was none, nothing changed
	gone                        // not live
)

// sink takes a floating reference; those of the shared word go first. The owner's
// floats stand in its local word, where nobody else may write: another thread counts
// one more and claims a float, both in one step, and the merge drops claimed floats
// with their counts. Were it to sink through the shared word alone, it
// and the owner could take one float twice (docs/model).
func (c *Context) sink(r *layout.Record) sinkResult {
	for {
		old := atomic.LoadUint32(&r.Sh) // before the local word: a merge moves floats from that to this
		s := layout.UnpackSh(old)
		loc := atomic.LoadUint32(&r.Loc)
		switch {
		case !s.Has(layout.ShAlive):
			return gone
		case c.owns(loc) && hasNews(s):
			merge(r, loc, 0)
			continue
		case s.Floats > 0:
			takeFloat(&s)
		case c.owns(loc) && loc&layout.LocFloats != 0:
			atomic.StoreUint32(&r.Loc, loc-layout.LocFloat)
			return tookFloat
		case s.Has(layout.ShMerged), c.owns(loc):
			return noFloat
		case layout.LocOwner(loc) == 0:
			runtime.Gosched() // its owner is merging: the floats arrive in the shared word
			continue
		case layout.LocFloatsOf(loc) == 0:
			return noFloat
		default:
			takeFloat(&s)
		}
		if atomic.CompareAndSwapUint32(&r.Sh, old, s.Pack()) {
			return tookFloat
		}
	}
}

// takeFloat makes a float the caller's counted reference: one of the shared word, else one of the owner's.
func takeFloat(s *layout.Sh) {
	if s.Floats > 0 {
		s.Floats--
		return
	}
	s.Claims = min(s.Claims+1, layout.ShClaimMax) // one more than floats can be would lapse
	addShared(s, 1)
}

// claimed returns how many floats of the local word are taken already.
func claimed(loc uint32, s layout.Sh) int32 { return min(s.Claims, int32(layout.LocFloatsOf(loc))) }
