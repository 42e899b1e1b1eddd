// Package check says whether a placement is right. It shares no code with the
// solver and is as plain as it can be: every pair of buffers that are alive at one
// time in one space is looked at.
package check

import (
	"fmt"
	"slices"
	"sort"

	"tlruntime/runtime/offsets"
)

// Solution reports the first thing that is wrong with a placement of p, nil when
// nothing is. p must be one that offsets.Solve accepts. Whether a bound or a proof
// is true is not checked, only that they agree with the placement.
//
// It takes time in the square of the buffers that are alive at once. Safe for
// concurrent use.
func Solution(p offsets.Problem, s *offsets.Solution) error {
	if len(s.Offsets) != len(p.Buffers) || len(s.Space) != len(p.Buffers) {
		return fmt.Errorf("%d offsets and %d spaces for %d buffers", len(s.Offsets), len(s.Space), len(p.Buffers))
	}
	if want := max(1, len(p.Spaces)); len(s.Frames) != want {
		return fmt.Errorf("%d frames for %d spaces", len(s.Frames), want)
	}
	for i := range p.Buffers {
		if err := single(p, s, i); err != nil {
			return fmt.Errorf("buffer %d (%q): %w", i, p.Buffers[i].Name, err)
		}
	}
	if err := frames(p, s); err != nil {
		return err
	}
	return overlaps(p, s)
}

// single looks at one buffer alone.
func single(p offsets.Problem, s *offsets.Solution, i int) error {
	b, at, space := &p.Buffers[i], s.Offsets[i], s.Space[i]
	switch {
	case space < 0 || space >= len(s.Frames):
		return fmt.Errorf("lies in space %d of %d", space, len(s.Frames))
	case at < 0:
		return fmt.Errorf("lies at offset %d", at)
	case b.Alignment > 1 && at%b.Alignment != 0:
		return fmt.Errorf("lies at offset %d, its alignment is %d", at, b.Alignment)
	case !b.Alias && len(p.Spaces) > 0 && p.Spaces[space].Alignment > 1 && at%p.Spaces[space].Alignment != 0:
		return fmt.Errorf("lies at offset %d of space %d, whose alignment is %d", at, space, p.Spaces[space].Alignment)
	case b.Pinned && at != b.Offset:
		return fmt.Errorf("lies at offset %d and is pinned at %d", at, b.Offset)
	case b.Alias && (space != s.Space[b.Base] || at != s.Offsets[b.Base]+b.BaseOffset):
		return fmt.Errorf("lies at offset %d of space %d, %d bytes into buffer %d is offset %d of space %d",
			at, space, b.BaseOffset, b.Base, s.Offsets[b.Base]+b.BaseOffset, s.Space[b.Base])
	case len(b.Spaces) > 0 && !slices.Contains(b.Spaces, space):
		return fmt.Errorf("lies in space %d and may lie in %v", space, b.Spaces)
	}
	return pinnedSpace(p, s, i)
}

// pinnedSpace holds a pinned buffer to the first space of what it lies in.
func pinnedSpace(p offsets.Problem, s *offsets.Solution, i int) error {
	if !p.Buffers[i].Pinned {
		return nil
	}
	first := 0
	if spaces := p.Buffers[root(p, i)].Spaces; len(spaces) > 0 {
		first = spaces[0]
	}
	if s.Space[i] != first {
		return fmt.Errorf("lies in space %d and is pinned in space %d", s.Space[i], first)
	}
	return nil
}

// root follows the aliases of a buffer.
func root(p offsets.Problem, i int) int {
	for p.Buffers[i].Alias {
		i = p.Buffers[i].Base
	}
	return i
}

// frames looks at what is said about each space.
func frames(p offsets.Problem, s *offsets.Solution) error {
	ends := make([]int64, len(s.Frames))
	for i, b := range p.Buffers {
		ends[s.Space[i]] = max(ends[s.Space[i]], s.Offsets[i]+b.Bytes)
	}
	for k, f := range s.Frames {
		switch {
		case f.Bytes != ends[k]:
			return fmt.Errorf("space %d: the frame is given as %d bytes, the highest buffer ends at %d", k, f.Bytes,
				ends[k])
		case f.LowerBound > f.Bytes:
			return fmt.Errorf("space %d: the frame has %d bytes, its lower bound is given as %d", k, f.Bytes,
				f.LowerBound)
		case s.Optimal && f.LowerBound != f.Bytes:
			return fmt.Errorf("space %d: called optimal with a frame of %d bytes and a lower bound of %d", k, f.Bytes,
				f.LowerBound)
		case len(p.Spaces) > 0 && p.Spaces[k].Capacity > 0 && f.Bytes > p.Spaces[k].Capacity:
			return fmt.Errorf("space %d: the frame has %d bytes, the capacity is %d", k, f.Bytes, p.Spaces[k].Capacity)
		}
	}
	return nil
}

// group is a buffer that is no alias, with everything inside it.
type group struct {
	root  int
	alive []offsets.Interval
}

// overlaps looks at every pair of groups.
func overlaps(p offsets.Problem, s *offsets.Solution) error {
	list := groups(p)
	sort.Slice(list, func(i, j int) bool { return list[i].alive[0].First < list[j].alive[0].First })
	for k, a := range list {
		end := a.alive[len(a.alive)-1].End
		for _, b := range list[k+1:] {
			if b.alive[0].First >= end {
				break
			}
			if s.Space[a.root] != s.Space[b.root] || !share(p, s, a.root, b.root) {
				continue
			}
			if step, both := together(a, b); both {
				return fmt.Errorf("buffers %d (%q) and %d (%q) share bytes in step %d", a.root, p.Buffers[a.root].Name,
					b.root, p.Buffers[b.root].Name, step)
			}
		}
	}
	return nil
}

func share(p offsets.Problem, s *offsets.Solution, i, j int) bool {
	a, b, x, y := s.Offsets[i], s.Offsets[j], &p.Buffers[i], &p.Buffers[j]
	return a < b+y.Bytes && b < a+x.Bytes && x.Bytes > 0 && y.Bytes > 0
}

// together finds a step in which both are alive.
func together(a, b group) (int64, bool) {
	for _, x := range a.alive {
		for _, y := range b.alive {
			if x.First < y.End && y.First < x.End {
				return max(x.First, y.First), true
			}
		}
	}
	return 0, false
}

func groups(p offsets.Problem) []group {
	members := make([][]int, len(p.Buffers))
	for i := range p.Buffers {
		r := root(p, i)
		members[r] = append(members[r], i)
	}
	list := []group{}
	for r, m := range members {
		if len(m) > 0 {
			list = append(list, group{r, alive(p, m)})
		}
	}
	return list
}

// alive cuts the time of a group wherever one of its members, or a gap of one,
// begins or ends, and keeps the pieces in which the group is needed.
func alive(p offsets.Problem, members []int) []offsets.Interval {
	cuts := []int64{}
	for _, i := range members {
		b := p.Buffers[i]
		cuts = append(cuts, b.First, b.End)
		for _, g := range b.Gaps {
			cuts = append(cuts, g.First, g.End)
		}
	}
	slices.Sort(cuts)
	list := []offsets.Interval{}
	for k := 1; k < len(cuts); k++ {
		if cuts[k-1] < cuts[k] && needed(p, members, cuts[k-1]) {
			list = append(list, offsets.Interval{First: cuts[k-1], End: cuts[k]})
		}
	}
	return list
}

// needed says whether a group holds its bytes in a step between its first and its
// last: a member is alive, or none is and no gap says that the bytes may go.
func needed(p offsets.Problem, members []int, step int64) bool {
	inGap := false
	for _, i := range members {
		b := p.Buffers[i]
		gap := slices.ContainsFunc(b.Gaps, func(g offsets.Interval) bool { return g.First <= step && step < g.End })
		if b.First <= step && step < b.End && !gap {
			return true
		}
		inGap = inGap || gap
	}
	return !inGap
}
