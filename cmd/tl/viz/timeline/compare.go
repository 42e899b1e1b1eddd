package timeline

import (
	"cmp"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Comparison is what changed from one trace to another.
type Comparison struct {
	Before, After *Trace
	Was, Is       Figures  // of all sites
	Sites         []Change // those with a difference, the largest first
	Same          int      // sites without one

	tree *flameData
}

// Change is a site in two traces. Which of them has the site shows in the counts.
type Change struct {
	*site
	Was, Is Figures
	Moved   string // where the site was, when it stood elsewhere in its file
}

// Grew tells whether a site has more in the second trace: at the peak, and where that is
// equal, at the end, in all, or by number.
func (c *Change) Grew() bool { return c.order() > 0 }

func (c *Change) order() int {
	return cmp.Or(cmp.Compare(c.Is.Peak, c.Was.Peak), cmp.Compare(c.Is.End, c.Was.End),
		cmp.Compare(c.Is.Bytes, c.Was.Bytes), cmp.Compare(c.Is.Count, c.Was.Count))
}

// differences are by how much the figures differ, those first that decide.
func (c *Change) differences() [4]int64 {
	return [4]int64{c.Is.Peak - c.Was.Peak, c.Is.End - c.Was.End, c.Is.Bytes - c.Was.Bytes,
		int64(c.Is.Count - c.Was.Count)}
}

// Compare finds what changed. Sites are the same when their stacks are, by file, line and
// function, or by functions alone where lines have moved because the file was edited.
func Compare(before, after *Trace) *Comparison {
	c := &Comparison{Before: before, After: after}
	_, _, when := before.live()
	was, _ := before.sites(when)
	_, _, when = after.live()
	is, _ := after.sites(when)
	root := &call{}
	for _, p := range pairs(was, is) {
		d := p.change()
		root.grow(d.frames(), 0, d.Was)
		root.grow(d.frames(), 1, d.Is)
		c.Was.plus(d.Was)
		c.Is.plus(d.Is)
		if d.order() == 0 {
			c.Same++
			continue
		}
		c.Sites = append(c.Sites, d)
	}
	c.tree = flame(root, true)
	c.arrange()
	return c
}

// arrange names the sites and puts those with the largest differences first.
func (c *Comparison) arrange() {
	all := make([]*site, len(c.Sites))
	for i := range c.Sites {
		n := *c.Sites[i].site
		all[i], c.Sites[i].site = &n, &n
	}
	name(all)
	slices.SortFunc(c.Sites, func(a, b Change) int {
		x, y := a.differences(), b.differences()
		for i := range x {
			if order := cmp.Compare(max(y[i], -y[i]), max(x[i], -x[i])); order != 0 {
				return order
			}
		}
		return cmp.Or(cmp.Compare(a.Name, b.Name), slices.Compare(a.calls, b.calls))
	})
}

func (s *site) place() string {
	if len(s.code) == 0 {
		return ""
	}
	return s.code[0].place()
}

// pair is a site in both traces; nil where one has not got it.
type pair struct{ was, is *site }

func (p pair) change() Change {
	c := Change{site: cmp.Or(p.is, p.was)}
	if p.was != nil {
		c.Was = p.was.Figures
		if was := p.was.place(); was != c.place() {
			c.Moved = was
		}
	}
	if p.is != nil {
		c.Is = p.is.Figures
	}
	return c
}

// pairs finds the sites of two traces that are the same.
func pairs(was, is []site) (all []pair) {
	left, right := groupedBy(known(was), (*site).functions), groupedBy(known(is), (*site).functions)
	for _, key := range slices.Sorted(maps.Keys(left)) {
		all = append(all, pairsOf(left[key], right[key])...)
		delete(right, key)
	}
	for _, key := range slices.Sorted(maps.Keys(right)) {
		all = append(all, pairsOf(nil, right[key])...)
	}
	return all
}

// known lists sites, those without a stack as one.
func known(list []site) (all []*site) {
	rest := &site{}
	for i := range list {
		if len(list[i].code) > 0 {
			all = append(all, &list[i])
			continue
		}
		rest.plus(list[i].Figures)
	}
	if rest.Count > 0 {
		all = append(all, rest)
	}
	return all
}

// pairsOf pairs sites whose functions are the same: by their lines, or when no line is the
// same and there are as many on both sides, in the order of the lines.
func pairsOf(left, right []*site) (all []pair) {
	lines := groupedBy(left, (*site).lines)
	var rest []*site
	for _, s := range right {
		if same := lines[s.lines()]; len(same) > 0 {
			all = append(all, pair{same[0], s})
			delete(lines, s.lines())
			continue
		}
		rest = append(rest, s)
	}
	if len(all) == 0 && len(left) == len(right) {
		slices.SortFunc(left, byLines)
		slices.SortFunc(right, byLines)
		for i := range left {
			all = append(all, pair{left[i], right[i]})
		}
		return all
	}
	for _, s := range left {
		if len(lines[s.lines()]) > 0 {
			all = append(all, pair{was: s})
		}
	}
	for _, s := range rest {
		all = append(all, pair{is: s})
	}
	return all
}

// functions are the functions of a stack with their files; a line without a function is
// its file.
func (s *site) functions() string {
	var b strings.Builder
	for i := range s.code {
		name := offset.ReplaceAllString(s.code[i].function(), "")
		b.WriteString(filepath.Base(s.code[i].File) + " " + name + "\n")
	}
	return b.String()
}

// offset is the place in a module, which another build has elsewhere.
var offset = regexp.MustCompile(`\+0x[0-9a-f]+\b`)

// lines are the calls of a stack.
func (s *site) lines() string { return strings.Join(s.calls, "\n") }

func byLines(a, b *site) int {
	return slices.CompareFunc(a.code, b.code, func(x, y frame) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Name, y.Name))
	})
}
