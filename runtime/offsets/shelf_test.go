package offsets

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawInstance draws items that live in some sections.
func drawInstance(r *rapid.T) *instance {
	in := &instance{sections: rapid.IntRange(1, 40).Draw(r, "sections"), watch: func(int64) {}}
	for i := range rapid.IntRange(1, 30).Draw(r, "items") {
		it := item{size: rapid.Int64Range(0, 9).Draw(r, "size"), pinned: -1, buffer: int32(i)}
		it.first = int32(rapid.IntRange(0, in.sections-1).Draw(r, "first"))
		it.end = int32(rapid.IntRange(int(it.first)+1, in.sections).Draw(r, "end"))
		in.items = append(in.items, it)
	}
	return in
}

// Whatever moved, a query lists what lies there.
func TestShelfListsWhatLiesThere(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		in := drawInstance(r)
		at := func() int64 { return rapid.Int64Range(0, 50).Draw(r, "at") }
		s := newShelf(in, make([]int64, len(in.items)))
		for i := range in.items {
			s.offset[i] = at()
		}
		s.fill()
		for range rapid.IntRange(0, 20).Draw(r, "moves") {
			i := int32(rapid.IntRange(0, len(in.items)-1).Draw(r, "item"))
			s.remove(i)
			s.offset[i] = at()
			s.put(i)
			it, all := &in.items[rapid.IntRange(0, len(in.items)-1).Draw(r, "around")], []piece{}
			for k := range in.items {
				if in.items[k].size > 0 && in.conflict(it, &in.items[k]) {
					all = append(all, s.entry(int32(k)).piece)
				}
			}
			around := s.around(it)
			require.True(r, slices.IsSortedFunc(around, func(a, b piece) int { return cmp.Compare(a.at, b.at) }))
			require.ElementsMatch(r, all, around)
		}
	})
}

// Ends are sorted in whatever order they come, also where each would be moved far.
func TestEdgesAreSorted(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		list := []edge{}
		for k, at := range rapid.SliceOfN(rapid.Int64Range(0, 1000), 0, 100).Draw(r, "ends") {
			list = append(list, edge{at, int64(k)})
		}
		want := slices.SortedStableFunc(slices.Values(list), func(a, b edge) int { return cmp.Compare(a.at, b.at) })
		sortEdges(list)
		require.ElementsMatch(r, want, list)
		require.True(r, slices.IsSortedFunc(list, func(a, b edge) int { return cmp.Compare(a.at, b.at) }))
	})
}
