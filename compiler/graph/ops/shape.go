package ops

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// shapes are operators that show the same elements in another shape.
var shapes = []entry{
	{name: "Identity", in: "X T", out: "Y T", t: movedTypes, result: sameShape,
		moves: keeps, infer: inferUnary, fold: evalShared, shares: true},
	{name: "Reshape", in: "data T, shape i64?!", out: "reshaped T", t: movedTypes, accepts: "shape ints, allowzero int",
		result: "The same elements in the same order.",
		attrs:  []Attribute{ints("shape", "of the result; 0 and -1 are resolved")},
		moves:  keeps, infer: inferReshape, fold: evalShared, shares: true},
	{name: "Squeeze", in: "data T, axes i64?!", out: "squeezed T", t: movedTypes, accepts: "axes ints",
		becomes: "Reshape.",
		infer:   inferSqueeze},
	{name: "Unsqueeze", in: "data T, axes i64?!", out: "expanded T", t: movedTypes, accepts: "axes ints",
		becomes: "Reshape.",
		infer:   inferUnsqueeze},
	{name: "Flatten", in: "input T", out: "output T", t: movedTypes, accepts: "axis int", becomes: "Reshape.",
		infer: inferFlatten},
	{name: "Transpose", in: "data T", out: "transposed T", t: movedTypes, accepts: "perm ints",
		result: "Axis i of the result is axis perm[i] of the argument.",
		attrs:  []Attribute{ints("perm", "each axis once; the axes turned round when left out")},
		moves:  transposes, infer: inferTranspose, fold: transposes.fold},
	{name: "Expand", in: "input T, shape i64!", out: "output T", t: movedTypes,
		result: "The argument broadcast to shape.",
		attrs:  []Attribute{ints("shape", "of the result, broadcast with the argument's")},
		moves:  expands, infer: inferExpand, fold: expands.fold},
}

func inferReshape(k *call) error {
	want, ok, err := k.list(1, "shape")
	if err != nil {
		return err
	}
	if !ok {
		return k.fault(k.usage(), "its shape is missing")
	}
	allowZero, err := k.flag("allowzero", 0)
	if err != nil {
		return err
	}
	x := k.shape(0)
	shape := slices.Clone(want)
	for i, d := range want {
		if d == 0 && allowZero == 0 {
			if i >= len(x) {
				return k.fault("use a number, or allowzero",
					"its shape %s takes axis %d from data, which has the shape %s", graph.ShapeText(want), i, graph.ShapeText(x))
			}
			shape[i] = x[i]
		}
	}
	shape, ok = resolve(shape, graph.Elements(x))
	if !ok {
		return k.fault("the number of elements has to stay; one -1 may stand for what is left",
			"data has the shape %s, that is %d elements, and cannot have the shape %s",
			graph.ShapeText(x), graph.Elements(x), graph.ShapeText(want))
	}
	return k.become("Reshape", shape)
}

// resolve replaces a -1 in a shape so that it has n elements.
func resolve(shape []int64, n int64) ([]int64, bool) {
	free, rest := -1, slices.Clone(shape)
	for i, d := range shape {
		if d == -1 {
			if free >= 0 {
				return nil, false
			}
			free, rest[i] = i, 1
		}
	}
	if !graph.Fits(rest, graph.U8) {
		return nil, false
	}
	have := graph.Elements(rest)
	if free >= 0 {
		if have == 0 || n%have != 0 {
			return nil, false
		}
		rest[free] = n / have
		return rest, true
	}
	return rest, have == n
}

func inferSqueeze(k *call) error {
	x := k.shape(0)
	list, ok, err := k.list(1, "axes")
	if err != nil {
		return err
	}
	axes, err := k.axes(list, len(x))
	if err != nil {
		return err
	}
	shape := []int64{}
	for i, d := range x {
		named := slices.Contains(axes, int64(i))
		if named && d != 1 {
			return k.fault("only axes of extent 1 can go", "axis %d of %s has the extent %d", i, graph.ShapeText(x), d)
		}
		if !named && (ok || d != 1) {
			shape = append(shape, d)
		}
	}
	return k.become("Reshape", shape)
}

func inferUnsqueeze(k *call) error {
	x := k.shape(0)
	list, ok, err := k.list(1, "axes")
	if err != nil {
		return err
	}
	if !ok {
		return k.fault(k.usage(), "its axes are missing")
	}
	axes, err := k.axes(list, len(x)+len(list))
	if err != nil {
		return err
	}
	slices.Sort(axes)
	shape := slices.Clone(x)
	for _, a := range axes {
		shape = slices.Insert(shape, int(a), 1)
	}
	return k.become("Reshape", shape)
}

func inferFlatten(k *call) error {
	x := k.shape(0)
	axis := k.intOr("axis", 1)
	if axis < int64(-len(x)) || axis > int64(len(x)) {
		return k.fault(fmt.Sprintf("use %d to %d", -len(x), len(x)),
			"its attribute \"axis\" is %d, the input has %d axes", axis, len(x))
	}
	if axis < 0 {
		axis += int64(len(x))
	}
	return k.become("Reshape", []int64{graph.Elements(x[:axis]), graph.Elements(x[axis:])})
}

func inferTranspose(k *call) error {
	x := k.shape(0)
	perm := make([]int64, len(x))
	for i := range perm {
		perm[i] = int64(len(x) - 1 - i)
	}
	if _, ok := k.given["perm"]; ok {
		perm = k.given.Ints("perm")
	}
	axes, err := k.axes(perm, len(x))
	if err != nil {
		return err
	}
	if len(axes) != len(x) {
		return k.fault("name each axis once", "its attribute \"perm\" is %v, the input has %d axes", perm, len(x))
	}
	shape := make([]int64, len(x))
	for i, a := range axes {
		shape[i] = x[a]
	}
	k.attrs["perm"] = axes
	return k.give(shape)
}

func inferExpand(k *call) error {
	to, _, err := k.list(1, "shape")
	if err != nil {
		return err
	}
	shape, ok := broadcast(k.shape(0), to)
	if !ok || slices.Min(append(to, 0)) < 0 {
		return k.fault("extents must be equal, or one of them 1, counted from the last axis",
			"the input has the shape %s, which cannot be expanded to %s", graph.ShapeText(k.shape(0)), graph.ShapeText(to))
	}
	k.attrs["shape"] = shape
	return k.give(shape)
}
