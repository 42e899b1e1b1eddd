package offsets

import "slices"

const (
	// mendSteps are the tree nodes that a mend may take, besides some for each item.
	mendSteps = 200
	// smallWindow is the largest window at first where much has to be mended; it doubles with every mend in vain.
	smallWindow = 100
)

// mender keeps the placement of an area where it can be changed piece by piece.
type mender struct {
	*area
	s       *solver
	limit   int64
	most    int     // the items of a window
	ground  *shelf  // what is not lifted
	seen    []int32 // by item: the number of the query that listed it, -1 while it is lifted
	query   int32
	changed []int32 // items that lie elsewhere than in area.offset, perhaps several times
}

// mend lifts the items that end above limit out of the placement of an area and
// puts each back below it, replacing what lives around the same time when it must:
// ruin and recreate (Schrimpf et al., 2000) with windows in time, each an instance
// for the tree. What fits nowhere below the limit goes to its lowest offset above; the
// result is kept when it is better than what was, and a try ends where it cannot be.
// It says whether limit was reached.
func (a *area) mend(s *solver, limit int64) bool {
	if a.mender == nil {
		a.mender = a.newMender(s)
	}
	m := a.mender
	m.limit, m.most = limit, windowItems
	if a.large {
		m.most = min(windowItems, smallWindow<<min(a.vain, 4))
	}
	if m.tryAll() {
		for _, i := range m.changed {
			a.offset[i] = m.ground.offset[i]
		}
		a.frame, a.method = a.in.frame(a.offset), "windows"
	} else {
		m.rollBack()
	}
	m.changed = m.changed[:0]
	s.tick(m.ground.spent())
	return a.frame <= limit
}

func (a *area) newMender(s *solver) *mender {
	m := &mender{area: a, s: s, ground: newShelf(a.in, slices.Clone(a.offset)), seen: make([]int32, len(a.in.items))}
	s.spend(int64(len(a.in.items) / itemsPerStep))
	order := make([]int32, len(a.in.items))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return int(min(1, max(-1, a.offset[x]-a.offset[y]))) })
	for _, i := range order {
		m.ground.put(i)
	}
	return m
}

// tryAll puts back what ends above the limit, and says whether the frame became lower.
func (m *mender) tryAll() bool {
	lifted := []int32{}
	for i := range m.in.items {
		if it := &m.in.items[i]; m.offset[i]+it.size > m.limit {
			lifted = append(lifted, int32(i))
			m.ground.remove(int32(i))
			m.seen[i] = -1
		}
	}
	slices.SortFunc(lifted, func(x, y int32) int { return int(m.in.items[x].first - m.in.items[y].first) })
	m.changed = append(m.changed, lifted...)
	stop := m.s.steps + int64(mendSteps+2*len(lifted)+len(m.in.items)/2)
	for _, i := range lifted {
		if m.s.tick(m.ground.spent()) || m.s.steps > stop || !m.putBack(i) {
			if m.s.late || m.putAnywhere(i) >= m.frame {
				return false
			}
		}
	}
	return true
}

// putAnywhere puts a lifted item as low as it can go, and returns its end.
func (m *mender) putAnywhere(i int32) int64 {
	it := &m.in.items[i]
	m.ground.offset[i] = it.pinned
	if it.pinned < 0 {
		m.ground.offset[i] = m.ground.lowest(it)
	}
	m.seen[i] = 0
	m.ground.put(i)
	return m.ground.offset[i] + it.size
}

// rollBack undoes a try.
func (m *mender) rollBack() {
	slices.Sort(m.changed)
	m.changed = slices.Compact(m.changed)
	for _, i := range m.changed {
		if m.seen[i] >= 0 {
			m.ground.remove(i)
		}
		m.seen[i], m.ground.offset[i] = 0, m.offset[i]
	}
	for _, i := range m.changed {
		m.ground.put(i)
	}
}

// frame is the end of the highest item.
func (in *instance) frame(offset []int64) int64 {
	frame := int64(0)
	for i := range in.items {
		frame = max(frame, offset[i]+in.items[i].size)
	}
	return frame
}

// putBack finds a place for item i, in windows that grow until one holds it.
func (m *mender) putBack(i int32) bool {
	it := &m.in.items[i]
	m.s.spend(1)
	if it.pinned >= 0 {
		return false
	}
	if at := m.ground.lowest(it); at+it.size <= m.limit {
		m.seen[i], m.ground.offset[i] = 0, at
		m.ground.put(i)
		return true
	}
	for reach := int32(0); ; reach = 2*reach + (it.end-it.first+1)/2 {
		free, fixed, fits := m.around(i, reach)
		if work := m.ground.spent() + 32*int64(len(free)+len(fixed)); m.s.tick(work) || !fits {
			return false
		}
		if m.recreate(i, m.in.cut(free, fixed, m.ground.offset)) {
			m.seen[i] = 0
			return true
		}
		if it.first-reach <= 0 && int(it.end+reach) >= m.in.sections {
			return false
		}
	}
}

// widest is the largest window that is placed anew.
func (m *mender) widest() int {
	if m.s.search && m.most == windowItems {
		return wheelItems
	}
	return m.most
}

// around lists the items of a window about item i, itself the first, and those
// outside that conflict with one of them; or says that they are too many.
func (m *mender) around(i int32, reach int32) (free, fixed []int32, fits bool) {
	it := &m.in.items[i]
	m.query++
	hull := span{max(0, it.first-reach), min(int32(m.in.sections), it.end+reach)}
	if free = m.list(hull, []int32{i}, m.widest()); len(free) > m.widest() {
		return nil, nil, false
	}
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
	most := len(fixed) + 4*m.widest()
	fixed = m.list(hull, fixed, most)
	return movable, fixed, len(fixed) <= most
}

// list appends the placed items that live in hull and were not listed by this query; it ends when there are more than
// most.
func (m *mender) list(hull span, to []int32, most int) []int32 {
	s := m.ground
	for b := hull.first >> s.shift; b <= (hull.end-1)>>s.shift; b++ {
		s.cost += int64(4 + len(s.buckets[b]))
		for k := range s.buckets[b] {
			if e := &s.buckets[b][k]; m.seen[e.item] != m.query && e.first < hull.end && e.span.end > hull.first {
				m.seen[e.item] = m.query
				if to = append(to, e.item); len(to) > most {
					return to
				}
			}
		}
	}
	return to
}

// recreate places the free items of a window anew; i is one that lay nowhere.
func (m *mender) recreate(i int32, w *window) bool {
	m.clip(w)
	if w.free > windowItems {
		return m.turn(i, w)
	}
	m.s.tick(2 * w.in.volume())
	t := newTree(w.in)
	t.tick = m.s.tick
	defer func() {
		m.s.spend(t.nodes)
		m.s.tick(t.work)
	}()
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

// clip cuts off what reaches above the limit of the items that stay, so that they are in the way below it alone.
func (m *mender) clip(w *window) {
	for k := w.free; k < len(w.in.items); k++ {
		if it := &w.in.items[k]; it.pinned+it.size > m.limit {
			it.pinned = min(it.pinned, m.limit)
			it.size = m.limit - it.pinned
		}
	}
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
		m.changed = append(m.changed, x)
	}
}
