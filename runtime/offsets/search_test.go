package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// A thousand pieces that fill a rectangle: ejections below a falling limit bring the frame as close as this. Windows of
// time, placed anew by a tree, leave a quarter above it and more.
func TestPerfectPackingsComeClose(t *testing.T) {
	for seed := range uint64(2) {
		for _, guillotine := range []bool{true, false} {
			p, _ := problems.Perfect(seed, 1000, guillotine)
			s := solved(t, p, offsets.Options{Seed: 1})
			require.LessOrEqual(t, s.Gap(), 0.18, "%d, %t", seed, guillotine)
		}
	}
}
