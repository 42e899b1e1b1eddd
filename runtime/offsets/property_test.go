package offsets_test

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
)

// anyProblem draws a problem with every feature; some of them mean nothing.
func anyProblem(t *rapid.T) offsets.Problem {
	p := offsets.Problem{}
	for range rapid.IntRange(0, 3).Draw(t, "spaces") {
		p.Spaces = append(p.Spaces, offsets.Space{Capacity: rapid.SampledFrom([]int64{0, 0, 40, 100, 200}).Draw(t,
			"capacity")})
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "buffers") {
		p.Buffers = append(p.Buffers, anyBuffer(t, p, i))
	}
	return p
}

func anyBuffer(t *rapid.T, p offsets.Problem, i int) offsets.Buffer {
	b := offsets.Buffer{
		Bytes:     rapid.SampledFrom([]int64{0, 1, 3, 4, 8, 12, 16, 31, 40}).Draw(t, "bytes"),
		Alignment: rapid.SampledFrom([]int64{0, 1, 1, 2, 4, 16}).Draw(t, "alignment"),
		First:     rapid.Int64Range(-5, 20).Draw(t, "first"),
	}
	b.End = b.First + rapid.Int64Range(1, 9).Draw(t, "life")
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "gaps") {
		first := rapid.Int64Range(b.First, b.End-1).Draw(t, "gap")
		b.Gaps = append(b.Gaps, offsets.Interval{First: first, End: rapid.Int64Range(first+1, b.End).Draw(t,
			"gap end")})
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		b.Pinned, b.Offset = true, rapid.Int64Range(0, 60).Draw(t, "pin")
	case 1, 2:
		if i > 0 {
			b.Alias, b.Base = true, rapid.IntRange(0, i-1).Draw(t, "base")
			b.BaseOffset = rapid.Int64Range(0, 8).Draw(t, "base offset")
		}
	case 3:
		if n := len(p.Spaces); n > 0 {
			b.Spaces = rapid.Permutation([]int{0, 1, 2}[:n]).Draw(t, "spaces of it")[:rapid.IntRange(1, n).Draw(t,
				"choices")]
		}
	}
	return b
}

// wellMeant repairs a drawn problem until the input is accepted, so that most draws
// reach the solver.
func wellMeant(t *rapid.T) offsets.Problem {
	p := anyProblem(t)
	for {
		_, err := offsets.Solve(p, offsets.Options{})
		var input *offsets.InputError
		if !errors.As(err, &input) {
			return p
		}
		b := &p.Buffers[input.Buffer]
		*b = offsets.Buffer{Bytes: b.Bytes, First: b.First, End: b.End}
		for i := range p.Buffers {
			if x := &p.Buffers[i]; x.Alias && x.BaseOffset+x.Bytes > p.Buffers[x.Base].Bytes {
				x.Alias, x.Base, x.BaseOffset = false, 0, 0
			}
		}
	}
}

func TestEveryAnswerIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := wellMeant(t)
		before := slices.Clone(p.Buffers)
		o := offsets.Options{Seed: rapid.Uint64().Draw(t, "seed"),
			MaxSteps: rapid.SampledFrom([]int64{0, 50, 2000}).Draw(t, "steps")}
		s, err := offsets.Solve(p, o)
		require.Equal(t, before, p.Buffers, "the problem changed")
		var limit *offsets.LimitError
		if errors.As(err, &limit) {
			require.NotEmpty(t, p.Spaces)
			require.Positive(t, p.Spaces[limit.Space].Capacity)
			return
		}
		require.NoError(t, err)
		require.NoError(t, check.Solution(p, s))
	})
}

// least is the smallest frame of one space, by trying every offset for every
// buffer: no order, no bound, no canonical form.
func least(p offsets.Problem, most int64) int64 {
	s := &offsets.Solution{Offsets: make([]int64, len(p.Buffers)), Space: make([]int, len(p.Buffers)),
		Frames: make([]offsets.SpaceResult, 1)}
	for frame := int64(0); frame < most; frame++ {
		if fits(p, s, 0, frame) {
			return frame
		}
	}
	return most
}

func fits(p offsets.Problem, s *offsets.Solution, i int, frame int64) bool {
	if i == len(p.Buffers) {
		return true
	}
	for at := int64(0); at+p.Buffers[i].Bytes <= frame; at++ {
		s.Offsets[i] = at
		if rightSoFar(p, s, i+1) && fits(p, s, i+1, frame) {
			return true
		}
	}
	return false
}

// rightSoFar has the checker look at the first n buffers.
func rightSoFar(p offsets.Problem, s *offsets.Solution, n int) bool {
	part := offsets.Problem{Buffers: p.Buffers[:n]}
	top := int64(0)
	for i, b := range part.Buffers {
		top = max(top, s.Offsets[i]+b.Bytes)
	}
	return check.Solution(part, &offsets.Solution{Offsets: s.Offsets[:n], Space: s.Space[:n],
		Frames: []offsets.SpaceResult{{Bytes: top}}}) == nil
}

// tiny draws a problem of one space that brute force can solve.
func tiny(t *rapid.T) offsets.Problem {
	p := offsets.Problem{}
	for i := range rapid.IntRange(1, 6).Draw(t, "buffers") {
		b := offsets.Buffer{
			Bytes:     rapid.Int64Range(0, 6).Draw(t, "bytes"),
			Alignment: rapid.SampledFrom([]int64{0, 0, 2, 4}).Draw(t, "alignment"),
			First:     rapid.Int64Range(0, 5).Draw(t, "first"),
		}
		b.End = b.First + rapid.Int64Range(1, 5).Draw(t, "life")
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case kind == 0:
			b.Pinned, b.Offset = true, rapid.Int64Range(0, 9).Draw(t, "pin")
		case kind == 1 && i > 0:
			b.Alias, b.Base, b.BaseOffset = true, rapid.IntRange(0, i-1).Draw(t, "base"), rapid.Int64Range(0, 3).Draw(t,
				"base offset")
		case kind == 2 && b.End-b.First > 2:
			b.Gaps = []offsets.Interval{{First: b.First + 1, End: b.End - 1}}
		}
		p.Buffers = append(p.Buffers, b)
	}
	return p
}

func TestOptimumEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := tiny(t)
		s, err := offsets.Solve(p, offsets.Options{MaxSteps: 20000, Seed: rapid.Uint64().Draw(t, "seed")})
		var input *offsets.InputError
		if errors.As(err, &input) {
			t.Skip(err)
		}
		require.NoError(t, err)
		require.NoError(t, check.Solution(p, s))
		require.True(t, s.Optimal, "not proved")
		require.Equal(t, least(p, s.FrameBytes()), s.FrameBytes())
	})
}

func TestSameSeedSameAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := wellMeant(t)
		o := offsets.Options{Seed: rapid.Uint64().Draw(t, "seed"), MaxSteps: 300}
		want, wantErr := offsets.Solve(p, o)
		for _, threads := range []int{1, 2, 5} {
			before := runtime.GOMAXPROCS(threads)
			got, err := offsets.Solve(p, o)
			runtime.GOMAXPROCS(before)
			require.Equal(t, wantErr, err)
			require.Equal(t, want, got)
		}
	})
}
