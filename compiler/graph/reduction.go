package graph

import (
	"fmt"
	"slices"
)

// reduceOp is an operator that joins the elements of some axes.
func reduceOp(name string, t DTypes, result string, infer func(*call) error) entry {
	return entry{name: name, in: "data T, axes i64?!", out: "reduced T", t: t, accepts: reduceAttrs, attrs: reduced,
		result: result, infer: infer}
}

var reductions = []entry{
	reduceOp("ReduceSum", matrixTypes, "An empty sum is 0.", inferReduce),
	reduceOp("ReduceMean", matrixTypes, "Integers divide towards zero. The mean of nothing is NaN; integers have none.",
		inferReduceMean),
	reduceOp("ReduceMax", AnyTypes, "The maximum of nothing is the lowest of the type: -Inf, false.", inferReduce),
	reduceOp("ReduceMin", AnyTypes, "The minimum of nothing is the highest of the type: +Inf, true.", inferReduce),
	reduceOp("ReduceProd", matrixTypes, "An empty product is 1.", inferReduce),
	reduceOp("ReduceL1", matrixTypes, "The sum of absolute values.", inferReduceChanged),
	reduceOp("ReduceL2", FloatTypes, "The square root of the sum of squares.", inferReduceChanged),
	reduceOp("ReduceSumSquare", matrixTypes, "The sum of squares.", inferReduceChanged),
	reduceOp("ReduceLogSum", FloatTypes, "The logarithm of the sum; of nothing, -Inf.", inferReduceChanged),
	reduceOp("ReduceLogSumExp", FloatTypes,
		"log(sum(e ^ data)), without an overflow on the way; of nothing, -Inf.", inferReduceChanged),
	// In place: maximum and sum of a line are known before its first element is written.
	{name: "LogSoftmax", in: "input T", out: "output T", t: FloatTypes, accepts: "axis int",
		result:  sameShape + " X - max - log(sum(e ^ (X - max))) over the axes together, which are those of Softmax.",
		attrs:   []Attribute{ints("axes", "as those of Softmax")},
		inPlace: first, infer: inferSoftmax},
	// In place: the mean of a line is known before its first element is written.
	{name: "RMSNormalization", in: "X T, scale T", out: "Y T", t: FloatTypes,
		accepts: "axis int, epsilon float, stash_type int",
		result: sameShape + " X / sqrt(mean(X * X) + epsilon) * scale; the mean is taken over the axes from axis on. " +
			"scale is broadcast to X.",
		attrs:   []Attribute{anInt("axis", "not negative"), aFloat("epsilon", "1e-5 when left out")},
		inPlace: first, infer: inferRMSNormalization},
	{name: "InstanceNormalization", in: "input T, scale T, B T", out: "output T", t: FloatTypes,
		accepts: "epsilon float",
		becomes: "LayerNormalization over the axes behind the second.", infer: inferInstanceNormalization},
	{name: "GroupNormalization", in: "X T, scale T, bias T", out: "Y T", t: FloatTypes,
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
		return k.fault("it has to broadcast to X", "scale has the shape %s, X %s", shapeText(k.shape(1)), shapeText(x))
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
				k.argument(i).Name, shapeText(s), shapeText(k.shape(0)))
		}
	}
	return nil
}

func inferInstanceNormalization(k *call) error {
	x := k.shape(0)
	if len(x) < 3 {
		return k.fault("give it the shape (n, c, spatial...)", "its input has the shape %s", shapeText(x))
	}
	if err := k.perChannel(x[1]); err != nil {
		return err
	}
	r := k.rewrite()
	channel := ones(len(x)-2, x[1])
	return r.is(r.node("LayerNormalization", Attrs{"axis": int64(2), "epsilon": k.floatOr("epsilon", 1e-5)},
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
	y := r.node("LayerNormalization", Attrs{"axis": int64(2), "epsilon": k.floatOr("epsilon", 1e-5)}, grouped,
		r.shaped(r.value(1), each...), r.shaped(r.value(2), each...))
	return r.is(r.shaped(y, x...))
}
