package offsets_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// nearly changes the sizes of a few buffers, as another size of a tile does.
func nearly(r *rand.Rand, p offsets.Problem) offsets.Problem {
	p.Buffers = slices.Clone(p.Buffers)
	for range 3 {
		b := &p.Buffers[r.IntN(len(p.Buffers))]
		b.Bytes = max(1, b.Bytes*(75+r.Int64N(50))/100)
	}
	return p
}

// A thousand problems, each much like the one before: with its placement to begin at, every frame is as small or
// smaller, and all of them together take fewer steps, also where each warm start counts as what it places.
func TestAWarmStartIsQuickerAndNeverWorse(t *testing.T) {
	base, r := problems.Packing(1, 60, 0.8), rand.New(rand.NewPCG(1, 0))
	var start []int64
	cold, warm := int64(0), int64(0)
	for range 1000 {
		p := nearly(r, base)
		a, b := solved(t, p, offsets.Options{}), solved(t, p, offsets.Options{Start: start})
		require.NoError(t, check.Solution(p, b))
		require.LessOrEqual(t, b.FrameBytes(), a.FrameBytes())
		cold += a.Steps
		warm += b.Steps + 1 + int64(len(p.Buffers)/64)
		start = b.Offsets
	}
	assert.Less(t, 10*warm, 9*cold, "steps")
}

// The placement of a problem is found again at once.
func TestAPlacementIsFoundAgain(t *testing.T) {
	p := problems.Packing(1, 120, 0.95)
	hard := solved(t, p, offsets.Options{MaxSteps: 20_000})
	again := solved(t, p, offsets.Options{Start: hard.Offsets})
	assert.LessOrEqual(t, again.FrameBytes(), hard.FrameBytes())
	if hard.Optimal && hard.LowerBound() == solved(t, p, offsets.Options{}).LowerBound() {
		assert.Zero(t, again.Steps)
	}
}

// Whatever the start says, the placement is right, and no worse; with steps to search it is right as well.
func TestAnyStartIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems.Alive(rapid.Uint64Range(1, 1000).Draw(t, "problem"), 40, 8, 1<<10)
		start := rapid.SliceOfN(rapid.Int64Range(-1, 1<<12), len(p.Buffers), len(p.Buffers)).Draw(t, "start")
		for _, steps := range []int64{0, 500} {
			s, err := offsets.Solve(p, offsets.Options{Start: start, MaxSteps: steps})
			require.NoError(t, err)
			require.NoError(t, check.Solution(p, s))
			if steps == 0 {
				cold, err := offsets.Solve(p, offsets.Options{})
				require.NoError(t, err)
				require.LessOrEqual(t, s.FrameBytes(), cold.FrameBytes())
			}
		}
	})
	_, err := offsets.Solve(problems.Packing(1, 10, 0.8), offsets.Options{Start: []int64{1}})
	require.ErrorContains(t, err, "offsets: it is told where 1 buffers lay and has 8; tell all or none")
}

// A clock of the caller's ends the search.
func TestABudgetByAnotherClock(t *testing.T) {
	at, looks := time.Time{}, 0
	clock := func() time.Time {
		looks++
		at = at.Add(time.Millisecond)
		return at
	}
	p := problems.Packing(1, 250, 0.97)
	s := solved(t, p, offsets.Options{Budget: 50 * time.Millisecond, Clock: clock})
	require.NoError(t, check.Solution(p, s))
	assert.InDelta(t, 51, looks, 2)
	assert.False(t, s.Optimal)
}

// On a busy machine a report may fall into the warm start, whose steps do not count.
func TestReportedStepsNeverFall(t *testing.T) {
	p := problems.Packing(1, 2000, 0.97)
	before := solved(t, p, offsets.Options{})
	at, told := time.Time{}, []int64{0}
	solved(t, p, offsets.Options{Start: before.Offsets, MaxSteps: 100, Clock: func() time.Time {
		at = at.Add(time.Second)
		return at
	}, Progress: func(of offsets.Progress) bool {
		told = append(told, of.Steps)
		return false
	}})
	assert.Greater(t, len(told), 2)
	assert.IsNonDecreasing(t, told)
}

// A buffer obeys the alignment of each space that it may lie in.
func TestSpacesHaveAlignments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems.Alive(rapid.Uint64Range(1, 1000).Draw(t, "problem"), 30, 6, 1<<10)
		for range rapid.IntRange(1, 3).Draw(t, "spaces") {
			p.Spaces = append(p.Spaces, offsets.Space{
				Alignment: rapid.SampledFrom([]int64{0, 1, 16, 256}).Draw(t, "alignment"),
				Capacity:  rapid.SampledFrom([]int64{0, 1 << 11}).Draw(t, "capacity")})
		}
		p.Spaces[len(p.Spaces)-1].Capacity = 0
		for i := range p.Buffers {
			if space := rapid.IntRange(0, 4*len(p.Spaces)).Draw(t, "space"); space < len(p.Spaces) {
				p.Buffers[i].Spaces = []int{space, len(p.Spaces) - 1}[:1+min(1, len(p.Spaces)-1-space)]
			}
		}
		s, err := offsets.Solve(p, offsets.Options{})
		if limit := (*offsets.LimitError)(nil); err != nil {
			require.ErrorAs(t, err, &limit)
			return
		}
		require.NoError(t, check.Solution(p, s))
		for i, at := range s.Offsets {
			if a := p.Spaces[s.Space[i]].Alignment; a > 0 {
				require.Zero(t, at%a)
			}
		}
	})
	p := offsets.Problem{Spaces: []offsets.Space{{Alignment: 64}},
		Buffers: []buffer{{Bytes: 8, End: 1, Pinned: true, Offset: 32}}}
	_, err := offsets.Solve(p, offsets.Options{})
	require.ErrorContains(t, err, "it is pinned at offset 32, which is no multiple of its alignment 64")
	_, err = offsets.Solve(offsets.Problem{Spaces: []offsets.Space{{Alignment: 48}}}, offsets.Options{})
	require.ErrorContains(t, err, "space 0: its alignment is 48; an alignment is a power of two, or 0 for none")
}

// TestAWarmStartOfSeveralSpacesChangesNothing has hints that made a larger frame.
func TestAWarmStartOfSeveralSpacesChangesNothing(t *testing.T) {
	p := offsets.Problem{Spaces: []offsets.Space{{Capacity: 11}, {}}, Buffers: []offsets.Buffer{
		{Bytes: 7, First: 3, End: 6}, {Bytes: 8, First: 2, End: 3}, {Bytes: 9, First: 3, End: 4}}}
	plain, err := offsets.Solve(p, offsets.Options{})
	require.NoError(t, err)
	hinted, err := offsets.Solve(p, offsets.Options{Start: []int64{0, -1, -1}})
	require.NoError(t, err)
	assert.Equal(t, int64(16), plain.FrameBytes())
	assert.Equal(t, plain, hinted)
}

// BenchmarkNearlyEqual measures problems that are much like the one before, placed anew and from its placement.
func BenchmarkNearlyEqual(b *testing.B) {
	sets := instances(b, "")
	maps.Copy(sets, instances(b, "minimalloc"))
	for name, base := range sets {
		for _, warm := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/warm=%v", strings.TrimSuffix(name, ".csv"), warm), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 0))
				var start []int64
				for b.Loop() {
					s, err := offsets.Solve(nearly(r, base), offsets.Options{Start: start})
					require.NoError(b, err)
					if warm {
						start = s.Offsets
					}
				}
			})
		}
	}
}
