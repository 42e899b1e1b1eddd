package object

import (
	"math"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// nodes is the process's store of inbox nodes; node 0 is "none". A thread keeps some free
// ones, so that neither it nor the owner, who gets them back, asks anybody: a chain that it
// takes from and puts into, and a full one. Full chains lie in a stack that both paths pop
// and push (globals.node_chains), whose count of changes tells a stack that is the same
// from one that only looks so.
type nodes struct {
	limit uint32
	mu    sync.Mutex  // guards what follows
	fresh uint32      // the first node that was never used
	spare []nodeRange // nodes that are used before those, whose pages the system may have
}

type nodeRange struct{ first, end uint32 }

func (n *nodes) open() status.Status {
	bytes := min(uint64(1<<30), memory.AddressSpaceLeft()/64)
	if memory.Instrumented {
		bytes = 1 << 20
	}
	base, err := memory.Map(uintptr(bytes), "inbox nodes")
	if err != nil {
		return status.OutOfMemory
	}
	process.g.Nodes, n.limit, n.fresh = base, uint32(bytes/layout.NodeBytes), 1
	return status.OK
}

func nodeAt(i uint32) *layout.Node {
	return layout.At[layout.Node](process.g.Nodes + uintptr(i)*layout.NodeBytes)
}

// takeNode returns a free node, 0 when there is none left. The caller holds c.
func (c *Context) takeNode() uint32 {
	if c.NodeCount == 0 && !c.refillNodes() {
		return 0
	}
	i := c.NodeFirst
	c.NodeFirst = nodeAt(i).Next
	c.NodeCount--
	return i
}

func (c *Context) refillNodes() bool {
	process.heap.Watch() // what is handed over may wait for a thread that sleeps
	if c.NodeFull != 0 {
		c.NodeFirst, c.NodeCount, c.NodeFull = c.NodeFull, layout.NodeChain, 0
		return true
	}
	if c.NodeFirst = popChain(); c.NodeFirst != 0 {
		c.NodeCount = layout.NodeChain
		return true
	}
	c.NodeFirst, c.NodeCount = process.nodes.freshChain()
	return c.NodeCount != 0
}

// giveNode keeps a node that is free again.
func (c *Context) giveNode(i uint32) {
	if c.NodeCount == layout.NodeChain {
		if c.NodeFull != 0 {
			pushChain(c.NodeFull)
		}
		c.NodeFull, c.NodeFirst, c.NodeCount = c.NodeFirst, 0, 0
	}
	nodeAt(i).Next = c.NodeFirst
	c.NodeFirst = i
	c.NodeCount++
}

// freshChain links nodes that are in no chain; the last chain may be short.
func (n *nodes) freshChain() (first, count uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for count < layout.NodeChain {
		i := n.take()
		if i == 0 {
			break
		}
		nodeAt(i).Next = first
		first = i
		count++
	}
	return first, count
}

func (n *nodes) take() uint32 {
	if last := len(n.spare) - 1; last >= 0 {
		r := &n.spare[last]
		i := r.first
		if r.first++; r.first == r.end {
			n.spare = n.spare[:last]
		}
		return i
	}
	if n.fresh == n.limit {
		return 0
	}
	n.fresh++
	return n.fresh - 1
}

// bytes is how much memory nodes have used that are not spare.
func (n *nodes) bytes() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	used := n.fresh
	for _, r := range n.spare {
		used -= r.end - r.first
	}
	return uint64(used) * layout.NodeBytes
}

// trim gives the system the pages on which nodes of full chains lie alone. The nodes are spare then, the others
// return to chains.
func (n *nodes) trim() {
	n.mu.Lock()
	defer n.mu.Unlock()
	isFree := make([]uint64, n.fresh/64+1)
	for chain := popChain(); chain != 0; chain = popChain() {
		for i := chain; i != 0; i = nodeAt(i).Next {
			isFree[i/64] |= 1 << (i % 64)
		}
	}
	var chain, count uint32
	for i := uint32(1); i < n.fresh; i++ {
		end := i
		for end < n.fresh && isFree[end/64]>>(end%64)&1 != 0 {
			end++
		}
		if n.purge(nodeRange{i, end}) {
			i = end
			continue
		}
		for ; i < end; i++ {
			nodeAt(i).Next = chain
			chain = i
			if count++; count == layout.NodeChain {
				pushChain(chain)
				chain, count = 0, 0
			}
		}
	}
	for ; chain != 0; chain = nodeAt(chain).Next {
		n.spare = append(n.spare, nodeRange{chain, chain + 1})
	}
}

// purge makes nodes spare that have pages of their own; false: they have none, or the system keeps them.
func (n *nodes) purge(r nodeRange) bool {
	start := memory.Round(layout.Address(nodeAt(r.first)), memory.PageBytes)
	end := layout.Address(nodeAt(r.end)) &^ (memory.PageBytes - 1)
	if start >= end || !memory.Purge(start, end-start) {
		return false
	}
	n.spare = append(n.spare, r)
	return true
}

func popChain() uint32 {
	for {
		old := atomic.LoadUint64(&process.g.NodeChains)
		first := uint32(old)
		if first == 0 {
			return 0
		}
		next := uint64(atomic.LoadUint32(&nodeAt(first).Chain))
		if atomic.CompareAndSwapUint64(&process.g.NodeChains, old, (old>>32+1)<<32|next) {
			return first
		}
	}
}

func pushChain(first uint32) {
	for {
		old := atomic.LoadUint64(&process.g.NodeChains)
		atomic.StoreUint32(&nodeAt(first).Chain, uint32(old))
		if atomic.CompareAndSwapUint64(&process.g.NodeChains, old, (old>>32+1)<<32|uint64(first)) {
			return
		}
	}
}

// unitsOf returns what an object takes, with the element table of a Vec. Whoever holds the
// queue's reference calls it: the object is there. A program may have written over a
// Vec's capacity.
func unitsOf(r *layout.Record, e layout.Entry) uint32 {
	units := process.heap.Size(e.Object) / layout.NodeUnit
	if atomic.LoadUint32(&r.TypeFlags) == layout.TypeVec {
		units += layout.At[vec](e.Object).cap / (layout.NodeUnit / 8)
	}
	return uint32(min(units, math.MaxUint32))
}

// countDeferred comes before the node is delivered.
func (c *Context) countDeferred(n *layout.Node, units uint32) {
	atomic.StoreUint32(&n.Chain, units)
	if units != 0 {
		c.Deferred++
		c.DeferredUnits += uint64(units)
	}
}

// answer gives a node back whose object waits no more.
func (c *Context) answer(i uint32) {
	if units := nodeAt(i).Chain; units != 0 {
		c.Answered++
		c.AnsweredUnits += uint64(units)
	}
	c.giveNode(i)
}

// deliver puts a node into the owner's inbox. If the owner is parked the caller
// borrows its context in the same step and does the work itself.
func (c *Context) deliver(owner *Context, i uint32) {
	for {
		w := atomic.LoadUint64(&owner.Word)
		nodeAt(i).Next = uint32(w >> 2)
		state := w & layout.CtxState
		if state == layout.CtxParked {
			state = layout.CtxBorrowed
		}
		if !atomic.CompareAndSwapUint64(&owner.Word, w, uint64(i)<<2|state) {
			continue
		}
		if w&layout.CtxState == layout.CtxParked {
			owner.giveBack(c)
		}
		return
	}
}

// drain merges every object in c's inbox and those that the fast path has left. The caller
// holds c; what dies goes to me. It waits for the clock if that has what was in the inbox.
func (c *Context) drain(me *Context) {
	waiting := uint32(c.Waiting)
	c.Waiting = 0
	place := max(c.mergeAll(me, waiting), c.mergeAll(me, c.takeInbox()))
	if place != 0 {
		process.resting.lending.Lock() // until the clock has put back what it leaves
		process.resting.lending.Unlock()
		me.answer(place)
		c.mergeAll(me, c.takeInbox())
	}
}

// takeInbox returns the nodes of c's inbox, which is empty then.
func (c *Context) takeInbox() (first uint32) {
	w := atomic.LoadUint64(&c.Word)
	for w>>2 != 0 && !atomic.CompareAndSwapUint64(&c.Word, w, w&layout.CtxState) {
		w = atomic.LoadUint64(&c.Word)
	}
	return uint32(w >> 2)
}

// mergeAll returns the node that stands for those that the clock has, or 0.
func (c *Context) mergeAll(me *Context, i uint32) (place uint32) {
	for i != 0 {
		n := *nodeAt(i)
		if isPlace(&n) {
			place = i
		} else {
			me.answer(i)
			c.mergeQueued(me, layout.Entry{Object: n.Object, Record: n.Record, Gen: n.Gen})
		}
		i = n.Next
	}
	return place
}
