package graph

import (
	"math"
	"slices"
)

// Texts that several operators share.
const (
	broadcastResult = "Shapes are broadcast: matched from the last axis; an axis of extent 1, or one that is not " +
		"there, repeats."
	sameShape    = "The result has the shape of the argument."
	oldBroadcast = "axis int, broadcast int"
	reduceAttrs  = "axes ints, keepdims int, noop_with_empty_axes int"
	windowAttrs  = "auto_pad string, kernel_shape ints, strides ints, pads ints, dilations ints"
)

func anInt(name, meaning string) Attribute  { return Attribute{name, KindInt, meaning} }
func aFloat(name, meaning string) Attribute { return Attribute{name, KindFloat, meaning} }
func ints(name, meaning string) Attribute   { return Attribute{name, KindInts, meaning} }

// window are the attributes of convolutions and pools.
var window = []Attribute{
	ints("kernel_shape", "extent of the window on each spatial axis"),
	ints("strides", "of the window on each spatial axis"),
	ints("pads", "around each spatial axis: all begins, then all ends; auto_pad is resolved; not negative"),
	ints("dilations", "distance between the window's taps on each spatial axis"),
}

var convAttrs = append(slices.Clone(window), anInt("group", "channels c and m are split into so many groups"))

var reduced = []Attribute{
	ints("axes", "the axes that go, ascending, not negative; what reduces none and changes no element becomes Identity"),
	anInt("keepdims", "1: they stay with extent 1; 0: they go"),
}

// Arguments that are overwritten. One that is broadcast has another shape than the
// result, which excludes it.
var (
	first       = []int{0}
	firstSecond = []int{0, 1}
)

// table is every operator that Check knows.
var table = slices.Concat(elementwise, activations, linear, reductions, quantized, recurrent, shapes, indexed, composed,
	resizes, sources)

// unaryOp is an operator that takes and gives T, elements one by one. Its fold is of f,
// which may be nil.
func unaryOp(name string, t DTypes, f *arith) entry {
	return entry{name: name, in: "X T", out: "Y T", t: t, result: sameShape,
		inPlace: first, infer: inferUnary, fold: f.fold()}
}

// binaryOp is an operator that broadcasts A and B to one result of type T or bool.
func binaryOp(name string, t DTypes, result string, f *arith) entry {
	return entry{name: name, in: "A T, B T", out: "C " + result, t: t, accepts: oldBroadcast, result: broadcastResult,
		inPlace: firstSecond, infer: inferBinary, fold: f.fold()}
}

// variadicOp is an operator that broadcasts any number of arguments and goes from the
// first to the last.
func variadicOp(name string, t DTypes, f *arith) entry {
	return entry{name: name, in: "data T*", out: "result T", t: t, result: broadcastResult,
		inPlace: []int{EveryArgument}, infer: inferBroadcast, fold: f.fold()}
}

var elementwise = []entry{
	unaryOp("Sqrt", FloatTypes, &arith{floats: ofFloat(math.Sqrt)}),
	unaryOp("Exp", FloatTypes, nil),
	unaryOp("Log", FloatTypes, nil),
	unaryOp("Tanh", FloatTypes, nil),
	unaryOp("Sigmoid", FloatTypes, nil),
	unaryOp("Reciprocal", FloatTypes, &arith{floats: func(a, _ float64) float64 { return 1 / a }}),
	unaryOp("Floor", FloatTypes, &arith{floats: ofFloat(math.Floor)}),
	unaryOp("Ceil", FloatTypes, &arith{floats: ofFloat(math.Ceil)}),
	unaryOp("Erf", numericTypes, nil),
	unaryOp("Abs", numericTypes, onBoth(ofFloat(math.Abs), func(a, _ int64) int64 { return max(a, -a) })),
	unaryOp("Relu", signedTypes, onBoth(positive[float64], positive[int64])),
	unaryOp("Neg", signedTypes, onBoth(negative, negative)),
	unaryOp("Not", SetOf(Bool), &arith{ints: func(a, _ int64) int64 { return 1 - a }}),

	binaryOp("Add", numericTypes, "T", onBoth(sum, sum)),
	binaryOp("Sub", numericTypes, "T", onBoth(difference, difference)),
	binaryOp("Mul", numericTypes, "T", onBoth(product, product)),
	binaryOp("Div", numericTypes, "T", &arith{floats: ratio, ints: quotient, divides: true}),
	binaryOp("Less", numericTypes, "bool", compare(less, less)),
	binaryOp("LessOrEqual", numericTypes, "bool", compare(atMost, atMost)),
	binaryOp("Greater", numericTypes, "bool", compare(greater, greater)),
	binaryOp("GreaterOrEqual", numericTypes, "bool", compare(atLeast, atLeast)),
	binaryOp("Equal", AnyTypes, "bool", compare(equal, equal)),
	binaryOp("And", SetOf(Bool), "T", &arith{ints: func(a, b int64) int64 { return a & b }}),
	binaryOp("Or", SetOf(Bool), "T", &arith{ints: func(a, b int64) int64 { return a | b }}),
	binaryOp("Xor", SetOf(Bool), "T", &arith{ints: func(a, b int64) int64 { return a ^ b }}),

	variadicOp("Sum", FloatTypes, onBoth(sum, nil)),
	variadicOp("Max", numericTypes, onBoth(math.Max, func(a, b int64) int64 { return max(a, b) })),
	variadicOp("Min", numericTypes, onBoth(math.Min, func(a, b int64) int64 { return min(a, b) })),

	leakyRelu,
	{name: "Pow", in: "X T, Y U", out: "Z T", t: FloatTypes | indexTypes, u: numericTypes, accepts: oldBroadcast,
		result:  broadcastResult + " The result has the type of the base.",
		inPlace: firstSecond, infer: inferBinary},
	{name: "Clip", in: "input T, min T?!, max T?!", out: "output T", t: numericTypes, accepts: "min float, max float",
		result:  sameShape + " max(min(x, max), min) of min and max that fit the type; when min > max, max wins.",
		attrs:   []Attribute{aFloat("min", "-Inf when left out"), aFloat("max", "+Inf when left out")},
		inPlace: first, infer: inferClip},
	{name: "Where", in: "condition bool, X T, Y T", out: "output T", t: AnyTypes, result: broadcastResult,
		inPlace: []int{0, 1, 2}, infer: inferBroadcast, fold: evalWhere},
	{name: "Cast", in: "input any", out: "output other", accepts: "to any, saturate int, round_mode string",
		result: sameShape + " A float becomes an integer by cutting off its fraction, anything a bool by != 0." +
			" In a Graph `to` is an int of ONNX's TensorProto.DataType (1 is f32, 7 is i64), its name or ours.",
		attrs: []Attribute{anInt("to", "the DType")},
		moves: castsToSame, infer: inferCast, fold: evalCast},
	{name: "Dropout", in: "data T, ratio float?!, training_mode bool?!", out: "output T, mask other", t: FloatTypes,
		accepts: "ratio float, seed int, is_test int",
		becomes: "Identity: computations are inference. The mask is a constant of ones.",
		infer:   inferDropout},
}

var linear = []entry{
	{name: "MatMul", in: "A T, B T", out: "Y T", t: matrixTypes,
		result: "(..., m, k) and (..., k, n) give (..., m, n); the axes before the last two are broadcast. An A of one " +
			"axis is a row, a B of one axis a column, and that axis of the result goes.",
		infer: inferMatMul},
	{name: "Gemm", in: "A T, B T, C T?", out: "Y T", t: matrixTypes,
		accepts: "alpha float, beta float, transA int, transB int, broadcast int",
		result:  "alpha * A' * B' + beta * C, where A' is A or its transpose (m, k), B' (k, n); C is broadcast to (m, n).",
		attrs: []Attribute{aFloat("alpha", "1 when left out"), aFloat("beta", "1 when left out"),
			anInt("transA", "1: A is (k, m)"), anInt("transB", "1: B is (n, k)")},
		infer: inferGemm},
	{name: "Conv", in: "X T, W T, B T?", out: "Y T", t: FloatTypes | SetOf(I32), accepts: windowAttrs + ", group int",
		result: "X (n, c, spatial...), W (m, c / group, kernel...), B (m) give (n, m, spatial...). Any number of " +
			"spatial axes.",
		attrs: convAttrs,
		infer: inferConv},
	{name: "MaxPool", in: "X T", out: "Y T, Indices i64?", t: FloatTypes | SetOf(I8, U8),
		accepts: windowAttrs + ", ceil_mode int, storage_order int",
		result: "X (n, c, spatial...) gives (n, c, spatial...). Padding counts as the lowest value; ceil_mode is in " +
			"the shape alone: a window may hang over the end by more than the pads. Indices has, for each element " +
			"of Y, the number of the first element of X in its window that is the highest, NaN being higher than " +
			"all; -1 where the window has none.",
		attrs: append(slices.Clone(window),
			anInt("storage_order",
				"0: elements of X are numbered row by row; 1: of the spatial axes the first one goes fastest")),
		infer: inferMaxPool},
	{name: "AveragePool", in: "X T", out: "Y T", t: FloatTypes,
		accepts: windowAttrs + ", ceil_mode int, count_include_pad int",
		result: "As MaxPool. The sum is divided by the taps within X or, with count_include_pad, within X and its " +
			"pads; taps beyond the pads, which ceil_mode makes, never count.",
		attrs: append(slices.Clone(window), anInt("count_include_pad", "1: taps in the pads count")),
		infer: inferAveragePool},
	{name: "GlobalAveragePool", in: "X T", out: "Y T", t: FloatTypes, result: "(n, c, spatial...) gives (n, c, 1...).",
		infer: inferGlobalPool},
	{name: "GlobalMaxPool", in: "X T", out: "Y T", t: FloatTypes, result: "(n, c, spatial...) gives (n, c, 1...).",
		infer: inferGlobalPool},
	// Scale, bias, mean and variance are vectors of their own.
	{name: "BatchNormalization", in: "X T, scale T, B T, input_mean T, input_var T",
		out: "Y T, mean T?, var T?, saved_mean T?, saved_var T?",
		t:   FloatTypes, accepts: "epsilon float, momentum float, spatial int, is_test int, training_mode int",
		result: "(X - mean) / sqrt(var + epsilon) * scale + B for each channel, axis 1 of X; the other arguments have " +
			"the shape (c). Only Y can be asked for.",
		attrs:   []Attribute{aFloat("epsilon", "1e-5 when left out")},
		inPlace: first, infer: inferBatchNormalization},
	// In place, the kernel keeps the inputs of the channels that it sums up.
	{name: "LRN", in: "X T", out: "Y T", t: FloatTypes, accepts: "alpha float, beta float, bias float, size int",
		result: sameShape +
			" X / (bias + alpha / size * s) ^ beta, where s sums the squares over the channels c - floor((size - 1) " +
			"/ 2) to c + ceil((size - 1) / 2) that there are; channels are axis 1.",
		attrs: []Attribute{aFloat("alpha", "1e-4 when left out"), aFloat("beta", "0.75 when left out"),
			aFloat("bias", "1 when left out"), anInt("size", "channels in a sum, at least 1")},
		inPlace: first, infer: inferLRN},
	// In place: mean and variance of a line are known before its first element is written.
	{name: "LayerNormalization", in: "X T, Scale T, B T?", out: "Y T, Mean other?, InvStdDev other?", t: FloatTypes,
		accepts: "axis int, epsilon float, stash_type int",
		result: sameShape +
			" Mean and variance are taken over the axes from axis on; Scale and B are broadcast to X. Mean and " +
			"InvStdDev, 1 / sqrt(variance + epsilon), are f32, and those axes have extent 1 in them.",
		attrs:   []Attribute{anInt("axis", "not negative"), aFloat("epsilon", "1e-5 when left out")},
		inPlace: first, infer: inferLayerNormalization},
	// In place: the maximum of a line is known before its first element is written; after
	// that the kernel reads what it wrote itself.
	{name: "Softmax", in: "input T", out: "output T", t: FloatTypes, accepts: "axis int",
		result: sameShape +
			" exp(x - max) / sum over the axes together. Before operator set 13 ONNX flattened all axes from axis " +
			"on (1 when left out): axes lists them.",
		attrs: []Attribute{ints("axes",
			"neighbouring axes, ascending, not negative; one axis since operator set 13")},
		inPlace: first, infer: inferSoftmax},
}

var shapes = []entry{
	{name: "Identity", in: "X T", out: "Y T", t: AnyTypes, result: sameShape,
		moves: keeps, infer: inferUnary, fold: evalShared, shares: true},
	{name: "Reshape", in: "data T, shape i64?!", out: "reshaped T", t: AnyTypes, accepts: "shape ints, allowzero int",
		result: "The same elements in the same order.",
		attrs:  []Attribute{ints("shape", "of the result; 0 and -1 are resolved")},
		moves:  keeps, infer: inferReshape, fold: evalShared, shares: true},
	{name: "Squeeze", in: "data T, axes i64?!", out: "squeezed T", t: AnyTypes, accepts: "axes ints",
		becomes: "Reshape.",
		infer:   inferSqueeze},
	{name: "Unsqueeze", in: "data T, axes i64?!", out: "expanded T", t: AnyTypes, accepts: "axes ints",
		becomes: "Reshape.",
		infer:   inferUnsqueeze},
	{name: "Flatten", in: "input T", out: "output T", t: AnyTypes, accepts: "axis int", becomes: "Reshape.",
		infer: inferFlatten},
	{name: "Transpose", in: "data T", out: "transposed T", t: AnyTypes, accepts: "perm ints",
		result: "Axis i of the result is axis perm[i] of the argument.",
		attrs:  []Attribute{ints("perm", "each axis once; the axes turned round when left out")},
		moves:  transposes, infer: inferTranspose, fold: transposes.fold},
	{name: "Concat", in: "inputs T*", out: "concat_result T", t: AnyTypes, accepts: "axis int",
		result: "The arguments one behind the other; they differ in that axis only.",
		attrs:  []Attribute{anInt("axis", "not negative; before operator set 4 it was 1 when left out")},
		moves:  joins, infer: inferConcat, fold: evalConcat},
	{name: "Split", in: "input T, split i64?!", out: "outputs T*", t: AnyTypes,
		accepts: "axis int, split ints, num_outputs int",
		result:  "The parts in order. Outputs has an entry for each part.",
		attrs:   []Attribute{anInt("axis", "not negative"), ints("split", "extent of each part on that axis")},
		moves:   splits, infer: inferSplit, fold: evalSplit},
	{name: "Slice", in: "data T, starts index?!, ends index?!, axes index?!, steps index?!", out: "output T",
		t:       AnyTypes,
		accepts: "starts ints, ends ints, axes ints",
		result:  "Every steps[i]-th element of axis i from starts[i] on, up to but not including ends[i].",
		attrs: []Attribute{ints("starts", "for every axis; first element that is taken"),
			ints("ends",
				"for every axis; with a negative step an end of -1 includes element 0, it does not count from the "+
					"end; an axis of which nothing is taken has start 0, end 0, step 1"),
			ints("steps", "for every axis; not 0")},
		moves: cuts, infer: inferSlice, fold: cuts.fold},
	{name: "Pad", in: "data T, pads i64?!, constant_value T?!, axes index?!", out: "output T", t: AnyTypes,
		accepts: "mode string, pads ints, paddings ints, value float",
		result: "Negative pads cut off. reflect mirrors at the first and last element without repeating it, edge " +
			"repeats it; wrap repeats the whole axis, as far as negative pads left it.",
		attrs: []Attribute{ints("pads", "for every axis: all begins, then all ends"),
			{"mode", KindString, "constant, reflect, edge or wrap"}, aFloat("value",
				"what constant fills in; 0 when left out")},
		moves: crops, infer: inferPad},
	{name: "Expand", in: "input T, shape i64!", out: "output T", t: AnyTypes,
		result: "The argument broadcast to shape.",
		attrs:  []Attribute{ints("shape", "of the result, broadcast with the argument's")},
		moves:  expands, infer: inferExpand, fold: expands.fold},
	{name: "Gather", in: "data T, indices index", out: "output T", t: AnyTypes, accepts: "axis int",
		result: "Shape: data's with the axis replaced by the shape of indices. An index below 0 counts from the end. " +
			"Constant indices are in range.",
		attrs: []Attribute{anInt("axis", "not negative; 0 when left out")},
		infer: inferGather, fold: evalGather},
}

var sources = []entry{
	{name: "Constant", out: "output other", becomes: "a constant.",
		accepts: "value tensor, value_float float, value_floats floats, value_int int, value_ints ints, value_string " +
			"string, value_strings strings",
		infer: inferConstant},
	{name: "ConstantOfShape", in: "input i64!", out: "output other", accepts: "value tensor", becomes: "a constant.",
		infer: inferConstantOfShape},
	{name: "Shape", in: "data any", out: "shape i64", accepts: "start int, end int", becomes: "a constant.",
		infer: inferShape},
	{name: "Size", in: "data any", out: "size i64", becomes: "a constant.",
		infer: inferSize},
}
