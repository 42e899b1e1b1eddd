package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

var byteTypes = graph.SetOf(graph.I8, graph.U8)

// quantized are operators on integers that stand for floats: (integer - zero point) *
// scale. Scale and zero point are one for all, or one for each element of an axis, or of a
// block of an axis.
var quantized = []entry{
	{name: "DequantizeLinear", in: "x U, x_scale T, x_zero_point U?", out: "y T", t: floatTypes,
		u:       graph.SetOf(graph.I8, graph.U8, graph.I16, graph.U16, graph.I32) | graph.NarrowTypes,
		accepts: "axis int, block_size int, output_dtype int", becomes: "Cast, Sub and Mul.",
		infer: inferDequantize},
	{name: "QuantizeLinear", in: "x T, y_scale float, y_zero_point U?", out: "y other", t: floatTypes | graph.SetOf(graph.I32),
		u:       graph.SetOf(graph.I8, graph.U8, graph.I16, graph.U16) | graph.NarrowTypes,
		accepts: "axis int, block_size int, output_dtype int, precision int, saturate int",
		becomes: "Div, Round, Add and Cast, in f32; a Cast takes what does not fit to the nearest end.",
		infer:   inferQuantize},
	{name: "DynamicQuantizeLinear", in: "x T", out: "y other, y_scale other, y_zero_point other", t: graph.SetOf(graph.F32),
		becomes: "ReduceMin and ReduceMax, of which scale and zero point of u8 are made, and QuantizeLinear.",
		infer:   inferDynamicQuantize},
	{name: "MatMulInteger", in: "A T, B U, a_zero_point T?, b_zero_point U?", out: "Y other", t: byteTypes,
		u: byteTypes,
		result: "MatMul of A less a_zero_point and B less b_zero_point, in i32; A and B have two axes or more. Zero points " +
			"are broadcast, and the same along the axis that is summed up.", infer: inferMatMulInteger},
	{name: "ConvInteger", in: "x T, w U, x_zero_point T?, w_zero_point U?", out: "y other", t: byteTypes, u: byteTypes,
		accepts: windowAttrs + ", group int",
		result: "Conv of x less x_zero_point, which is one, and w less w_zero_point, which is one for all or for each " +
			"filter, in i32. Pads are zero points.",
		attrs: convAttrs, infer: inferConvInteger},
	{name: "QLinearMatMul", in: "a T, a_scale float, a_zero_point T, b U, b_scale float, b_zero_point U, " +
		"y_scale float, y_zero_point any", out: "y other", t: byteTypes, u: byteTypes,
		becomes: "MatMulInteger, whose result is scaled in f32 and quantised.", infer: inferQLinearMatMul},
	{name: "QLinearConv", in: "x T, x_scale float, x_zero_point T, w U, w_scale float, w_zero_point U, " +
		"y_scale float, y_zero_point any, B any?", out: "y other", t: byteTypes, u: byteTypes,
		accepts: windowAttrs + ", group int", becomes: "ConvInteger, whose result is scaled in f32 and quantised.",
		infer: inferQLinearConv},
}

// along gives a scale or zero point v the axes of x, so that it is broadcast: a list goes
// along the axis, and one with as many axes as x repeats its elements over blocks.
func (r *rewrite) along(v, x int, axis, block int64) int {
	s, of := r.of(v).Shape, r.of(x).Shape
	switch {
	case r.err != nil || v < 0 || graph.Elements(s) == 1 && len(s) <= 1:
		if v >= 0 && len(s) == 1 {
			return r.shaped(v)
		}
		return v
	case len(s) == 1 && block == 0:
		if axis, r.err = r.axis(axis, len(of)); r.err == nil && s[0] == of[axis] {
			return r.shaped(v, ones(len(of)-1-int(axis), s[0])...)
		}
	case len(s) == len(of) && block > 0:
		if axis, r.err = r.axis(axis, len(of)); r.err == nil && block < maxWindow && s[axis] < maxWindow {
			return r.blocked(v, x, axis, block)
		}
	}
	if r.err == nil {
		r.err = r.fault("give it one element, or one for each element, or block, of the axis",
			"a scale or zero point has the shape %s, x has %s, axis is %d and block_size %d", graph.ShapeText(s),
			graph.ShapeText(of),
			axis, block)
	}
	return -1
}

// blocked repeats each element of v along an axis, as often as x needs.
func (r *rewrite) blocked(v, x int, axis, block int64) int {
	s := slices.Clone(r.of(v).Shape)
	apart := slices.Insert(slices.Clone(s), int(axis)+1, 1)
	wide := slices.Insert(slices.Clone(s), int(axis)+1, block)
	s[axis] *= block
	v = r.shaped(r.node("Expand", nil, r.shaped(v, apart...), r.integers(wide...)), s...)
	if n := r.of(x).Shape[axis]; n < s[axis] {
		v = r.sliced(v, axis, 0, n)
	}
	return v
}

// less subtracts a zero point, which may be left out, in type d.
func (r *rewrite) less(v, zero int, d graph.DType) int {
	v = r.cast(v, d)
	if zero < 0 {
		return v
	}
	return r.node("Sub", nil, v, r.cast(zero, d))
}

// rounded brings a f32 onto the integers of type d; a narrow float has no zero point.
func (r *rewrite) rounded(v, zero int, d graph.DType) int {
	if graph.NarrowTypes.Has(d) && !narrowInts.Has(d) {
		return r.cast(v, d)
	}
	v = r.node("Round", nil, v)
	if zero >= 0 {
		v = r.node("Add", nil, v, r.cast(zero, graph.F32))
	}
	return r.cast(v, d)
}

// quantisation reads where scales and zero points lie.
func (k *call) quantisation() (axis, block int64, err error) {
	axis, block = k.intOr("axis", 1), k.intOr("block_size", 0)
	if len(k.shape(0)) == 1 {
		axis = 0
	}
	if block < 0 {
		return 0, 0, k.fault("use 0 or more", "its attribute \"block_size\" is %d", block)
	}
	return axis, block, nil
}

func inferDequantize(k *call) error {
	axis, block, err := k.quantisation()
	if err != nil {
		return err
	}
	to, err := k.dtypeAttr("output_dtype", k.outType(), movedTypes)
	if err != nil {
		return err
	}
	r := k.rewrite()
	x := r.value(0)
	scale := r.along(r.value(1), x, axis, block)
	y := r.less(x, r.along(r.value(2), x, axis, block), k.outType())
	return r.is(r.cast(r.node("Mul", nil, y, scale), to))
}

func inferQuantize(k *call) error {
	axis, block, err := k.quantisation()
	if err != nil {
		return err
	}
	d := graph.U8
	if k.has(2) {
		d = k.arg(2).DType
	} else if d, err = k.dtypeAttr("output_dtype", graph.U8, movedTypes); err != nil {
		return err
	}
	if !k.spec.Inputs[2].Types.Has(d) {
		return k.fault("use i8, u8, i16, u16 or a narrower type", "its result is %s", d)
	}
	r := k.rewrite()
	x := r.value(0)
	scale := r.cast(r.along(r.value(1), x, axis, block), graph.F32)
	return r.is(r.rounded(r.node("Div", nil, r.cast(x, graph.F32), scale), r.along(r.value(2), x, axis, block), d))
}

func inferDynamicQuantize(k *call) error {
	r := k.rewrite()
	x, zero := r.value(0), r.number(graph.F32, 0)
	whole := graph.Attrs{"keepdims": int64(0)}
	low := r.node("Min", nil, r.node("ReduceMin", whole, x), zero)
	high := r.node("Max", nil, r.node("ReduceMax", whole, x), zero)
	scale := r.node("Div", nil, r.node("Sub", nil, high, low), r.number(graph.F32, 255))
	point := r.cast(r.node("Round", nil, r.node("Neg", nil, r.node("Div", nil, low, scale))), graph.U8)
	return r.is(r.rounded(r.node("Div", nil, x, scale), point, graph.U8), scale, point)
}

// lines gives a zero point or scale of one element for each row (before the last axis) or
// column (on it) of matrices the axes to be broadcast.
func (r *rewrite) lines(v int, rows bool) int {
	s := r.of(v).Shape
	switch {
	case len(s) == 1 && s[0] == 1:
		return r.shaped(v)
	case len(s) == 1 && rows:
		return r.shaped(v, s[0], 1)
	}
	return v
}

// inferMatMulInteger gives matrices and zero points the axes of the normal form.
func inferMatMulInteger(k *call) error {
	if err := inferMatMul(k); err != nil {
		return err
	}
	shape := k.results[0].shape
	r := k.rewrite()
	a, b, za, zb := r.value(0), r.value(1), r.value(2), r.value(3)
	if s := k.shape(0); len(s) == 1 {
		a = r.shaped(a, 1, s[0])
	}
	if s := k.shape(1); len(s) == 1 {
		b = r.shaped(b, s[0], 1)
	}
	if za >= 0 {
		za = r.lines(za, true)
	}
	if zb >= 0 {
		zb = r.lines(zb, false)
	}
	if r.err == nil && (a != r.value(0) || b != r.value(1) || za != r.value(2) || zb != r.value(3)) {
		return r.is(r.shaped(r.node("MatMulInteger", nil, a, b, za, zb), shape...))
	}
	for i, of := range [][]int64{k.shape(0), k.shape(1)} {
		if !k.has(2 + i) {
			continue
		}
		s := k.shape(2 + i)
		whole, ok := broadcast(s, of)
		summed := len(s) - 1 - i
		if r.err == nil && (!ok || !slices.Equal(whole, of) || summed >= 0 && s[summed] != 1) {
			return k.fault("give one, or one for each row of A or column of B", "its %s has the shape %s, and %s has %s",
				k.argument(2+i).Name, graph.ShapeText(s), k.argument(i).Name, graph.ShapeText(of))
		}
	}
	k.results = []result{{graph.I32, shape, nil}}
	return r.err
}

func inferConvInteger(k *call) error {
	for i, want := range map[int][]int64{2: {}, 3: k.shape(1)[:min(1, len(k.shape(1)))]} {
		if k.has(i) && graph.Elements(k.shape(i)) != 1 && (len(want) == 0 || !slices.Equal(k.shape(i), want)) {
			return k.fault("give one for x, and one for w or for each of its filters", "its %s has the shape %s",
				k.argument(i).Name, graph.ShapeText(k.shape(i)))
		}
	}
	if err := k.convolved(); err != nil {
		return err
	}
	k.results[0].dtype = graph.I32
	return nil
}

// requantised is sum, of i32, in the scale of the result; scale is that of the sum.
func (k *call) requantised(r *rewrite, sum, scale, to, zero int) error {
	d := r.of(zero).DType
	if !byteTypes.Has(d) {
		return k.fault("use i8 or u8", "its y_zero_point is %s", d)
	}
	factor := r.node("Div", nil, scale, r.lines(r.cast(to, graph.F32), false))
	y := r.node("Mul", nil, r.cast(sum, graph.F32), factor)
	return r.is(r.rounded(y, r.lines(zero, false), d))
}

func inferQLinearMatMul(k *call) error {
	r := k.rewrite()
	sum := r.node("MatMulInteger", nil, r.value(0), r.value(3), r.value(2), r.value(5))
	scale := r.node("Mul", nil, r.lines(r.cast(r.value(1), graph.F32), true), r.lines(r.cast(r.value(4), graph.F32), false))
	return k.requantised(r, sum, scale, r.value(6), r.value(7))
}

func inferQLinearConv(k *call) error {
	if k.has(8) && k.arg(8).DType != graph.I32 {
		return k.fault("give it as i32", "its input 8 (B) is %s", k.arg(8).DType)
	}
	r := k.rewrite()
	w := r.value(3)
	scale := r.node("Mul", nil, r.lines(r.cast(r.value(1), graph.F32), false), r.alongChannels(r.cast(r.value(4), graph.F32), w))
	sum := r.node("ConvInteger", k.given, r.value(0), w, r.value(2), r.value(5))
	if k.has(8) {
		sum = r.node("Add", nil, sum, r.alongChannels(r.value(8), w))
	}
	return k.requantised(r, sum, scale, r.value(6), r.value(7))
}

// alongChannels gives what has an element for each filter of w the axes of channels of the
// result.
func (r *rewrite) alongChannels(v, w int) int {
	s, of := r.of(v).Shape, r.of(w).Shape
	if len(s) == 1 && s[0] > 1 && len(of) > 2 {
		return r.shaped(v, ones(len(of)-2, s[0])...)
	}
	return r.lines(v, false)
}
