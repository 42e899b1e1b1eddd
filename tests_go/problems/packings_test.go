package problems_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/runtime/offsets/check"
	"tlruntime/tests_go/problems"
)

// Every perfect packing has the pieces that were asked for, and the placement that it was cut from is right and fills
// every step, so that nothing smaller exists.
func TestPerfectPackingsFillEveryStep(t *testing.T) {
	for _, guillotine := range []bool{true, false} {
		for _, buffers := range []int{1, 2, 5, 50, 200, 1000} {
			for seed := range uint64(5) {
				p, s := problems.Perfect(seed, buffers, guillotine)
				require.Len(t, p.Buffers, buffers)
				require.NoError(t, check.Solution(p, s), "%v, %d buffers, seed %d", guillotine, buffers, seed)
				require.Equal(t, int64(problems.Side), s.FrameBytes())
				area := 0.0
				for _, b := range p.Buffers {
					area += float64(b.Bytes) * float64(b.End-b.First)
				}
				require.Equal(t, float64(problems.Side)*problems.Side, area)
			}
		}
	}
}

// Pieces of guillotine cuts come apart by straight cuts, those of the other kind do not.
func TestGuillotineCuts(t *testing.T) {
	for _, guillotine := range []bool{true, false} {
		p, s := problems.Perfect(1, 50, guillotine)
		all := make([]int, len(p.Buffers))
		for i := range all {
			all[i] = i
		}
		require.Equal(t, guillotine, apart(p.Buffers, s.Offsets, all))
	}
}

// apart says whether straight cuts alone take pieces apart.
func apart(list []offsets.Buffer, at []int64, pieces []int) bool {
	if len(pieces) == 1 {
		return true
	}
	ends := map[bool]func(i int) (int64, int64){
		false: func(i int) (int64, int64) { return list[i].First, list[i].End },
		true:  func(i int) (int64, int64) { return at[i], at[i] + list[i].Bytes },
	}
	for _, axis := range ends {
		for _, k := range pieces {
			_, cut := axis(k)
			below, above := []int{}, []int{}
			for _, i := range pieces {
				if first, end := axis(i); end <= cut {
					below = append(below, i)
				} else if first >= cut {
					above = append(above, i)
				}
			}
			if len(above) > 0 && len(below)+len(above) == len(pieces) {
				return apart(list, at, below) && apart(list, at, above)
			}
		}
	}
	return false
}

// A planner finds the optimum of the small ones.
func TestSmallPerfectPackingsAreSolved(t *testing.T) {
	for _, guillotine := range []bool{true, false} {
		p, _ := problems.Perfect(1, 50, guillotine)
		s, err := offsets.Solve(p, offsets.Options{MaxSteps: 200_000})
		require.NoError(t, err)
		require.NoError(t, check.Solution(p, s))
		require.Equal(t, int64(problems.Side), s.FrameBytes())
	}
}
