package llvm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

func matrixExtent(t *rapid.T, label string) int64 {
	return rapid.SampledFrom([]int64{1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 40}).Draw(t, label)
}

// drawnType draws f32 more often than the others, and how large its numbers are.
func drawnType(t *rapid.T, list ...graph.DType) (graph.DType, float64) {
	d := rapid.SampledFrom(append([]graph.DType{graph.F32, graph.F32}, list...)).Draw(t, "dtype")
	if elems[d].float() {
		return d, 1
	}
	return d, 20
}

func TestMatMul(t *testing.T) {
	runExamples(t, 60, func(t *rapid.T, r *rand.Rand) *spec {
		d, size := drawnType(t, graph.F64, graph.I32, graph.I64, graph.F16)
		m, k, n := matrixExtent(t, "m"), matrixExtent(t, "k"), matrixExtent(t, "n")
		batch := extents(t, "batch", rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "batch axes"), 1, 3)
		a := random(r, d, -size, size, slices.Concat(broadcastable(t, batch, "a"), []int64{m, k})...)
		b := random(r, d, -size, size, slices.Concat(batch, []int64{k, n})...)
		shape := slices.Concat(batch, []int64{m, n})
		y := zeros(d, shape...)
		y.size = make([]float64, len(y.data))
		for index := range indices(shape) {
			front, row, column := index[:len(batch)], index[len(batch)], index[len(batch)+1]
			for i := range k {
				p := a.broadcast(slices.Concat(front, []int64{row, i})) * b.broadcast(slices.Concat(front,
					[]int64{i, column}))
				y.data[y.at(index)] += p
				y.size[y.at(index)] += math.Abs(p)
			}
		}
		if m == 1 && len(a.shape) == 2 && rapid.Bool().Draw(t, "row") {
			a.shape = a.shape[1:]
			y.shape = slices.Concat(batch, []int64{n})
		} else if n == 1 && len(batch) == 0 && rapid.Bool().Draw(t, "column") {
			b.shape = b.shape[:1]
			y.shape = []int64{m}
			if len(a.shape) == 2 && m == 1 {
				y.shape = []int64{1}
			}
		}
		s := newSpec("MatMul", nil, []tensor{a, b}, y)
		s.tol = 3e-6
		return s
	})
}

func TestGemm(t *testing.T) {
	runExamples(t, 50, func(t *rapid.T, r *rand.Rand) *spec {
		d, size := drawnType(t, graph.F64, graph.I32, graph.BF16)
		m, k, n := matrixExtent(t, "m"), matrixExtent(t, "k"), matrixExtent(t, "n")
		alpha, beta := rapid.SampledFrom([]float64{1, 1, 2, -3}).Draw(t, "alpha"),
			rapid.SampledFrom([]float64{1, 1, 0, 2}).Draw(t, "beta")
		transA, transB := int64(rapid.IntRange(0, 1).Draw(t, "transA")), int64(rapid.IntRange(0, 1).Draw(t, "transB"))
		turned := func(t int64, a, b int64) []int64 {
			if t == 1 {
				return []int64{b, a}
			}
			return []int64{a, b}
		}
		a := random(r, d, -size, size, turned(transA, m, k)...)
		b := random(r, d, -size, size, turned(transB, k, n)...)
		c := random(r, d, -size, size, broadcastable(t, []int64{m, n}, "c")...)
		with := rapid.Bool().Draw(t, "with C")
		y := zeros(d, m, n)
		y.size = make([]float64, len(y.data))
		for index := range indices(y.shape) {
			at := y.at(index)
			for i := range k {
				p := alpha * a.get(turned(transA, index[0], i)...) * b.get(turned(transB, i, index[1])...)
				y.data[at], y.size[at] = y.data[at]+p, y.size[at]+math.Abs(p)
			}
			if with {
				p := beta * c.broadcast(index)
				y.data[at], y.size[at] = y.data[at]+p, y.size[at]+math.Abs(p)
			}
		}
		s := newSpec("Gemm", graph.Attrs{"alpha": alpha, "beta": beta, "transA": transA, "transB": transB},
			[]tensor{a, b, c}, y)
		if !with {
			s.args[2] = nil
		}
		s.tol = 3e-6
		return s
	})
}
