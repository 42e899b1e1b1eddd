package mempool

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
)

// damaged makes a pool with free and live blocks in several bins, some of them in one
// treap, and something pending in the log.
func damaged(t *testing.T) (Handle, tables) {
	h := open(t, newFake(), 1<<20)
	var blocks []uintptr
	for i := range uintptr(40) {
		blocks = append(blocks, take(t, h, 512+512*(i%4)))
	}
	for i := 0; i < len(blocks); i += 2 {
		give(t, h, blocks[i])
	}
	give(t, h, take(t, h, 5000))
	require.NoError(t, Check(h))
	t.Cleanup(func() {
		_ = Reset(h, func() {})
		_ = Destroy(h)
	})
	return h, view(stateAt(uint32(h % layout.MempoolSlots)))
}

// aFree and aLive return a record.
func aFree(t tables) uint32 { return *inUse(t.bins.Roots[:]) }
func aLive(t tables) uint32 { return *inUse(t.chains) }

func inUse(of []uint32) *uint32 {
	return &of[slices.IndexFunc(of, func(i uint32) bool { return i != 0 })]
}

// TestCheckerSeesDamage holds the checker to finding every kind of fault, one at a time.
func TestCheckerSeesDamage(t *testing.T) {
	for name, damage := range map[string]func(tables){
		"a size":              func(t tables) { t.blocks[aLive(t)].Word += 64 },
		"no granule":          func(t tables) { t.blocks[aLive(t)].Word += 1 },
		"an address":          func(t tables) { t.blocks[aLive(t)].Address += 64 },
		"a tag":               func(t tables) { t.blocks[aFree(t)].Word |= 1 << layout.MempoolTagShift },
		"prev":                func(t tables) { t.blocks[t.blocks[aFree(t)].Next].Prev = 0 },
		"next":                func(t tables) { t.blocks[aFree(t)].Next = 0 },
		"a bit of a leaf":     func(t tables) { t.bins.Leaves[300] |= 1 },
		"a bit of a node":     func(t tables) { t.bins.Nodes[4] ^= 1 },
		"the top":             func(t tables) { t.bins.Top ^= 1 << 3 },
		"a lost treap":        func(t tables) { *inUse(t.bins.Roots[:]) = 0 },
		"the order":           func(t tables) { b := &t.blocks[aFree(t)]; b.Left, b.Right = b.Right, b.Left },
		"a free one as live":  func(t tables) { t.blocks[aFree(t)].Word &^= layout.MempoolFree },
		"a live one as free":  func(t tables) { t.blocks[aLive(t)].Word |= layout.MempoolFree },
		"a lost chain":        func(t tables) { *inUse(t.chains) = 0 },
		"a free one chained":  func(t tables) { t.chains[0] = aFree(t) },
		"a lost record":       func(t tables) { t.Fresh++ },
		"a used record":       func(t tables) { t.Unused = aLive(t) },
		"free blocks":         func(t tables) { t.FreeBlocks++ },
		"reserved":            func(t tables) { t.Reserved += 64 },
		"allocated":           func(t tables) { t.TotalAllocated += 64 },
		"allocations":         func(t tables) { t.Allocations++ },
		"the peak":            func(t tables) { t.Peak = 0 },
		"the log":             func(t tables) { t.High++ },
		"a size in the log":   func(t tables) { t.Lifo[t.Live%layout.MempoolLifoSize].Bytes += 64 },
		"an address in there": func(t tables) { t.Lifo[t.Live%layout.MempoolLifoSize].Address += 64 },
	} {
		t.Run(name, func(t *testing.T) {
			h, tables := damaged(t)
			state, records, bins, chains := *tables.MempoolState, slices.Clone(tables.blocks), *tables.bins,
				slices.Clone(tables.chains)
			damage(tables)
			if Check(h) == nil {
				t.Error("the checker sees nothing")
			}
			*tables.MempoolState, *tables.bins = state, bins
			copy(tables.blocks, records)
			copy(tables.chains, chains)
			if err := Check(h); err != nil {
				t.Error(err)
			}
		})
	}
}
