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
// the caller's own; what dies is pumped and recycled there.
//
//	claimed    = min(sh.claims, loc.floats), see sink
//	references = loc.count + sh.count - claimed - (1 while QUEUED)
//	floats     = loc.floats + sh.floats - claimed, at most references but while QUEUED
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

// clampFloats keeps floats within the references that are left: a release drops
// a counted reference before a float.
func clampFloats(s *layout.Sh) { s.Floats = max(0, min(s.Floats, s.Count, layout.MaxFloats)) }

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
		out = me.dropShared(r, e, loc)
	}
	if out == kept && process.debug != nil {
		me.tellLeftFloat(r, e)
	}
	return out
}

func (c *Context) dropOwn(r *layout.Record, loc uint32) outcome {
	if layout.LocCountOf(loc) > 1 {
		c.storeLoc(r, c.settle(r, loc)-1)
		return kept
	}
	if atomic.LoadUint32(&r.Sh) == layout.ShAlive {
		return zero
	}
	return merge(r, loc, -1)
}

// storeLoc writes a local word whose count went down; floats may not exceed the
// references left. Those of the shared word go first: while the owner's other floats stand
// there the local word shows some, and every release by the owner comes here.
func (c *Context) storeLoc(r *layout.Record, loc uint32) {
	if layout.LocFloatsOf(loc) > 0 {
		s, _ := updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
			n := min(excess(loc, s), s.Floats)
			s.Floats -= max(n, 0)
			return s, n > 0
		})
		loc -= uint32(min(max(excess(loc, s), 0), int32(layout.LocFloatsOf(loc)))) * layout.LocFloat
	}
	atomic.StoreUint32(&r.Loc, loc)
}

// excess returns how many more floats than references both words show. A claimed float is one in the local word and a
// count in the shared one, so claims cancel out.
func excess(loc uint32, s layout.Sh) int32 {
	return int32(layout.LocFloatsOf(loc)) + s.Floats - int32(layout.LocCountOf(loc)) - s.Count
}

// shedRemote takes floats out of a shared word for a thread that is not the owner. It reads the local word after the
// shared one and before the compare and swap, so that both words were so at one moment: with an older local word a
// reference that moved from one to the other would be missing (docs/model, mutant 56).
func shedRemote(r *layout.Record, s *layout.Sh) {
	if s.Floats == 0 || s.Floats <= s.Count {
		return // an object that has an owner has a reference in the local word
	}
	loc := atomic.LoadUint32(&r.Loc)
	if layout.LocOwner(loc) == 0 || layout.LocFloatsOf(loc) != 0 {
		return
	}
	n := excess(loc, *s)
	if s.Has(layout.ShQueued) {
		n++ // one of the references is the queue's to drop
	}
	s.Floats -= max(min(n, s.Floats), 0)
}

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

// mergeWord adds a local word to the shared one; claimed floats are dropped.
func mergeWord(s *layout.Sh, loc uint32, delta int32) {
	n := claimed(loc, *s)
	addShared(s, int32(layout.LocCountOf(loc))+delta-n)
	s.Floats += int32(layout.LocFloatsOf(loc)) - n
	s.Claims = 0
	s.Flags |= layout.ShMerged
	clampFloats(s)
}

// mergeQueued handles one inbox node: the queue's reference is dropped and bias ends. A live object
// that is not queued any more had a second node, see giveToLater, and has a reference for it.
func (c *Context) mergeQueued(me *Context, e layout.Entry) {
	r := process.heap.Record(e.Record)
	if atomic.LoadUint32(&r.Gen) != e.Gen {
		return
	}
	if sh := atomic.LoadUint32(&r.Sh); sh&layout.ShQueued == 0 {
		if sh&layout.ShMerged != 0 && me.dropShared(r, e, 0) == zero {
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
		mergeWord(&s, loc, -1)
		s.Flags &^= layout.ShQueued
		return s, true
	})
	process.late.remove(e.Record)
	if s.Count <= 0 && !s.Has(layout.ShImmortal) {
		me.kill(r, e)
	}
}

// dropShared removes a reference that is not the owner's to count. The owner is
// read before the compare and swap: MERGED follows owner = 0, so a word without
// MERGED whose owner reads 0 belongs to a merger that will see our decrement.
//
// If every reference floats, a float goes: one of the shared word, if the local word shows none. A float that it
// shows may have gone with its claim, which the owner is settling (docs/model, mutant 55). Then a float without a
// reference may stay. One may also stay after the owner's fast release, which does not look at the shared word.
func (c *Context) dropShared(r *layout.Record, e layout.Entry, loc uint32) outcome {
	owner := layout.LocOwner(loc)
	for {
		old := atomic.LoadUint32(&r.Sh)
		s := layout.UnpackSh(old)
		switch {
		case !s.Has(layout.ShAlive):
			return dead
		case s.Has(layout.ShImmortal):
			return kept
		case s.Has(layout.ShMerged) && s.Count <= 0:
			return dead // brought to zero by dec_ref, waiting for free
		case !s.Has(layout.ShMerged) && !s.Has(layout.ShQueued) && s.Count <= s.Claims && owner != 0:
			s.Flags |= layout.ShQueued
			shedRemote(r, &s)
			if done, out := c.queue(r, e, old, s.Pack(), loc); done {
				return out
			}
			continue
		}
		s.Count--
		if s.Has(layout.ShMerged) {
			clampFloats(&s)
		} else {
			shedRemote(r, &s)
		}
		counted := s.Has(layout.ShQueued) && !s.Has(layout.ShMerged) && waitsLate(r, e, s)
		if !atomic.CompareAndSwapUint32(&r.Sh, old, s.Pack()) {
			if counted {
				process.late.remove(e.Record)
			}
			continue
		}
		if s.Has(layout.ShMerged) && !s.Has(layout.ShQueued) && s.Count == 0 {
			return zero
		}
		return kept
	}
}

// queue hands the reference to the owner's inbox. The node is taken first: once
// QUEUED is set there is no way back, and the object stays until its owner has read the
// node. If that object is a later one, whose shared word looks like that of the object
// which was meant, it gets the queue's reference as one more, and loses nothing (giveToLater).
func (c *Context) queue(r *layout.Record, e layout.Entry, old, queued, loc uint32) (done bool, out outcome) {
	n := c.takeNode()
	if n == 0 {
		return true, full
	}
	if !atomic.CompareAndSwapUint32(&r.Sh, old, queued) {
		c.giveNode(n)
		return false, kept
	}
	if gen := atomic.LoadUint32(&r.Gen); gen != e.Gen {
		out = dead
		if !giveToLater(r, gen) {
			c.giveNode(n)
			return true, out
		}
		e.Gen, e.Object = gen, process.heap.LocateLive(e.Record)
	}
	x := nodeAt(n)
	x.Object, x.Record, x.Gen = e.Object, e.Record, e.Gen
	units := uint32(0)
	if out != dead && layout.LocCountOf(loc) == 1 {
		units = unitsOf(r, e)
	}
	c.countDeferred(x, units)
	c.deliver(process.slices.slice(layout.LocOwner(loc)), n)
	return true, out
}

// giveToLater gives the queue's reference to the object of generation gen, which was marked as
// queued in place of an earlier one. false, and nothing is changed: its owner, which had seen its last
// reference before the mark, has stored over it. What lives there now was never marked, and nobody
// would take the reference away again. If another thread has marked it meanwhile, it has two nodes
// then, and a reference for each.
func giveToLater(r *layout.Record, gen uint32) bool {
	_, given := updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		if !s.Has(layout.ShQueued) || atomic.LoadUint32(&r.Gen) != gen {
			return s, false
		}
		addShared(&s, 1)
		return s, true
	})
	return given
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
		loc = c.settle(r, loc)
		s := layout.UnpackSh(atomic.LoadUint32(&r.Sh))
		switch references, floats := sums(loc, s); {
		case s.Has(layout.ShImmortal), floats >= references:
			return status.OK
		case floats >= layout.MaxFloats:
			return status.Overflow
		case layout.LocFloatsOf(loc) < layout.ShClaimMax: // no more than claims can count
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
// one more and claims a float, both in one step, and the owner or the merge drops
// claimed floats with their counts. Were it to sink through the shared word alone, it
// and the owner could take one float twice (docs/model).
func (c *Context) sink(r *layout.Record) sinkResult {
	for {
		old := atomic.LoadUint32(&r.Sh) // before the local word: a merge moves floats from that to this
		s := layout.UnpackSh(old)
		loc := atomic.LoadUint32(&r.Loc)
		switch {
		case !s.Has(layout.ShAlive):
			return gone
		case c.owns(loc) && s.Claims > 0:
			c.settle(r, loc)
			continue
		case s.Floats > 0:
			s.Floats--
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
			s.Claims = min(s.Claims+1, layout.ShClaimMax) // one more than floats can be would lapse
			addShared(&s, 1)
		}
		if atomic.CompareAndSwapUint32(&r.Sh, old, s.Pack()) {
			return tookFloat
		}
	}
}

// settle drops the claimed floats of an object that c owns and returns its local
// word. Their counts are taken from the shared word, where the claims added them, so
// nothing can die here. It comes before every float the owner makes: a claim must not
// meet a float that was made after it.
func (c *Context) settle(r *layout.Record, loc uint32) uint32 {
	if layout.UnpackSh(atomic.LoadUint32(&r.Sh)).Claims == 0 {
		return loc
	}
	if process.debug != nil {
		settling.Lock()
		defer settling.Unlock()
	}
	n := int32(0)
	updateSh(r, func(s layout.Sh) (layout.Sh, bool) {
		n = min(s.Claims, int32(layout.LocFloatsOf(loc)))
		s.Claims = 0
		s.Count -= n
		return s, true
	})
	loc -= uint32(n) * layout.LocFloat
	atomic.StoreUint32(&r.Loc, loc)
	return loc
}

// claimed returns how many floats of the local word are taken already.
func claimed(loc uint32, s layout.Sh) int32 { return min(s.Claims, int32(layout.LocFloatsOf(loc))) }
