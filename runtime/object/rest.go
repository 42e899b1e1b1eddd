package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
)

// What the heap's clock does for threads that rest. It takes the free slots out of their magazines, where it can
// have every thread pass a memory barrier (cshim/heap/idle.c), and it frees what waits in their inboxes, where it
// can see that they sleep. docs/model/idle.pml has both.

// resting is the clock's work on contexts of others. Who counts or checks all contexts has it stand still.
type resting struct {
	mu      sync.Mutex
	lending sync.Mutex // held while the clock has an inbox: its owner waits, seldom for the next one's, too
	chains  uint64     // globals.node_chains when it looked last
	trimmed uint64     // and when it trimmed the nodes
}

const nodesKept = 1 << 20

// rest gives back what resting threads keep, if that is more than the heap keeps together with what is idle
// already. It tells whether another look is worth while: a context was used since the last time, or something
// waits still.
func rest(idle uint64) (again bool) {
	r := &process.resting
	r.mu.Lock()
	defer r.mu.Unlock()
	var still []*Context
	for id := uint32(1); id <= process.slices.created.Load(); id++ {
		c := process.slices.slice(id)
		use, cached := c.useOfMagazines()
		if use != c.Used {
			c.Used, again = use, true
			continue
		}
		still = append(still, c)
		idle += cached
	}
	again = r.trimNodes() || again
	waiting := bytesThatWait()
	if idle+waiting <= layout.HeapKeeps || !process.heap.MayPassBarriers() {
		return again
	}
	for _, c := range still {
		if _, cached := c.useOfMagazines(); cached != 0 {
			process.heap.TakeMagazines(&c.Context)
		}
	}
	if waiting > layout.HeapKeeps && process.debug == nil && !Tracing.Load() {
		endWhatWaits(still)
		again = true
	}
	return again
}

// bytesThatWait returns the bytes of what waits in inboxes. It reads what was handed over after what was
// answered, so that the difference is never below zero.
func bytesThatWait() uint64 {
	units := process.late.total.Load()
	EachContext(func(c *Context) { units -= layout.Peek(&c.Handed.AnsweredUnits) })
	EachContext(func(c *Context) { units += layout.Peek(&c.Handed.DeferredUnits) })
	return units * layout.NodeUnit
}

// trimNodes gives nodes back that nobody has used since the clock looked last. It tells whether to look again: there
// are many, and somebody has used some.
func (r *resting) trimNodes() (used bool) {
	chains := atomic.LoadUint64(&process.g.NodeChains)
	if chains != r.chains {
		r.chains = chains
		return process.nodes.bytes() > nodesKept
	}
	if chains != r.trimmed && process.nodes.bytes() > nodesKept {
		process.nodes.trim()
		r.chains = atomic.LoadUint64(&process.g.NodeChains)
		r.trimmed = r.chains
	}
	return false
}

// useOfMagazines returns a number that changes when a magazine is used, and the bytes of the slots that can be
// taken out of them.
func (c *Context) useOfMagazines() (use, cached uint64) {
	for class := uint32(1); class < layout.ClassLarge; class++ {
		m := &c.Magazines[class]
		top, base := layout.PeekAddress(&m.Top), layout.PeekAddress(&m.Base)
		use = use*31 + layout.Peek(&m.Allocs) + uint64(top)
		if top > base+layout.EntryBytes {
			cached += uint64((top-base)/layout.EntryBytes-1) * uint64(process.g.Classes[class].Size)
		}
	}
	return use, cached
}

// endWhatWaits frees plain objects that wait in inboxes.
func endWhatWaits(owners []*Context) {
	var me *Context
	for _, c := range owners {
		if w := atomic.LoadUint64(&c.Word); w>>2 == 0 || w&layout.CtxState != layout.CtxActive ||
			atomic.LoadUint32(&c.ThreadNumber) == 0 {
			continue
		}
		if me == nil {
			if me = borrowIdle(); me == nil {
				return
			}
			defer me.returnIdle()
		}
		c.lendInbox(me)
	}
}

// borrowIdle returns a parked context without any work, or a new one; nil: there is none. A context with work may
// have destructors to call, which the clock cannot.
func borrowIdle() *Context {
	for id := uint32(1); id <= process.slices.created.Load(); id++ {
		c := process.slices.slice(id)
		if atomic.LoadUint32(&c.Finished) == 0 ||
			!atomic.CompareAndSwapUint64(&c.Word, layout.CtxParked, layout.CtxBorrowed) {
			continue
		}
		if !c.hasWork() {
			return c
		}
		c.parkAgain()
	}
	c := process.slices.create()
	if c != nil {
		atomic.StoreUint32(&c.Finished, 1)
		c.Park()
		if atomic.CompareAndSwapUint64(&c.Word, layout.CtxParked, layout.CtxBorrowed) {
			return c
		}
	}
	return nil
}

func (c *Context) returnIdle() {
	c.returnMagazines()
	c.parkAgain()
}

// lendInbox takes what is in the inbox of c, frees what it can, and puts the rest back. Meanwhile a node in the
// inbox keeps the place: C leaves it to Go, and drain waits.
func (c *Context) lendInbox(me *Context) {
	place := me.takeNode()
	if place == 0 {
		return
	}
	process.resting.lending.Lock()
	defer process.resting.lending.Unlock()
	*nodeAt(place) = layout.Node{}
	first := c.swapInbox(place)
	var left, end uint32 // nodes that go back
	for calm := true; calm && first != 0; {
		batch := nodesAtOnce(first)
		first = nodeAt(batch[len(batch)-1]).Next
		calm = c.endNodes(me, batch, func(i uint32) {
			if nodeAt(i).Next = left; left == 0 {
				end = i
			}
			left = i
		})
	}
	if left == 0 {
		left = first
	} else {
		nodeAt(end).Next = first
	}
	c.returnToInbox(me, left, place)
}

// isPlace tells whether a node keeps the place of what the clock has: it means record 0, which no object has.
func isPlace(n *layout.Node) bool { return n.Record == 0 && n.Gen == 0 }

// endPlace makes a node one of an object that is gone.
func endPlace(n *layout.Node) { atomic.StoreUint32(&n.Gen, 1) }

// returnToInbox puts a list of nodes back where place is, or in front of it if others are there by now. A parked
// owner cannot look, as with parkAgain.
func (c *Context) returnToInbox(me *Context, first, place uint32) {
	if atomic.CompareAndSwapUint64(&c.Word, uint64(place)<<2|layout.CtxActive, uint64(first)<<2|layout.CtxActive) {
		me.answer(place)
		return
	}
	last := first
	for first != 0 && nodeAt(last).Next != 0 {
		last = nodeAt(last).Next
	}
	if first != 0 && c.put(first, last, layout.CtxParked) {
		atomic.SwapUint32(&process.g.Reap, 1)
	}
	endPlace(nodeAt(place))
}

// nodesAtOnce returns the numbers of some nodes of a list: as many as are looked at while a thread sleeps.
func nodesAtOnce(first uint32) []uint32 {
	batch := make([]uint32, 0, 4096)
	for i := first; i != 0 && len(batch) < cap(batch); i = nodeAt(i).Next {
		batch = append(batch, i)
	}
	return batch
}

// endNodes frees the plain objects of nodes, of c, and calls back for each node whose object is left. False, and
// all are left, when c's thread may have run meanwhile.
//
// The local words of c are constant while its thread stands still. So both words of an object are seen as they are
// at one moment, and an object without a reference but the queue's stays so: nobody can acquire it. A weak
// reference finds that it waits. A call that found otherwise before, and has not counted yet, is in Go, or its
// thread is not in a system call, but for one whose signal handler sleeps (RATIONALE.md).
func (c *Context) endNodes(me *Context, nodes []uint32, leave func(i uint32)) bool {
	isOver := make([]bool, len(nodes))
	outside := false
	owner := atomic.LoadUint32(&c.ThreadNumber)
	calm := memory.StandsStill(owner, func() {
		passBarriers()
		outside = atomic.LoadUint32(&c.InGo)|atomic.LoadUint32(&c.Draining.Active) == 0 &&
			atomic.LoadUint32(&c.ThreadNumber) == owner &&
			atomic.LoadUint64(&c.Word)&layout.CtxState == layout.CtxActive
		for at, i := range nodes {
			isOver[at] = outside && c.isOver(nodeAt(i))
		}
	}) && outside
	for at, i := range nodes {
		n := *nodeAt(i)
		isGone := atomic.LoadUint32(&process.heap.Record(n.Record).Gen) != n.Gen
		if !isGone && !(calm && isOver[at]) {
			leave(i)
			continue
		}
		me.answer(i)
		if !isGone {
			c.mergeQueued(me, layout.Entry{Object: n.Object, Record: n.Record, Gen: n.Gen})
		}
	}
	me.Drain()
	return calm
}

// isOver tells whether a node has the last reference of a plain object of c.
func (c *Context) isOver(n *layout.Node) bool {
	r := process.heap.Record(n.Record)
	sh, loc := atomic.LoadUint32(&r.Sh), atomic.LoadUint32(&r.Loc)
	const flags = layout.ShAlive | layout.ShQueued | layout.ShMerged | layout.ShImmortal | layout.ShClaimMask
	if sh&flags != layout.ShAlive|layout.ShQueued || !c.owns(loc) || atomic.LoadUint32(&r.Gen) != n.Gen ||
		atomic.LoadUint32(&r.TypeFlags) != layout.TypePlain {
		return false
	}
	references, _ := sums(loc, layout.UnpackSh(sh))
	return references == 0
}
