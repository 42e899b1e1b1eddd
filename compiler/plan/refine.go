package plan

import (
	"maps"
	"slices"
)

// refineTries bounds how many layouts refine looks at. refineSteps bounds how many steps these
// have in all, and refinePairs how many pairs of values they compare: the parts of a Concat are
// compared with each other. fewestTries are made however many steps there are.
const (
	refineTries = 400
	refineSteps = 60000
	refinePairs = 4_000_000
	fewestTries = 16
)

// tries is how many more layouts refine may look at after the first one.
func (l *layout) tries() int {
	n := max(min(refineTries, refineSteps/max(len(l.steps), 1)), fewestTries)
	return min(n, refinePairs/max(l.compared, 1))
}

// score ranks layouts: by the highest number of live bytes, then by how many steps
// reach it.
type score struct {
	peak  int64
	steps int
	at    int // the first step that reaches it; no part of the rank
}

func (s score) less(t score) bool {
	return s.peak < t.peak || s.peak == t.peak && s.steps < t.steps
}

func (l *layout) score(o *Options) score {
	var s score
	for k, bytes := range l.lifetimes(o) {
		switch {
		case bytes > s.peak:
			s = score{peak: bytes, steps: 1, at: k - 1}
		case bytes == s.peak:
			s.steps++
		}
	}
	return s
}

// move keeps one thing apart, or all parts of a Concat.
type move struct {
	kind     moveKind
	node     int
	argument int // of a Concat
}

type moveKind uint8

const (
	apartInPlace moveKind = iota
	apartView
	apartPart
	apartConcat
)

func (a *apartness) with(m move) *apartness {
	b := &apartness{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[[2]int]bool{}}
	maps.Copy(b.inPlace, a.inPlace)
	maps.Copy(b.views, a.views)
	maps.Copy(b.concats, a.concats)
	maps.Copy(b.parts, a.parts)
	switch m.kind {
	case apartInPlace:
		b.inPlace[m.node] = true
	case apartView:
		b.views[m.node] = true
	case apartConcat:
		b.concats[m.node] = true
	case apartPart:
		b.parts[[2]int{m.node, m.argument}] = true
	}
	return b
}

// refine looks for what is better kept apart. Sharing saves memory as a rule, but a
// small view keeps its large base alive, and the parts of a Concat take the memory
// of the whole from the first one on. It walks downhill: of all that is shared by
// what is alive where most bytes are, it keeps apart what lowers the score most,
// until nothing does.
func refine(p *program, o *Options) *layout {
	best := newLayout(p, &apartness{})
	rank := best.score(o)
	for tries := best.tries(); tries > 0; {
		next, nextRank := best, rank
		for _, m := range best.moves(rank.at) {
			if tries--; tries < 0 || o.Late() {
				break
			}
			l := newLayout(p, best.apart.with(m))
			if s := l.score(o); s.less(nextRank) {
				next, nextRank = l, s
			}
		}
		if next == best {
			break
		}
		best, rank = next, nextRank
	}
	return best
}

// moves lists what is shared by the storages that are alive at a step.
func (l *layout) moves(step int) []move {
	var list []move
	seen := map[move]bool{}
	for i := range l.storages {
		root := l.root(i)
		if root.first > step || root.last < step {
			continue
		}
		st := &l.storages[i]
		if st.parent >= 0 {
			list = append(list, move{apartConcat, st.part[0], 0}, move{apartPart, st.part[0], st.part[1]})
		}
		for _, v := range st.members {
			list = l.movesOf(v, root, list)
		}
	}
	return slices.DeleteFunc(list, func(m move) bool {
		again := seen[m]
		seen[m] = true
		return again
	})
}

// movesOf appends what could keep v apart from the rest of its storage. Values of
// one size in a chain are left alone: apart they take no less.
func (l *layout) movesOf(v int, root *storage, list []move) []move {
	k := l.born[v]
	if k < 0 || l.c.Values[v].Bytes() == root.bytes {
		return list
	}
	switch {
	case l.over[v] >= 0:
		return append(list, move{apartInPlace, l.steps[k].node, 0})
	case l.steps[k].role == shows && len(l.copies[k]) == 0:
		return append(list, move{apartView, l.steps[k].node, 0})
	}
	return list
}
