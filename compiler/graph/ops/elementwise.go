package ops

import (
	"math"
	"slices"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/view"
)

// elementwise are operators on elements, broadcast to each other.
var elementwise = []entry{
	unaryOp("Sqrt", floatTypes, &arith{floats: ofFloat(math.Sqrt)}),
	unaryOp("Exp", floatTypes, nil),
	unaryOp("Log", floatTypes, nil),
	unaryOp("Tanh", floatTypes, nil),
	unaryOp("Sigmoid", floatTypes, nil),
	unaryOp("Reciprocal", floatTypes, &arith{floats: func(a, _ float64) float64 { return 1 / a }}),
	unaryOp("Floor", floatTypes, &arith{floats: ofFloat(math.Floor)}),
	unaryOp("Ceil", floatTypes, &arith{floats: ofFloat(math.Ceil)}),
	unaryOp("Erf", numericTypes, nil),
	unaryOp("Abs", numericTypes, onBoth(ofFloat(math.Abs), func(a, _ int64) int64 { return max(a, -a) })),
	unaryOp("Relu", signedTypes, onBoth(positive[float64], positive[int64])),
	unaryOp("Neg", signedTypes, onBoth(negative, negative)),
	unaryOp("Not", graph.SetOf(graph.Bool), &arith{ints: func(a, _ int64) int64 { return 1 - a }}),

	binaryOp("Add", numericTypes, "T", onBoth(sum, sum)),
	binaryOp("Sub", numericTypes, "T", onBoth(difference, difference)),
	binaryOp("Mul", numericTypes, "T", onBoth(product, product)),
	binaryOp("Div", numericTypes, "T", &arith{floats: ratio, ints: quotient, divides: true}),
	binaryOp("Less", numericTypes, "bool", compare(less, less)),
	binaryOp("LessOrEqual", numericTypes, "bool", compare(atMost, atMost)),
	binaryOp("Greater", numericTypes, "bool", compare(greater, greater)),
	binaryOp("GreaterOrEqual", numericTypes, "bool", compare(atLeast, atLeast)),
	binaryOp("Equal", anyTypes, "bool", compare(equal, equal)),
	binaryOp("And", graph.SetOf(graph.Bool), "T", &arith{ints: func(a, b int64) int64 { return a & b }}),
	binaryOp("Or", graph.SetOf(graph.Bool), "T", &arith{ints: func(a, b int64) int64 { return a | b }}),
	binaryOp("Xor", graph.SetOf(graph.Bool), "T", &arith{ints: func(a, b int64) int64 { return a ^ b }}),

	variadicOp("Sum", floatTypes, onBoth(sum, nil)),
	variadicOp("Max", numericTypes, onBoth(math.Max, func(a, b int64) int64 { return max(a, b) })),
	variadicOp("Min", numericTypes, onBoth(math.Min, func(a, b int64) int64 { return min(a, b) })),

	leakyRelu,
	{name: "Pow", in: "X T, Y U", out: "Z T", t: floatTypes | indexTypes, u: numericTypes, accepts: oldBroadcast,
		result:  broadcastResult + " The result has the type of the base.",
		inPlace: firstSecond, infer: inferBinary},
	{name: "Clip", in: "input T, min T?!, max T?!", out: "output T", t: numericTypes, accepts: "min float, max float",
		result:  sameShape + " max(min(x, max), min) of min and max that fit the type; when min > max, max wins.",
		attrs:   []Attribute{aFloat("min", "-Inf when left out"), aFloat("max", "+Inf when left out")},
		inPlace: first, infer: inferClip},
	{name: "Where", in: "condition bool, X T, Y T", out: "output T", t: anyTypes, result: broadcastResult,
		inPlace: []int{0, 1, 2}, infer: inferBroadcast, fold: evalWhere},
	{name: "Cast", in: "input any", out: "output other", accepts: "to any, saturate int, round_mode string",
		result: sameShape + " A float becomes an integer by cutting off its fraction, anything a bool by != 0." +
			" In a Graph `to` is an int of ONNX's TensorProto.DataType (1 is f32, 7 is i64), its name or ours.",
		attrs: []Attribute{anInt("to", "the DType")},
		moves: castsToSame, infer: inferCast, fold: evalCast},
	{name: "Dropout", in: "data T, ratio float?!, training_mode bool?!", out: "output T, mask other", t: floatTypes,
		accepts: "ratio float, seed int, is_test int",
		becomes: "Identity: computations are inference. The mask is a constant of ones.",
		infer:   inferDropout},
}

// unaryOp is an operator that takes and gives T, elements one by one. Its fold is of f,
// which may be nil.
func unaryOp(name string, t graph.DTypes, f *arith) entry {
	return entry{name: name, in: "X T", out: "Y T", t: t, result: sameShape,
		inPlace: first, infer: inferUnary, fold: f.fold()}
}

// binaryOp is an operator that broadcasts A and B to one result of type T or bool.
func binaryOp(name string, t graph.DTypes, result string, f *arith) entry {
	return entry{name: name, in: "A T, B T", out: "C " + result, t: t, accepts: oldBroadcast, result: broadcastResult,
		inPlace: firstSecond, infer: inferBinary, fold: f.fold()}
}

// variadicOp is an operator that broadcasts any number of arguments and goes from the
// first to the last.
func variadicOp(name string, t graph.DTypes, f *arith) entry {
	return entry{name: name, in: "data T*", out: "result T", t: t, result: broadcastResult,
		inPlace: []int{EveryArgument}, infer: inferBroadcast, fold: f.fold()}
}

// broadcast returns the shape that two shapes have together.
func broadcast(a, b []int64) ([]int64, bool) {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := slices.Clone(a)
	for i, d := range b {
		at := len(a) - len(b) + i
		if shape[at] == 1 {
			shape[at] = d
		} else if d != 1 && d != shape[at] {
			return nil, false
		}
	}
	return shape, true
}

// broadcastTo reports whether shape a can be broadcast to shape b as it is.
func broadcastTo(a, b []int64) bool {
	both, ok := broadcast(a, b)
	return ok && slices.Equal(both, b)
}

func inferUnary(k *call) error { return k.give(k.shape(0)) }

// inferBroadcast is for operators whose arguments are all broadcast to the result.
func inferBroadcast(k *call) error {
	shape := k.shape(0)
	for i := 1; i < len(k.args); i++ {
		both, ok := broadcast(shape, k.shape(i))
		if !ok {
			return k.fault("extents must be equal, or one of them 1, counted from the last axis",
				"its input %d has the shape %s, which does not go with %s", i, graph.ShapeText(k.shape(i)), graph.ShapeText(shape))
		}
		shape = both
	}
	return k.give(shape)
}

// inferBinary is inferBroadcast, and understands the form before operator set 7,
// where axis told which axis of A the first of B is.
func inferBinary(k *call) error {
	if _, ok := k.given["axis"]; !ok {
		return inferBroadcast(k)
	}
	a, b := k.shape(0), k.shape(1)
	axis, err := k.axis(k.intOr("axis", 0), max(len(a), 1))
	if err != nil {
		return err
	}
	after := len(a) - int(axis) - len(b)
	if after < 0 {
		return k.fault("leave out axis to match the last axes",
			"B has the shape %s and begins at axis %d of A, which has the shape %s",
			graph.ShapeText(b), axis, graph.ShapeText(a))
	}
	if after > 0 {
		shape := append(slices.Clone(b), slices.Repeat([]int64{1}, after)...)
		k.args[1] = k.reshaped(k.args[1], shape)
		k.keep[1] = k.args[1]
	}
	return inferBroadcast(k)
}

func inferClip(k *call) error {
	low, err := k.number(1, "min", math.Inf(-1))
	if err != nil {
		return err
	}
	high, err := k.number(2, "max", math.Inf(1))
	if err != nil {
		return err
	}
	k.attrs["min"], k.attrs["max"] = low, high
	return k.give(k.shape(0))
}

func inferCast(k *call) error {
	if err := k.require("to"); err != nil {
		return err
	}
	to, err := k.dtypeAttr("to", 0, movedTypes)
	if err != nil {
		return err
	}
	k.results = []result{{to, k.shape(0), nil}}
	if to == k.arg(0).DType {
		k.op = "Identity"
		return nil
	}
	k.attrs["to"] = int64(to)
	return nil
}

// inferDropout takes every Dropout at inference, whatever is_test was.
func inferDropout(k *call) error {
	if k.has(2) {
		t, err := k.constant(2)
		if err != nil {
			return err
		}
		if graph.Elements(t.Shape) != 1 || t.IntAt(0) != 0 && !dropsNothing(k) {
			return k.fault("export the model for inference", "its input 2 (training_mode) is set")
		}
	}
	shape := k.shape(0)
	if err := k.become("Identity", shape); err != nil || !k.wanted(1) {
		return err
	}
	mask := result{graph.Bool, shape, nil}
	one := []byte{1}
	if k.draft.Opset > 0 && k.draft.Opset < 10 {
		mask.dtype = k.outType()
		one = oneOf(mask.dtype)
	}
	t, err := k.filled(mask.dtype, shape, one)
	mask.constant = t
	k.results = append(k.results, mask)
	return err
}

// dropsNothing tells whether a Dropout has a constant ratio of 0.
func dropsNothing(k *call) bool {
	if !k.has(1) {
		return false
	}
	ratio, err := k.constant(1)
	return err == nil && graph.Elements(ratio.Shape) == 1 && ratio.FloatAt(0) == 0
}

// oneOf returns the bytes of the number 1 of a float type.
func oneOf(d graph.DType) []byte {
	switch d {
	case graph.F16:
		return []byte{0x00, 0x3c}
	case graph.BF16:
		return []byte{0x80, 0x3f}
	}
	t := graph.NewTensor(d, []int64{1})
	t.SetFloat(0, 1)
	return t.Data
}

func evalCast(k *call) []graph.Tensor {
	from, r := k.input(0), k.results[0]
	known := floatTypes | foldedInts
	if !known.Has(r.dtype) || !(known | narrowInts).Has(from.DType) {
		return nil
	}
	out := graph.NewTensor(r.dtype, r.shape)
	for i := range graph.Elements(r.shape) {
		if !castElement(&out, from, i) {
			return nil
		}
	}
	return []graph.Tensor{out}
}

// castElement converts one element. It returns false for a float that the integer
// type cannot hold, of which ONNX says nothing.
func castElement(to, from *graph.Tensor, i int64) bool {
	switch {
	case floatTypes.Has(to.DType):
		to.SetNumber(i, from.FloatAt(i))
	case to.DType == graph.Bool:
		if from.FloatAt(i) != 0 {
			to.SetInt(i, 1)
		}
	case floatTypes.Has(from.DType):
		x := math.Trunc(from.FloatAt(i))
		if !(x >= -1<<63 && x < 1<<63) {
			return false
		}
		to.SetInt(i, int64(x))
		return float64(to.IntAt(i)) == x
	default:
		to.SetInt(i, from.IntAt(i))
	}
	return true
}

func evalWhere(k *call) []graph.Tensor {
	condition, r := k.input(0), k.results[0]
	if graph.Elements(r.shape) > arithmeticElements {
		return nil
	}
	var places [3][]int64
	for i := range places {
		v, ok := view.Contiguous(k.input(i).Shape).Expand(r.shape)
		if !ok {
			return nil
		}
		places[i] = slices.Collect(v.All())
	}
	out := graph.NewTensor(r.dtype, r.shape)
	for i := range graph.Elements(r.shape) {
		pick := 2
		if condition.IntAt(places[0][i]) != 0 {
			pick = 1
		}
		copy(out.At(i), k.input(pick).At(places[pick][i]))
	}
	return []graph.Tensor{out}
}
