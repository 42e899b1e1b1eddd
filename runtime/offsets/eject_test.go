package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// What ejections pack lies below the limit and shares no byte, whatever is pinned. They need none
// below the sum of all sizes.
func TestEjectionsPackAnything(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p, sum, free := offsets.Problem{}, int64(0), true
		for k := range rapid.IntRange(1, 40).Draw(r, "buffers") {
			b := offsets.Buffer{Bytes: rapid.Int64Range(0, 40).Draw(r, "bytes"),
				Alignment: rapid.SampledFrom([]int64{0, 1, 1, 4, 16}).Draw(r, "alignment"),
				First:     rapid.Int64Range(0, 90).Draw(r, "first")}
			b.End = b.First + rapid.Int64Range(1, 40).Draw(r, "life")
			if k < 2 && rapid.Bool().Draw(r, "pinned") { // two that can lie beside each other
				b.Pinned, b.Offset, free = true, int64(k)*rapid.Int64Range(3, 9).Draw(r, "offset")*16, false
			}
			p.Buffers, sum = append(p.Buffers, b), sum+b.Bytes+15
		}
		limit := rapid.Int64Range(200, 600).Draw(r, "limit")
		s, packed := offsets.PackByEjections(p, limit, 300)
		if packed {
			require.NoError(r, check.Solution(p, s))
			require.LessOrEqual(r, s.FrameBytes(), limit)
		}
		if free {
			_, packed = offsets.PackByEjections(p, sum, 0)
			require.True(r, packed)
		}
	})
}

// Three peaks close to the bound, with no valley between them that is deep: the place that decides the frame of a
// million buffers. Outward sweeps leave items above the limit there.
func TestEjectionsPackThreePeaks(t *testing.T) {
	const first, end, bound = 494_423, 494_874, 34_958_490
	p := offsets.Problem{}
	for _, b := range problems.Large["alive 50"](1, 1_000_000).Buffers {
		if b.First < end && b.End > first {
			b.First, b.End = max(b.First, first), min(b.End, end)
			p.Buffers = append(p.Buffers, b)
		}
	}
	limit := int64(bound + bound/50)
	for turn := range 4 {
		s, finished := offsets.SweepOutwards(p, limit, 0, turn)
		require.True(t, finished)
		require.Greater(t, s.FrameBytes(), limit)
	}
	s, packed := offsets.PackByEjections(p, limit, 40_000)
	require.True(t, packed)
	require.NoError(t, check.Solution(p, s))
	require.LessOrEqual(t, s.FrameBytes(), limit)
	again, _ := offsets.PackByEjections(p, limit, 40_000)
	require.Equal(t, s.Offsets, again.Offsets)
}
