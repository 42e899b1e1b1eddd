package llvm

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

func drawArg(t *rapid.T, r *rand.Rand) *spec {
	shape := spatial(t, rapid.IntRange(1, 3).Draw(t, "axes"))
	x := random(r, dtypeOf(t, numbers), 0, 9, shape...)
	axis := rapid.IntRange(0, len(shape)-1).Draw(t, "axis")
	keep, last := rapid.Bool().Draw(t, "keepdims"), rapid.Bool().Draw(t, "last")
	op := rapid.SampledFrom([]string{"ArgMax", "ArgMin"}).Draw(t, "operator")
	if elems[x.dtype].float() && rapid.IntRange(0, 3).Draw(t, "nan") == 0 && !last {
		x.data[r.IntN(len(x.data))] = math.NaN()
	}
	one := slices.Clone(shape)
	one[axis] = 1
	y := zeros(graph.I64, one...)
	for index := range indices(one) {
		best, at := 0.0, slices.Clone(index)
		for i := range shape[axis] {
			at[axis] = i
			v := x.get(at...)
			better := v > best
			if op == "ArgMin" {
				better = v < best
			}
			if i == 0 || better || last && v == best || math.IsNaN(v) && !math.IsNaN(best) {
				best, y.data[y.at(index)] = v, float64(i)
			}
		}
	}
	if !keep {
		y.shape = slices.Delete(one, axis, axis+1)
	}
	return newSpec(op, graph.Attrs{"axis": int64(axis), "keepdims": int64(truth(keep)),
		"select_last_index": int64(truth(last))}, []tensor{x}, y)
}

// drawIndices draws indices from -n to n-1, and seldom one that is out of range.
func drawIndices(t *rapid.T, r *rand.Rand, n float64, shape ...int64) (which tensor, wrong bool) {
	which = random(r, rapid.SampledFrom([]graph.DType{graph.I32, graph.I64}).Draw(t, "index"), -n, n-1, shape...)
	if len(which.data) > 0 && rapid.IntRange(0, 5).Draw(t, "wrong") == 0 {
		which.data[r.IntN(len(which.data))] = []float64{n, -n - 1}[r.IntN(2)]
		return which, true
	}
	return which, false
}

func counted(i, n float64) int64 {
	if i < 0 {
		i += n
	}
	return int64(i)
}

// combined are the ways in which an update goes into an element.
var combined = map[string]func(old, update float64) float64{
	"none": func(_, update float64) float64 { return update },
	"add":  func(old, update float64) float64 { return old + update },
	"mul":  func(old, update float64) float64 { return old * update },
	"max":  func(old, update float64) float64 { return max(old, update) },
	"min":  func(old, update float64) float64 { return min(old, update) },
}

// drawUpdated draws a type and how updates go in.
func drawUpdated(t *rapid.T) (graph.DType, string) {
	d := dtypeOf(t, computed)
	how := rapid.SampledFrom([]string{"none", "add", "mul", "max", "min"}).Draw(t, "reduction")
	if d == graph.Bool {
		how = "none"
	}
	return d, how
}

// whole are numbers that no type rounds.
func whole(r *rand.Rand, d graph.DType, shape ...int64) tensor {
	x := random(r, d, 0, 3, shape...)
	for i := range x.data {
		x.data[i] = math.Round(x.data[i])
	}
	return x
}

func drawElements(t *rapid.T, r *rand.Rand) *spec {
	d, how := drawUpdated(t)
	shape := extents(t, "shape", rapid.IntRange(1, 3).Draw(t, "axes"), 1, 5)
	axis := rapid.IntRange(0, len(shape)-1).Draw(t, "axis")
	x, n := whole(r, d, shape...), float64(shape[axis])
	part := slices.Clone(shape)
	for i := range part {
		part[i] = rapid.Int64Range(1, part[i]).Draw(t, "part")
	}
	scatter := rapid.Bool().Draw(t, "scatter")
	if part[axis] = rapid.Int64Range(0, 4).Draw(t, "indices"); scatter {
		part[axis] = min(part[axis], 2)
	}
	which, wrong := drawIndices(t, r, n, part...)
	at := func(index []int64) []int64 {
		to := slices.Clone(index)
		to[axis] = counted(which.get(index...), n)
		return to
	}
	attrs := graph.Attrs{"axis": int64(axis), "reduction": how}
	if wrong {
		s := newSpec("ScatterElements", attrs, []tensor{x, which, whole(r, d, part...)}, x)
		if !scatter {
			s = newSpec("GatherElements", attrs, []tensor{x, which}, zeros(d, part...))
		}
		s.status = statusInvalid
		return s
	}
	if !scatter {
		return newSpec("GatherElements", attrs, []tensor{x, which}, picked(x, part, at))
	}
	updates, y := whole(r, d, part...), zeros(d, shape...)
	copy(y.data, x.data)
	for index := range indices(part) {
		to := y.at(at(index))
		y.data[to] = decode(d, encode(d, combined[how](y.data[to], updates.get(index...))))
	}
	s := newSpec("ScatterElements", attrs, []tensor{x, which, updates}, y)
	if rapid.Bool().Draw(t, "in place") {
		s.inPlace = 0
	}
	return s
}

func drawTuples(t *rapid.T, r *rand.Rand) *spec {
	d, how := drawUpdated(t)
	shape := slices.Repeat([]int64{rapid.Int64Range(1, 4).Draw(t, "extent")}, rapid.IntRange(1, 3).Draw(t, "axes"))
	scatter := rapid.Bool().Draw(t, "scatter")
	batch := 0
	if !scatter {
		batch = rapid.IntRange(0, len(shape)-1).Draw(t, "batch_dims")
	}
	n := rapid.IntRange(0, len(shape)-batch).Draw(t, "tuple")
	outer := slices.Concat(shape[:batch], extents(t, "outer", rapid.IntRange(0, 2).Draw(t, "outer axes"), 0, 3))
	which, wrong := drawIndices(t, r, float64(shape[0]), append(slices.Clone(outer), int64(n))...)
	x, with := whole(r, d, shape...), slices.Concat(outer, shape[batch+n:])
	at := func(index []int64) []int64 {
		to := slices.Clone(index[:batch])
		for j := range n {
			tuple := append(slices.Clone(index[:len(outer)]), int64(j))
			to = append(to, counted(which.get(tuple...), float64(shape[0])))
		}
		return append(to, index[len(outer):]...)
	}
	attrs := graph.Attrs{"batch_dims": int64(batch), "reduction": how}
	updates, y := whole(r, d, with...), zeros(d, shape...)
	copy(y.data, x.data)
	s := newSpec("ScatterND", attrs, []tensor{x, which, updates}, y)
	if !scatter {
		s = newSpec("GatherND", attrs, []tensor{x, which}, zeros(d, with...))
	}
	if wrong {
		s.status = statusInvalid
		return s
	}
	if !scatter {
		found := picked(x, with, at)
		s.want[0] = &found
		return s
	}
	for index := range indices(with) {
		to := y.at(at(index))
		y.data[to] = decode(d, encode(d, combined[how](y.data[to], updates.get(index...))))
	}
	if rapid.Bool().Draw(t, "in place") {
		s.inPlace = 0
	}
	return s
}

func drawCumSum(t *rapid.T, r *rand.Rand) *spec {
	shape := extents(t, "shape", rapid.IntRange(1, 3).Draw(t, "axes"), 1, 6)
	x := whole(r, dtypeOf(t, numbers), shape...)
	axis := rapid.IntRange(0, len(shape)-1).Draw(t, "axis")
	exclusive, reverse := rapid.Bool().Draw(t, "exclusive"), rapid.Bool().Draw(t, "reverse")
	y := zeros(x.dtype, shape...)
	for index := range indices(shape) {
		at := slices.Clone(index)
		for i := range shape[axis] {
			before := i < index[axis]
			if reverse {
				before = i > index[axis]
			}
			if at[axis] = i; before || i == index[axis] && !exclusive {
				y.data[y.at(index)] += x.get(at...)
			}
		}
	}
	s := newSpec("CumSum", graph.Attrs{"axis": int64(axis), "exclusive": int64(truth(exclusive)),
		"reverse": int64(truth(reverse))}, []tensor{x}, y)
	if rapid.Bool().Draw(t, "in place") {
		s.inPlace = 0
	}
	return s
}

func drawTopK(t *rapid.T, r *rand.Rand) *spec {
	shape := extents(t, "shape", rapid.IntRange(1, 3).Draw(t, "axes"), 1, 12)
	x := whole(r, dtypeOf(t, numbers), shape...)
	axis := rapid.IntRange(0, len(shape)-1).Draw(t, "axis")
	largest := rapid.Bool().Draw(t, "largest")
	part := slices.Clone(shape)
	part[axis] = rapid.Int64Range(0, shape[axis]).Draw(t, "k")
	y, which := zeros(x.dtype, part...), zeros(graph.I64, part...)
	for index := range indices(part) {
		order := make([]int64, shape[axis])
		for i := range order {
			order[i] = int64(i)
		}
		at := slices.Clone(index)
		value := func(i int64) float64 { at[axis] = i; return x.get(at...) }
		slices.SortStableFunc(order, func(a, b int64) int {
			if largest {
				a, b = b, a
			}
			return cmp.Compare(value(a), value(b))
		})
		i := order[index[axis]]
		y.data[y.at(index)], which.data[y.at(index)] = value(i), float64(i)
	}
	s := newSpec("TopK", graph.Attrs{"axis": int64(axis), "k": part[axis], "largest": int64(truth(largest))},
		[]tensor{x}, y, which)
	switch rapid.IntRange(0, 2).Draw(t, "results") {
	case 0:
		s.want[0] = nil
	case 1:
		s.want = s.want[:1]
	}
	return s
}

func TestIndexed(t *testing.T) {
	draws := []func(*rapid.T, *rand.Rand) *spec{drawArg, drawElements, drawTuples, drawCumSum, drawTopK}
	runExamples(t, 120, func(t *rapid.T, r *rand.Rand) *spec {
		return rapid.SampledFrom(draws).Draw(t, "operator")(t, r)
	})
}

// TestNaNIsTheBest: NaN is the highest and the lowest, the first one of several.
func TestNaNIsTheBest(t *testing.T) {
	nan := math.NaN()
	x := tensor{dtype: graph.F32, shape: []int64{5}, data: []float64{3, nan, 7, nan, math.Inf(-1)}}
	number := func(i float64) tensor { return tensor{dtype: graph.I64, shape: []int64{1}, data: []float64{i}} }
	attrs := graph.Attrs{"axis": int64(0), "keepdims": int64(1), "select_last_index": int64(0)}
	top := graph.Attrs{"axis": int64(0), "k": int64(3), "largest": int64(1)}
	run(t, []*job{
		newSpec("ArgMax", attrs, []tensor{x}, number(1)).plain(0),
		newSpec("ArgMin", attrs, []tensor{x}, number(1)).plain(1),
		newSpec("TopK", top, []tensor{x}, tensor{dtype: graph.F32, shape: []int64{3}, data: []float64{nan, nan, 7}},
			tensor{dtype: graph.I64, shape: []int64{3}, data: []float64{1, 3, 2}}).plain(2),
	})
}
