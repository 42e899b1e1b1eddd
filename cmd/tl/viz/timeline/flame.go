package timeline

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
)

// flameData is a tree of calls for the page's script, a list for each property with an
// element for each node: callers before what they call.
type flameData struct {
	Names   []string `json:"names"`
	Name    []int    `json:"name"` // index into Names
	Depth   []int    `json:"depth"`
	Figures figures  `json:"figures"`
	Before  *figures `json:"before,omitempty"` // of the trace that another is compared with
}

// figures are those of nodes, with what they call.
type figures struct {
	Peak  []int64 `json:"peak"`
	End   []int64 `json:"end"`
	Bytes []int64 `json:"bytes"`
	Count []int64 `json:"count"`
}

// call is a node of the tree: a function, or a line that nothing is known of but itself.
type call struct {
	frame  frame
	lines  bool // the function was called from more than one line
	called map[[2]string]*call
	of     [2]Figures // before, and after; without a comparison the second alone
}

// grow adds the figures of a stack, innermost first, to the tree.
func (c *call) grow(code []frame, side int, f Figures) {
	c.of[side].plus(f)
	for _, f2 := range slices.Backward(code) {
		key := [2]string{f2.File, f2.function()}
		if key[1] == "" {
			key[1] = f2.Name
		}
		n := c.called[key]
		if n == nil {
			n = &call{frame: f2}
			if c.called == nil {
				c.called = map[[2]string]*call{}
			}
			c.called[key] = n
		}
		n.lines = n.lines || n.frame.Line != f2.Line
		n.of[side].plus(f)
		c = n
	}
}

func (f *Figures) plus(more Figures) {
	f.Peak += more.Peak
	f.End += more.End
	f.Count += more.Count
	f.Bytes += more.Bytes
}

// reaches tells whether one of the figures is so much of the whole.
func (f *Figures) reaches(whole *Figures, part int64) bool {
	return f.Peak*part > whole.Peak || f.End*part > whole.End || f.Bytes*part > whole.Bytes ||
		int64(f.Count)*part > int64(whole.Count)
}

// text is the name of the node: without a line where there are several.
func (c *call) text() string {
	f := c.frame
	if c.lines && f.function() != "" {
		return filepath.Base(f.File) + " " + f.Name
	}
	return f.text()
}

// mostNodes bounds a page's tree, and finest is the least part of the whole that a node
// may be at first: half a pixel of a wide screen.
const (
	mostNodes = 20000
	finest    = 4000
)

// flame lays a tree out. Of many nodes the smallest are left out, and their callers keep
// what they have.
func flame(root *call, compared bool) *flameData {
	for part := int64(finest); ; part /= 2 {
		d := &flameData{Names: []string{}, Name: []int{}, Depth: []int{}}
		if compared {
			d.Before = &figures{}
		}
		w := &flameWriter{d, root, part, map[string]int{}}
		if w.add("everything", root, 0); len(d.Name) <= mostNodes || part <= 1 {
			return d
		}
	}
}

type flameWriter struct {
	*flameData
	root  *call
	part  int64
	names map[string]int
}

func (w *flameWriter) add(name string, c *call, depth int) {
	if _, known := w.names[name]; !known {
		w.names[name] = len(w.Names)
		w.Names = append(w.Names, name)
	}
	w.Name, w.Depth = append(w.Name, w.names[name]), append(w.Depth, depth)
	w.Figures.append(c.of[1])
	if w.Before != nil {
		w.Before.append(c.of[0])
	}
	called := slices.SortedFunc(maps.Values(c.called), func(a, b *call) int {
		return cmp.Or(cmp.Compare(b.of[0].Bytes+b.of[1].Bytes, a.of[0].Bytes+a.of[1].Bytes),
			cmp.Compare(a.frame.full(), b.frame.full()))
	})
	for _, n := range called {
		if n.of[1].reaches(&w.root.of[1], w.part) || n.of[0].reaches(&w.root.of[0], w.part) {
			w.add(n.text(), n, depth+1)
		}
	}
}

func (l *figures) append(f Figures) {
	l.Peak, l.End = append(l.Peak, f.Peak), append(l.End, f.End)
	l.Bytes, l.Count = append(l.Bytes, f.Bytes), append(l.Count, int64(f.Count))
}

// flameOf is the tree of a trace's sites.
func flameOf(sites []site) *flameData {
	root := &call{}
	for i := range sites {
		root.grow(sites[i].frames(), 1, sites[i].Figures)
	}
	return flame(root, false)
}

// frames is the code of a site; one that was not recorded is a frame of that name.
func (s *site) frames() []frame {
	if len(s.code) == 0 {
		return []frame{{Name: notRecorded}}
	}
	return s.code
}

// notRecorded is the name of sites that nothing is known of.
const notRecorded = "not recorded"
