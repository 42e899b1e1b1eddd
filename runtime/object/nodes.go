package object

/*
#cgo CFLAGS: -std=gnu11
#cgo noescape tlc_pop_chain
#cgo nocallback tlc_pop_chain
#cgo noescape tlc_push_chain
#cgo nocallback tlc_push_chain
#cgo noescape tlc_take_node
#cgo nocallback tlc_take_node
#cgo noescape tlc_answer
#cgo nocallback tlc_answer
#cgo noescape tlc_units_of
#cgo nocallback tlc_units_of
#cgo noescape tlc_queue
#cgo nocallback tlc_queue
#cgo noescape tlc_deliver
#cgo nocallback tlc_deliver
#cgo noescape tlc_swap_inbox
#cgo nocallback tlc_swap_inbox
#include "../../cshim/heap/nodes.h"
*/
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/status"
)

// nodes is the process's store of inbox nodes; node 0 is "none". A thread keeps some free
// ones, so that neither it nor the owner, who gets them back, asks anybody: a chain that it
// takes from and puts into, and a full one. Free chains are those of cshim/heap/nodes.h.
type nodes struct {
	limit  uint32
	mu     sync.Mutex  // guards what follows
	fresh  uint32      // the first node that was never used
	spare  []nodeRange // nodes that are used before those, whose pages the system may have
	spares uint32      // how many nodes
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

func globals() *C.tl_globals { return (*C.tl_globals)(unsafe.Pointer(process.g)) }

func (c *Context) inC() *C.tl_context { return (*C.tl_context)(unsafe.Pointer(c)) }

// takeNode returns a free node, 0 when there is none left. The caller holds c.
func (c *Context) takeNode() uint32 {
	for {
		if i := uint32(C.tlc_take_node(globals(), c.inC())); i != 0 || !c.refillNodes() {
			return i
		}
	}
}

// refillNodes makes nodes where no chain is left.
func (c *Context) refillNodes() bool {
	process.heap.Watch() // what is handed over may wait for a thread that sleeps
	c.Nodes.First, c.Nodes.Count = process.nodes.freshChain()
	return c.Nodes.Count != 0
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
		n.spares--
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
	return uint64(n.fresh-n.spares) * layout.NodeBytes
}

// trim gives the system the pages on which nodes of full chains lie alone. The nodes are spare then, the others
// return to chains.
func (n *nodes) trim() {
	n.mu.Lock()
	defer n.mu.Unlock()
	isFree := make([]uint64, n.fresh/64+1)
	for first := C.tlc_pop_chain(globals()); first != 0; first = C.tlc_pop_chain(globals()) {
		for i := uint32(first); i != 0; i = nodeAt(i).Next {
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
				C.tlc_push_chain(globals(), C.uint32_t(chain))
				chain, count = 0, 0
			}
		}
	}
	for ; chain != 0; chain = nodeAt(chain).Next {
		n.addSpare(nodeRange{chain, chain + 1})
	}
}

// purge makes nodes spare that have pages of their own; false: they have none, or the system keeps them.
func (n *nodes) purge(r nodeRange) bool {
	start := memory.Round(layout.Address(nodeAt(r.first)), memory.PageBytes)
	end := layout.Address(nodeAt(r.end)) &^ (memory.PageBytes - 1)
	if start >= end || !memory.Purge(start, end-start) {
		return false
	}
	n.addSpare(r)
	return true
}

func (n *nodes) addSpare(r nodeRange) {
	n.spare = append(n.spare, r)
	n.spares += r.end - r.first
}

// unitsOf returns what waits for an owner with an object: tlc_units_of.
func unitsOf(r *layout.Record, e layout.Entry) uint32 {
	return uint32(C.tlc_units_of(globals(), recordInC(r), (*C.tl_entry)(unsafe.Pointer(&e))))
}

func recordInC(r *layout.Record) *C.tl_record { return (*C.tl_record)(unsafe.Pointer(r)) }

// answer gives a node back whose object waits no more.
func (c *Context) answer(i uint32) { C.tlc_answer(globals(), c.inC(), C.uint32_t(i)) }

// queue hands the reference to the owner's inbox: tlc_queue.
func (c *Context) queue(r *layout.Record, e layout.Entry, old, queued, loc uint32) (done bool, out outcome) {
	var node C.uint32_t
	result := C.TLC_NO_NODE
	for result == C.TLC_NO_NODE {
		result = int(C.tlc_queue(globals(), c.inC(), recordInC(r), *(*C.tl_entry)(unsafe.Pointer(&e)), C.uint32_t(loc),
			C.uint32_t(old), C.uint32_t(queued), &node))
		if result == C.TLC_NO_NODE && !c.refillNodes() {
			return true, full
		}
	}
	if result == C.TLC_QUEUED_LATER {
		out = dead
	}
	if node != 0 {
		c.deliver(process.slices.slice(layout.LocOwner(loc)), uint32(node))
	}
	return result != C.TLC_SH_CHANGED, out
}

// deliver puts a node into the owner's inbox. If the owner is parked the caller
// borrows its context in the same step and does the work itself.
func (c *Context) deliver(owner *Context, i uint32) {
	if owner.put(i, i, layout.CtxBorrowed) {
		atomic.LoadUint64(&owner.Word) // the race detector does not see C borrow the context
		owner.giveBack(c)
	}
}

// put puts a list of nodes into c's inbox. True: c is parked, and has the state `parked` now.
func (c *Context) put(first, last uint32, parked uint64) bool {
	return bool(C.tlc_deliver(globals(), c.inC(), C.uint32_t(first), C.uint32_t(last), C.uint64_t(parked)))
}

// swapInbox takes all nodes out of c's inbox, and puts one into it unless that is 0.
func (c *Context) swapInbox(node uint32) (first uint32) {
	return uint32(C.tlc_swap_inbox(c.inC(), C.uint32_t(node)))
}

// drain merges every object in c's inbox and those that the fast path has left. The caller
// holds c; what dies goes to me. It waits for the clock if that has what was in the inbox.
func (c *Context) drain(me *Context) {
	waiting := uint32(c.Waiting)
	c.Waiting = 0
	place := max(c.mergeAll(me, waiting), c.mergeAll(me, c.swapInbox(0)))
	if place != 0 {
		process.resting.lending.Lock() // until the clock has put back what it leaves
		process.resting.lending.Unlock()
		me.answer(place)
		c.mergeAll(me, c.swapInbox(0))
	}
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
