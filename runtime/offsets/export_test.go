package offsets

import "time"

// SetClock replaces the clock until the function that it returns is called.
func SetClock(clock func() time.Time) (restore func()) {
	before := now
	now = clock
	return func() { now = before }
}

// SweepOutwards places the buffers of p by one outward sweep, with a limit that may rise up to most if that is not 0.
// It says how many lie above the limit, and whether it came to the end.
func SweepOutwards(p Problem, limit, most int64, turn int) (s *Solution, lost int, finished bool) {
	in, err := newInstance(&p, func(int64) {})
	if err != nil {
		return nil, 0, false
	}
	offset := make([]int64, len(in.items))
	lost, finished = in.outwards(offset, sweeping{taste: tastes[turn%len(tastes)], below: limit, most: most,
		seed: uint64(turn), grant: 1_000_000, tick: func(int64) bool { return false }})
	s = in.spread(&p, offset)
	s.Space = make([]int, len(p.Buffers))
	bound := in.lowerBound(in.load(), func() bool { return false })
	s.Frames = []SpaceResult{{Bytes: in.frame(offset), LowerBound: bound}}
	return s, lost, finished
}
