package ops

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

const (
	indexRule = " An index below 0 counts from the end; one that is out of range is an error of the run, or of Check " +
		"where it is constant."
	updateRule = " Updates go in one after the other; reduction says how: none puts it there, add, mul, max and min " +
		"join it with what is there."
)

var updated = []Attribute{{"reduction", KindString, "none, add, mul, max or min"}}

var indexed = []entry{
	{name: "NonZero", in: "X T", out: "Y i64", t: anyTypes,
		result: "Shape (axes of X, n): the indices of the n elements that are not 0, row by row. The model states n in the " +
			"type of Y (value_info), as a number or as a symbol that is bound, or X is constant. A run in which another number " +
			"of elements is not 0 is an error of the run.",
		infer: inferNonZero},
	argOp("ArgMax", "highest"),
	argOp("ArgMin", "lowest"),
	{name: "GatherElements", in: "data T, indices index", out: "output T", t: movedTypes, accepts: "axis int",
		result: "Shape: that of indices, which has as many axes as data. Each element is that of data at its own " +
			"place, " +
			"with the index for the axis." + indexRule,
		attrs: []Attribute{anInt("axis", "not negative; 0 when left out")},
		infer: inferGatherElements},
	{name: "GatherND", in: "data T, indices index", out: "output T", t: movedTypes, accepts: "batch_dims int",
		result: "The last axis of indices has the indices of an element, or of a part, of data; the axes before " +
			"batch_dims are the same in both." + indexRule,
		attrs: []Attribute{anInt("batch_dims", "not negative; 0 when left out")},
		infer: inferGatherND},
	// In place: elements of data are only read where they are updated.
	{name: "ScatterElements", in: "data T, indices index, updates T", out: "output T", t: anyTypes,
		accepts: "axis int, reduction string",
		result: "data with updates, of the shape of indices: each at its own place, with the index for the axis." +
			indexRule + updateRule,
		attrs:   append([]Attribute{anInt("axis", "not negative; 0 when left out")}, updated...),
		inPlace: first, infer: inferScatterElements},
	{name: "Scatter", in: "data T, indices index, updates T", out: "output T", t: anyTypes, accepts: "axis int",
		becomes: "ScatterElements.", infer: inferScatter},
	{name: "ScatterND", in: "data T, indices index, updates T", out: "output T", t: anyTypes,
		accepts: "reduction string",
		result: "data with updates: the last axis of indices has the indices of an element, or of a part, of data." +
			indexRule + updateRule,
		attrs:   updated,
		inPlace: first, infer: inferScatterND},
	// In place: an element is read before it is written, and not afterwards.
	{name: "CumSum", in: "x T, axis index!", out: "y T", t: numericTypes, accepts: "exclusive int, reverse int",
		result: sameShape + " Each element is the sum of those before it on the axis and of itself.",
		attrs: []Attribute{anInt("axis", "not negative"), anInt("exclusive", "1: without itself"),
			anInt("reverse", "1: of those behind it")},
		inPlace: first, infer: inferCumSum},
	{name: "TopK", in: "X T, K i64?!", out: "Values T, Indices i64?", t: numericTypes,
		accepts: "axis int, largest int, sorted int, k int",
		result:  "The k best elements of the axis, the best first, of equal ones that with the lower index.",
		attrs: []Attribute{anInt("axis", "not negative; the last one when left out"), anInt("k", "how many"),
			anInt("largest", "1: the highest are the best; 0: the lowest")},
		infer: inferTopK},
}

func argOp(name, what string) entry {
	return entry{name: name, in: "data T", out: "reduced i64", t: numericTypes,
		accepts: "axis int, keepdims int, select_last_index int",
		result:  "The index of the " + what + " element along the axis; NaN is above and below all.",
		attrs: []Attribute{anInt("axis", "not negative"), anInt("keepdims", "1: it stays with extent 1; 0: it goes"),
			anInt("select_last_index", "0: the first index of several; 1: the last one")},
		infer: inferArg}
}

func inferArg(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", 0), len(x))
	if err != nil {
		return err
	}
	if x[axis] == 0 {
		return k.fault("give it elements to choose from", "axis %d of %s has no elements", axis, graph.ShapeText(x))
	}
	keep, err := k.flag("keepdims", 1)
	if err != nil {
		return err
	}
	last, err := k.flag("select_last_index", 0)
	if err != nil {
		return err
	}
	shape := slices.Clone(x)
	shape[axis] = 1
	if keep == 0 {
		shape = slices.Delete(shape, int(axis), int(axis)+1)
	}
	k.attrs = graph.Attrs{"axis": axis, "keepdims": keep, "select_last_index": last}
	return k.give(shape)
}

// alongIndices resolves the axis of indices into argument 0, whose other axes reach as far
// as those of the argument.
func (k *call) alongIndices() error {
	x, indices := k.shape(0), k.shape(1)
	axis, err := k.axis(k.intOr("axis", 0), len(x))
	if err != nil {
		return err
	}
	fits := len(indices) == len(x)
	for i := range indices {
		fits = fits && (int64(i) == axis || indices[i] <= x[i])
	}
	if !fits {
		return k.fault("they need as many axes, and no more elements on those besides the axis",
			"indices have the shape %s, data %s, and the axis is %d", graph.ShapeText(indices), graph.ShapeText(x), axis)
	}
	k.attrs["axis"] = axis
	return k.constantIndices(axis)
}

// constantIndices looks at indices of one axis, where they are known.
func (k *call) constantIndices(axis int64) error {
	d := k.shape(0)[axis]
	if t := k.arg(1).Constant; t != nil {
		for i := range graph.Elements(t.Shape) {
			if at := t.IntAt(i); at < -d || at >= d {
				return k.fault("use indices in range", "index %d is %d, axis %d of data has the extent %d", i, at,
					axis, d)
			}
		}
	}
	return nil
}

func inferGatherElements(k *call) error {
	if err := k.alongIndices(); err != nil {
		return err
	}
	return k.give(k.shape(1))
}

// reductionAttr reads how updates go in.
func (k *call) reductionAttr() error {
	how := k.stringOr("reduction", "none")
	if !slices.Contains([]string{"none", "add", "mul", "max", "min"}, how) {
		return k.fault("use none, add, mul, max or min", "its attribute \"reduction\" is %q", how)
	}
	if how != "none" && k.outType() == graph.Bool {
		return k.fault("use none", "its attribute \"reduction\" is %q, and data is bool", how)
	}
	k.attrs["reduction"] = how
	return nil
}

func inferScatterElements(k *call) error {
	if err := k.alongIndices(); err != nil {
		return err
	}
	if !slices.Equal(k.shape(1), k.shape(2)) {
		return k.fault("give an update for each index", "indices have the shape %s, updates %s", graph.ShapeText(k.shape(1)),
			graph.ShapeText(k.shape(2)))
	}
	if err := k.reductionAttr(); err != nil {
		return err
	}
	return k.give(k.shape(0))
}

func inferScatter(k *call) error {
	r := k.rewrite()
	return r.is(r.node("ScatterElements", graph.Attrs{"axis": k.intOr("axis", 0)}, r.value(0), r.value(1), r.value(2)))
}

// behindTuples returns the shape of what indices of several axes name, after batch axes
// that data and indices share.
func (k *call) behindTuples(batch int64) ([]int64, error) {
	x, indices := k.shape(0), k.shape(1)
	last := len(indices) - 1
	if last < 0 || len(x) == 0 || batch < 0 || batch > int64(last) || batch >= int64(len(x)) ||
		!slices.Equal(x[:batch], indices[:batch]) || indices[last] > int64(len(x))-batch {
		return nil, k.fault("the last axis of indices has at most an index for each axis of data behind the first "+
			"batch_dims, which are the same in both",
			"indices have the shape %s, data %s, and batch_dims is %d", graph.ShapeText(indices), graph.ShapeText(x), batch)
	}
	return slices.Concat(indices[:last], x[batch+indices[last]:]), k.constantTuples(batch)
}

func (k *call) constantTuples(batch int64) error {
	t := k.arg(1).Constant
	if t == nil {
		return nil
	}
	x, n := k.shape(0), t.Shape[len(t.Shape)-1]
	for i := range graph.Elements(t.Shape) {
		if at, d := t.IntAt(i), x[batch+i%n]; at < -d || at >= d {
			return k.fault("use indices in range", "index %d is %d, axis %d of data has the extent %d", i, at,
				batch+i%n, d)
		}
	}
	return nil
}

func inferGatherND(k *call) error {
	batch := k.intOr("batch_dims", 0)
	shape, err := k.behindTuples(batch)
	if err != nil {
		return err
	}
	k.attrs["batch_dims"] = batch
	return k.give(shape)
}

func inferScatterND(k *call) error {
	shape, err := k.behindTuples(0)
	if err != nil {
		return err
	}
	if !slices.Equal(shape, k.shape(2)) {
		return k.fault(fmt.Sprintf("give them the shape %s", graph.ShapeText(shape)), "updates have the shape %s",
			graph.ShapeText(k.shape(2)))
	}
	if err := k.reductionAttr(); err != nil {
		return err
	}
	return k.give(k.shape(0))
}

func inferCumSum(k *call) error {
	at, err := k.number(1, "axis", 0)
	if err != nil {
		return err
	}
	axis, err := k.axis(int64(at), len(k.shape(0)))
	if err != nil {
		return err
	}
	k.attrs["axis"] = axis
	for _, name := range []string{"exclusive", "reverse"} {
		if k.attrs[name], err = k.flag(name, 0); err != nil {
			return err
		}
	}
	return k.give(k.shape(0))
}

func inferTopK(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", -1), len(x))
	if err != nil {
		return err
	}
	n := k.intOr("k", -1)
	if k.has(1) {
		list, _, err := k.list(1, "k")
		if err != nil {
			return err
		}
		if len(list) != 1 {
			return k.fault("give it one element", "its input 1 (K) has %d elements", len(list))
		}
		n = list[0]
	}
	if n < 0 || n > x[axis] {
		return k.fault("use 0 up to the extent of the axis", "K is %d, axis %d has the extent %d", n, axis, x[axis])
	}
	largest, err := k.flag("largest", 1)
	if err != nil {
		return err
	}
	shape := slices.Clone(x)
	shape[axis] = n
	k.attrs = graph.Attrs{"axis": axis, "k": n, "largest": largest}
	k.results = []result{{k.outType(), shape, nil}, {graph.I64, shape, nil}}
	return nil
}

// inferNonZero takes the extent of the result from what the graph declares of it: nothing else
// bounds it but the elements of X.
func inferNonZero(k *call) error {
	if t := k.arg(0).Constant; t != nil && graph.Elements(t.Shape) <= arithmeticElements {
		y := indicesOf(t)
		k.results = []result{{graph.I64, y.Shape, &y}}
		return nil
	}
	rank := int64(len(k.shape(0)))
	shape, why := k.draft.Host.Declared(k.node.Outputs[0])
	if why != "" {
		return k.fault("state the shape of its result (value_info of ONNX, values of a JSON graph), and bind its symbols; "+
			"or make its argument constant", "how many elements are not 0 is not known: %s", why)
	}
	if len(shape) != 2 || shape[0] != rank || shape[1] > graph.Elements(k.shape(0)) {
		return k.fault(fmt.Sprintf("state (%d, n) for an n of at most %d", rank, graph.Elements(k.shape(0))),
			"its result is declared with the shape %s", graph.ShapeText(shape))
	}
	return k.give(shape)
}

// indicesOf lists the indices of the elements that are not 0.
func indicesOf(t *graph.Tensor) graph.Tensor {
	var found []int64
	for i := range graph.Elements(t.Shape) {
		if t.FloatAt(i) != 0 {
			found = append(found, i)
		}
	}
	y := graph.NewTensor(graph.I64, []int64{int64(len(t.Shape)), int64(len(found))})
	below := int64(1)
	for axis := len(t.Shape) - 1; axis >= 0; axis-- {
		for n, i := range found {
			y.SetInt(int64(axis*len(found)+n), i/below%t.Shape[axis])
		}
		below *= t.Shape[axis]
	}
	return y
}
