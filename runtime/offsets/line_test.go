package offsets_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

// The largest buffer asks for the first space and takes the place of the two others there; only the assignment
// 50 + 50 and 60 holds all three.
func TestAnAssignmentThatTakesAStepBack(t *testing.T) {
	p := offsets.Problem{Spaces: []space{{Capacity: 100}, {Capacity: 60}},
		Buffers: []buffer{{Bytes: 50, End: 1}, {Bytes: 60, End: 1}, {Bytes: 50, End: 1}}}
	s, err := offsets.Solve(p, offsets.Options{})
	require.NoError(t, err)
	require.NoError(t, check.Solution(p, s))
	require.Equal(t, []int{0, 1, 0}, s.Space)
}

// Five buffers of more than half a space and four spaces: a proof needs every assignment, but for those that only
// exchange what is the same.
func TestARefusalOfSeveralSpacesIsProved(t *testing.T) {
	p := offsets.Problem{}
	for range 4 {
		p.Spaces = append(p.Spaces, space{Capacity: 100})
	}
	for range 5 {
		p.Buffers = append(p.Buffers, buffer{Bytes: 60, End: 1})
	}
	_, err := offsets.Solve(p, offsets.Options{})
	var limit *offsets.LimitError
	require.ErrorAs(t, err, &limit)
	require.True(t, limit.Proved)
	require.ErrorContains(t, err, "no choice of spaces and offsets holds all buffers")
}

// A search that was cut off proves nothing; more bytes than all spaces have are a proof without one.
func TestARefusalThatWasCutOffIsNoProof(t *testing.T) {
	p := offsets.Problem{Spaces: []space{{Capacity: 100}, {Capacity: 100}, {Capacity: 100}}}
	for i := range 12 {
		p.Buffers = append(p.Buffers, buffer{Bytes: 23 + int64(i%3), End: 1})
	}
	for _, c := range []struct {
		bytes   int64
		options offsets.Options
		proved  bool
	}{{35, offsets.Options{Budget: 1}, false}, {36, offsets.Options{Budget: 1}, true}, {35, offsets.Options{}, true},
		{35, offsets.Options{MaxSteps: 1}, true}} {
		p.Buffers[0].Bytes = c.bytes
		_, err := offsets.Solve(p, c.options)
		var limit *offsets.LimitError
		require.ErrorAs(t, err, &limit, "%d bytes, %+v", c.bytes, c.options)
		require.Equal(t, c.proved, limit.Proved, "%d bytes, %+v: %v", c.bytes, c.options, err)
	}
}

// feasible tries every assignment, and every offset in it.
func feasible(p offsets.Problem, space []int) bool {
	if i := len(space); i < len(p.Buffers) {
		for k := range p.Spaces {
			if allowed := p.Buffers[i].Spaces; len(allowed) > 0 && !slices.Contains(allowed, k) {
				continue
			}
			if feasible(p, append(space[:i:i], k)) {
				return true
			}
		}
		return false
	}
	for k, at := range p.Spaces {
		part := offsets.Problem{}
		for i := range p.Buffers {
			if b := p.Buffers[i]; space[i] == k {
				b.Spaces = nil
				part.Buffers = append(part.Buffers, b)
			}
		}
		if least(part, at.Capacity+1) > at.Capacity {
			return false
		}
	}
	return true
}

func TestSeveralSpacesEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := offsets.Problem{}
		for range rapid.IntRange(2, 3).Draw(t, "spaces") {
			p.Spaces = append(p.Spaces, space{Capacity: rapid.Int64Range(3, 9).Draw(t, "capacity")})
		}
		for range rapid.IntRange(1, 5).Draw(t, "buffers") {
			b := buffer{Bytes: rapid.Int64Range(1, 6).Draw(t, "bytes"),
				Alignment: rapid.SampledFrom([]int64{0, 0, 2, 4}).Draw(t, "alignment"),
				First:     rapid.Int64Range(0, 3).Draw(t, "first")}
			b.End = b.First + rapid.Int64Range(1, 3).Draw(t, "life")
			if rapid.IntRange(0, 3).Draw(t, "picky") == 0 {
				b.Spaces = rapid.Permutation([]int{0, 1, 2}[:len(p.Spaces)]).Draw(t, "spaces of it")[:len(p.Spaces)-1]
			}
			p.Buffers = append(p.Buffers, b)
		}
		s, err := offsets.Solve(p, offsets.Options{MaxSteps: 100_000, Seed: rapid.Uint64().Draw(t, "seed")})
		if feasible(p, nil) {
			require.NoError(t, err)
			require.NoError(t, check.Solution(p, s))
			return
		}
		var limit *offsets.LimitError
		require.ErrorAs(t, err, &limit)
		require.True(t, limit.Proved, "%v", err)
	})
}
