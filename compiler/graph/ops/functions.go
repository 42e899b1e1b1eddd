package ops

import (
	"math"
	"slices"

	"tlruntime/compiler/graph"
)

// functions are operators that ONNX defines by others.
var functions = []entry{
	{name: "MeanVarianceNormalization", in: "X T", out: "Y T", t: floatTypes, accepts: "axes ints",
		becomes: "ReduceMean and others.", infer: inferMeanVarianceNormalization},
	{name: "Hardmax", in: "input T", out: "output T", t: floatTypes, accepts: "axis int",
		becomes: "ArgMax, compared with 0 to the extent of the axis - 1, and Cast.", infer: inferHardmax},
	{name: "CenterCropPad", in: "input_data T, shape index!", out: "output_data T", t: anyTypes, accepts: "axes ints",
		becomes: "Slice and Pad.", infer: inferCenterCropPad},
	{name: "AffineGrid", in: "theta T, size i64!", out: "grid T", t: floatTypes, accepts: "align_corners int",
		becomes: "Mul and Add of theta and the coordinates of the grid.", infer: inferAffineGrid},
	{name: "ReverseSequence", in: "input T, sequence_lens i64", out: "Y T", t: anyTypes,
		accepts: "batch_axis int, time_axis int", becomes: "GatherND.", infer: inferReverseSequence},
	cosineWindow("HannWindow", 0.5, 0.5, 0),
	cosineWindow("HammingWindow", 25.0/46, 21.0/46, 0),
	cosineWindow("BlackmanWindow", 0.42, 0.5, 0.08),
	gridSample,
}

// cosineWindow is an operator that gives a - b cos(x) + c cos(2x) for x from 0 to 2 pi.
func cosineWindow(name string, a, b, c float64) entry {
	return entry{name: name, in: "size index!", out: "output other", accepts: "output_datatype int, periodic int",
		becomes: "a constant.", infer: func(k *call) error { return k.cosines(a, b, c) }}
}

func (k *call) cosines(a, b, c float64) error {
	size, err := k.number(0, "size", 0)
	if err != nil {
		return err
	}
	periodic, err := k.flag("periodic", 1)
	if err != nil {
		return err
	}
	to, err := k.dtypeAttr("output_datatype", graph.F32, anyTypes)
	if err != nil {
		return err
	}
	if !(size >= 0 && size <= maxWindow) {
		return k.fault("use 0 to 2^31", "its size is %v", size)
	}
	n := int64(size)
	if err := k.room(n * to.Bytes()); err != nil {
		return err
	}
	t, turn := graph.NewTensor(to, []int64{n}), 2*math.Pi/float64(n-1+periodic)
	for i := range n {
		x := float64(i) * turn
		t.SetNumber(i, a-b*math.Cos(x)+c*math.Cos(2*x))
	}
	return k.is(t)
}

func inferMeanVarianceNormalization(k *call) error {
	axes, given := k.given["axes"].([]int64)
	if !given {
		axes = []int64{0, 2, 3}
	}
	axes, err := k.axes(axes, len(k.shape(0)))
	if err != nil {
		return err
	}
	r := k.rewrite()
	mean := func(v int) int { return r.node("ReduceMean", graph.Attrs{"axes": axes}, v) }
	apart := r.node("Sub", nil, r.value(0), mean(r.value(0)))
	spread := r.node("Sqrt", nil, mean(r.node("Mul", nil, apart, apart)))
	return r.is(r.node("Div", nil, apart, r.node("Add", nil, spread, r.number(k.outType(), 1e-9))))
}

// inferHardmax: before operator set 13 all axes from axis on were one.
func inferHardmax(k *call) error {
	x, r := k.shape(0), k.rewrite()
	v, otherwise := r.value(0), int64(-1)
	flat := k.draft.Opset > 0 && k.draft.Opset < 13
	if flat {
		otherwise = 1
	}
	axis, err := k.axis(k.intOr("axis", otherwise), len(x))
	if err != nil {
		return err
	}
	shape := x
	if flat {
		shape = []int64{graph.Elements(x[:axis]), graph.Elements(x[axis:])}
		axis, v = 1, r.shaped(v, shape...)
	}
	if shape[axis] == 0 {
		return r.is(r.value(0))
	}
	best := r.node("ArgMax", graph.Attrs{"axis": axis}, v)
	places := r.constant(countsTo(shape[axis], ones(len(shape)-int(axis)-1, shape[axis])))
	return r.is(r.shaped(r.cast(r.node("Equal", nil, best, places), k.outType()), x...))
}

// countsTo is 0, 1 ... n-1.
func countsTo(n int64, shape []int64) graph.Tensor {
	t := graph.NewTensor(graph.I64, shape)
	for i := range n {
		t.SetInt(i, i)
	}
	return t
}

// inferCenterCropPad cuts and pads both ends of an axis; of an odd number the end has one more.
func inferCenterCropPad(k *call) error {
	x := k.shape(0)
	to, _, err := k.list(1, "shape")
	if err != nil {
		return err
	}
	axes, given := k.given["axes"].([]int64)
	if !given {
		for i := range x {
			axes = append(axes, int64(i))
		}
	}
	if axes, err = k.axes(axes, len(x)); err != nil {
		return err
	}
	if len(axes) != len(to) {
		return k.fault("give it one for each", "its shape has %d extents, and it has %d axes", len(to), len(axes))
	}
	starts, ends, pads := make([]int64, len(x)), slices.Clone(x), make([]int64, 2*len(x))
	for i, axis := range axes {
		d, t := x[axis], to[i]
		if t < 0 {
			return k.fault("use 0 or more", "axis %d is to have the extent %d", axis, t)
		}
		kept := min(d, t)
		starts[axis] = (d - kept) / 2
		ends[axis] = starts[axis] + kept
		pads[axis] = (t - kept) / 2
		pads[len(x)+int(axis)] = t - kept - pads[axis]
	}
	r := k.rewrite()
	v := r.node("Slice", graph.Attrs{"starts": starts, "ends": ends}, r.value(0))
	return r.is(r.node("Pad", graph.Attrs{"pads": pads, "mode": "constant"}, v))
}

// inferAffineGrid multiplies each column of theta with the coordinate of its axis, the last axis first.
func inferAffineGrid(k *call) error {
	size, _, err := k.list(1, "size")
	if err != nil {
		return err
	}
	theta, rank := k.shape(0), int64(len(size)-2)
	if rank < 1 || len(theta) != 3 || theta[0] != size[0] || theta[1] != rank || theta[2] != rank+1 {
		return k.fault("for a size of (n, c, h, w) give it (n, 2, 3), for one of (n, c, d, h, w) (n, 3, 4)",
			"theta has the shape %s, size is %s", graph.ShapeText(theta), graph.ShapeText(size))
	}
	align, err := k.flag("align_corners", 0)
	if err != nil {
		return err
	}
	r, spatial := k.rewrite(), size[2:]
	column := func(i int64) int {
		return r.shaped(r.sliced(r.value(0), 2, i, i+1), slices.Concat(theta[:1], ones(int(rank)), []int64{rank})...)
	}
	sum := column(rank)
	for i := range rank {
		d, shape := spatial[rank-1-i], ones(int(rank)+2)
		shape[rank-i] = d
		if !graph.Fits(shape, graph.F64) {
			return k.fault("use extents from 0 on, and smaller ones", "size is %s", graph.ShapeText(size))
		}
		if err := k.room(d * k.outType().Bytes()); err != nil {
			return err
		}
		at := graph.NewTensor(k.outType(), shape)
		for j := range d {
			at.SetNumber(j, gridCoordinate(j, d, align == 1))
		}
		sum = r.node("Add", nil, r.node("Mul", nil, column(i), r.constant(at)), sum)
	}
	whole := slices.Concat(theta[:1], spatial, []int64{rank})
	return r.is(r.node("Expand", nil, sum, r.integers(whole...)))
}

// gridCoordinate is that of element j of d between -1 and 1, which are the first and the last element, or their far
// edges.
func gridCoordinate(j, d int64, align bool) float64 {
	switch {
	case !align:
		return float64(2*j+1)/float64(d) - 1
	case d == 1:
		return 0
	}
	return 2*float64(j)/float64(d-1) - 1
}

// inferReverseSequence gathers element n-1-t of the first n, and t of those behind.
func inferReverseSequence(k *call) error {
	batch, time := k.intOr("batch_axis", 1), k.intOr("time_axis", 0)
	x := k.shape(0)
	if len(x) < 2 || batch+time != 1 || batch*time != 0 {
		return k.fault("use axes 0 and 1, one for each", "batch_axis is %d and time_axis %d, and input has the shape %s",
			batch, time, graph.ShapeText(x))
	}
	if !slices.Equal(k.shape(1), x[batch:batch+1]) {
		return k.fault("give it one for each sample", "sequence_lens has the shape %s, input %s",
			graph.ShapeText(k.shape(1)), graph.ShapeText(x))
	}
	r := k.rewrite()
	order := []int64{batch, time}
	for i := 2; i < len(x); i++ {
		order = append(order, int64(i))
	}
	samplesFirst := func(v int) int { return r.turned(v, order...) }
	t, back := r.constant(countsTo(x[time], []int64{1, x[time]})), graph.NewTensor(graph.I64, []int64{1, x[time]})
	for i := range x[time] {
		back.SetInt(i, -1-i)
	}
	n := r.shaped(r.value(1), x[batch], 1)
	at := r.node("Where", nil, r.node("Less", nil, t, n), r.node("Add", nil, n, r.constant(back)), t)
	y := r.node("GatherND", graph.Attrs{"batch_dims": int64(1)}, samplesFirst(r.value(0)),
		r.shaped(at, x[batch], x[time], 1))
	return r.is(samplesFirst(y))
}
