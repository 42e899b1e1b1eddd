package ops

import (
	"math"
	"slices"

	"tlruntime/compiler/graph"
)

// composed are operators that become several others.
var composed = []entry{
	{name: "Tile", in: "input T, repeats i64!", out: "output T", t: movedTypes,
		becomes: "Reshape, Expand and Reshape.", infer: inferTile},
	{name: "DepthToSpace", in: "input T", out: "output T", t: movedTypes, accepts: "blocksize int, mode string",
		becomes: "Reshape, Transpose and Reshape.", infer: inferDepthToSpace},
	{name: "SpaceToDepth", in: "input T", out: "output T", t: movedTypes, accepts: "blocksize int, mode string",
		becomes: "Reshape, Transpose and Reshape.", infer: inferSpaceToDepth},
	{name: "Trilu", in: "input T, k i64?!", out: "output T", t: anyTypes, accepts: "upper int",
		becomes: "Where with a constant mask.", infer: inferTrilu},
	{name: "OneHot", in: "indices U, depth any!, values T", out: "output T", t: anyTypes, u: numericTypes,
		accepts: "axis int", becomes: "Where: the indices are compared with 0 to depth - 1.", infer: inferOneHot},
	{name: "CastLike", in: "input any, target_type any", out: "output other",
		accepts: "saturate int, round_mode string",
		becomes: "Cast.", infer: inferCastLike},
	{name: "Range", in: "start T!, limit T!, delta T!", out: "output T", t: floatTypes | graph.SetOf(graph.I16, graph.I32, graph.I64),
		becomes: "a constant.", infer: inferRange},
	{name: "EyeLike", in: "input any", out: "output other", accepts: "dtype int, k int", becomes: "a constant.",
		infer: inferEyeLike},
	einsum,
}

// inferTile puts an axis before each one that is repeated.
func inferTile(k *call) error {
	x := k.shape(0)
	repeats, _, err := k.list(1, "repeats")
	if err != nil {
		return err
	}
	if len(repeats) != len(x) {
		return k.fault("give it a number for each axis", "it has %d repeats for the shape %s", len(repeats),
			graph.ShapeText(x))
	}
	var apart, wide []int64
	whole := slices.Clone(x)
	for i, n := range repeats {
		if n < 0 || n > graph.MaxBytes/max(x[i], 1) {
			return k.fault("use numbers from 0 on, and smaller ones", "axis %d of %s is repeated %d times", i,
				graph.ShapeText(x),
				n)
		}
		whole[i] *= n
		if n != 1 {
			apart, wide = append(apart, 1), append(wide, n)
		}
		apart, wide = append(apart, x[i]), append(wide, x[i])
	}
	r := k.rewrite()
	if slices.Equal(apart, x) {
		return r.is(r.value(0))
	}
	return r.is(r.shaped(r.node("Expand", nil, r.shaped(r.value(0), apart...), r.integers(wide...)), whole...))
}

// blocks reads the extent of the square blocks of (n, c, h, w).
func (k *call) blocks() (int64, error) {
	x, b := k.shape(0), k.intOr("blocksize", 0)
	if mode := k.stringOr("mode", "DCR"); mode != "DCR" && mode != "CRD" {
		return 0, k.fault("use DCR or CRD", "its attribute \"mode\" is %q", mode)
	}
	if len(x) != 4 {
		return 0, k.fault("give it the shape (n, c, h, w)", "its input has the shape %s", graph.ShapeText(x))
	}
	if b < 1 || b > 1<<16 {
		return 0, k.fault("use 1 or more, at most 2^16", "its attribute \"blocksize\" is %d", b)
	}
	return b, nil
}

func inferDepthToSpace(k *call) error {
	b, err := k.blocks()
	if err != nil {
		return err
	}
	x, mode := k.shape(0), k.stringOr("mode", "DCR")
	if x[1]%(b*b) != 0 {
		return k.fault("use a divisor", "X has %d channels, and blocks have %d", x[1], b*b)
	}
	c := x[1] / (b * b)
	r := k.rewrite()
	v := r.value(0)
	if mode == "DCR" {
		v = r.turned(r.shaped(v, x[0], b, b, c, x[2], x[3]), 0, 3, 4, 1, 5, 2)
	} else {
		v = r.turned(r.shaped(v, x[0], c, b, b, x[2], x[3]), 0, 1, 4, 2, 5, 3)
	}
	return r.is(r.shaped(v, x[0], c, x[2]*b, x[3]*b))
}

func inferSpaceToDepth(k *call) error {
	b, err := k.blocks()
	if err != nil {
		return err
	}
	x := k.shape(0)
	if x[2]%b != 0 || x[3]%b != 0 {
		return k.fault("use a divisor of both", "its input has the shape %s, blocks have %d", graph.ShapeText(x), b)
	}
	r := k.rewrite()
	v := r.shaped(r.value(0), x[0], x[1], x[2]/b, b, x[3]/b, b)
	if k.stringOr("mode", "DCR") == "DCR" {
		v = r.turned(v, 0, 3, 5, 1, 2, 4)
	} else {
		v = r.turned(v, 0, 1, 3, 5, 2, 4)
	}
	return r.is(r.shaped(v, x[0], x[1]*b*b, x[2]/b, x[3]/b))
}

func inferTrilu(k *call) error {
	x := k.shape(0)
	if len(x) < 2 {
		return k.fault("give it matrices", "its input has the shape %s", graph.ShapeText(x))
	}
	upper, err := k.flag("upper", 1)
	if err != nil {
		return err
	}
	shift, err := k.number(1, "k", 0)
	if err != nil {
		return err
	}
	m, n := x[len(x)-2], x[len(x)-1]
	if err := k.room(m * n); err != nil {
		return err
	}
	mask := graph.NewTensor(graph.Bool, []int64{m, n})
	for i := range m * n {
		row, column := i/n, i%n
		if above := float64(column - row); above == shift || (above > shift) == (upper == 1) {
			mask.SetInt(i, 1)
		}
	}
	r := k.rewrite()
	return r.is(r.node("Where", nil, r.constant(mask), r.value(0), r.number(k.outType(), 0)))
}

func inferOneHot(k *call) error {
	at := k.shape(0)
	depth, err := k.number(1, "depth", 0)
	if err != nil {
		return err
	}
	if !(depth >= 0 && depth <= maxWindow) {
		return k.fault("use 0 to 2^31", "its depth is %v", depth)
	}
	if v := k.shape(2); len(v) != 1 || v[0] != 2 {
		return k.fault("give it two: off and on", "values have the shape %s", graph.ShapeText(v))
	}
	axis, err := k.axis(k.intOr("axis", -1), len(at)+1)
	if err != nil {
		return err
	}
	if err := k.room(8 * int64(depth)); err != nil {
		return err
	}
	steps := graph.NewTensor(graph.I64, ones(len(at)-int(axis), int64(depth)))
	for i := range int64(depth) {
		steps.SetInt(i, i)
	}
	r := k.rewrite()
	index := r.shaped(r.cast(r.value(0), graph.I64), slices.Insert(slices.Clone(at), int(axis), 1)...)
	zero, end := r.number(graph.I64, 0), r.number(graph.I64, depth)
	index = r.node("Where", nil, r.node("Less", nil, index, zero), r.node("Add", nil, index, end), index)
	off := r.shaped(r.sliced(r.value(2), 0, 0, 1))
	on := r.shaped(r.sliced(r.value(2), 0, 1, 2))
	return r.is(r.node("Where", nil, r.node("Equal", nil, index, r.constant(steps)), on, off))
}

func inferCastLike(k *call) error {
	r := k.rewrite()
	return r.is(r.cast(r.value(0), k.arg(1).DType))
}

// inferRange counts in i64 or in float64, whichever the type is nearer to.
func inferRange(k *call) error {
	var parts [3]*graph.Tensor
	for i := range parts {
		t, err := k.constant(i)
		if err != nil {
			return err
		}
		if graph.Elements(t.Shape) != 1 {
			return k.fault("give it one element", "its input %d (%s) has the shape %s", i, k.argument(i).Name,
				graph.ShapeText(t.Shape))
		}
		parts[i] = t
	}
	start, limit, delta := parts[0].FloatAt(0), parts[1].FloatAt(0), parts[2].FloatAt(0)
	count := math.Ceil((limit - start) / delta)
	if delta == 0 || !(count < graph.MaxBytes) {
		return k.fault("use a delta that leads from start to limit", "it goes from %v to %v in steps of %v", start,
			limit,
			delta)
	}
	t := graph.Tensor{DType: k.outType(), Shape: []int64{int64(max(count, 0))}}
	if err := k.room(t.Shape[0] * t.DType.Bytes()); err != nil {
		return err
	}
	t = graph.NewTensor(t.DType, t.Shape)
	for i := range t.Shape[0] {
		if floatTypes.Has(t.DType) {
			t.SetNumber(i, start+float64(i)*delta)
		} else {
			t.SetInt(i, parts[0].IntAt(0)+i*parts[2].IntAt(0))
		}
	}
	return k.is(t)
}

func inferEyeLike(k *call) error {
	x := k.shape(0)
	if len(x) != 2 {
		return k.fault("give it a matrix", "its input has the shape %s", graph.ShapeText(x))
	}
	to, err := k.dtypeAttr("dtype", k.arg(0).DType, anyTypes)
	if err != nil {
		return err
	}
	if !graph.Fits(x, to) {
		return k.fault("use smaller extents", "its result has the shape %s", graph.ShapeText(x))
	}
	if err := k.room(graph.Elements(x) * to.Bytes()); err != nil {
		return err
	}
	t, shift := graph.NewTensor(to, x), k.intOr("k", 0)
	for row := range min(x[0], graph.Elements(x)) {
		if column := row + shift; column >= 0 && column < x[1] {
			t.SetNumber(row*x[1]+column, 1)
		}
	}
	return k.is(t)
}
