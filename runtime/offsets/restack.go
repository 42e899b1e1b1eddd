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
// Of fewer than many items there is time to mend without it, which comes closer.
func (m *mender) restack(i int32) bool {
	if !m.stacks {
		return false
	}
	it, load := &m.in.items[i], m.in.load()
	peak := it.first + peakOf(load[it.first:it.end])
	for part := int64(32); part >= 4; part /= 2 {
		low := m.limit - m.limit/part
		if load[peak] < low {
			continue
		}
		free := m.living(around(load, peak, low), []int32{i})
		if len(free) > stackItems || m.s.tick(m.ground.spent()) {
			return false
		}
		if offset := m.stacked(free); offset != nil && m.displace(i, free, offset) {
			return true
		}
	}
	return false
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

// living appends what is placed and lives in a stretch of time, up to one more than may be stacked.
func (m *mender) living(x span, to []int32) []int32 {
	s := m.ground
	from := x.first >> s.shift
	s.cost += int64(x.end - x.first)
	for b := from; b <= (x.end-1)>>s.shift && len(to) <= stackItems; b++ {
		s.cost += int64(4 + len(s.buckets[b]))
		for k := range s.buckets[b] {
			e := &s.buckets[b][k]
			if e.first < x.end && x.first < e.span.end && (b == from || e.first>>s.shift == b) {
				to = append(to, e.item)
			}
		}
	}
	return to
}

// stacked places items below the limit as if there were no others; nil when that failed.
func (m *mender) stacked(free []int32) []int64 {
	in, offset := m.in.only(free), make([]int64, len(free))
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
			a := &area{in: in, offset: offset, frame: in.frame(offset), large: true, vain: min(m.vain, 3)}
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

// displace lays items at new offsets, of which item i lay nowhere, and finds other places for what is there; or it
// changes nothing.
func (m *mender) displace(i int32, free []int32, offset []int64) bool {
	e := m.ejector
	e.chain++
	e.before, e.pool = e.before[:0], e.pool[:0]
	for _, x := range free {
		if x == i {
			m.note(x, -1)
			continue
		}
		m.note(x, m.ground.offset[x])
		m.lift(x)
	}
	for k, x := range free {
		it := &m.in.items[x]
		at := block{offset[k], offset[k] + it.size}
		m.clear(m.ground.within(it, at), at)
		m.put(x, offset[k])
		if m.s.tick(m.ground.spent()) {
			m.undo()
			return false
		}
	}
	slices.SortFunc(e.pool, func(a, b int32) int {
		return cmp.Or(cmp.Compare(e.hard[a], e.hard[b]), cmp.Compare(a, b))
	})
	most := m.chain
	if m.s.search {
		most += searchEjections * len(e.pool)
	}
	return m.chase(most)
}
