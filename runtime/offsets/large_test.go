package offsets_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

func TestManyBuffers(t *testing.T) {
	for seed := range uint64(3) {
		s := solved(t, problems.Wide(30_000).Problem(seed), offsets.Options{})
		require.LessOrEqual(t, s.Gap(), 0.01)
	}
}

// Thousands alive at once: a sweep from the largest load or the skyline answers, in seconds rather than minutes.
func TestCrowd(t *testing.T) {
	shape := problems.Wide(20_000)
	shape.PerStep = 500
	s := solved(t, shape.Problem(1), offsets.Options{})
	require.Contains(t, []string{"skyline", "outward sweep"}, s.Method)
	require.LessOrEqual(t, s.Gap(), 0.06)
}

func TestSeedsAreProblems(t *testing.T) {
	require.Equal(t, problems.Wide(100).Problem(7), problems.Wide(100).Problem(7))
	require.NotEqual(t, problems.Wide(100).Problem(7), problems.Wide(100).Problem(8))
	short := problems.Shape{Buffers: 3, MinBytes: 5, MaxBytes: 6, PerStep: 2}.Problem(1)
	require.Equal(t, []offsets.Buffer{{Bytes: 5, End: 1}, {Bytes: 5, End: 1}, {Bytes: 5, First: 1, End: 2}},
		short.Buffers)
}

func BenchmarkGenerated(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		p := problems.Wide(n).Problem(1)
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmark(b, p, offsets.Options{}) })
	}
}

func BenchmarkNetworks(b *testing.B) {
	for name, p := range instances(b, "") {
		b.Run(name, func(b *testing.B) { benchmark(b, p, offsets.Options{}) })
	}
}

func BenchmarkMinimalloc(b *testing.B) {
	for name, p := range instances(b, "minimalloc") {
		b.Run(name, func(b *testing.B) { benchmark(b, p, offsets.Options{MaxSteps: 2_000_000}) })
	}
}

func benchmark(b *testing.B, p offsets.Problem, o offsets.Options) {
	b.ReportAllocs()
	var s *offsets.Solution
	for b.Loop() {
		o.Seed++
		var err error
		if s, err = offsets.Solve(p, o); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1+s.Gap(), "frame/bound")
}

// What is short, above what lives long inside each other: the skyline is far better than the orders by breadth and by
// size, which take ten times as long, so it comes before them.
func TestSkylineComesBeforeSlowOrders(t *testing.T) {
	r, p := rand.New(rand.NewPCG(1, 1)), offsets.Problem{}
	const last = 20_000
	for step := range int64(last) {
		if step%14 == 0 {
			p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: 64 << r.IntN(4), First: step / 7, End: last - step/7})
		}
		bytes, end := 4096*(1+r.Int64N(40)), step+2+r.Int64N(7)
		p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: bytes, First: step, End: end})
	}
	countedClock(t)
	s := solved(t, p, offsets.Options{Budget: time.Second})
	require.LessOrEqual(t, s.Gap(), 0.03, "%s; without the skyline it is 0.05", s.Method)
}
