package llvm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tlruntime/compiler/graph"
)

// picked makes a tensor of elements of another one.
func picked(x tensor, shape []int64, from func(index []int64) []int64) tensor {
	y := zeros(x.dtype, shape...)
	for index := range indices(shape) {
		y.data[y.at(index)] = x.get(from(index)...)
	}
	return y
}

func drawSource(t *rapid.T, r *rand.Rand, axes int) tensor {
	return random(r, dtypeOf(t, computed), 0, 99, extents(t, "shape", axes, 1, 7)...)
}

func drawTranspose(t *rapid.T, r *rand.Rand) *spec {
	x := drawSource(t, r, rapid.IntRange(1, 4).Draw(t, "axes"))
	perm := make([]int64, len(x.shape))
	for i := range perm {
		perm[i] = int64(i)
	}
	perm = rapid.Permutation(perm).Draw(t, "perm")
	shape := make([]int64, len(perm))
	for i, p := range perm {
		shape[i] = x.shape[p]
	}
	return newSpec("Transpose", graph.Attrs{"perm": perm}, []tensor{x}, picked(x, shape, func(index []int64) []int64 {
		from := make([]int64, len(perm))
		for i, p := range perm {
			from[p] = index[i]
		}
		return from
	}))
}

func drawSlice(t *rapid.T, r *rand.Rand) *spec {
	x := drawSource(t, r, rapid.IntRange(1, 4).Draw(t, "axes"))
	n := len(x.shape)
	starts, ends, steps, shape := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, d := range x.shape {
		steps[i] = rapid.SampledFrom([]int64{1, 1, 2, -1, -2}).Draw(t, "step")
		starts[i] = rapid.Int64Range(0, d-1).Draw(t, "start")
		ends[i] = rapid.Int64Range(starts[i], d).Draw(t, "end")
		if steps[i] < 0 {
			ends[i] = rapid.Int64Range(-1, starts[i]).Draw(t, "end")
		}
		for at := starts[i]; steps[i] > 0 && at < ends[i] || steps[i] < 0 && at > ends[i]; at += steps[i] {
			shape[i]++
		}
	}
	return newSpec("Slice", graph.Attrs{"starts": starts, "ends": ends, "steps": steps}, []tensor{x},
		picked(x, shape, func(index []int64) []int64 {
			from := make([]int64, n)
			for i := range from {
				from[i] = starts[i] + index[i]*steps[i]
			}
			return from
		}))
}

func drawPad(t *rapid.T, r *rand.Rand) *spec {
	x := drawSource(t, r, rapid.IntRange(1, 3).Draw(t, "axes"))
	n := len(x.shape)
	mode := rapid.SampledFrom([]string{"constant", "edge", "reflect", "wrap"}).Draw(t, "mode")
	pads, shape := make([]int64, 2*n), make([]int64, n)
	for i, d := range x.shape {
		most := int64(4)
		if mode == "reflect" {
			most = min(d-1, 4)
		}
		pads[i], pads[n+i] = rapid.Int64Range(0, most).Draw(t, "before"), rapid.Int64Range(0, most).Draw(t, "after")
		if mode == "wrap" {
			pads[i] *= rapid.Int64Range(1, 3).Draw(t, "far")
		}
		if d > 2 && (mode == "constant" || mode == "wrap") && rapid.IntRange(0, 3).Draw(t, "cut") == 0 {
			pads[i] = -1
		}
		shape[i] = d + pads[i] + pads[n+i]
	}
	y := zeros(x.dtype, shape...)
	for index := range indices(shape) {
		from, inside := make([]int64, n), true
		for i, d := range x.shape {
			from[i] = index[i] - pads[i]
			switch mode {
			case "wrap":
				first, left := max(-pads[i], 0), d+min(pads[i], 0)
				from[i] = first + ((index[i]-max(pads[i], 0))%left+left)%left
			case "edge":
				from[i] = min(max(from[i], 0), d-1)
			case "reflect":
				from[i] = max(from[i], -from[i])
				from[i] = min(from[i], 2*(d-1)-from[i])
			}
			inside = inside && from[i] >= 0 && from[i] < d
		}
		y.data[y.at(index)] = 1
		if inside {
			y.data[y.at(index)] = x.get(from...)
		}
	}
	return newSpec("Pad", graph.Attrs{"pads": pads, "mode": mode, "value": 1.0}, []tensor{x}, y)
}

func drawReshape(t *rapid.T, r *rand.Rand) *spec {
	x := drawSource(t, r, rapid.IntRange(0, 4).Draw(t, "axes"))
	var shape []int64
	rest := graph.Elements(x.shape)
	for _, f := range []int64{2, 3, 2, 5, 7} {
		if rest%f == 0 && rapid.Bool().Draw(t, "factor") {
			shape, rest = append(shape, f), rest/f
		}
	}
	shape = rapid.Permutation(append(shape, rest)).Draw(t, "shape")
	y := zeros(x.dtype, shape...)
	copy(y.data, x.data)
	op := rapid.SampledFrom([]string{"Reshape", "Copy"}).Draw(t, "operator")
	return newSpec(op, graph.Attrs{"shape": shape}, []tensor{x}, y)
}

func drawExpand(t *rapid.T, r *rand.Rand) *spec {
	shape := extents(t, "shape", rapid.IntRange(0, 4).Draw(t, "axes"), 1, 6)
	x := random(r, dtypeOf(t, computed), 0, 99, broadcastable(t, shape, "x")...)
	y := applied(x.dtype, shape, []tensor{x}, func(x []float64) float64 { return x[0] })
	return newSpec("Expand", graph.Attrs{"shape": shape}, []tensor{x}, y)
}

// cut splits a tensor along an axis.
func cut(x tensor, axis int, parts []int64) (list []tensor) {
	first := int64(0)
	for _, n := range parts {
		shape, from := slices.Clone(x.shape), first
		shape[axis] = n
		list = append(list, picked(x, shape, func(index []int64) []int64 {
			at := slices.Clone(index)
			at[axis] += from
			return at
		}))
		first += n
	}
	return list
}

func drawParts(t *rapid.T, r *rand.Rand) *spec {
	x := drawSource(t, r, rapid.IntRange(1, 4).Draw(t, "axes"))
	axis := rapid.IntRange(0, len(x.shape)-1).Draw(t, "axis")
	parts := extents(t, "parts", rapid.IntRange(1, 4).Draw(t, "number"), 0, 5)
	x.shape[axis] = 0
	for _, n := range parts {
		x.shape[axis] += n
	}
	x = random(r, x.dtype, 0, 99, x.shape...)
	if rapid.Bool().Draw(t, "join") {
		return newSpec("Concat", graph.Attrs{"axis": int64(axis)}, cut(x, axis, parts), x)
	}
	s := newSpec("Split", graph.Attrs{"axis": int64(axis), "split": parts}, []tensor{x}, cut(x, axis, parts)...)
	if len(parts) > 1 && rapid.Bool().Draw(t, "one is not asked for") {
		s.want[rapid.IntRange(0, len(parts)-1).Draw(t, "which")] = nil
	}
	return s
}

func drawGather(t *rapid.T, r *rand.Rand) *spec {
	x := drawSource(t, r, rapid.IntRange(1, 3).Draw(t, "axes"))
	axis := rapid.IntRange(0, len(x.shape)-1).Draw(t, "axis")
	n := float64(x.shape[axis])
	which := random(r, rapid.SampledFrom([]graph.DType{graph.I32, graph.I64}).Draw(t, "index"), -n, n-1,
		extents(t, "indices", rapid.IntRange(0, 2).Draw(t, "index axes"), 1, 4)...)
	last := axis + len(which.shape)
	shape := slices.Concat(x.shape[:axis], which.shape, x.shape[axis+1:])
	y := picked(x, shape, func(index []int64) []int64 {
		i := int64(which.get(index[axis:last]...))
		if i < 0 {
			i += int64(n)
		}
		return slices.Concat(index[:axis], []int64{i}, index[last:])
	})
	s := newSpec("Gather", graph.Attrs{"axis": int64(axis)}, []tensor{x, which}, y)
	if len(which.data) > 0 && rapid.IntRange(0, 4).Draw(t, "wrong") == 0 {
		s.args[1].data[r.IntN(len(which.data))] = []float64{n, -n - 1}[r.IntN(2)]
		s.status = statusInvalid
	}
	return s
}

func TestMoves(t *testing.T) {
	draws := []func(*rapid.T, *rand.Rand) *spec{
		drawTranspose, drawSlice, drawPad, drawReshape, drawExpand, drawParts, drawParts, drawGather,
	}
	runExamples(t, 100, func(t *rapid.T, r *rand.Rand) *spec {
		return rapid.SampledFrom(draws).Draw(t, "operator")(t, r)
	})
}
