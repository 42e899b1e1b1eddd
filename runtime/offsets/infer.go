package offsets

import (
	"sort"
)

// touch asks for another look at a section.
func (s *tree) touch(t int32) {
	if !s.queued[t] {
		s.queued[t] = true
		s.queue = append(s.queue, t)
	}
}

// propagate looks at sections until nothing changes; false when something cannot fit. After as many looks as there are
// sections they raise nothing more: small items in a state that cannot be completed may push each other up in steps of
// their size; the rest is left to branching, which needs no floor to be as high as it can be.
func (s *tree) propagate() bool {
	s.calm = false
	for looks := 0; len(s.queue) > 0 && !s.failed; looks++ {
		if s.work >= unitsPerLook {
			s.pause()
		}
		s.calm = s.calm || looks > len(s.states)
		t := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		s.queued[t] = false
		s.look(t)
	}
	for _, t := range s.queue {
		s.queued[t] = false
	}
	s.queue = s.queue[:0]
	ok := !s.failed
	s.failed = false
	return ok
}

// pause asks whether to go on; if not, the search fails without a proof.
func (s *tree) pause() {
	work := s.work
	s.work = 0
	if s.tick != nil && s.tick(work) {
		s.left, s.failed = -1, true
	}
}

// look brings the state of a section up to date and raises floors by it.
func (s *tree) look(t int32) {
	old := s.states[t]
	now := state{bytes: old.bytes, low: none, top: none, second: none, lowest: -1}
	high := int64(0)
	s.work += int64(8 + len(s.at[t]))
	for _, b := range s.at[t] {
		floor := s.floor[b]
		now.low, high = min(now.low, floor), max(high, floor)
		if top := floor + s.size[b]; top < now.second {
			if top < now.top {
				now.top, now.second, now.lowest = top, now.top, b
			} else {
				now.second = top
			}
		}
	}
	if now.low != none {
		s.judge(t, &now, high)
	}
	if now != old {
		s.olds = append(s.olds, oldState{t, old})
		s.states[t] = now
	}
}

// judge fails when a section's items do not fit, and raises those that cannot be
// its lowest. What it raises has the section looked at again.
func (s *tree) judge(t int32, now *state, high int64) {
	room := s.limit - now.bytes
	if s.pins != nil {
		room -= s.pinnedAbove(t, now.low)
	}
	if now.low > room {
		s.failed = true
		return
	}
	if high <= room {
		now.firsts = int32(len(s.at[t]))
		return
	}
	for _, b := range s.at[t] {
		switch {
		case s.floor[b] <= room, s.pins != nil && s.floor[b]+now.bytes+s.pinnedAbove(t, s.floor[b]) <= s.limit:
			now.firsts++
		case s.calm, s.in.lacks(PartNotFirst):
		case b == now.lowest:
			s.raise(b, now.second)
		default:
			s.raise(b, now.top)
		}
	}
}

// raise lifts the floor of b, if it is lower.
func (s *tree) raise(b int32, to int64) {
	old := s.floor[b]
	if to <= old {
		return
	}
	it := &s.in.items[b]
	to = s.skipPins(b, it.up(to))
	s.floors = append(s.floors, oldFloor{b, old})
	s.stir(b)
	s.floor[b] = to
	s.stir(b)
	if to+it.size > s.limit {
		s.failed = true
		return
	}
	if it.holes > 0 || s.pins != nil {
		s.in.each(it, s.touch)
	} else {
		s.touchRaised(it, old)
	}
	if above := s.next[b]; above >= 0 {
		s.raise(above, to+it.size)
	}
}

// touchRaised asks for another look at those sections of an item whose state its
// old floor was a part of.
func (s *tree) touchRaised(it *item, old int64) {
	for t := it.first; t < it.end; t++ {
		now := &s.states[t]
		if !s.queued[t] && (old <= s.limit-now.bytes || old == now.low || old+it.size <= now.second) {
			s.queued[t] = true
			s.queue = append(s.queue, t)
		}
	}
}

// place puts b at its floor, and what it conflicts with above it.
func (s *tree) place(b int32) {
	it := &s.in.items[b]
	s.offset[b] = s.floor[b]
	s.placed = append(s.placed, b)
	s.done[b] = true
	s.stir(b)
	s.in.each(it, func(t int32) {
		s.olds = append(s.olds, oldState{t, s.states[t]})
		s.states[t].bytes -= it.size
		s.drop(t, b)
		s.touch(t)
	})
	for t := it.first + 1; t < it.end; t++ {
		s.cross[t]--
	}
	top := s.floor[b] + it.size
	s.work += int64(len(s.near[b]))
	for _, x := range s.near[b] {
		if s.floor[x] < top && !s.done[x] {
			s.raise(x, top)
		}
	}
}

func (s *tree) drop(t, b int32) {
	list := s.at[t]
	for k, x := range list {
		if x == b {
			list[k] = list[len(list)-1]
			s.at[t] = list[:len(list)-1]
			return
		}
	}
}

// mark is a point to which undo returns.
func (s *tree) mark() mark { return mark{len(s.placed), len(s.floors), len(s.olds)} }

// undo returns to a mark. What is placed keeps its floor, so taking it off first
// finds the digest as place left it.
func (s *tree) undo(to mark) {
	for len(s.placed) > to.placed {
		s.takeOff(s.placed[len(s.placed)-1])
		s.placed = s.placed[:len(s.placed)-1]
	}
	for len(s.floors) > to.floors {
		last := s.floors[len(s.floors)-1]
		s.floors = s.floors[:len(s.floors)-1]
		s.stir(last.item)
		s.floor[last.item] = last.floor
		s.stir(last.item)
	}
	for len(s.olds) > to.olds {
		last := s.olds[len(s.olds)-1]
		s.olds = s.olds[:len(s.olds)-1]
		s.states[last.section] = last.state
	}
}

func (s *tree) takeOff(b int32) {
	it := &s.in.items[b]
	s.done[b] = false
	s.stir(b)
	s.in.each(it, func(t int32) { s.at[t] = append(s.at[t], b) })
	for t := it.first + 1; t < it.end; t++ {
		s.cross[t]++
	}
}

// skipPins is the lowest offset from at on where no pinned item is in the way.
func (s *tree) skipPins(b int32, at int64) int64 {
	if s.pins == nil {
		return at
	}
	it := &s.in.items[b]
	for _, wall := range s.walls[b] {
		if wall.at >= at+it.size {
			break
		}
		if wall.end > at {
			at = it.up(wall.end)
		}
	}
	return at
}

// pinnedAbove is the number of pinned bytes of a section from an offset on.
func (s *tree) pinnedAbove(t int32, from int64) int64 {
	sum := int64(0)
	for _, pin := range s.pins[t] {
		if pin.end <= from {
			break
		}
		sum += pin.end - max(pin.at, from)
	}
	return sum
}

// pin fills pins, the highest block of a section first, and walls.
func (s *tree) pin() {
	for i := range s.in.items {
		it := &s.in.items[i]
		if it.pinned < 0 {
			continue
		}
		if s.pins == nil {
			s.pins = make([][]block, s.in.sections)
			s.walls = make([][]block, len(s.in.items))
		}
		s.in.each(it, func(t int32) { s.pins[t] = append(s.pins[t], block{it.pinned, it.pinned + it.size}) })
	}
	for _, list := range s.pins {
		sort.Slice(list, func(i, j int) bool { return list[i].at > list[j].at })
	}
	for i := range s.walls {
		if s.in.items[i].pinned < 0 {
			s.walls[i] = s.wall(&s.in.items[i])
		}
	}
}

// wall lists the stretches of offsets that are pinned in some section of it.
func (s *tree) wall(it *item) []block {
	var list []block
	s.in.each(it, func(t int32) { list = append(list, s.pins[t]...) })
	if it.bars > 0 {
		list = append(list, s.in.barred[it.bars-1]...)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].at < list[j].at })
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && x.at <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, x.end)
		} else {
			out = append(out, x)
		}
	}
	return out
}
