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
