package remat

import (
	"cmp"
	"slices"

	"tlruntime/compiler/graph"
)

// segments begins as Chen et al. (2016) do: of the buffers that are idle where most is alive every so many one
// stays, and the others are computed again from it, except for the last segment, which is needed first. The last
// are given up first: what is computed again from one that is given up later finds it computed again by then.
func (f *fitter) segments() error {
	e, err := f.draft(f.c)
	if err != nil {
		return err
	}
	l := newLive(f.c.Checked, e)
	worst := slices.Index(l.bytes, slices.Max(l.bytes))
	idle := l.idle(worst)
	slices.SortFunc(idle, func(a, b int) int { return cmp.Compare(l.touches[a][0], l.touches[b][0]) })
	names := make([]string, len(idle))
	for i, b := range idle {
		names[i] = f.c.Values[l.members[b][0]].Name
	}
	for i := len(names) - 1 - f.segment; i >= 0; i-- {
		if (len(names)-1-i)%f.segment == 0 || f.over() {
			continue
		}
		if e, err = f.draft(f.c); err != nil {
			return err
		}
		l = newLive(f.c.Checked, e)
		v := slices.IndexFunc(f.c.Values, func(v graph.TypedValue) bool { return v.Name == names[i] })
		if b := l.buffer[v]; b >= 0 && slices.Contains(l.idle(worst), b) {
			if x := f.c.giveUp(l, b, worst, 1); x != nil {
				f.c.apply(x)
			}
		}
	}
	return nil
}
