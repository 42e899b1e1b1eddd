package graph

import "slices"

func inferMatMul(k *call) error {
	a, b := k.shape(0), k.shape(1)
	if len(a) == 0 || len(b) == 0 {
		return k.fault("use Mul for scalars", "A has the shape %s, B %s; both need an axis", shapeText(a), shapeText(b))
	}
	row, column := len(a) == 1, len(b) == 1
	if row {
		a = []int64{1, a[0]}
	}
	if column {
		b = []int64{b[0], 1}
	}
	m, n := a[len(a)-2], b[len(b)-1]
	batch, ok := broadcast(a[:len(a)-2], b[:len(b)-2])
	if !ok || a[len(a)-1] != b[len(b)-2] {
		return k.fault("A (..., m, k) needs B (..., k, n), and axes before those that can be broadcast",
			"A has the shape %s, B %s", shapeText(k.shape(0)), shapeText(k.shape(1)))
	}
	if !row {
		batch = append(batch, m)
	}
	if !column {
		batch = append(batch, n)
	}
	return k.give(batch)
}

func inferGemm(k *call) error {
	a, b := k.shape(0), k.shape(1)
	if len(a) != 2 || len(b) != 2 {
		return k.fault("use MatMul for other ranks", "A has the shape %s, B %s; both need two axes", shapeText(a),
			shapeText(b))
	}
	var turn [2]int64
	for i, name := range []string{"transA", "transB"} {
		v, err := k.flag(name, 0)
		if err != nil {
			return err
		}
		turn[i], k.attrs[name] = v, v
	}
	m, inner := a[turn[0]], a[1-turn[0]]
	inner2, n := b[turn[1]], b[1-turn[1]]
	if inner != inner2 {
		return k.fault("both must be equal: look at transA and transB",
			"A %s has the inner extent %d, B %s has %d", shapeText(a), inner, shapeText(b), inner2)
	}
	shape := []int64{m, n}
	if k.has(2) && !broadcastTo(k.shape(2), shape) {
		return k.fault("C has to broadcast to the result", "C has the shape %s, the result %s", shapeText(k.shape(2)),
			shapeText(shape))
	}
	k.attrs["alpha"], k.attrs["beta"] = k.floatOr("alpha", 1), k.floatOr("beta", 1)
	return k.give(shape)
}

// reductionAxes returns the axes that go, ascending.
func (k *call) reductionAxes() ([]int64, error) {
	rank := len(k.shape(0))
	list, _, err := k.list(1, "axes")
	if err != nil {
		return nil, err
	}
	axes, err := k.axes(list, rank)
	if err != nil {
		return nil, err
	}
	noop, err := k.flag("noop_with_empty_axes", 0)
	if err != nil {
		return nil, err
	}
	if len(axes) == 0 && noop == 0 {
		for i := range rank {
			axes = append(axes, int64(i))
		}
	}
	slices.Sort(axes)
	return axes, nil
}

func inferReduce(k *call) error { return k.reduce(true, false) }

// inferReduceChanged is inferReduce of an operator that changes elements, also where it joins none.
func inferReduceChanged(k *call) error { return k.reduce(true, true) }

// inferReduceMean is inferReduce without means of no integers, which do not exist.
func inferReduceMean(k *call) error { return k.reduce(FloatTypes.Has(k.outType()), false) }

// reduce takes the axes away that a reduction names. One of no elements goes only
// where a reduction of nothing has a result. One of no axes is the argument itself unless
// the operator changes elements.
func (k *call) reduce(ofNothing, changes bool) error {
	axes, err := k.reductionAxes()
	if err != nil {
		return err
	}
	keep, err := k.flag("keepdims", 1)
	if err != nil {
		return err
	}
	if len(axes) == 0 && !changes {
		return k.become("Identity", k.shape(0))
	}
	shape := []int64{}
	for i, d := range k.shape(0) {
		gone := slices.Contains(axes, int64(i))
		if gone && d == 0 && !ofNothing {
			return k.fault("reduce at least one element, or Cast to a float type, whose mean of nothing is NaN",
				"axis %d of %s has no elements", i, shapeText(k.shape(0)))
		}
		if gone && keep == 1 {
			d = 1
		}
		if !gone || keep == 1 {
			shape = append(shape, d)
		}
	}
	k.attrs["axes"], k.attrs["keepdims"] = axes, keep
	return k.give(shape)
}

func inferSoftmax(k *call) error {
	rank := len(k.shape(0))
	flattens := k.draft.Opset > 0 && k.draft.Opset < 13
	otherwise := int64(-1)
	if flattens {
		otherwise = 1
	}
	axis, err := k.axis(k.intOr("axis", otherwise), rank)
	if err != nil {
		return err
	}
	axes := []int64{axis}
	for flattens && axes[len(axes)-1] < int64(rank)-1 {
		axes = append(axes, axes[len(axes)-1]+1)
	}
	k.attrs["axes"] = axes
	return k.give(k.shape(0))
}

// channels returns the extent of axis 1.
func (k *call) channels() (int64, error) {
	if x := k.shape(0); len(x) >= 2 {
		return x[1], nil
	}
	return 0, k.fault("give it the shape (n, c, ...)", "X has the shape %s", shapeText(k.shape(0)))
}

func inferBatchNormalization(k *call) error {
	c, err := k.channels()
	if err != nil {
		return err
	}
	for i := 1; i < 5; i++ {
		if s := k.shape(i); len(s) != 1 || s[0] != c {
			return k.fault("it needs one element for each channel", "its input %d (%s) has the shape %s, X %s",
				i, k.argument(i).Name, shapeText(s), shapeText(k.shape(0)))
		}
	}
	if k.intOr("training_mode", 0) != 0 {
		return k.fault("export the model for inference", "its attribute \"training_mode\" is %d",
			k.intOr("training_mode", 0))
	}
	if k.intOr("spatial", 1) != 1 {
		return k.fault("normalise channels: spatial 1", "its attribute \"spatial\" is %d", k.intOr("spatial", 1))
	}
	k.attrs["epsilon"] = k.floatOr("epsilon", 1e-5)
	return k.give(k.shape(0))
}

func inferLRN(k *call) error {
	if _, err := k.channels(); err != nil {
		return err
	}
	if err := k.require("size"); err != nil {
		return err
	}
	size := k.intOr("size", 0)
	if size < 1 || size > maxWindow {
		return k.fault("use 1 or more, at most 2^31", "its attribute \"size\" is %d", size)
	}
	k.attrs = Attrs{"size": size, "alpha": k.floatOr("alpha", 1e-4), "beta": k.floatOr("beta", 0.75),
		"bias": k.floatOr("bias", 1)}
	return k.give(k.shape(0))
}

func inferLayerNormalization(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", -1), len(x))
	if err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		if k.has(i) && !broadcastTo(k.shape(i), x) {
			return k.fault("it has to broadcast to X", "its input %d (%s) has the shape %s, X %s",
				i, k.argument(i).Name, shapeText(k.shape(i)), shapeText(x))
		}
	}
	k.attrs["axis"], k.attrs["epsilon"] = axis, k.floatOr("epsilon", 1e-5)
	if stash := k.intOr("stash_type", 1); stash != 1 && (k.wanted(1) || k.wanted(2)) {
		return k.fault("use 1, which is f32", "its attribute \"stash_type\" is %d, and Mean or InvStdDev is asked for",
			stash)
	}
	row := slices.Clone(x)
	for i := int(axis); i < len(row); i++ {
		row[i] = 1
	}
	k.results = []result{{k.outType(), x, nil}, {F32, row, nil}, {F32, row, nil}}
	return nil
}
