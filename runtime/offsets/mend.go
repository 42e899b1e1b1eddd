package offsets

import (
	"cmp"
	"slices"
)

const (
	// shortChain is the number of ejections of a chain at first; it doubles with every mend in vain, up to longChain.
	shortChain, longChain = 100, 100 << 10
	// lifted stands in mender.seen for an item that lies nowhere.
	lifted = -1
)

// mender keeps the placement of an area where it can be changed piece by piece.
type mender struct {
	*area
	s       *solver
	limit   int64
	chain   int     // the ejections of a chain
	ground  *shelf  // what is not lifted
	seen    []int32 // by item: the number of the query that listed it, or lifted
	query   int32
	changed []int32 // items that lie elsewhere than in area.offset, perhaps several times
	high    []int32 // what ends above floor, and perhaps what no longer does
	listed  []bool  // by item: it is in high
	floor   int64   // no limit was below it
}

// mend takes the items that end above limit out of the placement of an area, the highest first, and puts each back
// below it: where there is room, or else by a chain of ejections. A mend ends at the first item that can go no lower,
// so the frame never grows. It says whether limit was reached.
func (a *area) mend(s *solver, limit int64) bool {
	if a.in.lacks(PartMending) {
		a.vain++
		return false
	}
	if a.mender == nil {
		a.mender = a.newMender(s)
	}
	m := a.mender
	m.limit, m.chain = limit, min(longChain, shortChain<<min(a.vain, 10))
	for _, i := range m.above() {
		if m.ground.end(i) > m.limit && !m.lower(i) {
			break
		}
	}
	a.settle("mending")
	s.tick(m.ground.spent())
	return a.frame <= limit
}

// settle takes what the mender has changed.
func (a *area) settle(method string) {
	m := a.mender
	if len(m.changed) == 0 {
		return
	}
	for _, i := range m.changed {
		a.offset[i] = m.ground.offset[i]
		m.enlist(i)
	}
	m.changed = m.changed[:0]
	a.frame, a.method = m.frame(), method
}

func (a *area) newMender(s *solver) *mender {
	m := &mender{area: a, s: s, ground: newShelf(a.in, slices.Clone(a.offset)), seen: make([]int32, len(a.in.items))}
	if a.ejector == nil {
		a.ejector = a.in.newEjector(s.random.Uint64())
	}
	s.spend(int64(len(a.in.items) / itemsPerStep))
	m.ground.fill()
	return m
}

// end of what is placed.
func (s *shelf) end(i int32) int64 { return s.offset[i] + s.in.items[i].size }

// above lists what ends above the limit, the highest first.
func (m *mender) above() []int32 {
	if m.listed == nil || m.limit < m.floor {
		m.listed, m.floor = make([]bool, len(m.in.items)), m.limit
		m.high = m.high[:0]
		for i := range m.in.items {
			m.enlist(int32(i))
		}
	}
	list := []int32{}
	for k := len(m.high) - 1; k >= 0; k-- {
		i := m.high[k]
		switch end := m.ground.end(i); {
		case end > m.limit:
			list = append(list, i)
		case end <= m.floor:
			m.listed[i] = false
			m.high[k] = m.high[len(m.high)-1]
			m.high = m.high[:len(m.high)-1]
		}
	}
	slices.SortFunc(list, func(x, y int32) int {
		return cmp.Or(cmp.Compare(m.ground.end(y), m.ground.end(x)), cmp.Compare(x, y))
	})
	return list
}

// enlist adds an item that ends above the floor to those.
func (m *mender) enlist(i int32) {
	if !m.listed[i] && m.ground.end(i) > m.floor {
		m.listed[i] = true
		m.high = append(m.high, i)
	}
}

// frame is that of everything, while nothing is lifted. It is found among what is high, if that is anything.
func (m *mender) frame() int64 {
	frame := m.floor
	for _, i := range m.high {
		frame = max(frame, m.ground.end(i))
	}
	if frame == m.floor {
		return m.in.frame(m.ground.offset)
	}
	return frame
}

// lower puts an item below the limit, or else as low as it can go, which the limit then rises to. It says whether the
// item is lower than it was.
func (m *mender) lower(i int32) bool {
	at := m.ground.offset[i]
	if m.in.items[i].pinned >= 0 || m.s.tick(m.ground.spent()) {
		return false
	}
	m.ground.remove(i)
	m.seen[i] = lifted
	if m.putBack(i) {
		return true
	}
	now := min(at, m.ground.lowest(&m.in.items[i]))
	m.ground.offset[i], m.seen[i] = now, 0
	m.ground.put(i)
	m.limit = max(m.limit, m.ground.end(i))
	if now < at {
		m.changed = append(m.changed, i)
	}
	return now < at
}

// frame is the end of the highest item.
func (in *instance) frame(offset []int64) int64 {
	frame := int64(0)
	for i := range in.items {
		frame = max(frame, offset[i]+in.items[i].size)
	}
	return frame
}

// putBack finds a place for a lifted item below the limit.
func (m *mender) putBack(i int32) bool {
	m.s.spend(1)
	return m.eject(i, m.chain) || m.restack(i)
}

// list appends the placed items that live in hull and were not listed by this query; it ends when there are more than
// most.
func (m *mender) list(hull span, to []int32, most int) []int32 {
	s := m.ground
	for b := hull.first >> s.shift; b <= (hull.end-1)>>s.shift; b++ {
		bucket := s.bucket(b)
		s.cost += int64(4 + len(bucket))
		for k := range bucket {
			if e := &bucket[k]; m.seen[e.item] != m.query && e.first < hull.end && e.span.end > hull.first {
				m.seen[e.item] = m.query
				if to = append(to, e.item); len(to) > most {
					return to
				}
			}
		}
	}
	return to
}
