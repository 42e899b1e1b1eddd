package object

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/limit"
	"tlruntime/runtime/status"
)

// A thread that uses every size class in turn keeps a magazine of each: what a class gets anew is not what another one
// has just given back.
func TestAMixOfSizesSettles(t *testing.T) {
	c, st := NewContext()
	require.Equal(t, status.OK, st)
	process.resting.mu.Lock() // the clock takes nothing meanwhile
	defer process.resting.mu.Unlock()
	use := func() {
		for class := uint32(1); class <= layout.ClassSmall; class++ {
			require.Equal(t, status.OK, c.Release(c.Alloc(uintptr(process.g.Classes[class].Size))))
		}
	}
	for range 8 {
		use()
	}
	before := layout.Peek(&limit.Account(limit.CPU).Obtained)
	for range 32 {
		use()
	}
	require.Equal(t, before, layout.Peek(&limit.Account(limit.CPU).Obtained), "bytes of fresh slabs")
}

// A thread whose objects grow through the size classes leaves the memory of smaller ones to larger ones.
func TestSizesThatGrowUseTheirMemoryAgain(t *testing.T) {
	for _, count := range []int{1, 16, 100} {
		c, st := NewContext()
		require.Equal(t, status.OK, st)
		used := &limit.Account(limit.CPU).Used
		live, before := make([]uintptr, count), layout.Peek(used)
		for class := uint32(1); class <= layout.ClassSmall; class++ {
			bytes := uintptr(process.g.Classes[class].Size)
			for i, old := range live {
				live[i] = c.Alloc(bytes)
				require.NotZero(t, live[i])
				if old != 0 {
					require.Equal(t, status.OK, c.Release(old))
				}
			}
		}
		most := uint64(count)*uint64(process.g.Classes[layout.ClassSmall].Size) + 4<<20
		require.LessOrEqual(t, layout.Peek(used)-before, most, "bytes of slabs with %d objects", count)
		for _, object := range live {
			require.Equal(t, status.OK, c.Release(object))
		}
	}
}
