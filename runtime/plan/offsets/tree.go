package offsets

// proto
type tree struct {
	in    *instance
	limit int64 // capacity: what is asked is a frame of so many bytes
	nodes int64
	max   int64
	stop  bool

	offset []int64
	placed []bool
	est    []int64
	at     [][]int32 // unplaced items by section
	adj    [][]int32
	rest   []int64
	low    []int64 // min est
	e1, e2 []int64
	i1     []int32
	first  []int32
	cross  []int32
	dirty  []bool
	queue  []int32
	failed bool
	score  []float64
	cand   []bool
	memo   map[[2]uint64]struct{}
	depth  int
	saved  [][]int64
	savedI [][]int32
	hits   int64
	trail  []int32
}

const far = int64(1) << 62

func newTree(in *instance, limit int64) *tree {
	n, T := len(in.items), in.sections
	s := &tree{in: in, limit: limit, offset: make([]int64, n), placed: make([]bool, n), est: make([]int64, n),
		at: make([][]int32, T), adj: make([][]int32, n), rest: make([]int64, T), low: make([]int64, T), e1: make([]int64, T), e2: make([]int64, T),
		i1: make([]int32, T), first: make([]int32, T), cross: make([]int32, T+1), dirty: make([]bool, T), score: make([]float64, n), cand: make([]bool, n),
		memo: map[[2]uint64]struct{}{}}
	for i := range in.items {
		it := &in.items[i]
		for _, p := range in.spans(it) {
			for t := p.first; t < p.end; t++ {
				s.at[t] = append(s.at[t], int32(i))
				s.rest[t] += it.size
			}
		}
		for t := it.first + 1; t < it.end; t++ {
			s.cross[t]++
		}
		s.est[i] = it.up(0)
		for j := range in.items {
			if i != j && in.conflict(it, &in.items[j]) {
				s.adj[i] = append(s.adj[i], int32(j))
			}
		}
	}
	for t := 0; t < T; t++ {
		s.touch(int32(t))
	}
	return s
}

func (s *tree) touch(t int32) {
	if !s.dirty[t] {
		s.dirty[t] = true
		s.queue = append(s.queue, t)
	}
}

func (s *tree) raise(b int32, to int64) {
	it := &s.in.items[b]
	to = it.up(to)
	if to <= s.est[b] {
		return
	}
	s.est[b] = to
	if to+it.size > s.limit {
		s.failed = true
		return
	}
	for _, p := range s.in.spans(it) {
		for t := p.first; t < p.end; t++ {
			s.touch(t)
		}
	}
}

func (s *tree) propagate() bool {
	for len(s.queue) > 0 && !s.failed {
		t := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		s.dirty[t] = false
		s.section(t)
	}
	if s.failed {
		for _, t := range s.queue {
			s.dirty[t] = false
		}
		s.queue = s.queue[:0]
		s.failed = false
		return false
	}
	return true
}

func (s *tree) section(t int32) {
	low, e1, e2, i1 := far, far, far, int32(-1)
	for _, b := range s.at[t] {
		if s.placed[b] {
			continue
		}
		est := s.est[b]
		low = min(low, est)
		e := est + s.in.items[b].size
		if e < e1 {
			e1, e2, i1 = e, e1, b
		} else if e < e2 {
			e2 = e
		}
	}
	s.low[t], s.e1[t], s.e2[t], s.i1[t] = low, e1, e2, i1
	if low == far {
		s.first[t] = 0
		return
	}
	if low+s.rest[t] > s.limit {
		s.failed = true
		return
	}
	first := int32(0)
	for _, b := range s.at[t] {
		if s.placed[b] {
			continue
		}
		if s.est[b]+s.rest[t] > s.limit {
			to := e1
			if b == i1 {
				to = e2
			}
			s.raise(b, to)
		} else {
			first++
		}
	}
	s.first[t] = first
}

func (s *tree) save() {
	if s.depth == len(s.saved) {
		s.saved = append(s.saved, make([]int64, len(s.est)+3*len(s.low)))
		s.savedI = append(s.savedI, make([]int32, 2*len(s.i1)))
	}
	x, y := s.saved[s.depth], s.savedI[s.depth]
	n := copy(x, s.est)
	n += copy(x[n:], s.low)
	n += copy(x[n:], s.e1)
	copy(x[n:], s.e2)
	n = copy(y, s.i1)
	copy(y[n:], s.first)
	s.depth++
}

func (s *tree) restore() {
	s.depth--
	x, y := s.saved[s.depth], s.savedI[s.depth]
	n := copy(s.est, x)
	n += copy(s.low, x[n:])
	n += copy(s.e1, x[n:])
	copy(s.e2, x[n:])
	n = copy(s.i1, y)
	copy(s.first, y[n:])
}

func (s *tree) place(b int32, sign int64) {
	it := &s.in.items[b]
	s.placed[b] = sign > 0
	for _, p := range s.in.spans(it) {
		for t := p.first; t < p.end; t++ {
			s.rest[t] -= sign * it.size
		}
	}
	for t := it.first + 1; t < it.end; t++ {
		s.cross[t] -= int32(sign)
	}
	if sign < 0 {
		return
	}
	s.trail = append(s.trail, b)
	s.offset[b] = s.est[b]
	for _, p := range s.in.spans(it) {
		for t := p.first; t < p.end; t++ {
			s.touch(t)
		}
	}
	for _, x := range s.adj[b] {
		if !s.placed[x] {
			s.raise(x, s.est[b]+it.size)
			if s.failed {
				return
			}
		}
	}
}

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *tree) key(lo, hi int32) [2]uint64 {
	h, g := uint64(lo)<<32|uint64(hi), uint64(0)
	for i := range s.est {
		it := &s.in.items[i]
		if s.placed[i] || it.first < lo || it.first >= hi {
			continue
		}
		v := uint64(s.est[i])*0x9e3779b97f4a7c15 + uint64(i+1)*0xd6e8feb86659fd93
		h += mix(v)
		g += mix(v + 0x1234567)
	}
	return [2]uint64{h, g}
}

func (s *tree) others(b int32) int64 {
	m := far
	for _, p := range s.in.spans(&s.in.items[b]) {
		for t := p.first; t < p.end; t++ {
			if s.i1[t] == b {
				m = min(m, s.e2[t])
			} else {
				m = min(m, s.e1[t])
			}
		}
	}
	return m
}

func (s *tree) choose(lo, hi int32) int32 {
	for t := lo; t < hi; t++ {
		for _, b := range s.at[t] {
			if s.in.items[b].first == t || t == lo {
				s.cand[b] = !s.placed[b] && s.others(b) > s.est[b]
			}
		}
	}
	best, bt := int32(-1), int32(-1)
	for t := lo; t < hi; t++ {
		if s.low[t] == far {
			continue
		}
		if bt >= 0 && (s.first[t] > s.first[bt] || s.first[t] == s.first[bt] && s.low[t]+s.rest[t] <= s.low[bt]+s.rest[bt]) {
			continue
		}
		c := int32(-1)
		for _, b := range s.at[t] {
			if !s.placed[b] && s.cand[b] && s.est[b]+s.rest[t] <= s.limit && (c < 0 || s.score[b] > s.score[c]) {
				c = b
			}
		}
		if c >= 0 {
			best, bt = c, t
		}
	}
	return best
}

// search: [lo,hi) all placed => true
func (s *tree) search(lo, hi int32) bool {
	// split
	for t := lo; t < hi; {
		if s.low[t] == far {
			t++
			continue
		}
		e := t + 1
		for e < hi && s.cross[e] > 0 {
			e++
		}
		if t > lo || e < hi {
			if !s.branch(t, e) {
				return false
			}
		} else {
			return s.branch(t, e)
		}
		t = e
	}
	return true
}

func (s *tree) branch(lo, hi int32) bool {
	key := s.key(lo, hi)
	if _, ok := s.memo[key]; ok {
		s.hits++
		return false
	}
	s.save()
	ok := s.try(lo, hi)
	if !ok {
		s.restore()
		if !s.stop {
			s.memo[key] = struct{}{}
		}
		return false
	}
	s.depth--
	return true
}

func (s *tree) try(lo, hi int32) bool {
	for {
		s.nodes++
		if s.nodes > s.max {
			s.stop = true
			return false
		}
		b := s.choose(lo, hi)
		if b < 0 {
			panic("none")
		}
		mark := len(s.trail)
		s.save()
		s.place(b, 1)
		if s.propagate() && s.search(lo, hi) {
			s.depth--
			return true
		}
		s.restore()
		s.unwind(mark)
		if s.stop {
			return false
		}
		s.raise(b, s.others(b))
		if !s.propagate() {
			return false
		}
	}
}

// unwind takes b and everything placed after it off again.
func (s *tree) unwind(mark int) {
	for len(s.trail) > mark {
		s.place(s.trail[len(s.trail)-1], -1)
		s.trail = s.trail[:len(s.trail)-1]
	}
}
