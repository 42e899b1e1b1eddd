package offsets

import "math"

// begun places the items in the order in which they lay from below, where the caller told that: nearly the same
// placement fits a problem that is nearly the same. Nothing else is done differently for it, so no answer gets worse:
// its steps are not counted, and nothing is built on it before what is done unasked has had its turn.
func (p *packing) begun() *draft {
	if p.start == nil {
		return nil
	}
	left, steps := p.left, p.steps
	p.tryRule(&rule{name: "warm start", key: func(_ *instance, _ *heights, it *item) (uint64, uint64) {
		at := p.start[it.buffer]
		if at < 0 {
			return 0, uint64(it.size)
		}
		return math.MaxUint64 - 1 - uint64(at), uint64(it.size)
	}})
	p.left, p.steps = left, steps
	d := p.d
	p.d = &draft{bound: d.bound}
	return d
}
