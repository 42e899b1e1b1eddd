package offsets_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tlruntime/runtime/offsets"
	"tlruntime/tests_go/problems"
)

// A crowd's sections weigh the less the lower the load is, up to the reciprocal of the mean lives and three; those of
// few weigh one each.
func TestSectionsWeighByTheirLoad(t *testing.T) {
	weight, load := offsets.Weights(problems.Alive(1, 30_000, 300, 1<<20))
	order := make([]int, len(load))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return int(load[b] - load[a]) })
	for k := range order[1:] {
		require.LessOrEqual(t, weight[order[k+1]], weight[order[k]]+1e-9)
	}
	lives := float64(len(load)) / 300
	require.InDelta(t, 1.0/3, weight[order[0]], 0.01)
	require.InEpsilon(t, 1/(3+lives), weight[order[len(order)-1]], 0.05)
	weight, _ = offsets.Weights(problems.Alive(1, 1000, 50, 1<<20))
	require.NotEmpty(t, weight)
	for _, one := range weight {
		require.Equal(t, 1.0, one)
	}
}

// Loads that are equal, and as different as loads can be, have weights, too.
func TestEvenAndHugeLoadsHaveWeights(t *testing.T) {
	p := offsets.Problem{}
	for k := range int64(600) {
		p.Buffers = append(p.Buffers, offsets.Buffer{Bytes: 1, First: k / 300, End: k/300 + 1})
	}
	weight, _ := offsets.Weights(p)
	require.Equal(t, []float64{1.0 / 3, 1.0 / 3}, weight)
	p.Buffers[0].Bytes = 1 << 61
	weight, _ = offsets.Weights(p)
	require.Len(t, weight, 2)
	require.Greater(t, weight[0], weight[1])
}

// Three thousand alive for 65 times as long as they live: the sweep spares the few places with a large load. Where all
// sections weigh the same it ends at 1.0182.
func TestLongCrowdsComeClose(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: many seconds")
	}
	s := solved(t, problems.Alive(1, 200_000, 3000, 1<<20), offsets.Options{Seed: 1})
	require.LessOrEqual(t, s.Gap(), 0.0135)
}
