package offsets

import (
	"cmp"
	"slices"
)

// shortChain is the number of ejections of a chain at first; it doubles with every mend in vain, up to longChain.
const shortChain, longChain = 100, 100 << 10

// mender keeps the placement of an area where it can be changed piece by piece.
type mender struct {
	*area
	s       *solver
	limit   int64
	chain   int    // the ejections of a chain
	ground  *shelf // what is not lifted
	lifted  []bool // by item: it lies nowhere
	changed bool   // the ground is not area.offset
	stacks  bool   // what lives about a peak may be stacked anew
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
	if m.changed {
		a.take(m.ground.offset, "mending")
		m.changed = false
	}
	s.tick(m.ground.spent())
	return a.frame <= limit
}

func (a *area) newMender(s *solver) *mender {
	m := &mender{area: a, s: s, ground: newShelf(a.in, slices.Clone(a.offset)), lifted: make([]bool, len(a.in.items)),
		stacks: len(a.in.items) > manyItems && a.in.plain() && !a.in.lacks(PartOutward)}
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
	list := []int32{}
	for i := range m.in.items {
		if m.ground.end(int32(i)) > m.limit {
			list = append(list, int32(i))
		}
	}
	m.s.tick(int64(len(m.in.items)))
	slices.SortFunc(list, func(x, y int32) int {
		return cmp.Or(cmp.Compare(m.ground.end(y), m.ground.end(x)), cmp.Compare(x, y))
	})
	return list
}

// lower puts an item below the limit, or else as low as it can go, which the limit then rises to. It says whether the
// item is lower than it was.
func (m *mender) lower(i int32) bool {
	at := m.ground.offset[i]
	if m.in.items[i].pinned >= 0 || m.s.tick(m.ground.spent()) {
		return false
	}
	m.lift(i)
	m.s.spend(1)
	if m.eject(i, m.chain) || m.restack(i) {
		return true
	}
	now := min(at, m.ground.lowest(&m.in.items[i]))
	m.put(i, now)
	m.limit = max(m.limit, m.ground.end(i))
	m.changed = m.changed || now < at
	return now < at
}

func (m *mender) lift(i int32) {
	m.ground.remove(i)
	m.lifted[i] = true
}

func (m *mender) put(i int32, at int64) {
	m.ground.offset[i], m.lifted[i] = at, false
	m.ground.put(i)
}

// frame is the end of the highest item.
func (in *instance) frame(offset []int64) int64 {
	frame := int64(0)
	for i := range in.items {
		frame = max(frame, offset[i]+in.items[i].size)
	}
	return frame
}
