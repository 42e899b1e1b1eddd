// Package order looks for an order of operators in which little memory is alive at
// once. It knows operators as nodes of a directed graph, and memory as buffers with
// a size and the nodes that touch them: a buffer is alive from the first node that
// touches it to the last.
//
// Search is exact where it can be: a best-first search over down-sets, the sets of
// nodes that can have run, as SERENITY's dynamic programming goes over them (Ahn et
// al., Ordering Chaos, MLSys 2020). How many bytes are alive after a down-set does
// not depend on the order in which it ran, so that of all ways to it only the one
// with the lowest peak matters. Two rules keep the sets few. A set whose peak
// reaches that of a known order is dropped. And a node that can run without raising
// the peak so far, and leaves no more alive than before, runs at once: whatever
// comes in between in another order is not dearer after it.
//
// Where the sets are too many, a beam search follows, bounded in width.
package order

import (
	"fmt"
	"time"
)

// now is the clock. Tests replace it.
var now = time.Now

// Problem is what Search orders. It is only read.
type Problem struct {
	Nodes   []Node // in an order that can be run
	Buffers []Buffer
}

// Node is an operator.
type Node struct {
	After   []int // nodes that have to run before it; all of them stand before it
	Touches []int // buffers that it reads or writes, each once
	Scratch int64 // bytes that it needs while it runs

	// Exchanges are pairs of buffers of which the second may take over the memory
	// of the first: it is new at this node, and nobody touches the first later. Of
	// several that could, one does.
	Exchanges []Exchange
}

// Exchange names two buffers of the same size.
type Exchange struct{ From, To int }

// Buffer is memory that nodes touch.
type Buffer struct {
	Bytes  int64
	Before bool // alive before the first node
	After  bool // alive after the last node
}

// Options bound the search.
type Options struct {
	// States is how many down-sets the exact search may come to; it keeps all of
	// them. 0: DefaultStates, fewer where there are more than 64 nodes; negative: no
	// search. The beam search, which follows when that did not do, may come to as
	// many again.
	States int
	// Deadline ends the search with the best order so far; the zero time: never.
	Deadline time.Time
}

// DefaultStates bounds the exact search of up to 64 nodes when Options does not.
const DefaultStates = 100000

const (
	fewestStates = 1000
	fewNodes     = 64
)

// Result is an order.
type Result struct {
	Order     []int // of the nodes
	Peak      int64 // highest number of live bytes in it
	GivenPeak int64 // the same in the order of Problem.Nodes
	Proved    bool  // no order has a lower peak
	States    int   // down-sets that were taken further
}

// Search returns an order whose peak is not above that of the order given, which it
// returns itself when it finds nothing lower. It fails when p means nothing.
//
// The same problem has the same answer on every machine, unless Options.Deadline ends the
// search. Safe for concurrent use.
func Search(p Problem, o Options) (Result, error) {
	if err := check(&p); err != nil {
		return Result{}, err
	}
	s := newSearch(&p)
	s.deadline = o.Deadline
	given := make([]int, len(p.Nodes))
	for i := range given {
		given[i] = i
	}
	r := Result{Order: given, GivenPeak: s.peak(given)}
	r.Peak = r.GivenPeak
	s.limit, s.best = r.Peak, given
	if o.States == 0 {
		o.States = max(DefaultStates*fewNodes/max(len(p.Nodes), fewNodes), fewestStates)
	}
	r.Proved = s.limit <= s.bound
	if !r.Proved && o.States > 0 {
		r.Proved = s.exact(o.States) && !s.late
		if !r.Proved {
			s.beam(o.States)
			r.Proved = s.limit <= s.bound
		}
	}
	r.Order, r.Peak, r.States = s.best, s.limit, s.visited
	return r, nil
}

func check(p *Problem) error {
	for b := range p.Buffers {
		if p.Buffers[b].Bytes < 0 {
			return fmt.Errorf("order: buffer %d has %d bytes; a size is not negative", b, p.Buffers[b].Bytes)
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, before := range n.After {
			if before < 0 || before >= i {
				return fmt.Errorf("order: node %d comes after node %d; nodes have to stand in an order that can be run",
					i, before)
			}
		}
		touched := map[int]bool{}
		for _, b := range n.Touches {
			if b < 0 || b >= len(p.Buffers) || touched[b] {
				return fmt.Errorf("order: node %d touches buffer %d, which is none or named twice", i, b)
			}
			touched[b] = true
		}
		for _, x := range n.Exchanges {
			if !touched[x.From] || !touched[x.To] || p.Buffers[x.From].Bytes != p.Buffers[x.To].Bytes {
				return fmt.Errorf("order: node %d exchanges buffers %d and %d; it has to touch both, and they have "+
					"to have one size", i, x.From, x.To)
			}
		}
		if n.Scratch < 0 {
			return fmt.Errorf("order: node %d needs %d bytes; a size is not negative", i, n.Scratch)
		}
	}
	return nil
}
