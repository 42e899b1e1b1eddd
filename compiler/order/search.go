package order

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"time"
)

// set is a set of nodes, a bit for each.
type set []uint64

func (s set) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }
func (s set) add(n int)      { s[n/64] |= 1 << (n % 64) }

// all reports whether every node of a list is in s.
func (s set) all(list []int) bool {
	return !slices.ContainsFunc(list, func(n int) bool { return !s.has(n) })
}

// any reports whether a node of a list is in s.
func (s set) any(list []int) bool { return slices.ContainsFunc(list, s.has) }

func (s set) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// key returns the set as a map's key.
func (s set) key() string {
	b := make([]byte, 0, 8*len(s))
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

// search is one run of Search.
type search struct {
	*Problem
	words    int
	before   [][]int // by node: what has to run first
	next     [][]int // by node: what comes after it
	touchers [][]int // by buffer; lists, since few nodes touch one of many
	bound    int64   // no order has a lower peak
	limit    int64   // peak of the best order known
	best     []int
	visited  int
	deadline time.Time
	unseen   int // nodes that were looked at since the clock was
	late     bool
}

// nodesPerLook is how many nodes are looked at between two looks at the clock.
const nodesPerLook = 32

// isLate reports whether the deadline has passed.
func (s *search) isLate() bool {
	if s.unseen++; s.unseen >= nodesPerLook && !s.late && !s.deadline.IsZero() {
		s.unseen, s.late = 0, !now().Before(s.deadline)
	}
	return s.late
}

func newSearch(p *Problem) *search {
	s := &search{Problem: p, words: (len(p.Nodes) + 63) / 64, next: make([][]int, len(p.Nodes)),
		before: make([][]int, len(p.Nodes)), touchers: make([][]int, len(p.Buffers))}
	for i := range p.Nodes {
		for _, b := range p.Nodes[i].After {
			if !slices.Contains(s.before[i], b) {
				s.before[i] = append(s.before[i], b)
				s.next[b] = append(s.next[b], i)
			}
		}
		for _, b := range p.Nodes[i].Touches {
			s.touchers[b] = append(s.touchers[b], i)
		}
	}
	s.bound = s.lowest()
	return s
}

// lowest returns a peak that no order undercuts: what one node touches, and what is
// alive at either end.
func (s *search) lowest() int64 {
	begin, end := int64(0), int64(0)
	for _, b := range s.Buffers {
		if b.Before {
			begin += b.Bytes
		}
		if b.After {
			end += b.Bytes
		}
	}
	bound := max(begin, end)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		own, saved := n.Scratch, int64(0)
		for _, b := range n.Touches {
			own += s.Buffers[b].Bytes
		}
		for _, x := range n.Exchanges {
			saved = max(saved, s.Buffers[x.From].Bytes)
		}
		bound = max(bound, own-saved)
	}
	return bound
}

// state is a down-set: what has run, and what that led to.
type state struct {
	ran    set
	ready  []int // what can run now, ascending
	live   int64 // bytes that are alive between two nodes
	peak   int64 // the highest number on the way here
	parent *state
	nodes  []int // that ran since parent
}

func (s *search) start() *state {
	st := &state{ran: make(set, s.words)}
	for i := range s.Nodes {
		if len(s.Nodes[i].After) == 0 {
			st.ready = append(st.ready, i)
		}
	}
	for b := range s.Buffers {
		if s.Buffers[b].Before && (s.Buffers[b].After || len(s.touchers[b]) > 0) {
			st.live += s.Buffers[b].Bytes
		}
	}
	st.peak = st.live
	return st
}

// cost returns the bytes that are alive while n runs after what has run, and those
// that are alive after it.
func (s *search) cost(st *state, n int) (during, after int64) {
	node := &s.Nodes[n]
	during = st.live
	after = st.live
	for _, b := range node.Touches {
		buffer := &s.Buffers[b]
		if s.fresh(st, b) {
			during += buffer.Bytes
			after += buffer.Bytes
		}
		if s.ends(st, b, n) {
			after -= buffer.Bytes
		}
	}
	saved := int64(0)
	for _, x := range node.Exchanges {
		if s.fresh(st, x.To) && s.ends(st, x.From, n) {
			saved = max(saved, s.Buffers[x.From].Bytes)
		}
	}
	return during - saved + node.Scratch, after
}

// fresh reports whether no node has touched b yet, and it was not there before.
func (s *search) fresh(st *state, b int) bool {
	return !s.Buffers[b].Before && !st.ran.any(s.touchers[b])
}

// ends reports whether nobody touches b after n.
func (s *search) ends(st *state, b, n int) bool {
	if s.Buffers[b].After {
		return false
	}
	for _, m := range s.touchers[b] {
		if m != n && !st.ran.has(m) {
			return false
		}
	}
	return true
}

// run changes st to what it is after n.
func (s *search) run(st *state, n int, during, after int64) {
	st.ran.add(n)
	st.live = after
	st.peak = max(st.peak, during)
	st.nodes = append(st.nodes, n)
	at, _ := slices.BinarySearch(st.ready, n)
	st.ready = slices.Delete(st.ready, at, at+1)
	for _, m := range s.next[n] {
		if st.ran.all(s.before[m]) {
			at, _ := slices.BinarySearch(st.ready, m)
			st.ready = slices.Insert(st.ready, at, m)
		}
	}
}

// after returns the state after n and after all that can run at no price; nil when
// its peak is not below the limit.
func (s *search) after(st *state, n int) *state {
	during, left := s.cost(st, n)
	if max(during, st.peak) >= s.limit {
		return nil
	}
	out := &state{ran: slices.Clone(st.ran), ready: slices.Clone(st.ready), live: st.live, peak: st.peak, parent: st}
	s.run(out, n, during, left)
	s.runFree(out)
	return out
}

// runFree runs nodes that neither raise the peak nor leave more alive, as long as
// there are any.
func (s *search) runFree(st *state) {
	for again := true; again && !s.isLate(); {
		again = false
		for _, n := range st.ready {
			during, after := s.cost(st, n)
			if after <= st.live && during <= max(st.peak, s.bound) {
				s.run(st, n, during, after)
				again = true
				break
			}
		}
	}
}

// accept makes the way to a state in which all has run the best order.
func (s *search) accept(st *state) {
	var order []int
	s.limit = max(st.peak, s.bound)
	for ; st != nil; st = st.parent {
		for _, n := range slices.Backward(st.nodes) {
			order = append(order, n)
		}
	}
	slices.Reverse(order)
	s.best = order
}

// peak returns the highest number of live bytes in an order.
func (s *search) peak(order []int) int64 {
	st := s.start()
	for _, n := range order {
		during, after := s.cost(st, n)
		s.run(st, n, during, after)
	}
	return max(st.peak, s.bound)
}
