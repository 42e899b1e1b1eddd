package ops

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// parts are operators that join tensors or take a part of one.
var parts = []entry{
	{name: "Concat", in: "inputs T*", out: "concat_result T", t: movedTypes, accepts: "axis int",
		result: "The arguments one behind the other; they differ in that axis only.",
		attrs:  []Attribute{anInt("axis", "not negative; before operator set 4 it was 1 when left out")},
		moves:  joins, infer: inferConcat, fold: evalConcat},
	{name: "Split", in: "input T, split i64?!", out: "outputs T*", t: movedTypes,
		accepts: "axis int, split ints, num_outputs int",
		result:  "The parts in order. Outputs has an entry for each part.",
		attrs:   []Attribute{anInt("axis", "not negative"), ints("split", "extent of each part on that axis")},
		moves:   splits, infer: inferSplit, fold: evalSplit},
	{name: "Slice", in: "data T, starts index?!, ends index?!, axes index?!, steps index?!", out: "output T",
		t:       movedTypes,
		accepts: "starts ints, ends ints, axes ints",
		result:  "Every steps[i]-th element of axis i from starts[i] on, up to but not including ends[i].",
		attrs: []Attribute{ints("starts", "for every axis; first element that is taken"),
			ints("ends",
				"for every axis; with a negative step an end of -1 includes element 0, it does not count from the "+
					"end; an axis of which nothing is taken has start 0, end 0, step 1"),
			ints("steps", "for every axis; not 0")},
		moves: cuts, infer: inferSlice, fold: cuts.fold},
	{name: "Pad", in: "data T, pads i64?!, constant_value T?!, axes index?!", out: "output T", t: anyTypes,
		accepts: "mode string, pads ints, paddings ints, value float",
		result: "Negative pads cut off. reflect mirrors at the first and last element without repeating it, edge " +
			"repeats it; wrap repeats the whole axis, as far as negative pads left it.",
		attrs: []Attribute{ints("pads", "for every axis: all begins, then all ends"),
			{"mode", KindString, "constant, reflect, edge or wrap"}, aFloat("value",
				"what constant fills in; 0 when left out")},
		moves: crops, infer: inferPad},
	{name: "Gather", in: "data T, indices index", out: "output T", t: movedTypes, accepts: "axis int",
		result: "Shape: data's with the axis replaced by the shape of indices. An index below 0 counts from the end. " +
			"Constant indices are in range.",
		attrs: []Attribute{anInt("axis", "not negative; 0 when left out")},
		infer: inferGather, fold: evalGather},
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
				i, graph.ShapeText(k.shape(i)), graph.ShapeText(k.shape(0)))
		}
		shape[axis] += k.shape(i)[axis]
		if !graph.Fits(shape, graph.U8) {
			return k.fault("use smaller extents", "its result takes more than 2^56 bytes")
		}
	}
	k.attrs["axis"] = axis
	return k.give(shape)
}

func inferGather(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", 0), len(x))
	if err != nil {
		return err
	}
	if t := k.arg(1).Constant; t != nil {
		for i := range graph.Elements(t.Shape) {
			if at := t.IntAt(i); at < -x[axis] || at >= x[axis] {
				return k.fault("use indices in range", "index %d is %d, axis %d of data has the extent %d", i, at, axis,
					x[axis])
			}
		}
	}
	k.attrs["axis"] = axis
	return k.give(slices.Concat(x[:axis], k.shape(1), x[axis+1:]))
}

func evalSplit(k *call) []graph.Tensor {
	t := k.input(0)
	var parts []graph.Tensor
	at := int64(0)
	for _, d := range k.attrs.Ints("split") {
		v, ok := view.Contiguous(t.Shape).Part(int(k.attrs.Int("axis")), at, d)
		if !ok {
			return nil
		}
		at += d
		parts = append(parts, gathered(t, v))
	}
	return parts
}

// evalConcat copies, for each index of the axes before the one that grows, one
// stretch of each input.
func evalConcat(k *call) []graph.Tensor {
	r := k.results[0]
	axis := k.attrs.Int("axis")
	out := graph.NewTensor(r.dtype, r.shape)
	at := 0
	for outer := range int(graph.Elements(r.shape[:axis])) {
		for i := range k.keep {
			t := k.input(i)
			stretch := int(graph.Elements(t.Shape[axis:]) * r.dtype.Bytes())
			at += copy(out.Data[at:], t.Data[outer*stretch:(outer+1)*stretch])
		}
	}
	return []graph.Tensor{out}
}

func evalGather(k *call) []graph.Tensor {
	data, indices, r := k.input(0), k.input(1), k.results[0]
	axis := k.attrs.Int("axis")
	d := data.Shape[axis]
	stretch := graph.Elements(data.Shape[axis+1:]) * r.dtype.Bytes()
	out := graph.NewTensor(r.dtype, r.shape)
	at := 0
	for outer := range graph.Elements(data.Shape[:axis]) {
		for i := range graph.Elements(indices.Shape) {
			index := indices.IntAt(i)
			if index < 0 {
				index += d
			}
			from := (outer*d + index) * stretch
			at += copy(out.Data[at:], data.Data[from:from+stretch])
		}
	}
	return []graph.Tensor{out}
}

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
	return graph.MaxBytes
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
		if min(list[i], list[len(axes)+i]) < -graph.MaxBytes || max(list[i], list[len(axes)+i]) > graph.MaxBytes {
			return nil, k.fault("use smaller numbers", "the pads of axis %d are %d and %d", a, list[i],
				list[len(axes)+i])
		}
	}
	return pads, nil
}
