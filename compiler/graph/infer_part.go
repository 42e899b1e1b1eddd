package graph

import (
	"fmt"
	"slices"

	"tlruntime/compiler/view"
)

func inferSplit(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", 0), len(x))
	if err != nil {
		return err
	}
	split, err := k.parts(x[axis])
	if err != nil {
		return err
	}
	k.attrs["axis"], k.attrs["split"] = axis, split
	for _, d := range split {
		shape := slices.Clone(x)
		shape[axis] = d
		k.results = append(k.results, result{k.outType(), shape, nil})
	}
	return nil
}

// parts returns the extents that a Split cuts an axis of extent d into.
func (k *call) parts(d int64) ([]int64, error) {
	outputs := int64(len(k.node.Outputs))
	split, ok, err := k.list(1, "split")
	if err != nil {
		return nil, err
	}
	if !ok {
		return k.evenParts(d, outputs)
	}
	if _, ok := k.given["num_outputs"]; ok {
		return nil, k.fault("give one of them", "both split and num_outputs are given")
	}
	left := d
	for _, part := range split {
		if part < 0 || part > left {
			left = -1
			break
		}
		left -= part
	}
	if left != 0 || int64(len(split)) != outputs {
		return nil, k.fault("split needs a number for each output, and their sum has to be the extent",
			"split is %v, the axis has the extent %d, and there are %d outputs", split, d, outputs)
	}
	return split, nil
}

// evenParts makes parts of one size. With num_outputs the last may be smaller.
func (k *call) evenParts(d, n int64) ([]int64, error) {
	asked := k.intOr("num_outputs", n)
	if asked != n || n == 0 {
		return nil, k.fault("they have to be equal", "its attribute \"num_outputs\" is %d, and it has %d outputs",
			asked, n)
	}
	if _, ok := k.given["num_outputs"]; !ok && d%n != 0 {
		return nil, k.fault("give split or num_outputs", "an axis of extent %d cannot be cut into %d equal parts", d, n)
	}
	size := (d + n - 1) / n
	parts := make([]int64, n)
	for i := range parts {
		parts[i] = min(size, d)
		d -= parts[i]
	}
	return parts, nil
}

// slicing is what a Slice says of the axes that it names.
type slicing struct{ starts, ends, axes, steps []int64 }

func (k *call) slicing() (s slicing, err error) {
	found := [4]bool{}
	for i, p := range []struct {
		name string
		list *[]int64
	}{{"starts", &s.starts}, {"ends", &s.ends}, {"axes", &s.axes}, {"steps", &s.steps}} {
		if *p.list, found[i], err = k.list(i+1, p.name); err != nil {
			return s, err
		}
	}
	if !found[0] || !found[1] {
		return s, k.fault(k.usage(), "its starts or ends are missing")
	}
	n := len(s.starts)
	if !found[2] {
		for i := range n {
			s.axes = append(s.axes, int64(i))
		}
	}
	if !found[3] {
		s.steps = slices.Repeat([]int64{1}, n)
	}
	if len(s.ends) != n || len(s.axes) != n || len(s.steps) != n {
		return s, k.fault("they have to be equally many", "it has %d starts, %d ends, %d axes and %d steps", n,
			len(s.ends), len(s.axes), len(s.steps))
	}
	s.axes, err = k.axes(s.axes, len(k.shape(0)))
	return s, err
}

func inferSlice(k *call) error {
	s, err := k.slicing()
	if err != nil {
		return err
	}
	shape := slices.Clone(k.shape(0))
	starts, ends, steps := make([]int64, len(shape)), slices.Clone(shape), slices.Repeat([]int64{1}, len(shape))
	for i, axis := range s.axes {
		d, step := shape[axis], s.steps[i]
		if step == 0 {
			return k.fault("use another step", "the step of axis %d is 0", axis)
		}
		start, end := clamp(s.starts[i], d, step), clamp(s.ends[i], d, step)
		if step < 0 {
			start = min(start, d-1)
		}
		n, _ := view.Steps(start, end, step)
		if n == 0 {
			start, end, step = 0, 0, 1
		}
		starts[axis], ends[axis], steps[axis], shape[axis] = start, end, step, n
	}
	k.attrs["starts"], k.attrs["ends"], k.attrs["steps"] = starts, ends, steps
	return k.give(shape)
}

// clamp resolves a start or end that counts from the end of an axis of extent d,
// and moves what lies outside to 0 and d, or to -1 and d-1 for a negative step.
func clamp(x, d, step int64) int64 {
	if x < 0 {
		x += d
	}
	if step > 0 {
		return min(max(x, 0), d)
	}
	return min(max(x, -1), d-1)
}

func inferPad(k *call) error {
	x := k.shape(0)
	pads, err := k.pads(len(x))
	if err != nil {
		return err
	}
	mode := k.stringOr("mode", "constant")
	if !slices.Contains([]string{"constant", "reflect", "edge", "wrap"}, mode) {
		return k.fault("use constant, reflect, edge or wrap", "its attribute \"mode\" is %q", mode)
	}
	value, err := k.number(2, "value", 0)
	if err != nil {
		return err
	}
	shape := slices.Clone(x)
	for i, d := range x {
		begin, end := pads[i], pads[len(x)+i]
		shape[i] += begin + end
		if min(begin, end) < -d || shape[i] < 0 {
			return k.fault("do not cut off more than there is",
				"the pads of axis %d, which has the extent %d, are %d and %d", i, d, begin, end)
		}
		if most := reachable(mode, d+min(begin, 0)+min(end, 0)); max(begin, end) > most {
			return k.fault(fmt.Sprintf("mode %s can add %d at most", mode, most),
				"the pads of axis %d, which has the extent %d, are %d and %d", i, d, begin, end)
		}
	}
	if !slices.ContainsFunc(pads, func(p int64) bool { return p != 0 }) {
		return k.become("Identity", x)
	}
	k.attrs["pads"], k.attrs["mode"], k.attrs["value"] = pads, mode, value
	return k.give(shape)
}

// reachable is how many elements a mode of Pad can add at an end of an axis, of
// which d elements are left after what negative pads cut off.
func reachable(mode string, d int64) int64 {
	switch {
	case mode == "reflect":
		return max(d-1, 0)
	case mode != "constant" && d == 0:
		return 0
	}
	return MaxBytes
}

// pads returns the pads for all axes.
func (k *call) pads(rank int) ([]int64, error) {
	name := "pads"
	if _, old := k.given["paddings"]; old {
		name = "paddings"
	}
	list, ok, err := k.list(1, name)
	if err != nil {
		return nil, err
	}
	axes, some, err := k.list(3, "axes")
	if err != nil {
		return nil, err
	}
	if axes, err = k.axes(axes, rank); err != nil {
		return nil, err
	}
	for i := 0; !some && i < rank; i++ {
		axes = append(axes, int64(i))
	}
	if !ok || len(list) != 2*len(axes) {
		return nil, k.fault("give a begin and an end for each axis", "it has %d pads for %d axes", len(list), len(axes))
	}
	pads := make([]int64, 2*rank)
	for i, a := range axes {
		pads[a], pads[rank+int(a)] = list[i], list[len(axes)+i]
		if min(list[i], list[len(axes)+i]) < -MaxBytes || max(list[i], list[len(axes)+i]) > MaxBytes {
			return nil, k.fault("use smaller numbers", "the pads of axis %d are %d and %d", a, list[i],
				list[len(axes)+i])
		}
	}
	return pads, nil
}
