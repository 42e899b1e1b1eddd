package offsets

import (
	"fmt"
	"slices"
)

// alive appends the intervals in which b itself is alive, in order.
func (b *Buffer) alive(to []Interval) []Interval {
	if len(b.Gaps) == 0 {
		return append(to, Interval{b.First, b.End})
	}
	from := b.First
	for _, g := range sortedGaps(b.Gaps) {
		if g.First > from {
			to = append(to, Interval{from, g.First})
		}
		from = max(from, g.End)
	}
	if from < b.End {
		to = append(to, Interval{from, b.End})
	}
	return to
}

func sortedGaps(gaps []Interval) []Interval {
	if slices.IsSortedFunc(gaps, byFirst) {
		return gaps
	}
	gaps = slices.Clone(gaps)
	slices.SortFunc(gaps, byFirst)
	return gaps
}

func byFirst(a, b Interval) int {
	switch {
	case a.First < b.First:
		return -1
	case a.First > b.First:
		return 1
	}
	return 0
}

// forest says where each buffer lies: at shift bytes in the buffer root, which is
// no alias.
type forest struct {
	root  []int32
	shift []int64
}

// aliases resolves the chains of p; nil when there is no alias.
func aliases(p *Problem, w watch) (*forest, error) {
	if !some(p.Buffers, func(b *Buffer) bool { return b.Alias }) {
		return nil, nil
	}
	f := &forest{root: make([]int32, len(p.Buffers)), shift: make([]int64, len(p.Buffers))}
	for i := range f.root {
		f.root[i] = -1
	}
	chain := []int32{}
	for i := range p.Buffers {
		if err := f.resolve(p, i, chain[:0]); err != nil {
			return nil, err
		}
		w(unitsOfVisit)
	}
	return f, nil
}

// resolve follows the chain of buffer i up to what is known, and comes back down.
func (f *forest) resolve(p *Problem, i int, chain []int32) error {
	const onChain = -2
	at := i
	for f.root[at] == -1 && p.Buffers[at].Alias {
		f.root[at] = onChain
		chain = append(chain, int32(at))
		at = p.Buffers[at].Base
	}
	if f.root[at] == onChain {
		return &InputError{Buffer: at, Name: p.Buffers[at].Name,
			Reason: "it is an alias of itself through its bases; one buffer of the cycle must be no alias"}
	}
	if !p.Buffers[at].Alias {
		f.root[at] = int32(at)
	}
	for _, member := range slices.Backward(chain) {
		b, base := &p.Buffers[member], p.Buffers[member].Base
		if inside := p.Buffers[base].Bytes; b.BaseOffset > inside || b.Bytes > inside-b.BaseOffset {
			return &InputError{Buffer: int(member), Name: b.Name,
				Reason: fmt.Sprintf("it takes the bytes [%d, %d) of buffer %d%s, which has %d; make the base larger or "+
					"the "+
					"alias smaller", b.BaseOffset, b.BaseOffset+b.Bytes, base, quoted(p.Buffers[base].Name), inside)}
		}
		f.root[member] = f.root[base]
		f.shift[member] = f.shift[base] + b.BaseOffset
	}
	return nil
}

// lifetime appends when a base is needed: from the first to the last step in which a
// member is alive, except where a member's gap covers steps in which none is.
func (in *instance) lifetime(p *Problem, members []int32, to []Interval) []Interval {
	if len(members) == 1 {
		return p.Buffers[members[0]].alive(to)
	}
	alive, gaps := []Interval{}, []Interval{}
	for _, i := range members {
		alive = p.Buffers[i].alive(alive)
		gaps = append(gaps, p.Buffers[i].Gaps...)
	}
	alive, gaps = in.union(alive), in.union(gaps)
	return append(to, withoutHoles(alive, gaps)...)
}

// union sorts and joins what touches.
func (in *instance) union(list []Interval) []Interval {
	sortBy(list, in.watch, byFirst)
	return join(list)
}

// withoutHoles fills the holes between alive intervals where no gap allows them.
func withoutHoles(alive, gaps []Interval) []Interval {
	out := alive[:1:1]
	for _, next := range alive[1:] {
		hole := Interval{out[len(out)-1].End, next.First}
		for len(gaps) > 0 && gaps[0].End <= hole.First {
			gaps = gaps[1:]
		}
		for k := 0; k < len(gaps) && gaps[k].First < hole.End; k++ {
			open := Interval{max(gaps[k].First, hole.First), min(gaps[k].End, hole.End)}
			out = append(out, Interval{hole.First, open.First})
			hole.First = open.End
		}
		out = append(out, Interval{hole.First, next.End})
	}
	return join(out)
}

// join drops what is empty and joins what touches; list is sorted.
func join(list []Interval) []Interval {
	out := list[:0]
	for _, x := range list {
		if n := len(out); n > 0 && x.First <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
		} else if x.First < x.End {
			out = append(out, x)
		}
	}
	return out
}
