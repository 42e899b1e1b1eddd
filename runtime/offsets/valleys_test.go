package offsets

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The valleys about a peak hold it, and the load falls to where they end, unless all within reach is hot.
func TestValleysHoldThePeak(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		load := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 80).Draw(r, "load")
		peak := int32(rapid.IntRange(0, len(load)-1).Draw(r, "peak"))
		reach := int32(rapid.IntRange(1, 9).Draw(r, "reach"))
		h := &stretching{reach: reach, mender: &mender{area: &area{load: load}, ground: &shelf{},
			limit: rapid.Int64Range(1, 40).Draw(r, "limit")}}
		x := h.valleys(peak, reach*int32(rapid.IntRange(1, 4).Draw(r, "farther")))
		require.True(r, 0 <= x.first && x.first <= peak && peak < x.end && int(x.end) <= len(load))
		for _, edge := range []int32{x.first, x.end - 1} { // a valley: not above its neighbour on the way to the peak
			if edge != peak {
				inner := edge + 1
				if edge > peak {
					inner = edge - 1
				}
				require.True(r, load[edge] <= load[inner] || load[edge] >= min(load[peak], h.limit-h.limit/4))
			}
		}
	})
}
