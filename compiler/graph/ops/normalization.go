package ops

import (
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

// normalizations scale elements by what others around them are.
var normalizations = []entry{
	// Scale, bias, mean and variance are vectors of their own.
	{name: "BatchNormalization", in: "X T, scale T, B T, input_mean T, input_var T",
		out: "Y T, mean T?, var T?, saved_mean T?, saved_var T?",
		t:   floatTypes, accepts: "epsilon float, momentum float, spatial int, is_test int, training_mode int",
		result: "(X - mean) / sqrt(var + epsilon) * scale + B for each channel, axis 1 of X; the other arguments have " +
			"the shape (c). Only Y can be asked for.",
		attrs:   []Attribute{aFloat("epsilon", "1e-5 when left out")},
		inPlace: first, infer: inferBatchNormalization},
	// In place, the kernel keeps the inputs of the channels that it sums up.
	{name: "LRN", in: "X T", out: "Y T", t: floatTypes, accepts: "alpha float, beta float, bias float, size int",
		result: sameShape +
			" X / (bias + alpha / size * s) ^ beta, where s sums the squares over the channels c - floor((size - 1) " +
			"/ 2) to c + ceil((size - 1) / 2) that there are; channels are axis 1.",
		attrs: []Attribute{aFloat("alpha", "1e-4 when left out"), aFloat("beta", "0.75 when left out"),
			aFloat("bias", "1 when left out"), anInt("size", "channels in a sum, at least 1")},
		inPlace: first, infer: inferLRN},
	// In place: mean and variance of a line are known before its first element is written.
	{name: "LayerNormalization", in: "X T, Scale T, B T?", out: "Y T, Mean other?, InvStdDev other?", t: floatTypes,
		accepts: "axis int, epsilon float, stash_type int",
		result: sameShape +
			" Mean and variance are taken over the axes from axis on; Scale and B are broadcast to X. Mean and " +
			"InvStdDev, 1 / sqrt(variance + epsilon), are f32, and those axes have extent 1 in them.",
		attrs:   []Attribute{anInt("axis", "not negative"), aFloat("epsilon", "1e-5 when left out")},
		inPlace: first, infer: inferLayerNormalization},
	// In place: the maximum of a line is known before its first element is written; after
	// that the kernel reads what it wrote itself.
	{name: "Softmax", in: "input T", out: "output T", t: floatTypes, accepts: "axis int",
		result: sameShape +
			" exp(x - max) / sum over the axes together. Before operator set 13 ONNX flattened all axes from axis " +
			"on (1 when left out): axes lists them.",
		attrs: []Attribute{ints("axes",
			"neighbouring axes, ascending, not negative; one axis since operator set 13")},
		inPlace: first, infer: inferSoftmax},
	// In place: maximum and sum of a line are known before its first element is written.
	{name: "LogSoftmax", in: "input T", out: "output T", t: floatTypes, accepts: "axis int",
		result:  sameShape + " X - max - log(sum(e ^ (X - max))) over the axes together, which are those of Softmax.",
		attrs:   []Attribute{ints("axes", "as those of Softmax")},
		inPlace: first, infer: inferSoftmax},
	// In place: the mean of a line is known before its first element is written.
	{name: "RMSNormalization", in: "X T, scale T", out: "Y T", t: floatTypes,
		accepts: "axis int, epsilon float, stash_type int",
		result: sameShape + " X / sqrt(mean(X * X) + epsilon) * scale; the mean is taken over the axes from axis on. " +
			"scale is broadcast to X.",
		attrs:   []Attribute{anInt("axis", "not negative"), aFloat("epsilon", "1e-5 when left out")},
		inPlace: first, infer: inferRMSNormalization},
	{name: "InstanceNormalization", in: "input T, scale T, B T", out: "output T", t: floatTypes,
		accepts: "epsilon float",
		becomes: "LayerNormalization over the axes behind the second.", infer: inferInstanceNormalization},
	{name: "GroupNormalization", in: "X T, scale T, bias T", out: "Y T", t: floatTypes,
		accepts: "epsilon float, num_groups int, stash_type int",
		becomes: "Reshape, LayerNormalization over each group of channels, Reshape. scale and bias have an element " +
			"for " +
			"each channel or, as before operator set 21, for each group.",
		infer: inferGroupNormalization},
}

func inferRMSNormalization(k *call) error {
	x := k.shape(0)
	axis, err := k.axis(k.intOr("axis", -1), len(x))
	if err != nil {
		return err
	}
	if !broadcastTo(k.shape(1), x) {
		return k.fault("it has to broadcast to X", "scale has the shape %s, X %s", graph.ShapeText(k.shape(1)), graph.ShapeText(x))
	}
	k.attrs["axis"], k.attrs["epsilon"] = axis, k.floatOr("epsilon", 1e-5)
	return k.give(x)
}

// perChannel holds scale and bias, arguments 1 and 2, to n elements each.
func (k *call) perChannel(n int64) error {
	for i := 1; i < 3; i++ {
		if s := k.shape(i); len(s) != 1 || s[0] != n {
			return k.fault(fmt.Sprintf("it needs %d elements", n),
				"its input %d (%s) has the shape %s, its first input %s", i,
				k.argument(i).Name, graph.ShapeText(s), graph.ShapeText(k.shape(0)))
		}
	}
	return nil
}

func inferInstanceNormalization(k *call) error {
	x := k.shape(0)
	if len(x) < 3 {
		return k.fault("give it the shape (n, c, spatial...)", "its input has the shape %s", graph.ShapeText(x))
	}
	if err := k.perChannel(x[1]); err != nil {
		return err
	}
	r := k.rewrite()
	channel := ones(len(x)-2, x[1])
	return r.is(r.node("LayerNormalization", graph.Attrs{"axis": int64(2), "epsilon": k.floatOr("epsilon", 1e-5)},
		r.value(0), r.shaped(r.value(1), channel...), r.shaped(r.value(2), channel...)))
}

func inferGroupNormalization(k *call) error {
	c, err := k.channels()
	if err != nil {
		return err
	}
	x, groups := k.shape(0), k.intOr("num_groups", 0)
	if groups < 1 || c%groups != 0 {
		return k.fault("use a divisor of the channels", "its attribute \"num_groups\" is %d, X has %d channels",
			groups, c)
	}
	n := c
	if s := k.shape(1); len(s) == 1 && s[0] == groups {
		n = groups
	}
	if err := k.perChannel(n); err != nil {
		return err
	}
	r := k.rewrite()
	each := ones(len(x)-2, groups, n/groups)
	grouped := r.shaped(r.value(0), slices.Concat([]int64{x[0], groups, c / groups}, x[2:])...)
	y := r.node("LayerNormalization", graph.Attrs{"axis": int64(2), "epsilon": k.floatOr("epsilon", 1e-5)}, grouped,
		r.shaped(r.value(1), each...), r.shaped(r.value(2), each...))
	return r.is(r.shaped(y, x...))
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
	return 0, k.fault("give it the shape (n, c, ...)", "X has the shape %s", graph.ShapeText(k.shape(0)))
}

func inferBatchNormalization(k *call) error {
	c, err := k.channels()
	if err != nil {
		return err
	}
	for i := 1; i < 5; i++ {
		if s := k.shape(i); len(s) != 1 || s[0] != c {
			return k.fault("it needs one element for each channel", "its input %d (%s) has the shape %s, X %s",
				i, k.argument(i).Name, graph.ShapeText(s), graph.ShapeText(k.shape(0)))
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
	k.attrs = graph.Attrs{"size": size, "alpha": k.floatOr("alpha", 1e-4), "beta": k.floatOr("beta", 0.75),
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
				i, k.argument(i).Name, graph.ShapeText(k.shape(i)), graph.ShapeText(x))
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
	k.results = []result{{k.outType(), x, nil}, {graph.F32, row, nil}, {graph.F32, row, nil}}
	return nil
}
