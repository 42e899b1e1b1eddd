package heap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
)

// cells are the live cells that a slab and a half have.
func cells(t *testing.T, h *Heap, class uint32) []layout.Entry {
	t.Helper()
	out := refill(t, h, class, int(h.G.Classes[class].Slots)*3/2)
	for _, e := range out {
		require.Zero(t, CellHead(e.Object).Count, "no cell lives in a slot that was never used")
		CellHead(e.Object).Count = 1
	}
	return out
}

// Each slot of a class of cells is one cell, at a multiple of 16, whose head is its own; slots come back and are used
// again.
func TestSlotsOfCells(t *testing.T) {
	h := open(t, 16<<20)
	for class := uint32(layout.ClassCell); class < layout.ClassLarge; class++ {
		size := uintptr(h.G.Classes[class].Size)
		require.Equal(t, class, layout.CellClassOf(size-layout.CellHeadBytes))
		require.Equal(t, class, layout.CellClassOf(max(size, layout.CellStep+7)-layout.CellHeadBytes-layout.CellStep+1))
		for round := range 3 {
			seen := map[uintptr]bool{}
			out := cells(t, h, class)
			for _, e := range out {
				require.Zero(t, e.Object%16)
				require.False(t, seen[e.Object], "class %d, round %d: %#x twice", class, round, e.Object)
				seen[e.Object] = true
				at, live := h.CellAt(e.Object)
				require.True(t, live && at == class)
				p := h.Find(e.Object)
				require.Equal(t, Interior, p.Kind)
				require.Equal(t, e.Object-layout.CellHeadBytes, p.Start)
				first, last := h.number(p.Start), h.number(e.Object+size-layout.CellHeadBytes-1)
				require.Equal(t, first, last, "a cell of class %d is of two slabs", class)
			}
			require.NoError(t, h.Check(func(uint32) {}))
			for i, e := range out {
				CellHead(e.Object).Count = 0
				h.Flush(class, out[i:i+1])
				_, live := h.CellAt(e.Object)
				require.False(t, live)
			}
			require.NoError(t, h.Check(func(uint32) {}))
		}
	}
}

// Fresh slots of memory that reads as zero keep it; of memory that had something else before, their heads are cleared.
func TestFreshCellsOfUsedMemory(t *testing.T) {
	h := open(t, 16<<20)
	const class = layout.ClassSmall // a span each
	was := map[uintptr]bool{}
	out := refill(t, h, class, 8)
	for _, e := range out {
		was[e.Object] = true
		bytes := layout.Bytes(e.Object, layout.SpanBytes)
		for i := range bytes {
			bytes[i] = 0xFF
		}
	}
	h.Flush(class, out)
	h.DropEmpty()
	seen := 0
	for class := uint32(layout.ClassCell); class < layout.ClassLarge && seen < 4; class++ {
		if e := cells(t, h, class)[0]; was[e.Object&^(layout.SpanBytes-1)] {
			seen++
		}
	}
	require.Equal(t, 4, seen, "slabs of cells in memory that was used")
}

// A purge looks for the generations of free blocks, which records of cells have none of.
func TestAPurgeReadsNoRecordOfCells(t *testing.T) {
	h := open(t, 16<<20)
	const class = layout.ClassCell
	out := cells(t, h, class)
	for _, e := range out {
		CellHead(e.Object).Count = 0
	}
	h.Flush(class, out)
	h.Purge()
	free := h.s.FreeRecords[class]
	require.NotZero(t, free)
	require.Zero(t, h.metadata(free, h.G.Classes[class].BlockRecords).Loc)
	require.NoError(t, h.Check(func(uint32) {}))
}

// A program that writes over the bitmap of a slab gets cells of that slab and fresh ones, and nothing else.
func TestAnOverwrittenBitmapReachesItsCellsAlone(t *testing.T) {
	for _, class := range []uint32{layout.ClassCell, layout.ClassCell + 2, layout.ClassLarge - 1} {
		for _, with := range []byte{0, 0xFF, 0xA5} {
			t.Run("", func(t *testing.T) { overwrite(t, class, with) })
		}
	}
}

func overwrite(t *testing.T, class uint32, with byte) {
	h := open(t, 16<<20)
	out := cells(t, h, class)
	k := &h.G.Classes[class]
	base := out[0].Object &^ (layout.SpanBytes - 1)
	h.Flush(class, out[:k.Slots/2])
	bitmap := layout.Bytes(base, uint64(k.Slots+63)/64*8)
	for i := range bitmap {
		bitmap[i] = with
	}
	for _, e := range refill(t, h, class, int(k.Slots)*2) {
		offset := e.Object & (layout.SpanBytes - 1)
		require.GreaterOrEqual(t, offset/uintptr(k.Size), uintptr(h.meta(h.number(base)).Retired), "in the bitmap")
		require.Equal(t, class, h.ClassOf(e.Object))
		require.LessOrEqual(t, offset+uintptr(k.Size)-layout.CellHeadBytes, uintptr(layout.SpanBytes))
	}
}
