package offsets_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
)

// collide compares every pair, as the check of pins does not.
func collide(p offsets.Problem) bool {
	for i, a := range p.Buffers {
		for _, b := range p.Buffers[:i] {
			if a.First < b.End && b.First < a.End && a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes &&
				a.Bytes > 0 && b.Bytes > 0 {
				return true
			}
		}
	}
	return false
}

func TestPinsThatCollideAreFound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := offsets.Problem{}
		for range rapid.IntRange(1, 12).Draw(r, "buffers") {
			b := offsets.Buffer{Pinned: true, Offset: rapid.Int64Range(0, 40).Draw(r, "offset"),
				Bytes: rapid.Int64Range(0, 9).Draw(r, "bytes"), First: rapid.Int64Range(0, 12).Draw(r, "first")}
			b.End = b.First + rapid.Int64Range(1, 5).Draw(r, "life")
			p.Buffers = append(p.Buffers, b)
		}
		_, err := offsets.Solve(p, offsets.Options{})
		require.Equal(r, collide(p), err != nil, "%v", err)
	})
}
