package remat_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// beside compares with the exact answer on small graphs, without views and results in place: no answer is cheaper, few
// are dearer, few are missing.
func beside(t *testing.T, longest int, outside func(*rapid.T) *remat.Outside) {
	o := plan.Options{NoViews: true, NoInPlace: true, NoConcat: true}
	possible, found, equal, ratio := 0, 0, 0, 0.0
	rapid.Check(t, func(r *rapid.T) {
		c := thereAndBack(r, longest)
		given, err := plan.Build(c, o)
		require.NoError(r, err)
		capacity := given.Frame.Bytes - 1024*rapid.Int64Range(1, 3).Draw(r, "less")
		if capacity < 0 {
			r.Skip()
		}
		second := outside(r)
		x := remat.Exact{Graph: c, Plan: o, Capacity: capacity, Cost: second.With(remat.Estimate), Moves: second != nil,
			AnyOrder: true}
		least, _, _ := x.Solve()
		got, err := remat.Fit(c, remat.Options{Plan: o, Capacity: capacity, Outside: second})
		var full *remat.CapacityError
		if err != nil {
			require.ErrorAs(r, err, &full)
		}
		if math.IsInf(least, 1) {
			require.NotNil(r, full)
			return
		}
		possible++
		if full != nil {
			require.LessOrEqual(r, full.LowerBound, capacity, "there is a plan")
			return
		}
		found++
		same(r, c, got)
		require.GreaterOrEqual(r, got.Cost, least*(1-1e-9))
		ratio += got.Cost / least
		if got.Cost <= least*(1+1e-9) {
			equal++
		}
	})
	t.Logf("possible %d, found %d, at the lowest cost %d, mean ratio %.4f", possible, found, equal, ratio/float64(found))
	if !testing.Short() { // with fewer graphs
		assert.GreaterOrEqual(t, 10*found, 9*possible)
		assert.Less(t, ratio/float64(found), 1.05)
	}
}

func TestBesideTheExactAnswer(t *testing.T) {
	beside(t, 7, func(*rapid.T) *remat.Outside { return nil })
}

// The second space is as fast as computing a value, some times slower, or some times faster.
func TestMovesBesideTheExactAnswer(t *testing.T) {
	beside(t, 4, func(r *rapid.T) *remat.Outside {
		return &remat.Outside{Bandwidth: rapid.SampledFrom([]float64{1e9, 4e9, 20e9, 100e9}).Draw(r, "bandwidth")}
	})
}
