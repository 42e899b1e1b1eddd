package timeline

import (
	"cmp"
	"fmt"
	"slices"
)

// band is a stretch of addresses that the page shows. Between bands lie addresses that
// nobody has used.
type band struct {
	start, end uint64
	at         int64 // where it begins on the page's axis
	name       string
}

// cell is what bands are cut to: a span of the heap.
const cell = 64 << 10

// bands finds what was used: chunks as they are, and around other blocks whole cells,
// joined where little lies between.
func (t *Trace) bands() []band {
	var all []band
	for _, c := range t.Chunks {
		all = append(all, band{start: c.Address, end: c.Address + c.Bytes, name: fmt.Sprintf("pool %d", c.Pool)})
	}
	all = join(all, 0)
	all = append(all, join(t.cells(all), t.gap())...)
	slices.SortFunc(all, func(a, b band) int { return cmp.Compare(a.start, b.start) })
	return place(all)
}

// cells lists the cells of blocks that lie in no chunk.
func (t *Trace) cells(chunks []band) (all []band) {
	seen := map[[2]uint64]bool{}
	for _, b := range t.Blocks {
		at := [2]uint64{b.Address &^ (cell - 1), (b.Address + max(b.Bytes, 1) + cell - 1) &^ (cell - 1)}
		if seen[at] || find(chunks, b.Address) >= 0 {
			continue
		}
		seen[at] = true
		name := "heap"
		if b.Kind == "registered" {
			name = "malloc"
		}
		all = append(all, band{start: at[0], end: at[1], name: name})
	}
	return all
}

// gap is what may lie between two stretches that are shown as one.
func (t *Trace) gap() uint64 {
	largest := uint64(0)
	for _, b := range t.Blocks {
		largest = max(largest, b.Bytes)
	}
	return min(max(largest, 4*cell), 16<<20)
}

// join merges stretches of one name that touch, or nearly.
func join(all []band, gap uint64) (joined []band) {
	slices.SortFunc(all, func(a, b band) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for _, b := range all {
		n := len(joined) - 1
		if n >= 0 && (b.start < joined[n].end || b.name == joined[n].name && b.start-joined[n].end <= gap) {
			joined[n].end = max(joined[n].end, b.end)
			continue
		}
		joined = append(joined, b)
	}
	return joined
}

// place gives bands their places on the axis, with a little room between them.
func place(all []band) []band {
	total := uint64(0)
	for _, b := range all {
		total += b.end - b.start
	}
	room, at := int64(total/64), int64(0)
	for i := range all {
		all[i].at = at
		at += int64(all[i].end-all[i].start) + room
	}
	return all
}

// find returns the band of an address, -1 for none.
func find(all []band, address uint64) int {
	i, found := slices.BinarySearchFunc(all, address, func(b band, a uint64) int { return cmp.Compare(b.start, a) })
	if !found {
		i--
	}
	if i >= 0 && address < all[i].end {
		return i
	}
	return -1
}
