package offsets

import (
	"cmp"
	"slices"
)

const (
	// stackItems may be stacked anew at once.
	stackItems = 2000
	// fewStackTries are made unasked for a stack that fits, stackTries in a search.
	fewStackTries, stackTries = 4, 24
	// nearLost is how much may be above the limit after an outward sweep for ejections to be likely to help.
	nearLost = 16
	// searchEjections is how many more ejections a search allows for each item that is in the way of a stack.
	searchEjections = 8
)

// restack places anew what lives about the largest load in the life of a lifted item, by outward sweeps. What is in
// the way elsewhere in time, where more is free, is ejected. The stretch of time becomes longer until that succeeds.
// What is not large has ejections and trees, which are better where nothing is free elsewhere either.
func (m *mender) restack(i int32) bool {
	if !m.large || m.nested {
		return false
	}
	if m.load == nil {
		m.load, m.plain = m.in.load(), m.in.plain()
	}
	if !m.plain {
		return false
	}
	peak := m.peak(i)
	for part := int64(32); part >= 4; part /= 2 {
		low := m.limit - m.limit/part
		if m.load[peak] < low {
			continue
		}
		m.query++
		free := m.list(m.hull(peak, low), []int32{i}, stackItems)
		if len(free) > stackItems || m.s.tick(m.ground.spent()) {
			return false
		}
		if offset := m.stacked(free); offset != nil && m.displace(i, free, offset, m.ejectionsEach()) {
			return true
		}
	}
	return false
}

// peak is the section of the largest load in the life of an item.
func (m *mender) peak(i int32) int32 {
	it := &m.in.items[i]
	return it.first + peakOf(m.load[it.first:it.end])
}

// hull are the sections about a peak with no load below low.
func (m *mender) hull(peak int32, low int64) span {
	x := around(m.load, peak, low)
	m.ground.cost += int64(x.end - x.first)
	return x
}

// around are the sections about a peak with no load below low.
func around(load []int64, peak int32, low int64) span {
	x := span{peak, peak + 1}
	for x.first > 0 && load[x.first-1] >= low {
		x.first--
	}
	for int(x.end) < len(load) && load[x.end] >= low {
		x.end++
	}
	return x
}

// stacked places items below the limit as if there were no others; nil when that failed.
func (m *mender) stacked(free []int32) []int64 {
	in, offset := m.in.cut(free), make([]int64, len(free))
	tries := fewStackTries
	if m.s.search {
		tries = stackTries
	}
	for k := range tries {
		lost, finished := in.outwards(offset, sweeping{preference: preferences[k%len(preferences)], below: m.limit,
			seed: m.s.random.Uint64(), grant: 500 * int64(len(free)), tick: m.s.tick})
		m.s.spend(1 + int64(len(free)/itemsPerStep))
		switch {
		case !finished:
			return nil
		case lost == 0:
			return offset
		case lost < nearLost:
			a := &area{in: in, offset: offset, frame: in.frame(offset), large: true, nested: true, vain: min(m.vain, 3)}
			if a.mend(m.s, m.limit) {
				return a.offset
			}
		}
		if m.s.over() {
			return nil
		}
	}
	return nil
}

// late ends a chain for which there is no time left.
func (m *mender) late() bool {
	late := m.s.tick(m.ground.spent())
	if late {
		m.undo()
	}
	return late
}

// ejectionsEach is how many more ejections there are for each item that a stack is in the way of.
func (m *mender) ejectionsEach() int {
	if m.s.search {
		return searchEjections
	}
	return 0
}

// displace lays items at new offsets, of which item i lay nowhere, and finds other places for what is there, with so
// many more ejections for each; or it changes nothing.
func (m *mender) displace(i int32, free []int32, offset []int64, each int) bool {
	e := m.ejector
	e.chain++
	e.before, e.pool = e.before[:0], e.pool[:0]
	for _, x := range free {
		if x == i {
			m.note(x, -1)
			continue
		}
		m.note(x, m.ground.offset[x])
		m.ground.remove(x)
		m.seen[x] = lifted
		if m.late() {
			return false
		}
	}
	for k, x := range free {
		it := &m.in.items[x]
		at := block{offset[k], offset[k] + it.size}
		m.clear(m.ground.within(it, at), at)
		m.lay(x, offset[k])
		if m.late() {
			return false
		}
	}
	slices.SortFunc(e.pool, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.hard[a], e.hard[b]), cmp.Compare(a, b))
	})
	return m.chase(m.chain + each*len(e.pool))
}
