package llvm

import (
	"strconv"
)

// window is one spatial axis of a convolution or a pool: output o reads, for each
// tap t, the input at o*stride + t*dilation - before, where that is an input.
type window struct{ in, out, taps, stride, dilation, before, after int64 }

// plain is an axis on which every output reads the input at its own place.
func plain(n int64) window { return window{n, n, 1, 1, 1, 0, 0} }

func (w window) position(o, tap int64) int64 { return o*w.stride + tap*w.dilation - w.before }

// inside reports whether all taps of outputs first to last are inputs.
func (w window) inside(first, last int64) bool {
	return w.position(first, 0) >= 0 && w.position(last, w.taps-1) < w.in
}

// counting is the window whose inputs are those that an average counts.
func (w window) counting(pads bool) window {
	if pads {
		return window{w.in + w.before + w.after, w.out, w.taps, w.stride, w.dilation, 0, 0}
	}
	return w
}

// count is how many taps of output o are inputs.
func (w window) count(o int64) (n int64) {
	for t := range w.taps {
		if p := w.position(o, t); p >= 0 && p < w.in {
			n++
		}
	}
	return n
}

// bounds returns the first tap of output o that is an input, and the one behind the
// last.
func (c *code) bounds(w window, o string) (low, high string) {
	if w.inside(0, w.out-1) {
		return "0", strconv.FormatInt(w.taps, 10)
	}
	at := c.scaled(o, w.stride)
	before := c.higher(c.plus(c.scaled(at, -1), strconv.FormatInt(w.before, 10)), "0")
	low = c.divided(c.shifted(before, w.dilation-1), w.dilation)
	rest := c.plus(c.scaled(at, -1), strconv.FormatInt(w.in-1+w.before+w.dilation, 10))
	high = c.divided(c.higher(rest, "0"), w.dilation)
	return low, c.lower(high, strconv.FormatInt(w.taps, 10))
}

// divided returns i / k of an i that is not negative.
func (c *code) divided(i string, k int64) string {
	if n, known := literal(i); known {
		return strconv.FormatInt(n/k, 10)
	}
	if k == 1 {
		return i
	}
	return c.let("udiv i64 %s, %d", i, k)
}

// between is span, or fold where the bounds are known.
func (c *code) between(low, high string, init []value, body func(i string, carried []string) []string) []string {
	first, known := literal(low)
	last, both := literal(high)
	if !known || !both {
		return c.span(low, high, init, body)
	}
	return c.fold(max(last-first, 0), init, func(i string, carried []string) []string {
		return body(c.shifted(i, first), carried)
	})
}

// overAxis folds over the taps of output o that are inputs. body gets the tap and
// the position of its input.
func (c *code) overAxis(w window, o string, init []value, body func(tap, position string,
	carried []string) []string) []string {
	low, high := c.bounds(w, o)
	from := c.shifted(c.scaled(o, w.stride), -w.before)
	return c.between(low, high, init, func(tap string, carried []string) []string {
		return body(tap, c.plus(from, c.scaled(tap, w.dilation)), carried)
	})
}

// column is a vector of neighbouring outputs. Where there are fewer than lanes, the
// others are computed from whatever there is and not stored.
type column struct {
	at    int64 // first output, from the first one of the tile
	lanes int
	used  int64
}

// tile is a group of columns that are computed together, once, or several times
// each behind the other.
type tile struct {
	first   int64 // output
	turns   int64
	columns []column
	inside  bool // all taps are inputs
	edge    bool // one lane; which taps are inputs is found out at run time
}

// width is how many outputs the tile has, from its first to its last.
func (t tile) width() int64 {
	last := t.columns[len(t.columns)-1]
	return last.at + last.used
}

// maxStaticTaps is up to how many taps an axis is unrolled.
const maxStaticTaps = 16

// cover covers outputs first to last-1 with vectors. The last one overlaps the one
// before where they do not come out even: what lies in both is computed twice.
// Fewer outputs than a vector has lanes get a vector that is not longer than needed.
func cover(first, last int64, width int) (list []column) {
	n := last - first
	for n > 0 && int64(width) >= 2*n {
		width /= 2
	}
	used := min(int64(width), n)
	for at := first; at < last; at += used {
		list = append(list, column{min(at, last-used), width, used})
	}
	return list
}

// tilesOf covers the outputs of an axis with tiles of at most perTile columns.
func tilesOf(w window, width, perTile int) []tile {
	if w.taps <= maxStaticTaps {
		return groupColumns(w, cover(0, w.out, width), perTile)
	}
	low, high := int64(0), w.out
	for low < high && !w.inside(low, low) {
		low++
	}
	for high > low && !w.inside(high-1, high-1) {
		high--
	}
	edge := tile{0, low, []column{{0, 1, 1}}, false, true}
	list := []tile{edge}
	list = append(list, groupColumns(w, cover(low, high, width), perTile)...)
	edge.first, edge.turns = high, w.out-high
	return append(list, edge)
}

// groupColumns makes tiles of columns and joins those that differ in their place
// only.
func groupColumns(w window, list []column, perTile int) (tiles []tile) {
	for len(list) > 0 {
		n := min(perTile, len(list))
		t := tile{first: list[0].at, turns: 1}
		for _, c := range list[:n] {
			t.columns = append(t.columns, column{c.at - t.first, c.lanes, c.used})
		}
		list = list[n:]
		t.inside = w.inside(t.first, t.first+t.width()-1)
		if last := len(tiles) - 1; last >= 0 && tiles[last].follows(t) {
			tiles[last].turns++
			continue
		}
		tiles = append(tiles, t)
	}
	return tiles
}

// follows reports whether u is another turn of t.
func (t tile) follows(u tile) bool {
	if !t.inside || !u.inside || len(t.columns) != len(u.columns) || u.first != t.first+t.turns*t.width() {
		return false
	}
	return t.width() == u.width()
}

// placedTile is a tile at one of its turns.
type placedTile struct {
	tile
	base string // first output
	w    window
}

// tiles emits body for each tile at each of its turns.
func (c *code) tiles(w window, list []tile, body func(t placedTile)) {
	for _, t := range list {
		c.loop(t.turns, func(i string) {
			body(placedTile{t, c.shifted(c.scaled(i, t.width()), t.first), w})
		})
	}
}

// loader returns the inputs of column number i of a tile under one tap. row is the
// address of the first input, stride the distance of inputs.
type loader func(l lanes, i int, row string, stride int64) string

// overTaps folds over the taps of a tile. Inputs that there are not are fill.
func (c *code) overTaps(t placedTile, fill string, init []value, body func(tap string, load loader,
	carried []string) []string) []string {
	w := t.w
	if w.taps <= maxStaticTaps && !t.inside {
		carried := refs(init)
		for tap := range w.taps {
			load := func(l lanes, i int, row string, stride int64) string {
				return l.wide(t.columns[i].lanes).spread(row, stride, t.positions(i, tap), 0, w.in, fill)
			}
			if t.any(tap) {
				carried = body(strconv.FormatInt(tap, 10), load, carried)
			}
		}
		return carried
	}
	low, high := "0", strconv.FormatInt(w.taps, 10)
	if t.edge {
		low, high = c.bounds(w, t.base)
	}
	each := func(tap string, carried []string) []string {
		from := c.plus(c.shifted(c.scaled(t.base, w.stride), -w.before), c.scaled(tap, w.dilation))
		load := func(l lanes, i int, row string, stride int64) string {
			l = l.wide(t.columns[i].lanes)
			at := l.at(row, l.memory, c.scaled(c.plus(from, c.scaled(strconv.FormatInt(t.columns[i].at, 10), w.stride)),
				stride))
			return l.spread(at, stride, steps(l.n, w.stride), 0, (t.columns[i].used-1)*w.stride+1, fill)
		}
		return body(tap, load, carried)
	}
	if w.taps > maxStaticTaps {
		return c.between(low, high, init, each)
	}
	carried := refs(init)
	for tap := range w.taps {
		carried = each(strconv.FormatInt(tap, 10), carried)
	}
	return carried
}

// positions are the inputs of each lane of a column, for a tile with one turn.
func (t placedTile) positions(i int, tap int64) []int64 {
	list := make([]int64, t.columns[i].lanes)
	for j := range list {
		list[j] = t.w.position(t.first+t.columns[i].at+int64(j), tap)
	}
	return list
}

// any reports whether a tap is an input for any lane of the tile.
func (t placedTile) any(tap int64) bool {
	for i := range t.columns {
		for _, p := range t.positions(i, tap) {
			if p >= 0 && p < t.w.in {
				return true
			}
		}
	}
	return false
}

func steps(n int, step int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i) * step
	}
	return list
}
