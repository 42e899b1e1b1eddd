package llvm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// drawnWindow is a random window over random spatial axes.
type drawnWindow struct {
	in, out, kernel, strides, pads, dilations []int64
}

func drawWindow(t *rapid.T, ceil bool) drawnWindow {
	n := rapid.SampledFrom([]int{1, 2, 2, 2, 3}).Draw(t, "spatial axes")
	w := drawnWindow{
		kernel: extents(t, "kernel", n, 1, 4), strides: extents(t, "strides", n, 1, 3),
		dilations: extents(t, "dilations", n, 1, 2), pads: make([]int64, 2*n),
	}
	if rapid.IntRange(0, 3).Draw(t, "dense") > 0 {
		w.dilations = slices.Repeat([]int64{1}, n)
		w.strides = slices.Repeat([]int64{rapid.Int64Range(1, 2).Draw(t, "stride")}, n)
	}
	if n == 1 && rapid.IntRange(0, 3).Draw(t, "long") == 0 {
		w.kernel[0] = rapid.Int64Range(17, 40).Draw(t, "long kernel")
	}
	for i := range n {
		reach := (w.kernel[i]-1)*w.dilations[i] + 1
		for _, side := range []int{i, n + i} {
			w.pads[side] = rapid.Int64Range(0, min(w.kernel[i]-1, 20)).Draw(t, "pad")
		}
		most := int64(12)
		if i == n-1 {
			most = 45
		}
		least := max(reach-w.pads[i]-w.pads[n+i], 1)
		in := rapid.Int64Range(least, max(least, most)).Draw(t, "in")
		out := (in+w.pads[i]+w.pads[n+i]-reach)/w.strides[i] + 1
		if ceil && rapid.Bool().Draw(t, "ceil") && (out*w.strides[i]) < in+w.pads[i] {
			out++
		}
		w.in, w.out = append(w.in, in), append(w.out, out)
	}
	return w
}

func (w drawnWindow) attrs() graph.Attrs {
	return graph.Attrs{"kernel_shape": w.kernel, "strides": w.strides, "pads": w.pads, "dilations": w.dilations}
}

// taps calls f with each tap of an output and the input under it, and whether that
// is an input, and whether it is an input or lies in the pads.
func (w drawnWindow) taps(out []int64, f func(tap, in []int64, inside, padded bool)) {
	for tap := range indices(w.kernel) {
		in, inside, padded := make([]int64, len(tap)), true, true
		for i := range tap {
			in[i] = out[i]*w.strides[i] + tap[i]*w.dilations[i] - w.pads[i]
			inside = inside && in[i] >= 0 && in[i] < w.in[i]
			padded = padded && in[i] < w.in[i]+w.pads[len(tap)+i]
		}
		f(tap, in, inside, padded)
	}
}

func convolved(x, weights, bias tensor, biased bool, w drawnWindow, groups int64) tensor {
	rows, channels := weights.shape[0]/groups, weights.shape[1]
	y := zeros(x.dtype, slices.Concat([]int64{x.shape[0], weights.shape[0]}, w.out)...)
	y.size = make([]float64, len(y.data))
	for index := range indices(y.shape) {
		sum, size := 0.0, 0.0
		m := index[1]
		if biased {
			sum, size = bias.get(m), math.Abs(bias.get(m))
		}
		for c := range channels {
			w.taps(index[2:], func(tap, in []int64, inside, _ bool) {
				if inside {
					a := x.get(slices.Concat([]int64{index[0], m/rows*channels + c}, in)...)
					b := weights.get(slices.Concat([]int64{m, c}, tap)...)
					sum, size = sum+a*b, size+math.Abs(a*b)
				}
			})
		}
		y.data[y.at(index)], y.size[y.at(index)] = sum, size
	}
	return y
}

func TestConv(t *testing.T) {
	runExamples(t, 80, func(t *rapid.T, r *rand.Rand) *spec {
		w := drawWindow(t, false)
		d := rapid.SampledFrom([]graph.DType{graph.F32, graph.F32, graph.F32, graph.F64, graph.F16, graph.I32}).Draw(t,
			"dtype")
		groups := rapid.SampledFrom([]int64{1, 1, 2, 3}).Draw(t, "groups")
		channels, rows := rapid.Int64Range(1, 4).Draw(t, "channels"), rapid.Int64Range(1, 14).Draw(t, "rows")
		if rapid.IntRange(0, 3).Draw(t, "pointwise") == 0 {
			n := len(w.in)
			w.kernel, w.pads, w.dilations = slices.Repeat([]int64{1}, n), make([]int64, 2*n), slices.Repeat([]int64{1},
				n)
			for i := range n {
				w.out[i] = (w.in[i]-1)/w.strides[i] + 1
			}
		}
		batch := rapid.Int64Range(1, 2).Draw(t, "batch")
		x := random(r, d, -1, 1, slices.Concat([]int64{batch, groups * channels}, w.in)...)
		weights := random(r, d, -1, 1, slices.Concat([]int64{groups * rows, channels}, w.kernel)...)
		bias := random(r, d, -1, 1, groups*rows)
		biased := rapid.Bool().Draw(t, "biased")
		attrs := w.attrs()
		attrs["group"] = groups
		s := newSpec("Conv", attrs, []tensor{x, weights, bias}, convolved(x, weights, bias, biased, w, groups))
		if !biased {
			s.args[2] = nil
		}
		s.tol = 3e-6
		s.permuted = rapid.IntRange(0, 2).Draw(t, "channels last") == 0
		return s
	})
}

func TestPools(t *testing.T) {
	runExamples(t, 60, func(t *rapid.T, r *rand.Rand) *spec {
		w := drawWindow(t, true)
		op := rapid.SampledFrom([]string{"MaxPool", "AveragePool"}).Draw(t, "operator")
		d := rapid.SampledFrom([]graph.DType{graph.F32, graph.F32, graph.F64, graph.F16}).Draw(t, "dtype")
		if op == "MaxPool" && rapid.IntRange(0, 3).Draw(t, "bytes") == 0 {
			d = rapid.SampledFrom([]graph.DType{graph.U8, graph.I8}).Draw(t, "byte")
		}
		pads := int64(rapid.IntRange(0, 1).Draw(t, "count_include_pad"))
		x := random(r, d, 0, 99, slices.Concat(extents(t, "channels", 2, 1, 3), w.in)...)
		y := zeros(d, slices.Concat(x.shape[:2], w.out)...)
		for index := range indices(y.shape) {
			most, sum, count := math.Inf(-1), 0.0, 0.0
			w.taps(index[2:], func(_, in []int64, inside, padded bool) {
				if inside {
					v := x.get(slices.Concat(index[:2], in)...)
					most, sum = max(most, v), sum+v
				}
				if inside || pads == 1 && padded {
					count++
				}
			})
			y.data[y.at(index)] = most
			if op == "AveragePool" {
				y.data[y.at(index)] = sum / count
			}
		}
		if d == graph.I8 || d == graph.U8 {
			low, _ := elems[d].limits()
			for i, v := range y.data {
				y.data[i] = max(v, low)
			}
		}
		attrs := w.attrs()
		if op == "AveragePool" {
			attrs["count_include_pad"] = pads
		}
		s := newSpec(op, attrs, []tensor{x}, y)
		s.tol = close32
		if op == "MaxPool" && rapid.IntRange(0, 2).Draw(t, "indices") > 0 {
			columns := rapid.Bool().Draw(t, "columns")
			attrs["storage_order"] = int64(truth(columns))
			which := highestInputs(x, w, columns)
			s.want = append(s.want, &which)
			if rapid.IntRange(0, 3).Draw(t, "alone") == 0 {
				s.want[0] = nil
			}
		}
		return s
	})
}

// highestInputs numbers, for each output, the first input under its window that is
// the highest.
func highestInputs(x tensor, w drawnWindow, columns bool) tensor {
	which := zeros(graph.I64, slices.Concat(x.shape[:2], w.out)...)
	for index := range indices(which.shape) {
		most, number := 0.0, -1.0
		w.taps(index[2:], func(_, in []int64, inside, _ bool) {
			if !inside {
				return
			}
			v := x.get(slices.Concat(index[:2], in)...)
			if number < 0 || v > most || math.IsNaN(v) && !math.IsNaN(most) {
				most, number = v, float64(numberOf(x.shape, slices.Concat(index[:2], in), columns))
			}
		})
		which.data[which.at(index)] = number
	}
	return which
}

// numberOf is the number of an element when all are counted, the spatial axes
// with the last one, or the first one, fastest.
func numberOf(shape, index []int64, columns bool) int64 {
	inside, spatial := slices.Clone(index[2:]), slices.Clone(shape[2:])
	if columns {
		slices.Reverse(inside)
		slices.Reverse(spatial)
	}
	n := index[0]*shape[1] + index[1]
	for i, d := range spatial {
		n = n*d + inside[i]
	}
	return n
}

// TestMaxPoolOfNaN: the first NaN under a window is the highest.
func TestMaxPoolOfNaN(t *testing.T) {
	nan, low := math.NaN(), math.Inf(-1)
	x := tensor{dtype: graph.F32, shape: []int64{1, 1, 6}, data: []float64{low, low, 3, nan, 5, nan}}
	y := tensor{dtype: graph.F32, shape: []int64{1, 1, 5}, data: []float64{low, 3, nan, nan, nan}}
	which := tensor{dtype: graph.I64, shape: y.shape, data: []float64{0, 2, 3, 3, 5}}
	attrs := graph.Attrs{"kernel_shape": []int64{2}, "strides": []int64{1}, "dilations": []int64{1},
		"pads": []int64{0, 0}, "storage_order": int64(0)}
	run(t, []*job{newSpec("MaxPool", attrs, []tensor{x}, y, which).plain(0)})
}
