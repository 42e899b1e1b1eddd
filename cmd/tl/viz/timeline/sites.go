package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// site sums up what one place in the program has allocated.
type site struct {
	Name  string
	Place string   // the beginning of the name: file and line, where they are known
	Rest  string   // of the name
	Stack []string // of the first allocation, with all that the file has
	Figures

	code  []frame
	calls []string // the texts of code
}

// Figures are what pages tell of a site.
type Figures struct {
	Peak  int64 // bytes live when most was live in all
	End   int64 // bytes live at the end
	Count int
	Bytes int64 // of all
}

// add counts a block.
func (f *Figures) add(b *Block, when float64) {
	f.Count++
	f.Bytes += int64(b.Bytes)
	if b.First <= when && (b.End > when || !b.Freed) {
		f.Peak += int64(b.Bytes)
	}
	if !b.Freed {
		f.End += int64(b.Bytes)
	}
}

// sites returns the sites, those that held most at the peak first, and the number in
// that list of each site of the file. Sites that differ only in what is left out of
// stacks are one.
func (t *Trace) sites(when float64) (list []site, number map[uint32]int) {
	sums, of := map[string]*site{}, map[uint32]*site{}
	for _, b := range t.Blocks {
		s := of[b.Site]
		if s == nil {
			s = t.siteOf(b.Site, sums)
			of[b.Site] = s
		}
		s.add(b, when)
	}
	all := slices.Collect(maps.Values(sums))
	name(all)
	slices.SortFunc(all, func(x, y *site) int {
		return cmp.Or(cmp.Compare(y.Peak, x.Peak), cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name),
			slices.Compare(x.calls, y.calls))
	})
	place := map[*site]int{}
	for n, s := range all {
		place[s] = n
		list = append(list, *s)
	}
	number = map[uint32]int{}
	for id, s := range of {
		number[id] = place[s]
	}
	return list, number
}

// siteOf returns the sum to which a site of the file belongs.
func (t *Trace) siteOf(id uint32, sums map[string]*site) *site {
	n := &site{code: t.code(id)}
	for i := range n.code {
		n.calls = append(n.calls, n.code[i].text())
	}
	key := strings.Join(n.calls, "\n")
	if key == "" {
		key = fmt.Sprint(id) // its stack is not known, but it is not another's
	}
	if s := sums[key]; s != nil {
		return s
	}
	n.Stack = t.Stack(id)
	sums[key] = n
	return n
}

// name gives sites their names: file, line and function, and of those that share them as
// many callers as tell them apart.
func name(all []*site) {
	for _, s := range all {
		s.Name = notRecorded
		if len(s.calls) > 0 {
			s.Name, s.Place = s.calls[0], s.code[0].place()
		}
	}
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
	for _, s := range all {
		s.Rest = strings.TrimPrefix(s.Name, s.Place)
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
