package ops

import (
	"math"
	"slices"

	"tlruntime/compiler/graph"
)

var resizes = []entry{
	{name: "Resize", in: "X T, roi float?!, scales float?!, sizes i64?!", out: "Y T", t: anyTypes,
		accepts: "antialias int, axes ints, coordinate_transformation_mode string, cubic_coeff_a float, " +
			"exclude_outside " +
			"int, extrapolation_value float, keep_aspect_ratio_policy string, mode string, nearest_mode string, " +
			"scales " +
			"floats",
		becomes: "a Gather for each axis that changes with mode nearest; with linear and cubic a sum of weighted " +
			"Gathers " +
			"or, when it shrinks with antialias, a MatMul. Integers are computed as f32 and rounded.",
		infer: inferResize},
	{name: "Upsample", in: "X T, scales float?!", out: "Y T", t: anyTypes,
		accepts: "mode string, scales floats, height_scale float, width_scale float",
		becomes: "Resize with the mode asymmetric; nearest rounds down.", infer: inferUpsample},
}

// resizing is a Resize on its way.
type resizing struct {
	*rewrite
	mode, coordinates, nearest string
	cubic, beyond              float64
	exclude, antialias         bool
	roi                        []float64 // all starts, then all ends
	scales                     []float64 // by axis of X
	sizes                      []int64   // of the result
}

func inferResize(k *call) error {
	z := &resizing{rewrite: k.rewrite(), mode: k.stringOr("mode", "nearest"),
		coordinates: k.stringOr("coordinate_transformation_mode", "half_pixel"),
		nearest:     k.stringOr("nearest_mode", "round_prefer_floor"), cubic: k.floatOr("cubic_coeff_a", -0.75),
		beyond: k.floatOr("extrapolation_value", 0), exclude: k.intOr("exclude_outside", 0) != 0,
		antialias: k.intOr("antialias", 0) != 0}
	scalesAt := 2
	if k.draft.Opset == 10 { // X and scales
		scalesAt, z.coordinates, z.nearest = 1, "asymmetric", "floor"
	}
	for _, p := range []struct {
		name, value string
		known       []string
	}{
		{"mode", z.mode, []string{"nearest", "linear", "cubic"}},
		{"nearest_mode", z.nearest, []string{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
		{"coordinate_transformation_mode", z.coordinates, []string{"half_pixel", "half_pixel_symmetric",
			"pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"}},
	} {
		if !slices.Contains(p.known, p.value) {
			return k.fault("use one of those of ONNX", "its attribute %q is %q", p.name, p.value)
		}
	}
	if err := z.extents(scalesAt); err != nil {
		return err
	}
	return z.resize()
}

func inferUpsample(k *call) error {
	mode := k.stringOr("mode", "nearest")
	if mode == "bilinear" || mode == "trilinear" {
		mode = "linear"
	}
	if mode != "nearest" && mode != "linear" {
		return k.fault("use nearest or linear", "its attribute \"mode\" is %q", mode)
	}
	z := &resizing{rewrite: k.rewrite(), mode: mode, coordinates: "asymmetric", nearest: "floor"}
	if err := z.extents(1); err != nil {
		return err
	}
	return z.resize()
}

// floats returns a parameter that is a list of floats, an input or an attribute.
func (k *call) floats(i int, name string) ([]float64, error) {
	if !k.has(i) {
		list, _ := k.given[name].([]float64)
		return list, nil
	}
	t, err := k.constant(i)
	if err != nil {
		return nil, err
	}
	list := make([]float64, graph.Elements(t.Shape))
	for j := range list {
		list[j] = t.FloatAt(int64(j))
	}
	return list, nil
}

// extents reads scales or sizes, of which an empty list is none, and finds the others.
func (z *resizing) extents(scalesAt int) error {
	k, x := z.call, z.shape(0)
	scales, err := k.floats(scalesAt, "scales")
	if err != nil {
		return err
	}
	var sizes []int64
	if sizesAt := 3; scalesAt == 2 && k.has(sizesAt) {
		if sizes, _, err = k.list(sizesAt, "sizes"); err != nil {
			return err
		}
	}
	axes, err := z.axesOf()
	if err != nil {
		return err
	}
	if (len(scales) == 0) == (len(sizes) == 0) && len(axes) > 0 {
		return k.fault("give one of them", "it has %d scales and %d sizes", len(scales), len(sizes))
	}
	if n := max(len(scales), len(sizes)); n != len(axes) {
		return k.fault("give one for each axis", "it has %d scales or sizes for %d axes", n, len(axes))
	}
	z.scales, z.sizes = slices.Repeat([]float64{1}, len(x)), slices.Clone(x)
	for i, a := range axes {
		if len(sizes) > 0 {
			z.sizes[a], z.scales[a] = sizes[i], float64(sizes[i])/float64(x[a])
		} else {
			z.scales[a] = scales[i]
			z.sizes[a] = int64(math.Floor(float64(x[a]) * scales[i]))
		}
		if !(z.scales[a] > 0 && z.scales[a] < 1<<32) || z.sizes[a] < 0 || z.sizes[a] > 1<<40 {
			return k.fault("use sizes from 1 on of an axis that has elements", "axis %d of %s gets the size %d", a,
				graph.ShapeText(x), z.sizes[a])
		}
	}
	if len(sizes) > 0 {
		if err := z.keepAspect(axes); err != nil {
			return err
		}
	}
	return z.region(axes)
}

// axesOf are the axes that scales and sizes are of.
func (z *resizing) axesOf() ([]int64, error) {
	if _, ok := z.given["axes"]; ok {
		return z.axes(z.given.Ints("axes"), len(z.shape(0)))
	}
	axes := make([]int64, len(z.shape(0)))
	for i := range axes {
		axes[i] = int64(i)
	}
	return axes, nil
}

// keepAspect gives all axes one scale, where that is asked for.
func (z *resizing) keepAspect(axes []int64) error {
	policy := z.stringOr("keep_aspect_ratio_policy", "stretch")
	if policy == "stretch" || len(axes) == 0 {
		return nil
	}
	scale := z.scales[axes[0]]
	for _, a := range axes {
		switch policy {
		case "not_larger":
			scale = min(scale, z.scales[a])
		case "not_smaller":
			scale = max(scale, z.scales[a])
		default:
			return z.fault("use stretch, not_larger or not_smaller", "its attribute \"keep_aspect_ratio_policy\" is %q",
				policy)
		}
	}
	for _, a := range axes {
		size := math.Floor(scale*float64(z.shape(0)[a]) + 0.5)
		if !(size < 1<<40) {
			return z.fault("use smaller sizes", "axis %d gets the size %v", a, size)
		}
		z.scales[a], z.sizes[a] = scale, int64(size)
	}
	return nil
}

// region reads the part of X that tf_crop_and_resize takes.
func (z *resizing) region(axes []int64) error {
	if z.coordinates != "tf_crop_and_resize" {
		return nil
	}
	given, err := z.floats(1, "roi")
	if err != nil {
		return err
	}
	if len(given) != 2*len(axes) {
		return z.fault("give a start and an end for each axis", "roi has %d numbers for %d axes", len(given), len(axes))
	}
	rank := len(z.shape(0))
	z.roi = append(make([]float64, rank), slices.Repeat([]float64{1}, rank)...)
	for i, a := range axes {
		z.roi[a], z.roi[rank+int(a)] = given[i], given[len(axes)+i]
	}
	return nil
}

// resize goes axis by axis.
func (z *resizing) resize() error {
	d := z.outType()
	v := z.value(0)
	whole := z.mode == "nearest" || floatTypes.Has(d)
	if !whole {
		v = z.cast(v, graph.F32)
	}
	for a := range z.sizes {
		if z.err == nil && (z.sizes[a] != z.shape(0)[a] || z.scales[a] != 1 || z.roi != nil) {
			v = z.resized(v, a)
		}
	}
	if !whole {
		v = z.cast(z.node("Round", nil, v), d)
	}
	return z.is(v)
}

// taps are the elements that each element of the result is made of, and their weights.
type taps struct {
	n       int // for each element
	index   []int64
	weight  []float64
	outside []bool // the element lies outside of X: it is the extrapolation value
	any     bool   // one does
}

// resized is v with axis a as it has to be.
func (z *resizing) resized(v, a int) int {
	if z.err = z.room(z.sizes[a] * 64); z.err != nil {
		return -1
	}
	t := z.taps(a)
	d, n := z.of(v).DType, z.sizes[a]
	behind := len(z.sizes) - 1 - a
	y := -1
	switch {
	case t.n == 1:
		y = z.gathered(v, a, t, 0)
	case t.n > 4:
		y = z.product(v, a, t)
	default:
		terms := make([]int, t.n)
		for i := range terms {
			weights := graph.NewTensor(d, ones(behind, n))
			for o := range n {
				weights.SetNumber(o, t.weight[o*int64(t.n)+int64(i)])
			}
			terms[i] = z.node("Mul", nil, z.gathered(v, a, t, i), z.constant(weights))
		}
		y = z.node("Sum", nil, terms...)
	}
	if !t.any {
		return y
	}
	mask := graph.NewTensor(graph.Bool, ones(behind, n))
	for o, outside := range t.outside {
		if outside {
			mask.SetInt(int64(o), 1)
		}
	}
	return z.node("Where", nil, z.constant(mask), z.number(d, z.beyond), y)
}

// gathered takes tap i of each element.
func (z *resizing) gathered(v, a int, t *taps, i int) int {
	list := make([]int64, z.sizes[a])
	for o := range list {
		list[o] = t.index[o*t.n+i]
	}
	return z.node("Gather", graph.Attrs{"axis": int64(a)}, v, z.integers(list...))
}

// product multiplies the axis with a matrix of weights.
func (z *resizing) product(v, a int, t *taps) int {
	d, x := z.of(v).DType, z.of(v).Shape
	if z.err != nil {
		return -1
	}
	in, out := x[a], z.sizes[a]
	if z.err = z.room(in * out * 8); z.err != nil {
		return -1
	}
	sums := make([]float64, in*out)
	for o := range out {
		for i := range int64(t.n) {
			sums[o*in+t.index[o*int64(t.n)+i]] += t.weight[o*int64(t.n)+i]
		}
	}
	matrix := graph.NewTensor(d, []int64{out, in})
	for i, w := range sums {
		matrix.SetNumber(int64(i), w)
	}
	shape := slices.Clone(x)
	shape[a] = out
	flat := z.shaped(v, graph.Elements(x[:a]), in, graph.Elements(x[a+1:]))
	return z.shaped(z.node("MatMul", nil, z.constant(matrix), flat), shape...)
}

// taps finds where each element of axis a of the result comes from.
func (z *resizing) taps(a int) *taps {
	in, out := z.shape(0)[a], z.sizes[a]
	t := &taps{n: 1, outside: make([]bool, out)}
	for o := range out {
		at := z.origin(a, float64(o))
		if z.roi != nil && (at < 0 || at > float64(in-1)) {
			t.outside[o], t.any, at = true, true, 0
		}
		first, weights := z.weights(at, z.scales[a])
		sum, beside := 0.0, 0.0
		for i, w := range weights {
			if i := first + int64(i); z.exclude && (i < 0 || i >= in) {
				beside += w
			}
			sum += w
		}
		t.n = len(weights)
		for i, w := range weights {
			index := first + int64(i)
			if z.exclude && beside != 0 {
				if index < 0 || index >= in {
					w = 0
				}
				w /= sum - beside
			}
			t.index = append(t.index, min(max(index, 0), in-1))
			t.weight = append(t.weight, w)
		}
	}
	return t
}

// origin is the place in X of an element of the result.
func (z *resizing) origin(a int, o float64) float64 {
	in, scale := float64(z.shape(0)[a]), z.scales[a]
	out := scale * in
	switch z.coordinates {
	case "asymmetric":
		return o / scale
	case "align_corners":
		if out == 1 {
			return 0
		}
		return o * (in - 1) / (out - 1)
	case "tf_crop_and_resize":
		start, end := z.roi[a], z.roi[len(z.sizes)+a]
		if out == 1 {
			return (start + end) * (in - 1) / 2
		}
		return start*(in-1) + o*(end-start)*(in-1)/(out-1)
	case "pytorch_half_pixel":
		if z.sizes[a] == 1 {
			return 0
		}
	case "half_pixel_symmetric":
		return in/2*(1-float64(z.sizes[a])/out) + (o+0.5)/scale - 0.5
	}
	return (o+0.5)/scale - 0.5
}

// weights returns the first element that takes part at a place, and the weights from there
// on. At an element, the one before it has the weight 0.
func (z *resizing) weights(at, scale float64) (int64, []float64) {
	low := math.Ceil(at) - 1
	ratio := at - low
	if z.mode == "nearest" {
		return z.nearestOf(at), []float64{1}
	}
	reach, f := 1.0, func(x float64) float64 { return max(1-math.Abs(x), 0) }
	if z.mode == "cubic" {
		reach, f = 2, z.cubicOf
	}
	scale = min(scale, 1)
	if !z.antialias {
		scale = 1
	}
	first := math.Floor(-reach/scale) + 1
	list := make([]float64, 2-2*int(first))
	sum := 0.0
	for i := range list {
		list[i] = f((first + float64(i) - ratio) * scale)
		sum += list[i]
	}
	for i := range list {
		list[i] /= sum
	}
	return int64(low + first), list
}

func (z *resizing) cubicOf(x float64) float64 {
	a := z.cubic
	x = math.Abs(x)
	switch {
	case x <= 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

func (z *resizing) nearestOf(at float64) int64 {
	switch z.nearest {
	case "floor":
		return int64(math.Floor(at))
	case "ceil":
		return int64(math.Ceil(at))
	case "round_prefer_ceil":
		return int64(math.Floor(at + 0.5))
	}
	return int64(math.Ceil(at - 0.5))
}
