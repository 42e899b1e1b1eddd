package offsets

// touch asks for another look at a section.
func (s *tree) touch(t int32) {
	if !s.queued[t] {
		s.queued[t] = true
		s.queue = append(s.queue, t)
	}
}

// propagate looks at sections until nothing changes; false when something cannot fit.
func (s *tree) propagate() bool {
	for len(s.queue) > 0 && !s.failed {
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

// look brings the state of a section up to date and raises floors by it.
func (s *tree) look(t int32) {
	old := s.states[t]
	now := state{bytes: old.bytes, low: none, top: none, second: none, lowest: -1}
	high := int64(0)
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
		s.judgePinned(t, now)
		return
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
		case s.floor[b] <= room:
			now.firsts++
		case b == now.lowest:
			s.raise(b, now.second)
		default:
			s.raise(b, now.top)
		}
	}
}

// judgePinned is judge where pinned blocks take a part of the room.
func (s *tree) judgePinned(t int32, now *state) {
	if now.low+now.bytes+s.pinnedAbove(t, now.low) > s.limit {
		s.failed = true
		return
	}
	for _, b := range s.at[t] {
		switch {
		case s.floor[b]+now.bytes+s.pinnedAbove(t, s.floor[b]) <= s.limit:
			now.firsts++
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
	to = s.skipPins(it, it.up(to))
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
func (s *tree) skipPins(it *item, at int64) int64 {
	if s.pins == nil {
		return at
	}
	for again := true; again; {
		again = false
		s.in.each(it, func(t int32) {
			for _, pin := range s.pins[t] {
				if pin.at < at+it.size && at < pin.end {
					at, again = it.up(pin.end), true
				}
			}
		})
	}
	return at
}

// pinnedAbove is the number of pinned bytes of a section from an offset on.
func (s *tree) pinnedAbove(t int32, from int64) int64 {
	sum := int64(0)
	if s.pins != nil {
		for _, pin := range s.pins[t] {
			sum += max(0, pin.end-max(pin.at, from))
		}
	}
	return sum
}

// pins lists the pinned blocks of each section; nil when there are none.
func (in *instance) pins() [][]block {
	var pins [][]block
	for i := range in.items {
		it := &in.items[i]
		if it.pinned < 0 {
			continue
		}
		if pins == nil {
			pins = make([][]block, in.sections)
		}
		in.each(it, func(t int32) { pins[t] = append(pins[t], block{it.pinned, it.pinned + it.size}) })
	}
	return pins
}
