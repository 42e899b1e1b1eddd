package order

import "container/heap"

// queue holds states to look at, the lowest peak first; of several, the one that
// has come furthest, then the one with the least alive, then the oldest.
type queue []entry

type entry struct {
	state    *state
	peak     int64
	ran, age int
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	switch {
	case a.peak != b.peak:
		return a.peak < b.peak
	case a.ran != b.ran:
		return a.ran > b.ran
	case a.state.live != b.state.live:
		return a.state.live < b.state.live
	}
	return a.age < b.age
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(entry)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	old[len(old)-1] = entry{}
	*q = old[:len(old)-1]
	return x
}

// exact visits down-sets by rising peak. The first complete one has the lowest; when
// none is left, the order known is as good as any. It returns false when it gave up
// because there were more.
func (s *search) exact(states int) bool {
	q := &queue{}
	lowest := map[string]int64{} // peak on the best way to a set that was seen
	push := func(st *state) {
		peak, key := max(st.peak, s.bound), st.ran.key()
		if known, ok := lowest[key]; ok && known <= peak {
			return
		}
		lowest[key] = peak
		heap.Push(q, entry{st, peak, st.ran.count(), len(lowest)})
	}
	first := s.start()
	s.runFree(first)
	if max(first.peak, s.bound) >= s.limit {
		return true
	}
	push(first)
	for q.Len() > 0 {
		x := heap.Pop(q).(entry)
		if x.peak > lowest[x.state.ran.key()] {
			continue
		}
		if len(x.state.ready) == 0 {
			s.accept(x.state)
			return true
		}
		s.visited++
		for _, n := range x.state.ready {
			if len(lowest) >= states || s.isLate() {
				return false
			}
			if next := s.after(x.state, n); next != nil && next.peak < s.limit {
				push(next)
			}
		}
	}
	return true
}
