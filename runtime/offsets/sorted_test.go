package offsets

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// However many there are, the clock is looked at after few.
func TestSortingWatchesTheTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 100, unwatched, unwatched + 1, 3 * unwatched, 5*unwatched + 7} {
		list := make([]int, n)
		for i := range list {
			list[i] = r.IntN(n)
		}
		want := slices.Sorted(slices.Values(list))
		calls, most := 0, int64(0)
		sortBy(list, func(units int64) { calls, most = calls+1, max(most, units) }, cmp.Compare[int])
		require.Equal(t, want, append([]int(nil), list...))
		require.GreaterOrEqual(t, calls, n/unwatched)
		require.LessOrEqual(t, most, int64(unwatched*15))
	}
}
