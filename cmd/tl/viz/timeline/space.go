package timeline

import (
	"cmp"
	"fmt"
	"slices"
)

// piece is a stretch of addresses on the page's axis: one that blocks have used, or what
// lies between two of those.
type piece struct {
	start, end uint64
	at, room   int64 // where it begins on the axis, and what it takes there
	name       string
	used       bool
}

func (p *piece) bytes() uint64 { return p.end - p.start }

// cut tells whether the piece is drawn shorter than it is.
func (p *piece) cut() bool { return !p.used && uint64(p.room) < p.bytes() }

// extent is memory that blocks have used, or that a chunk has.
type extent struct {
	start, end uint64
	name       string
}

// The axis shows what was used to scale. All that was not takes at most a quarter of
// that, so a fifth of the axis, and one gap at most a twenty-fourth.
const (
	partOfGaps = 4
	partOfGap  = 24
)

// axis lays the addresses of blocks and chunks out, in order. Memory of chunks that no
// block was in is a gap like the addresses between heap and chunks.
func (t *Trace) axis() []piece {
	chunks := t.chunkExtents()
	used := union(t.blockExtents(chunks))
	if len(used) == 0 {
		used = chunks
	}
	all := pieces(used, chunks)
	place(all)
	return all
}

// chunkExtents are the addresses of chunks; those of chunks that overlap, one after the
// other, are one.
func (t *Trace) chunkExtents() []extent {
	var all []extent
	for _, c := range t.Chunks {
		all = append(all, extent{c.Address, c.Address + c.Bytes, fmt.Sprintf("pool %d", c.Pool)})
	}
	return union(all)
}

// blockExtents lists what blocks have used. Chunks are the bounds of those that lie in one.
func (t *Trace) blockExtents(chunks []extent) (all []extent) {
	seen := map[[2]uint64]bool{}
	for _, b := range t.Blocks {
		key := [2]uint64{b.Address, b.Bytes}
		if seen[key] {
			continue
		}
		seen[key] = true
		e := extent{b.Address, b.Address + slot(b.Bytes), "heap"}
		if b.Kind == "registered" {
			e.name = "malloc"
		}
		if i := within(chunks, b.Address); i >= 0 {
			e.name, e.end = chunks[i].name, max(min(e.end, chunks[i].end), b.Address+b.Bytes)
		}
		all = append(all, e)
	}
	return all
}

// slot is what a block takes with what an allocator adds to it: a quarter at most, or
// what is missing to a multiple of 64 bytes.
func slot(bytes uint64) uint64 {
	step := uint64(64)
	for step <= bytes/8 {
		step *= 2
	}
	return (max(bytes, 1) + step - 1) / step * step
}

// within returns a chunk that has the address, -1 for none.
func within(chunks []extent, address uint64) int {
	i, found := slices.BinarySearchFunc(chunks, address, func(c extent, a uint64) int {
		return cmp.Compare(c.start, a)
	})
	if !found {
		i--
	}
	if i >= 0 && address < chunks[i].end {
		return i
	}
	return -1
}

// union joins extents that overlap, and those of one name that touch.
func union(all []extent) (joined []extent) {
	slices.SortFunc(all, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for _, e := range all {
		n := len(joined) - 1
		if n >= 0 && (e.start < joined[n].end || e.start == joined[n].end && e.name == joined[n].name) {
			joined[n].end = max(joined[n].end, e.end)
			continue
		}
		joined = append(joined, e)
	}
	return joined
}

// pieces cuts the addresses at the edges of all that was used, and of chunks.
func pieces(used, chunks []extent) (all []piece) {
	var edges []uint64
	for _, list := range [][]extent{used, chunks} {
		for _, e := range list {
			edges = append(edges, e.start, e.end)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	next := 0
	for i := 0; i+1 < len(edges); i++ {
		p := piece{start: edges[i], end: edges[i+1]}
		for next < len(used) && used[next].end <= p.start {
			next++
		}
		if c := within(chunks, p.start); c >= 0 {
			p.name = chunks[c].name
		}
		if next < len(used) && used[next].start <= p.start {
			p.used, p.name = true, used[next].name
		}
		all = append(all, p)
	}
	return all
}

// place gives pieces their places on the axis.
func place(all []piece) {
	used, gaps := uint64(0), []uint64{}
	for i := range all {
		if all[i].used {
			used += all[i].bytes()
		} else {
			gaps = append(gaps, all[i].bytes())
		}
	}
	longest, at := min(level(gaps, used/partOfGaps), used/partOfGap), int64(0)
	for i := range all {
		p := &all[i]
		p.at, p.room = at, int64(p.bytes())
		if !p.used {
			p.room = int64(min(p.bytes(), longest))
		}
		at += p.room
	}
}

// level is how long gaps may be for their sum not to exceed a limit.
func level(gaps []uint64, limit uint64) uint64 {
	slices.Sort(gaps)
	for i, gap := range gaps {
		if left := uint64(len(gaps) - i); gap > limit/left {
			return limit / left
		}
		limit -= gap
	}
	return limit
}

// find returns the piece of an address, -1 for none.
func find(all []piece, address uint64) int {
	i, found := slices.BinarySearchFunc(all, address, func(p piece, a uint64) int { return cmp.Compare(p.start, a) })
	if !found {
		i--
	}
	if i >= 0 && address < all[i].end {
		return i
	}
	return -1
}

// placeOf is where an address lies on the axis; the end of the last piece is on it as well.
func placeOf(all []piece, address uint64) int64 {
	i := find(all, address)
	if i < 0 {
		i = len(all) - 1
	}
	p := &all[i]
	if p.cut() {
		return p.at + int64(float64(address-p.start)/float64(p.bytes())*float64(p.room))
	}
	return p.at + int64(address-p.start)
}

// region is pieces of one name that follow each other.
type region struct {
	At    int64  `json:"at"`
	Bytes int64  `json:"bytes"`
	Name  string `json:"name"`
}

// regions joins pieces by name; gaps that belong to nobody go between two.
func regions(all []piece) []region {
	list := []region{}
	for _, p := range all {
		if p.name == "" {
			continue
		}
		if n := len(list) - 1; n >= 0 && list[n].Name == p.name {
			list[n].Bytes = p.at + p.room - list[n].At
			continue
		}
		list = append(list, region{p.at, p.room, p.name})
	}
	return list
}
