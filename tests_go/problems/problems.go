// Package problems makes placement problems of any size from a seed, for tests and
// measurements.
package problems

import (
	"math"
	"math/rand/v2"

	"tlruntime/runtime/offsets"
)

// Shape says what a problem looks like.
type Shape struct {
	// Buffers is how many there are.
	Buffers int
	// MinBytes and MaxBytes bound the sizes, which are uniform in their logarithm.
	MinBytes, MaxBytes int64
	// MeanLife is the mean of the lifetimes in steps, which are geometric.
	MeanLife float64
	// PerStep is how many buffers start to live in each step, 0 means 1.
	PerStep int
}

// Wide is the shape of the large figures in docs/planner-offsets.md: 64 B to 16 MiB,
// alive for 30 steps on the average, one more in each step.
func Wide(buffers int) Shape {
	return Shape{Buffers: buffers, MinBytes: 64, MaxBytes: 16 << 20, MeanLife: 30}
}

// Problem makes the problem of a seed. Safe for concurrent use.
func (s Shape) Problem(seed uint64) offsets.Problem {
	r := rand.New(rand.NewPCG(seed, uint64(s.Buffers)))
	p := offsets.Problem{Buffers: make([]offsets.Buffer, s.Buffers)}
	low, high := math.Log(float64(s.MinBytes)), math.Log(float64(s.MaxBytes))
	perStep := max(1, s.PerStep)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		b.Bytes = int64(math.Exp(low + (high-low)*r.Float64()))
		b.First = int64(i / perStep)
		b.End = b.First + geometric(r, s.MeanLife)
	}
	return p
}

// geometric draws a number of steps, at least 1, with the given mean.
func geometric(r *rand.Rand, mean float64) int64 {
	if mean <= 1 {
		return 1
	}
	return 1 + int64(math.Log(1-r.Float64())/math.Log(1-1/mean))
}
