package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

var gridSample = entry{name: "GridSample", in: "X T, grid U", out: "Y T", t: floatTypes, u: floatTypes,
	accepts: "align_corners int, mode string, padding_mode string",
	becomes: "GatherND, once for each element that a result is made of: 1 (nearest), 2 (linear) or 4 (cubic) for each axis.",
	infer:   inferGridSample}

// sampler takes elements of X between which a grid points.
type sampler struct {
	*rewrite
	spatial       []int64 // extents of X
	align         bool
	mode, padding string
	kind          graph.DType // of coordinates
}

// tap is one of the elements, along one axis, that a result is made of.
type tap struct{ index, weight int } // i64, and floats; weight -1 is 1

func inferGridSample(k *call) error {
	x, grid := k.shape(0), k.shape(1)
	rank := len(x) - 2
	if rank < 1 || len(grid) != len(x) || grid[0] != x[0] || grid[rank+1] != int64(rank) || slices.Contains(x[2:], 0) {
		return k.fault("for X of (n, c, h, w) give it (n, height, width, 2), for one of (n, c, d, h, w) "+
			"(n, depth, height, width, 3)", "grid has the shape %s, X %s", graph.ShapeText(grid), graph.ShapeText(x))
	}
	align, err := k.flag("align_corners", 0)
	if err != nil {
		return err
	}
	mode, padding := k.stringOr("mode", "linear"), k.stringOr("padding_mode", "zeros")
	if old := map[string]string{"bilinear": "linear", "bicubic": "cubic"}[mode]; old != "" {
		mode = old
	}
	if !slices.Contains([]string{"linear", "nearest", "cubic"}, mode) {
		return k.fault("use linear, nearest or cubic", "its attribute \"mode\" is %q", mode)
	}
	if !slices.Contains([]string{"zeros", "border", "reflection"}, padding) {
		return k.fault("use zeros, border or reflection", "its attribute \"padding_mode\" is %q", padding)
	}
	s := &sampler{rewrite: k.rewrite(), spatial: x[2:], align: align == 1, mode: mode, padding: padding,
		kind: graph.F32}
	if k.arg(1).DType == graph.F64 {
		s.kind = graph.F64
	}
	return s.is(s.sample(x, grid))
}

func (s *sampler) sample(x, grid []int64) int {
	rank := len(s.spatial)
	points := graph.Elements(grid[1 : rank+1])
	at := s.shaped(s.cast(s.value(1), s.kind), grid[0], points, int64(rank))
	taps := make([][]tap, rank)
	for axis := range taps {
		component := int64(rank - 1 - axis) // the last axis comes first
		taps[axis] = s.taps(s.sliced(at, 2, component, component+1), s.spatial[axis])
	}
	elements := s.turned(s.shaped(s.value(0), x[0], x[1], graph.Elements(s.spatial)), 0, 2, 1)
	sum := -1
	for _, t := range s.joined(taps) {
		part := s.node("GatherND", graph.Attrs{"batch_dims": int64(1)}, elements, t.index)
		if t.weight >= 0 {
			part = s.node("Mul", nil, part, s.cast(t.weight, s.outType()))
		}
		if sum >= 0 {
			part = s.node("Add", nil, sum, part)
		}
		sum = part
	}
	return s.shaped(s.turned(sum, 0, 2, 1), slices.Concat(x[:2], grid[1:rank+1])...)
}

// joined are the taps of all axes together: an index into elements that are one axis.
func (s *sampler) joined(axes [][]tap) []tap {
	all, extent := axes[0], s.spatial
	for axis := 1; axis < len(axes); axis++ {
		var more []tap
		for _, a := range all {
			rows := s.node("Mul", nil, a.index, s.number(graph.I64, float64(extent[axis])))
			for _, b := range axes[axis] {
				more = append(more, tap{s.node("Add", nil, rows, b.index), s.times(a.weight, b.weight)})
			}
		}
		all = more
	}
	return all
}

func (s *sampler) times(a, b int) int {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return s.node("Mul", nil, a, b)
}

// calc is a node with a value and a number.
func (s *sampler) calc(op string, v int, x float64) int {
	return s.node(op, nil, v, s.number(s.kind, x))
}

// taps are the elements of one axis around coordinates from -1 to 1.
func (s *sampler) taps(at int, extent int64) []tap {
	d := float64(extent)
	if s.align {
		at = s.calc("Mul", s.calc("Add", at, 1), (d-1)/2)
	} else {
		at = s.calc("Sub", s.calc("Mul", s.calc("Add", at, 1), d/2), 0.5)
	}
	if s.mode == "nearest" {
		return []tap{s.tap(s.node("Round", nil, at), -1, extent)}
	}
	low := s.node("Floor", nil, at)
	part := s.node("Sub", nil, at, low)
	if s.mode == "linear" {
		return []tap{s.tap(low, s.node("Sub", nil, s.number(s.kind, 1), part), extent), s.tap(s.calc("Add", low, 1), part, extent)}
	}
	var list []tap
	for i := range 4 {
		step := float64(i - 1)
		distance := s.node("Abs", nil, s.calc("Sub", part, step))
		list = append(list, s.tap(s.calc("Add", low, step), s.cubic(distance, i == 1 || i == 2), extent))
	}
	return list
}

// cubic is the weight of an element at a distance below 1 (near) or 2: the spline with the parameter -0.75.
func (s *sampler) cubic(distance int, near bool) int {
	const a = -0.75
	factors := []float64{a, -5 * a, 8 * a, -4 * a}
	if near {
		factors = []float64{a + 2, -a - 3, 0, 1}
	}
	v := s.calc("Mul", distance, factors[0])
	for i, f := range factors[1:] {
		if f != 0 {
			v = s.calc("Add", v, f)
		}
		if i < 2 {
			v = s.node("Mul", nil, v, distance)
		}
	}
	return v
}

// edges are those that reflect: the middle of the first and the last element, or their far sides.
func (s *sampler) edges(extent int64) (low, high float64) {
	if s.align {
		return 0, float64(extent - 1)
	}
	return -0.5, float64(extent) - 0.5
}

func (s *sampler) clipped(v int, extent int64) int {
	return s.node("Clip", graph.Attrs{"min": 0.0, "max": float64(extent - 1)}, v)
}

// reflected goes to and fro between the edges.
func (s *sampler) reflected(at int, extent int64) int {
	low, high := s.edges(extent)
	span := high - low
	if span == 0 {
		return s.clipped(at, extent)
	}
	way := s.node("Mod", graph.Attrs{"fmod": int64(1)}, s.node("Abs", nil, s.calc("Sub", at, low)), s.number(s.kind, 2*span))
	back := s.node("Abs", nil, s.calc("Sub", way, span))
	return s.node("Sub", nil, s.number(s.kind, low+span), back)
}

// tap is the element with this index. One beyond X is zero, or that at the edge, or in the mirror.
func (s *sampler) tap(index, weight int, extent int64) tap {
	if s.padding == "reflection" {
		index = s.reflected(index, extent)
	}
	there := s.clipped(index, extent)
	if s.padding == "zeros" {
		weight = s.times(weight, s.cast(s.node("Equal", nil, index, there), s.kind))
	}
	return tap{s.cast(there, graph.I64), weight}
}
