package offsets

import "slices"

// mendSteps are the tree nodes that a mend may take, besides some for each item.
const mendSteps = 200

// mend lifts the items that end above limit out of the placement of an area and
// puts each back below it, replacing what lives around the same time when it must:
// ruin and recreate (Schrimpf et al., 2000) with windows in time, each an instance
// for the tree. What fits nowhere below the limit goes to its lowest offset above; the
// result is kept when it is better than what was. It says whether limit was reached.
func (a *area) mend(s *solver, limit int64) bool {
	m := &mender{area: a, s: s, limit: limit, ground: newShelf(a.in, slices.Clone(a.offset)),
		seen: make([]int32, len(a.in.items))}
	lifted := []int32{}
	s.spend(int64(len(a.in.items) / itemsPerStep))
	for i := range a.in.items {
		if it := &a.in.items[i]; a.offset[i]+it.size > limit {
			lifted = append(lifted, int32(i))
			m.seen[i] = -1
		} else {
			m.ground.put(int32(i))
		}
	}
	slices.SortFunc(lifted, func(x, y int32) int { return int(a.in.items[x].first - a.in.items[y].first) })
	stop := s.steps + int64(mendSteps+2*len(lifted)+len(a.in.items)/2)
	for _, i := range lifted {
		it := &a.in.items[i]
		if s.expired() || s.steps > stop || !m.putBack(i) {
			m.seen[i], m.ground.offset[i] = 0, it.pinned
			if it.pinned < 0 {
				m.ground.offset[i] = m.ground.lowest(it)
			}
			m.ground.put(i)
		}
	}
	if frame := a.in.frame(m.ground.offset); frame < a.frame {
		a.take(m.ground.offset, "windows")
	}
	return a.frame <= limit
}

// frame is the end of the highest item.
func (in *instance) frame(offset []int64) int64 {
	frame := int64(0)
	for i := range in.items {
		frame = max(frame, offset[i]+in.items[i].size)
	}
	return frame
}

// mender is one try.
type mender struct {
	*area
	s      *solver
	limit  int64
	ground *shelf  // what is not lifted
	seen   []int32 // by item: the number of the query that listed it, -1 while it is lifted
	query  int32
}

// putBack finds a place for item i, in windows that grow until one holds it.
func (m *mender) putBack(i int32) bool {
	it := &m.in.items[i]
	m.seen[i] = 0
	if it.pinned >= 0 {
		return false
	}
	m.s.spend(1)
	if at := m.ground.lowest(it); at+it.size <= m.limit {
		m.ground.offset[i] = at
		m.ground.put(i)
		return true
	}
	for reach := int32(0); ; reach = 2*reach + (it.end-it.first+1)/2 {
		free, fixed := m.around(i, reach)
		if len(free) > windowItems && (!m.s.search || len(free) > wheelItems) {
			return false
		}
		if m.recreate(i, m.in.cut(free, fixed, m.ground.offset)) {
			return true
		}
		if it.first-reach <= 0 && int(it.end+reach) >= m.in.sections {
			return false
		}
	}
}

// around lists the items of a window about item i, itself the first, and those
// outside that conflict with one of them.
func (m *mender) around(i int32, reach int32) (free, fixed []int32) {
	it := &m.in.items[i]
	m.query++
	free = []int32{i}
	hull := span{max(0, it.first-reach), min(int32(m.in.sections), it.end+reach)}
	free = m.list(hull, free)
	movable := free[:0]
	for _, x := range free {
		if m.in.items[x].pinned < 0 {
			movable = append(movable, x)
		} else {
			fixed = append(fixed, x)
		}
	}
	for _, x := range movable {
		hull.first, hull.end = min(hull.first, m.in.items[x].first), max(hull.end, m.in.items[x].end)
	}
	return movable, m.list(hull, fixed)
}

// list appends the placed items that live in hull and were not listed by this query.
func (m *mender) list(hull span, to []int32) []int32 {
	s := m.ground
	for b := hull.first >> s.shift; b <= (hull.end-1)>>s.shift; b++ {
		for k := range s.buckets[b] {
			if e := &s.buckets[b][k]; m.seen[e.item] != m.query && e.first < hull.end && e.span.end > hull.first {
				m.seen[e.item] = m.query
				to = append(to, e.item)
			}
		}
	}
	return to
}

// recreate places the free items of a window anew; i is one that lay nowhere.
func (m *mender) recreate(i int32, w *window) bool {
	if w.free > windowItems {
		return m.turn(i, w)
	}
	t := newTree(w.in)
	t.expire = m.s.expired
	defer func() { m.s.spend(t.nodes) }()
	for range 2 {
		t.shuffle(m.s.random)
		found, proved := t.ask(m.limit, int64(2*w.free+100))
		if found {
			m.move(i, w, t.offset)
			return true
		}
		if proved {
			return false
		}
	}
	return false
}

// turn is recreate for a window that is too large for a tree.
func (m *mender) turn(i int32, w *window) bool {
	d := &draft{bound: m.limit, frame: none}
	m.s.squeak(w.in, newShelf(w.in, make([]int64, len(w.in.items))), d, wheelRounds)
	if d.frame > m.limit {
		return false
	}
	m.move(i, w, d.offset)
	return true
}

func (m *mender) move(i int32, w *window, offset []int64) {
	for _, x := range w.from[:w.free] {
		if x != i {
			m.ground.remove(x)
		}
	}
	for k, x := range w.from[:w.free] {
		m.ground.offset[x] = offset[k]
		m.ground.put(x)
	}
}
