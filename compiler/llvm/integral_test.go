package llvm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/plan"
)

// drawBytes draws a tensor of bytes over their whole range, and zero points of a shape that is
// broadcast to it; nil: there are none.
func drawBytes(t *rapid.T, r *rand.Rand, label string, shape, points []int64) (x tensor, zero *tensor) {
	d := rapid.SampledFrom([]graph.DType{graph.U8, graph.I8}).Draw(t, label)
	low, high := elems[d].limits()
	x = random(r, d, low, high, shape...)
	switch rapid.IntRange(0, 3).Draw(t, label+" points") {
	case 0:
		return x, nil
	case 1:
		points = nil
	}
	z := random(r, d, low, high, points...)
	if rapid.IntRange(0, 4).Draw(t, label+" zero") == 0 {
		z = zeros(d, points...)
	}
	return x, &z
}

// less is x less its zero points, of i32.
func less(x tensor, zero *tensor) tensor {
	y := zeros(graph.I32, x.shape...)
	for index := range indices(x.shape) {
		at := x.at(index)
		if y.data[at] = x.data[at]; zero != nil {
			y.data[at] -= zero.broadcast(index)
		}
	}
	return y
}

func (s *spec) points(t *rapid.T, a, b *tensor) {
	s.args = append(s.args[:2], a, b)
	s.constant = []bool{false, rapid.Bool().Draw(t, "constant"), rapid.Bool().Draw(t, "a constant"),
		rapid.Bool().Draw(t, "b constant")}
}

func TestMatMulInteger(t *testing.T) {
	runExamples(t, 80, func(t *rapid.T, r *rand.Rand) *spec {
		m, k, n := matrixExtent(t, "m"), matrixExtent(t, "k"), matrixExtent(t, "n")
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			k = 20000
			m, n = min(m, 9), min(n, 9)
		}
		batch := extents(t, "batch", rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "batch axes"), 1, 3)
		a, za := drawBytes(t, r, "a", slices.Concat(broadcastable(t, batch, "a batch"), []int64{m, k}), []int64{m, 1})
		b, zb := drawBytes(t, r, "b", slices.Concat(batch, []int64{k, n}), []int64{n})
		x, w := less(a, za), less(b, zb)
		y := zeros(graph.I32, slices.Concat(batch, []int64{m, n})...)
		for index := range indices(y.shape) {
			front, row, column := index[:len(batch)], index[len(batch)], index[len(batch)+1]
			for i := range k {
				y.data[y.at(index)] += x.broadcast(slices.Concat(front, []int64{row, i})) *
					w.broadcast(slices.Concat(front, []int64{i, column}))
			}
		}
		s := newSpec("MatMulInteger", graph.Attrs{}, []tensor{a, b}, y)
		s.points(t, za, zb)
		return s
	})
}

func TestConvInteger(t *testing.T) {
	runExamples(t, 80, func(t *rapid.T, r *rand.Rand) *spec {
		d := drawWindow(t, false)
		groups := rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(t, "groups")
		channels, rows := rapid.Int64Range(1, 5).Draw(t, "channels"), rapid.Int64Range(1, 14).Draw(t, "rows")
		batch := rapid.Int64Range(1, 2).Draw(t, "batch")
		x, zx := drawBytes(t, r, "x", slices.Concat([]int64{batch, groups * channels}, d.in), nil)
		w, zw := drawBytes(t, r, "w", slices.Concat([]int64{groups * rows, channels}, d.kernel),
			slices.Concat([]int64{groups * rows, 1}, slices.Repeat([]int64{1}, len(d.kernel))))
		y := convolved(less(x, zx), less(w, zw), tensor{}, false, d, groups)
		y.dtype, y.size = graph.I32, nil
		attrs := d.attrs()
		attrs["group"] = groups
		s := newSpec("ConvInteger", attrs, []tensor{x, w}, y)
		if zw != nil && len(zw.shape) > 0 {
			zw.shape = zw.shape[:1]
		}
		s.points(t, zx, zw)
		s.permuted = rapid.IntRange(0, 3).Draw(t, "channels last") == 0
		return s
	})
}

// The composition that took their place had a widened copy of the weights in the frame.
func TestIntegerProductsWidenNothing(t *testing.T) {
	p := planOf(t, `{"tl_graph": 1, "name": "bytes", "inputs": [{"name": "x", "dtype": "u8", "shape": [4, 64]}],
		"constants": [{"name": "w", "dtype": "i8", "shape": [64, 32], "data": `+matrixText(64, 32)+`},
			{"name": "s", "dtype": "f32", "shape": [], "data": 0.5}, {"name": "z", "dtype": "u8", "shape": [], "data": 7},
			{"name": "n", "dtype": "i8", "shape": [], "data": 0}], "outputs": ["y"],
		"nodes": [{"op": "QLinearMatMul", "inputs": ["x", "s", "z", "w", "s", "n", "s", "z"], "outputs": ["y"]}]}`,
		plan.Options{})
	constants := int64(0)
	for _, b := range p.Buffers {
		if b.Kind == plan.Constant {
			constants += b.Bytes
		}
	}
	require.Less(t, constants, int64(64*32+64))
	require.LessOrEqual(t, p.Frame.Bytes, int64(2*4*4*32), "what is scaled is the result alone")
}

func matrixText(rows, columns int) string {
	text := "["
	for i := range rows {
		if i > 0 {
			text += ","
		}
		text += "[1"
		for range columns - 1 {
			text += ",-1"
		}
		text += "]"
	}
	return text + "]"
}

func TestZeroPointsThatDoNotFit(t *testing.T) {
	a, b, y := zeros(graph.U8, 2, 3), zeros(graph.I8, 3, 4), zeros(graph.I32, 2, 4)
	z := zeros(graph.U8, 1, 3)
	z.data[1] = 1
	s := newSpec("MatMulInteger", graph.Attrs{}, []tensor{a, b, z}, y)
	_, err := Module(s.plain(0).plan, Options{})
	require.ErrorContains(t, err, "MatMulInteger")
	s = newSpec("MatMulInteger", graph.Attrs{}, []tensor{a, b}, zeros(graph.I64, 2, 4))
	_, err = Module(s.plain(0).plan, Options{})
	require.ErrorContains(t, err, "MatMulInteger")
}
