package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// site sums up what one place in the program has allocated.
type site struct {
	Name  string
	Stack []string
	Peak  int64 // bytes live when most was live in all
	End   int64 // bytes live at the end
	Count int
	Bytes int64 // of all

	calls []string // the stack in short
}

// sites returns the sites, those that held most at the peak first, and the number in
// that list of each site.
func (t *Trace) sites(when float64) (list []site, number map[uint32]int) {
	sums := map[uint32]*site{}
	for _, b := range t.Blocks {
		s := sums[b.Site]
		if s == nil {
			s = &site{Stack: t.Stack(b.Site)}
			sums[b.Site] = s
		}
		s.Count++
		s.Bytes += int64(b.Bytes)
		if b.First <= when && (b.End > when || !b.Freed) {
			s.Peak += int64(b.Bytes)
		}
		if !b.Freed {
			s.End += int64(b.Bytes)
		}
	}
	name(sums, t.frames)
	ids := slices.SortedFunc(maps.Keys(sums), func(a, b uint32) int {
		x, y := sums[a], sums[b]
		return cmp.Or(cmp.Compare(y.Peak, x.Peak), cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name),
			cmp.Compare(a, b))
	})
	number = map[uint32]int{}
	for n, id := range ids {
		number[id] = n
		list = append(list, *sums[id])
	}
	return list, number
}

// name gives sites their names: the innermost function, and of those that share it as
// many of its callers as tell them apart.
func name(sums map[uint32]*site, frames map[string]frame) {
	for id, s := range sums {
		s.calls = calls(id, frames)
		s.Name = "not recorded"
		if len(s.calls) > 0 {
			s.Name = s.calls[0]
		}
	}
	all := slices.Collect(maps.Values(sums))
	for depth := 1; depth < mostCallers; depth++ {
		for _, group := range groupedBy(all, func(s *site) string { return s.Name }) {
			callers := groupedBy(group, func(s *site) string { return s.caller(depth) })
			for _, s := range group {
				if s.caller(depth) != "" && (len(callers) > 1 || differLater(group, depth)) {
					s.Name += " ← " + s.caller(depth)
				}
			}
		}
	}
}

func (s *site) caller(depth int) string {
	if depth < len(s.calls) {
		return s.calls[depth]
	}
	return ""
}

func groupedBy(all []*site, key func(*site) string) map[string][]*site {
	groups := map[string][]*site{}
	for _, s := range all {
		groups[key(s)] = append(groups[key(s)], s)
	}
	return groups
}

// differLater tells whether callers further out, of those that a name may have, tell sites
// apart: those of a line that allocates twice have all in common.
func differLater(group []*site, depth int) bool {
	for d := depth + 1; d < mostCallers; d++ {
		for _, s := range group[1:] {
			if s.caller(d) != group[0].caller(d) {
				return true
			}
		}
	}
	return false
}

// mostCallers bounds the functions in a name.
const mostCallers = 6

// calls are the functions of a site in short: their lines without folders.
func calls(id uint32, frames map[string]frame) (all []string) {
	for f := range walk(id, frames) {
		text := f.Name
		if at := fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line); f.Line > 0 && text != at {
			text += " (" + at + ")"
		}
		all = append(all, text)
	}
	return all
}

// walk goes through the frames of a site, innermost first.
func walk(site uint32, frames map[string]frame) func(yield func(frame) bool) {
	return func(yield func(frame) bool) {
		id := strconv.Itoa(int(site))
		for range mostFrames {
			f, known := frames[id]
			if site == 0 || !known || !yield(f) {
				return
			}
			id = f.Parent
		}
	}
}

// mostFrames bounds a stack, which might be a ring in a file that others have changed.
const mostFrames = 64

// Stack returns the frames of a site, innermost first.
func (t *Trace) Stack(site uint32) (all []string) {
	for f := range walk(site, t.frames) {
		text := f.Name
		if f.File != "" && f.Line != 0 && !strings.HasSuffix(f.Name, ":"+strconv.Itoa(f.Line)) {
			text += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
		}
		all = append(all, text)
	}
	return all
}

// shown picks the sites of the table: those with the most bytes at the peak, at the end
// and in all, in the order that they have.
func shown(sites []site) (all []site) {
	const most, more = 16, 8
	picked := map[int]bool{}
	for i := range min(most, len(sites)) {
		picked[i] = true
	}
	for _, figure := range []func(*site) int64{func(s *site) int64 {
		return s.End
	}, func(s *site) int64 { return s.Bytes }} {
		order := make([]int, len(sites))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(figure(&sites[b]), figure(&sites[a])) })
		for _, i := range order[:min(more, len(order))] {
			if figure(&sites[i]) > 0 {
				picked[i] = true
			}
		}
	}
	for _, i := range slices.Sorted(maps.Keys(picked)) {
		all = append(all, sites[i])
	}
	return all
}
