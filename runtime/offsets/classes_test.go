package offsets_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// Buffers of one size and one alignment are intervals to colour: as many places are enough as are alive at once.
func TestEqualSizesNeedWhatIsAlive(t *testing.T) {
	for _, n := range []int{10, 1000, 30_000} {
		for _, alignment := range []int64{0, 64, 4096} {
			for _, bytes := range []int64{64, 4000, 4096, 5000} {
				p := problems.Equal(uint64(n), n)
				for i := range p.Buffers {
					p.Buffers[i].Bytes, p.Buffers[i].Alignment = bytes, alignment
				}
				s := solved(t, p, offsets.Options{})
				require.True(t, s.Optimal, fmt.Sprint(n, alignment, bytes, s.Gap()))
			}
		}
	}
}

// What is over the bound is repaired where it is, so the number of buffers does not matter.
func TestLargeShapesComeClose(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: many seconds")
	}
	for name, gap := range map[string]float64{"equal": 0.001, "layers": 0.001,
		"stack": 0.001, "training": 0.001, "wide": 0.001} {
		s := solved(t, problems.Large[name](1, 30_000), offsets.Options{})
		require.LessOrEqual(t, s.Gap(), gap, name)
	}
}
