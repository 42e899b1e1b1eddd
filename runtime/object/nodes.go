package object

import (
	"sync"
	"sync/atomic"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// node tells an owner that the last shared reference of one of its objects is
// waiting for it. The generation tells a node of an object that was freed and
// whose slot was reused.
type node struct {
	object uintptr
	record uint32
	gen    uint32
	next   uint32
	_      uint32
}

const nodeBytes = 24

// nodes is the process's store of inbox nodes; node 0 is "none".
type nodes struct {
	base  uintptr
	limit uint32

	mu    sync.Mutex // guards free and fresh
	free  uint32
	fresh uint32
}

func (n *nodes) open() status.Status {
	bytes := min(uint64(1<<30), memory.AddressSpaceLeft()/64)
	if memory.Instrumented {
		bytes = 1 << 20
	}
	base, err := memory.Map(uintptr(bytes), "inbox nodes")
	if err != nil {
		return status.OutOfMemory
	}
	n.base, n.limit, n.fresh = base, uint32(bytes/nodeBytes), 1
	return status.OK
}

func (n *nodes) at(i uint32) *node { return layout.At[node](n.base + uintptr(i)*nodeBytes) }

// take returns a node for the entry, 0 when there is none left.
func (n *nodes) take(e layout.Entry) uint32 {
	n.mu.Lock()
	i := n.free
	if i != 0 {
		n.free = n.at(i).next
	} else if n.fresh < n.limit {
		i = n.fresh
		n.fresh++
	}
	n.mu.Unlock()
	if i != 0 {
		*n.at(i) = node{object: e.Object, record: e.Record, gen: e.Gen}
	}
	return i
}

func (n *nodes) give(i uint32) {
	n.mu.Lock()
	n.at(i).next = n.free
	n.free = i
	n.mu.Unlock()
}

// deliver puts a node into the owner's inbox. If the owner is parked the caller
// borrows its context in the same step and does the work itself.
func (c *Context) deliver(owner *Context, i uint32) {
	for {
		w := atomic.LoadUint64(&owner.Word)
		process.nodes.at(i).next = uint32(w >> 2)
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

// drain merges every object in c's inbox. The caller holds c; what dies goes to me.
func (c *Context) drain(me *Context) {
	w := atomic.LoadUint64(&c.Word)
	for w>>2 != 0 && !atomic.CompareAndSwapUint64(&c.Word, w, w&layout.CtxState) {
		w = atomic.LoadUint64(&c.Word)
	}
	for i := uint32(w >> 2); i != 0; {
		n := *process.nodes.at(i)
		process.nodes.give(i)
		c.mergeQueued(me, layout.Entry{Object: n.object, Record: n.record, Gen: n.gen})
		i = n.next
	}
}
