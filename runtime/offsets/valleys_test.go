package offsets

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The valleys about a peak hold it. Where one ends before the end of time and the longest hot place, its load is below
// what is hot, and the least on the way from the peak.
func TestValleysHoldThePeak(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		load := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 80).Draw(r, "load")
		peak := int32(rapid.IntRange(0, len(load)-1).Draw(r, "peak"))
		reach := int32(rapid.IntRange(1, 9).Draw(r, "reach"))
		h := &stretching{reach: reach, mender: &mender{area: &area{load: load}, ground: &shelf{},
			limit: rapid.Int64Range(1, 40).Draw(r, "limit")}}
		x := h.valleys(peak, reach*int32(rapid.IntRange(1, 4).Draw(r, "farther")))
		require.True(r, 0 <= x.first && x.first <= peak && peak < x.end && int(x.end) <= len(load))
		hot := min(load[peak], h.limit-h.limit/4)
		for _, edge := range []int32{x.first, x.end - 1} {
			low, high := min(edge, peak), max(edge, peak)
			require.True(r, load[edge] < hot || edge == 0 || int(edge) == len(load)-1 || high-low >= stretchLength)
			if load[edge] < hot {
				require.Equal(r, slices.Min(load[low:high+1]), load[edge])
			}
		}
	})
}
