package llvm

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// The result has room for as many indices as the model states: any other number is an invalid
// argument, and nothing is written beyond.
func TestNonZero(t *testing.T) {
	runExamples(t, 50, func(t *rapid.T, r *rand.Rand) *spec {
		d := dtypeOf(t, computed)
		x := random(r, d, 0, 2, extents(t, "shape", rapid.IntRange(0, 4).Draw(t, "axes"), 0, 5)...)
		for i := range x.data {
			if elems[d].float() && x.data[i] < 1.4 {
				x.data[i] = 0
			} else if elems[d].float() && r.IntN(4) == 0 {
				x.data[i] = math.NaN()
			}
		}
		var found [][]int64
		for index := range indices(x.shape) {
			if x.get(index...) != 0 {
				found = append(found, append([]int64{}, index...))
			}
		}
		room := max(len(found)+rapid.SampledFrom([]int{0, 0, 0, 1, -1}).Draw(t, "room"), 0)
		y := zeros(graph.I64, int64(len(x.shape)), int64(room))
		for n, index := range found {
			for axis, i := range index {
				if n < room {
					y.data[axis*room+n] = float64(i)
				}
			}
		}
		s := newSpec("NonZero", graph.Attrs{}, []tensor{x}, y)
		if room != len(found) {
			s.status = statusInvalid
		}
		return s
	})
}

func TestChecksOfNonZero(t *testing.T) {
	p := planOf(t, `{"tl_graph": 1, "name": "some", "inputs": [{"name": "x", "dtype": "f32", "shape": [4]},
		{"name": "i", "dtype": "i64", "shape": [2]}], "outputs": ["y", "z"],
		"values": [{"name": "y", "dtype": "i64", "shape": [1, 3]}],
		"nodes": [{"name": "n", "op": "NonZero", "inputs": ["x"], "outputs": ["y"]},
			{"name": "g", "op": "Gather", "inputs": ["x", "i"], "outputs": ["z"]}]}`, plan.Options{})
	assert.ElementsMatch(t, []string{`node "n" (NonZero): 3 elements of its argument have to be other than 0`,
		`node "g" (Gather): its indices have to be in range`}, Checks(p))
}
