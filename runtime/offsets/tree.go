package offsets

import (
	"cmp"
	"slices"
)

// tree answers whether a set of items fits below a limit, by branch and bound.
//
// Its state is the set of unplaced items, each with the lowest offset (floor) that
// is still possible for it; nothing else is remembered of what is placed. A
// placement is canonical when no item can go lower with the others where they are,
// and if there is a placement at all there is a canonical one. In it, item b lies
// at its floor, or on top of another unplaced one. So there are two branches:
//
//   - b lies at its floor. Only an item is tried under which nothing else fits, so
//     every other unplaced item that it conflicts with goes above it.
//   - b does not: its floor is at least the smallest floor + size of the unplaced
//     items that it conflicts with.
//
// After each branch every section that it touched is looked at again: the bytes
// still to be placed must fit between its lowest floor and the limit, and an item
// that cannot be the lowest of them rests on another (the not-first rule of
// disjunctive scheduling: a section is a machine, offsets are its time). Where no
// unplaced item crosses from one section to the next, the two sides are searched
// apart. States that failed are remembered.
//
// Canonical placements, inference by section, dominance and decomposition are from
// Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated
// Machine Learning", ASPLOS 2023; not-first from Carlier and Pinson, "An algorithm
// for solving the job-shop problem", 1989; restarts after Luby, Sinclair and
// Zuckerman, "Optimal speedup of Las Vegas algorithms", 1993.
type tree struct {
	in     *instance
	limit  int64
	offset []int64 // of what is placed
	floor  []int64 // of what is not
	size   []int64
	at     [][]int32 // unplaced items by section
	near   [][]int32 // items in conflict, by item
	next   []int32   // a later item equal to this one, which goes above it; -1 when there is none
	pins   [][]block // by section, nil when nothing is pinned
	walls  [][]block // by item, beside pins
	states []state   // by section
	cross  []int32   // unplaced items alive on both sides of the start of a section
	hash   []digest  // by section: of the unplaced items whose life begins in it
	score  []int64   // which of several candidates is tried first: the largest

	placed  []int32 // trail of place
	done    []bool  // by item: placed, or pinned
	floors  []oldFloor
	olds    []oldState
	queue   []int32 // sections to look at again
	queued  []bool
	failed  bool
	calm    bool      // look raises nothing
	support []support // cache of candidate

	seen   map[digest]struct{} // states that failed below limit
	left   int64               // nodes until the search is cut off
	nodes  int64
	clock  int64                  // stamps support
	tick   func(units int64) bool // counts work, and says whether to stop
	work   int64                  // units since tick was called last
	lowest bool                   // candidates are compared by their floors first
}

// state is what one section's unplaced items allow.
type state struct {
	bytes  int64 // their sum
	low    int64 // the lowest floor; none when all are placed
	top    int64 // the lowest floor + size, that of item lowest,
	second int64 // and the lowest without it
	lowest int32
	firsts int32 // how many can be the lowest
}

// none is above every offset.
const none = int64(1) << 62

// maxSeen bounds the memory for failed states.
const maxSeen = 1 << 20

type (
	digest   [2]uint64
	oldFloor struct {
		item  int32
		floor int64
	}
	oldState struct {
		section int32
		state   state
	}
	mark    struct{ placed, floors, olds int }
	support struct {
		clock int64
		free  bool
	}
)

func newTree(in *instance) *tree {
	n, sections := len(in.items), in.sections
	s := &tree{in: in, offset: make([]int64, n), floor: make([]int64, n), size: make([]int64, n),
		at:   make([][]int32, sections),
		near: make([][]int32, n), next: make([]int32, n), states: make([]state, sections), cross: make([]int32,
			sections+1),
		done: make([]bool, n), hash: make([]digest, sections), score: make([]int64, n), queued: make([]bool, sections),
		support: make([]support, n)}
	s.pin()
	for i := range in.items {
		it := &in.items[i]
		s.next[i], s.size[i] = -1, it.size
		if it.pinned >= 0 {
			s.offset[i], s.done[i] = it.pinned, true
			continue
		}
		in.each(it, func(t int32) {
			s.at[t] = append(s.at[t], int32(i))
			s.states[t].bytes += it.size
		})
		for t := it.first + 1; t < it.end; t++ {
			s.cross[t]++
		}
	}
	s.meet()
	return s
}

// each calls visit with the sections in which it is alive.
func (in *instance) each(it *item, visit func(t int32)) {
	for _, part := range in.spans(it) {
		for t := part.first; t < part.end; t++ {
			visit(t)
		}
	}
}

// meet fills near and next, and puts every item on its lowest floor.
func (s *tree) meet() {
	s.neighbours()
	for i := range s.in.items {
		it := &s.in.items[i]
		for _, x := range s.near[i] {
			if x > int32(i) && (s.next[i] < 0 || x < s.next[i]) && it.twin(&s.in.items[x]) {
				s.next[i] = x
			}
		}
	}
	for i := range s.in.items {
		if it := &s.in.items[i]; it.pinned < 0 {
			s.floor[i] = s.skipPins(int32(i), it.up(0))
			s.stir(int32(i))
		}
	}
}

// neighbours fills near, with a sweep over the free items by their first sections.
func (s *tree) neighbours() {
	order := make([]int32, 0, len(s.in.items))
	for i := range s.in.items {
		if s.in.items[i].pinned < 0 {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.in.items[a].first, s.in.items[b].first), cmp.Compare(a, b))
	})
	for k, i := range order {
		it := &s.in.items[i]
		for _, x := range order[k+1:] {
			other := &s.in.items[x]
			if other.first >= it.end {
				break
			}
			if it.holes|other.holes == 0 || s.in.conflict(it, other) {
				s.near[i], s.near[x] = append(s.near[i], x), append(s.near[x], i)
			}
		}
	}
}

// twin says whether two free items are the same but for their names.
func (it *item) twin(other *item) bool {
	return it.span == other.span && it.size == other.size && it.mask == other.mask && it.residue == other.residue &&
		it.holes|other.holes == 0 && it.bars == other.bars
}

// ask says whether everything fits below limit: found, with the offsets; or not,
// and then whether that is proved, or the search was cut off after nodes.
func (s *tree) ask(limit, nodes int64) (found, proved bool) {
	if limit != s.limit || len(s.seen) > maxSeen {
		s.seen = map[digest]struct{}{}
	}
	s.limit, s.left = limit, nodes
	s.undo(mark{})
	for t := range s.states {
		s.touch(int32(t))
	}
	for i := range s.in.items {
		if it := &s.in.items[i]; it.pinned >= 0 && it.pinned+it.size > limit {
			return false, true
		}
		s.failed = s.failed || s.in.items[i].pinned < 0 && s.floor[i]+s.in.items[i].size > limit
	}
	if s.propagate() && s.search(0, int32(s.in.sections)) {
		return true, false
	}
	return false, s.left >= 0
}

// search places what is unplaced in the sections [from, to), part by part.
func (s *tree) search(from, to int32) bool {
	for from < to {
		if s.states[from].low == none {
			from++
			continue
		}
		end := from + 1
		for end < to && s.cross[end] > 0 {
			end++
		}
		if !s.part(from, end) {
			return false
		}
		from = end
	}
	return true
}

// part searches sections that hang together, unless it did so before in vain.
func (s *tree) part(from, to int32) bool {
	key := s.digest(from, to)
	if _, known := s.seen[key]; known {
		return false
	}
	start := s.mark()
	if s.branch(from, to) {
		return true
	}
	s.undo(start)
	if s.left >= 0 && !s.in.lacks(PartMemory) {
		s.seen[key] = struct{}{}
	}
	return false
}

// branch takes one item after the other: at its floor, and if that fails, not there.
func (s *tree) branch(from, to int32) bool {
	for {
		s.nodes++
		s.left--
		if s.left < 0 {
			s.left = -1
			return false
		}
		b := s.choose(from, to)
		start := s.mark()
		s.place(b)
		if s.propagate() && s.search(from, to) {
			return true
		}
		s.undo(start)
		if s.left < 0 {
			return false
		}
		s.raise(b, s.rest(b))
		if !s.propagate() {
			return false
		}
	}
}

// choose takes, in the section with the fewest items that can be its lowest, the
// one with the best score of those under which nothing else fits. The item with
// the lowest top of all is one, so there is always a choice.
func (s *tree) choose(from, to int32) int32 {
	if s.lowest {
		return s.chooseLowest(from, to)
	}
	s.clock++
	s.work += int64(to - from)
	best, section := int32(-1), int32(-1)
	for t := from; t < to; t++ {
		if now := &s.states[t]; now.low == none || section >= 0 && !now.tighter(&s.states[section]) {
			continue
		}
		if b := s.candidate(t); b >= 0 {
			best, section = b, t
		}
	}
	return best
}

// tighter orders sections: fewer choices first, then less room to waste.
func (a *state) tighter(b *state) bool {
	if a.firsts != b.firsts {
		return a.firsts < b.firsts
	}
	return a.low+a.bytes > b.low+b.bytes
}

// candidate is the best item of a section to try at its floor, -1 for none.
func (s *tree) candidate(t int32) int32 {
	best := int32(-1)
	room := s.limit - s.states[t].bytes
	s.work += int64(len(s.at[t]))
	for _, b := range s.at[t] {
		if s.floor[b] > room || best >= 0 && s.score[b] <= s.score[best] {
			continue
		}
		cached := &s.support[b]
		if cached.clock != s.clock {
			*cached = support{s.clock, s.rest(b) > s.floor[b]}
		}
		if cached.free {
			best = b
		}
	}
	return best
}

// rest is the lowest offset at which b can lie on another unplaced item.
func (s *tree) rest(b int32) int64 {
	lowest := none
	it := &s.in.items[b]
	s.work += int64(it.end - it.first)
	for _, part := range s.in.spans(it) {
		for t := part.first; t < part.end; t++ {
			lowest = min(lowest, s.states[t].without(b))
		}
	}
	return lowest
}

// without is the lowest top of the others.
func (a *state) without(b int32) int64 {
	if a.lowest == b {
		return a.second
	}
	return a.top
}

// digest identifies the unplaced items of a part and their floors.
func (s *tree) digest(from, to int32) digest {
	sum := digest{uint64(from)<<32 | uint64(to)}
	for _, h := range s.hash[from:to] {
		sum[0] += h[0]
		sum[1] += h[1]
	}
	return sum
}

// stir adds or, called again, takes away item b at its floor.
func (s *tree) stir(b int32) {
	x := uint64(s.floor[b])*0x9e3779b97f4a7c15 + uint64(b)
	h := &s.hash[s.in.items[b].first]
	h[0] ^= scramble(x)
	h[1] ^= scramble(x ^ 0x5851f42d4c957f2d)
}

// scramble is the finaliser of splitmix64 (Steele, Lea and Flood, 2014).
func scramble(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
