package graph

import (
	"fmt"
	"slices"
)

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
					"its shape %s takes axis %d from data, which has the shape %s", shapeText(want), i, shapeText(x))
			}
			shape[i] = x[i]
		}
	}
	shape, ok = resolve(shape, Elements(x))
	if !ok {
		return k.fault("the number of elements has to stay; one -1 may stand for what is left",
			"data has the shape %s, that is %d elements, and cannot have the shape %s",
			shapeText(x), Elements(x), shapeText(want))
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
	if !fits(rest, U8) {
		return nil, false
	}
	have := Elements(rest)
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
			return k.fault("only axes of extent 1 can go", "axis %d of %s has the extent %d", i, shapeText(x), d)
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
	return k.become("Reshape", []int64{Elements(x[:axis]), Elements(x[axis:])})
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

func inferConcat(k *call) error {
	if k.draft.Opset == 0 || k.draft.Opset >= 4 {
		if err := k.require("axis"); err != nil {
			return err
		}
	}
	shape := slices.Clone(k.shape(0))
	axis, err := k.axis(k.intOr("axis", 1), len(shape))
	if err != nil {
		return err
	}
	for i := 1; i < len(k.args); i++ {
		s := slices.Clone(k.shape(i))
		if len(s) == len(shape) {
			s[axis] = shape[axis]
		}
		if !slices.Equal(s, shape) {
			return k.fault(fmt.Sprintf("only axis %d may differ", axis), "its input %d has the shape %s, input 0 %s",
				i, shapeText(k.shape(i)), shapeText(k.shape(0)))
		}
		shape[axis] += k.shape(i)[axis]
		if !fits(shape, U8) {
			return k.fault("use smaller extents", "its result takes more than 2^56 bytes")
		}
	}
	k.attrs["axis"] = axis
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
			"the input has the shape %s, which cannot be expanded to %s", shapeText(k.shape(0)), shapeText(to))
	}
	k.attrs["shape"] = shape
	return k.give(shape)
}

func inferGather(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", 0), len(x))
	if err != nil {
		return err
	}
	if t := k.arg(1).Constant; t != nil {
		for i := range Elements(t.Shape) {
			if at := t.intAt(i); at < -x[axis] || at >= x[axis] {
				return k.fault("use indices in range", "index %d is %d, axis %d of data has the extent %d", i, at, axis,
					x[axis])
			}
		}
	}
	k.attrs["axis"] = axis
	return k.give(slices.Concat(x[:axis], k.shape(1), x[axis+1:]))
}
