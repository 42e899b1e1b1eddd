package offsets

import (
	"cmp"
	"slices"
	"time"
)

// SetClock replaces the clock until the function that it returns is called.
func SetClock(clock func() time.Time) (restore func()) {
	before := now
	now = clock
	return func() { now = before }
}

// Gap is how much larger the frames are than their lower bounds, as a fraction;
// 0 is a proof that they are minimal.
func (s *Solution) Gap() float64 {
	bound := s.LowerBound()
	if bound == 0 {
		return 0
	}
	return float64(s.FrameBytes()-bound) / float64(bound)
}

// SweepOutwards places the buffers of p by one outward sweep, with a limit that may rise up to most if that is not 0.
// It says whether it came to the end.
func SweepOutwards(p Problem, limit, most int64, turn int) (s *Solution, finished bool) {
	in, err := newInstance(&p, func(int64) {})
	if err != nil {
		return nil, false
	}
	offset := make([]int64, len(in.items))
	finished = in.outwards(offset, sweeping{apart: aparts[turn%len(aparts)], below: limit,
		most: most, seed: uint64(turn), grant: 64_000_000, tick: func(int64) bool { return false }})
	return in.solution(&p, offset), finished
}

// PackByEjections places the buffers of p, which lie at offset 0 at first, with so many ejections at most.
func PackByEjections(p Problem, limit int64, ejections int) (s *Solution, packed bool) {
	in, err := newInstance(&p, func(int64) {})
	if err != nil {
		return nil, false
	}
	offset, free := make([]int64, len(in.items)), []int32{}
	for i := range in.items {
		if offset[i] = max(0, in.items[i].pinned); in.items[i].pinned < 0 {
			free = append(free, int32(i))
		}
	}
	e := newSolver(&p, Options{}).newEjector(in, offset)
	e.limit = limit
	packed = e.place(ejections, free...)
	return in.solution(&p, e.ground.offset), packed
}

// solution of one space.
func (in *instance) solution(p *Problem, offset []int64) *Solution {
	s := in.spread(p, offset)
	s.Space = make([]int, len(p.Buffers))
	bound := in.lowerBound(in.load(), func() bool { return false })
	s.Frames = []SpaceResult{{Bytes: in.frame(offset), LowerBound: bound}}
	return s
}

// Bands orders what is alive in a section. It counts the holes that there are when half of it has ended, in both
// directions, also for the order by life.
func Bands(p Problem, section int32, seed uint64) (stack map[int32]bool, holes, before [2]int) {
	in, err := newInstance(&p, func(int64) {})
	if err != nil {
		return nil, holes, before
	}
	list := in.within(span{section, section + 1})
	slices.SortFunc(list, func(a, b int32) int {
		x, y := &in.items[a], &in.items[b]
		return cmp.Compare(y.end-y.first, x.end-x.first)
	})
	before = in.holes(list)
	in.band(list, seed)
	stack = map[int32]bool{}
	for _, i := range list {
		stack[i] = true
	}
	return stack, in.holes(list), before
}

// holes of a stack when half of it has ended, in each direction.
func (in *instance) holes(stack []int32) (count [2]int) {
	for d := range count {
		ends := make([]int32, len(stack))
		for k, i := range stack {
			ends[k] = in.when(i, d == 1).end
		}
		half := slices.Sorted(slices.Values(ends))[len(ends)/2]
		for k := range ends {
			if ends[k] < half && (k == 0 || ends[k-1] >= half) {
				count[d]++
			}
		}
	}
	return count
}
