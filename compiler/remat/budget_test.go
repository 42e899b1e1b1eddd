package remat_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
)

// tight is a training step and a capacity that takes some search.
func tight(t *testing.T) (remat.Options, func(remat.Options) (*remat.Result, error)) {
	c := training(t, 8, 64, 32)
	given, err := plan.Build(c, quick)
	require.NoError(t, err)
	return remat.Options{Plan: quick, Capacity: given.Frame.Bytes * 45 / 100},
		func(o remat.Options) (*remat.Result, error) { return remat.Fit(c, o) }
}

// A search with more steps is the same search, and goes on.
func TestMoreStepsAreNeverDearer(t *testing.T) {
	o, fit := tight(t)
	last, found := 0.0, 0
	for _, o.MaxSteps = range []int64{1, 10, 40, 100, 400, 1500, 4000} {
		r, err := fit(o)
		var full *remat.CapacityError
		if err != nil {
			require.ErrorAs(t, err, &full)
			require.Zero(t, found, "fewer steps had found an answer")
			continue
		}
		if found++; found > 1 {
			assert.LessOrEqual(t, r.Cost, last, "%d steps", o.MaxSteps)
		}
		assert.LessOrEqual(t, r.Steps, o.MaxSteps+4)
		again, err := fit(o)
		require.NoError(t, err)
		assert.Equal(t, r, again, "%d steps", o.MaxSteps)
		last = r.Cost
	}
	assert.Greater(t, found, 2)
	o.MaxSteps = 0
	r, err := fit(o)
	require.NoError(t, err)
	o.MaxSteps = r.Steps * 2
	more, err := fit(o)
	require.NoError(t, err)
	assert.LessOrEqual(t, more.Cost, r.Cost)
	assert.Greater(t, more.Steps, r.Steps, "it goes on while there are steps")
}

// The budget ends the search, but for the plan that is being made.
func TestTheBudgetIsABound(t *testing.T) {
	o, fit := tight(t)
	o.Budget = time.Second
	start := time.Now()
	r, err := fit(o)
	took := time.Since(start)
	require.NoError(t, err)
	assert.LessOrEqual(t, r.Plan.Frame.Bytes, o.Capacity)
	assert.Less(t, took, 10*time.Second)
	assert.Greater(t, took, 900*time.Millisecond, "time is used")
	o.Budget = 1
	_, err = fit(o)
	require.ErrorAs(t, err, new(*remat.CapacityError))
}

// Progress tells of each better answer, and ends the search.
func TestProgress(t *testing.T) {
	o, fit := tight(t)
	var told []remat.Progress
	o.Progress = func(p remat.Progress) bool {
		told = append(told, p)
		return false
	}
	whole, err := fit(o)
	require.NoError(t, err)
	require.NotEmpty(t, told)
	last := told[len(told)-1]
	assert.Equal(t, whole.Cost, last.Cost)
	assert.Equal(t, whole.Given, last.Given)
	for i, p := range told {
		assert.Positive(t, p.LowerBound)
		assert.LessOrEqual(t, p.LowerBound, p.Frame)
		if i > 0 && told[i-1].Cost >= 0 {
			assert.LessOrEqual(t, p.Cost, told[i-1].Cost)
			assert.GreaterOrEqual(t, p.Steps, told[i-1].Steps)
		}
	}
	o.Progress = func(p remat.Progress) bool { return p.Cost >= 0 }
	first, err := fit(o)
	require.NoError(t, err)
	assert.Less(t, first.Steps, whole.Steps)
	o.Progress = func(remat.Progress) bool { return true }
	_, err = fit(o)
	require.ErrorAs(t, err, new(*remat.CapacityError))
}

func TestStepsAndTimeThatAreNone(t *testing.T) {
	o, fit := tight(t)
	for _, bad := range []remat.Options{{Capacity: 1, MaxSteps: -1}, {Capacity: 1, Budget: -1}} {
		_, err := fit(bad)
		require.ErrorContains(t, err, "neither is negative")
	}
	o.Capacity = -1
	_, err := fit(o)
	require.ErrorContains(t, err, "the capacity is -1")
}

// What is proved to be impossible is said to be.
func TestACapacityBelowTheBound(t *testing.T) {
	o, fit := tight(t)
	o.Capacity = 64
	_, err := fit(o)
	var full *remat.CapacityError
	require.ErrorAs(t, err, &full)
	assert.Greater(t, full.LowerBound, o.Capacity)
	assert.LessOrEqual(t, full.LowerBound, full.Reached)
	assert.ErrorContains(t, err, "no plan can have fewer than")
	o.Capacity = full.LowerBound
	r, err := fit(o)
	require.NoError(t, err, "here the bound is reached")
	assert.Equal(t, full.LowerBound, r.Plan.Frame.Bytes)
}

// The gap is known: where all values have one size and price, the bound is close.
func TestTheLeastCost(t *testing.T) {
	c := training(t, 8, 64, 32)
	given, err := plan.Build(c, quick)
	require.NoError(t, err)
	r, err := remat.Fit(c, remat.Options{Plan: quick, Capacity: given.Frame.Bytes})
	require.NoError(t, err)
	assert.Equal(t, r.Given, r.LeastCost)
	for _, percent := range []int64{80, 60} {
		r, err = remat.Fit(c, remat.Options{Plan: quick, Capacity: given.Frame.Bytes * percent / 100})
		require.NoError(t, err)
		assert.LessOrEqual(t, r.LeastCost, r.Cost)
		assert.Greater(t, r.LeastCost-r.Given, (r.Cost-r.Given)/2, "%d %%", percent)
		r, err = remat.Fit(c, remat.Options{Plan: quick, Capacity: given.Frame.Bytes * percent / 100,
			Outside: &remat.Outside{Bandwidth: 1e12}})
		require.NoError(t, err)
		assert.LessOrEqual(t, r.LeastCost, r.Cost)
		assert.Greater(t, r.LeastCost, r.Given)
	}
}
