package offsets_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// looked counts the looks at the clock, which come after so many units of work each. A look takes a second.
func looked(t *testing.T, looks *int) {
	t.Cleanup(offsets.SetClock(func() time.Time {
		*looks++
		return time.Unix(int64(*looks), 0)
	}))
}

// When the time is over at once, the work is that of one pass, in O(n log n), whatever the input; and it is counted.
func TestWhatIsDoneLateGrowsLikeTheInput(t *testing.T) {
	looks := 0
	looked(t, &looks)
	work := func(p offsets.Problem) int {
		before, start := looks, cpu(t)
		_, err := offsets.Solve(p, offsets.Options{Budget: 1})
		require.NoError(t, err)
		took, counted := cpu(t)-start, looks-before
		require.Less(t, took, time.Duration(counted+1000)*time.Millisecond, "%d looks: work was not counted", counted)
		return counted
	}
	few, many := problems.Hostile(5_000), problems.Hostile(40_000)
	for name := range few {
		t.Run(name, func(t *testing.T) {
			// n log n grows by 10; what is there for each space does not grow.
			assert.LessOrEqual(t, work(many[name]), 11*work(few[name])+50)
		})
	}
}

// A search ends soon after the caller wants that, in whatever phase, with the best placement so far.
func TestCancelEndsEveryPhaseSoon(t *testing.T) {
	shapes := problems.Hostile(4_000)
	shapes["alive"] = problems.Alive(1, 8_000, 60, 1<<20)
	shapes["crowd"] = problems.Alive(1, 3_000, 500, 1<<20)
	for _, name := range []string{"far apart", "gaps", "some pins", "aliases with gaps", "full spaces", "alive",
		"crowd"} {
		t.Run(name, func(t *testing.T) {
			looks, p := 0, shapes[name]
			looked(t, &looks)
			_, err := offsets.Solve(p, offsets.Options{Budget: 1})
			require.NoError(t, err)
			pass := looks
			places := []int{1, pass / 2, 8 * pass, pass / 4, 2 * pass, 32 * pass, 128 * pass}
			if testing.Short() {
				places = places[:3]
			}
			for _, at := range places {
				looks = 0
				after := math.MaxInt
				stop := func(offsets.Progress) bool {
					if looks >= at && after == math.MaxInt {
						after = looks
					}
					return looks >= at
				}
				s, err := offsets.Solve(p, offsets.Options{MaxSteps: 100_000_000, Progress: stop})
				require.NoError(t, err)
				require.NoError(t, check.Solution(p, s))
				if after == math.MaxInt {
					break // it ended by itself
				}
				require.LessOrEqual(t, looks-after, pass+pass/5+20, "cancelled at %d", at)
			}
		})
	}
}

// However late it is and however many spaces are too small, a buffer that one of them can hold is not refused.
func TestWhatFitsIsNotRefusedLate(t *testing.T) {
	for _, spaces := range []int{16, 32, 64, 256, 512} {
		for _, pinned := range []bool{false, true} {
			p := offsets.Problem{Spaces: make([]offsets.Space, spaces), Buffers: make([]offsets.Buffer, 200)}
			for k := range p.Spaces {
				p.Spaces[k].Capacity = 100
			}
			for k := range 4 {
				p.Spaces[k].Capacity = 8
			}
			p.Spaces[spaces-1].Capacity = 1000
			for i := range p.Buffers {
				p.Buffers[i] = offsets.Buffer{Bytes: 500, First: int64(i), End: int64(i) + 1}
				if i%2 == 1 {
					p.Buffers[i].Bytes = 50
				}
			}
			if pinned {
				p.Buffers[0].Pinned, p.Buffers[0].Spaces = true, []int{spaces - 1}
			}
			s, err := offsets.Solve(p, offsets.Options{Budget: 1})
			require.NoError(t, err, "%d spaces, pinned %t", spaces, pinned)
			require.NoError(t, check.Solution(p, s))
		}
	}
}
