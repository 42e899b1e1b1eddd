package offsets

// draft is a complete placement in one space.
type draft struct {
	offset []int64
	frame  int64
	bound  int64 // proved
	method string
}

const (
	// fewItems may have every rule tried; more of them only until one is good.
	fewItems = 50_000
	// goodEnough is the reciprocal of the gap at which large inputs are left alone.
	goodEnough = 200
)

// pack places an instance in one space: by rules, by repair of what sticks out, and
// by search when it is granted.
func (s *solver) pack(in *instance) *draft {
	load := in.load()
	d := &draft{bound: in.lowerBound(load)}
	offset := make([]int64, len(in.items))
	ground := newShelf(in, offset)
	for k := range rules {
		if !s.tryRule(in, ground, &rules[k], load, d) {
			break
		}
	}
	if !s.done(d) {
		s.improve(in, d)
	}
	return d
}

// done says that d needs no more work.
func (s *solver) done(d *draft) bool { return d.frame <= max(d.bound, s.target) }

// tryRule places by one rule, keeps the result if it is the best, and says whether
// another rule is worth its time.
func (s *solver) tryRule(in *instance, ground *shelf, r *rule, load []int64, d *draft) bool {
	ground.reset()
	for _, i := range in.order(r, load) {
		it := &in.items[i]
		ground.offset[i] = it.pinned
		if it.pinned < 0 {
			ground.offset[i] = ground.lowest(it)
		}
		ground.put(i)
	}
	s.spend(1)
	if d.offset == nil || ground.frame < d.frame {
		d.offset = append(d.offset[:0], ground.offset...)
		d.frame, d.method = ground.frame, r.name
	}
	if len(in.items) > fewItems && d.frame-d.bound <= d.bound/goodEnough {
		return false
	}
	return !s.done(d)
}
