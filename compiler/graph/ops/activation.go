package ops

import (
	"math"

	"tlruntime/compiler/graph"
)

// setting is an attribute that is a float and may be left out.
type setting struct {
	name      string
	otherwise float64
	meaning   string
}

// settingsOp is an operator on elements with such attributes.
func settingsOp(name string, t graph.DTypes, result string, settings ...setting) entry {
	e := unaryOp(name, t, nil)
	e.result = sameShape + " " + result
	for i, s := range settings {
		e.attrs = append(e.attrs, aFloat(s.name, s.meaning))
		if i > 0 {
			e.accepts += ", "
		}
		e.accepts += s.name + " float"
	}
	e.infer = func(k *call) error {
		for _, s := range settings {
			k.attrs[s.name] = k.floatOr(s.name, s.otherwise)
		}
		return k.give(k.shape(0))
	}
	return e
}

// functionOp is an operator on elements that needs a word of explanation.
func functionOp(name string, t graph.DTypes, result string, f *arith) entry {
	e := unaryOp(name, t, f)
	e.result = sameShape + " " + result
	return e
}

var activations = []entry{
	{name: "Gelu", in: "X T", out: "Y T", t: floatTypes, accepts: "approximate string",
		result: sameShape + " X * P(X), where P is the distribution function of the normal distribution.",
		attrs: []Attribute{{"approximate", KindString,
			"none, or tanh: 0.5 * X * (1 + tanh(sqrt(2 / pi) * (X + 0.044715 * X ^ 3)))"}},
		inPlace: first, infer: inferGelu},
	settingsOp("Elu", floatTypes, "alpha * (e ^ X - 1) below zero, else X.", setting{"alpha", 1, "1 when left out"}),
	settingsOp("Celu", floatTypes, "alpha * (e ^ (X / alpha) - 1) below zero, else X.",
		setting{"alpha", 1, "not 0; 1 when left out"}),
	settingsOp("Selu", floatTypes, "gamma * alpha * (e ^ X - 1) below zero, else gamma * X.",
		setting{"alpha", 1.67326319217681884765625, "1.67326319217681884765625 when left out"},
		setting{"gamma", 1.05070102214813232421875, "1.05070102214813232421875 when left out"}),
	settingsOp("HardSigmoid", floatTypes, "alpha * X + beta, held to 0 and 1.",
		setting{"alpha", 0.2, "0.2 when left out"}, setting{"beta", 0.5, "0.5 when left out"}),
	settingsOp("Swish", floatTypes, "X / (1 + e ^ (-alpha * X)).", setting{"alpha", 1, "1 when left out"}),
	settingsOp("ThresholdedRelu", floatTypes, "X where it is above alpha, else 0.",
		setting{"alpha", 1, "1 when left out"}),
	settingsOp("Shrink", numericTypes, "X + bias below -lambd, X - bias above lambd, 0 between.",
		setting{"bias", 0, "0 when left out"}, setting{"lambd", 0.5, "0.5 when left out"}),
	functionOp("HardSwish", floatTypes, "X * max(0, min(1, X / 6 + 1 / 2)).", nil),
	functionOp("Mish", floatTypes, "X * tanh(log(1 + e ^ X)).", nil),
	functionOp("Softplus", floatTypes, "log(1 + e ^ X).", nil),
	functionOp("Softsign", floatTypes, "X / (1 + |X|).", nil),
	functionOp("Sign", numericTypes, "-1, 0 or 1; NaN stays.", onBoth(signOf, func(a, _ int64) int64 {
		return min(max(a, -1), 1)
	})),
	functionOp("Round", floatTypes, "To the nearest whole number, halves to the even one.",
		&arith{floats: ofFloat(math.RoundToEven)}),
	{name: "PRelu", in: "X T, slope T", out: "Y T", t: floatTypes,
		result:  sameShape + " slope * X below zero, else X; slope is broadcast to X.",
		inPlace: firstSecond, infer: inferPRelu},

	unaryOp("Sin", floatTypes, &arith{floats: ofFloat(math.Sin)}),
	unaryOp("Cos", floatTypes, &arith{floats: ofFloat(math.Cos)}),
	unaryOp("Tan", floatTypes, nil),
	unaryOp("Asin", floatTypes, nil),
	unaryOp("Acos", floatTypes, nil),
	unaryOp("Atan", floatTypes, nil),
	unaryOp("Sinh", floatTypes, nil),
	unaryOp("Cosh", floatTypes, nil),
	unaryOp("Asinh", floatTypes, nil),
	unaryOp("Acosh", floatTypes, nil),
	unaryOp("Atanh", floatTypes, nil),

	{name: "IsNaN", in: "X T", out: "Y bool", t: floatTypes, result: sameShape, infer: inferUnary},
	{name: "IsInf", in: "X T", out: "Y bool", t: floatTypes, accepts: "detect_negative int, detect_positive int",
		result: sameShape,
		attrs:  []Attribute{anInt("detect_negative", "1: -Inf counts"), anInt("detect_positive", "1: +Inf counts")},
		infer:  inferIsInf},
	variadicOp("Mean", floatTypes, nil),
	{name: "Mod", in: "A T, B T", out: "C T", t: numericTypes, accepts: "fmod int",
		result:  broadcastResult + " The rest of A / B. An integer modulo 0 is 0, a float NaN.",
		attrs:   []Attribute{anInt("fmod", "0: it has the sign of B; 1: of A")},
		inPlace: firstSecond, infer: inferMod, fold: evalMod},
	binaryOp("BitwiseAnd", integerTypes, "T", &arith{ints: func(a, b int64) int64 { return a & b }}),
	binaryOp("BitwiseOr", integerTypes, "T", &arith{ints: func(a, b int64) int64 { return a | b }}),
	binaryOp("BitwiseXor", integerTypes, "T", &arith{ints: func(a, b int64) int64 { return a ^ b }}),
	unaryOp("BitwiseNot", integerTypes, &arith{ints: func(a, _ int64) int64 { return ^a }}),
	{name: "BitShift", in: "X T, Y T", out: "Z T", t: integerTypes, accepts: "direction string",
		result: broadcastResult + " Bits of X are moved by Y places, which is to the right what a division rounded " +
			"down is. Y " +
			"below 0, or of as many places as there are or more, moves all bits out: 0, or -1 of a negative number.",
		attrs:   []Attribute{{"direction", KindString, "LEFT or RIGHT"}},
		inPlace: firstSecond, infer: inferBitShift},
}

func signOf(a, _ float64) float64 {
	switch {
	case a > 0:
		return 1
	case a < 0:
		return -1
	}
	return a
}

func inferGelu(k *call) error {
	how := k.stringOr("approximate", "none")
	if how != "none" && how != "tanh" {
		return k.fault("use none or tanh", "its attribute \"approximate\" is %q", how)
	}
	k.attrs["approximate"] = how
	return k.give(k.shape(0))
}

// inferPRelu understands the form before operator set 7, where a slope of one axis has
// an element for each channel.
func inferPRelu(k *call) error {
	x, slope := k.shape(0), k.shape(1)
	if old := k.draft.Opset > 0 && k.draft.Opset < 7; old && len(slope) == 1 && len(x) > 2 && slope[0] == x[1] {
		shape := []int64{slope[0]}
		for range x[2:] {
			shape = append(shape, 1)
		}
		k.args[1] = k.reshaped(k.args[1], shape)
		k.keep[1] = k.args[1]
	}
	if !broadcastTo(k.shape(1), x) {
		return k.fault("it has to broadcast to X", "slope has the shape %s, X %s", graph.ShapeText(slope), graph.ShapeText(x))
	}
	return k.give(x)
}

func inferIsInf(k *call) error {
	for _, name := range []string{"detect_negative", "detect_positive"} {
		v, err := k.flag(name, 1)
		if err != nil {
			return err
		}
		k.attrs[name] = v
	}
	return k.give(k.shape(0))
}

func inferMod(k *call) error {
	c, err := k.flag("fmod", 0)
	if err != nil {
		return err
	}
	k.attrs["fmod"] = c
	return inferBroadcast(k)
}

// evalMod computes the rest with the sign that is asked for.
func evalMod(k *call) []graph.Tensor {
	like := k.attrs.Int("fmod") == 1
	return evalArithmetic(k, &arith{divides: true, floats: func(a, b float64) float64 {
		rest := math.Mod(a, b)
		switch {
		case like || b == 0:
			return rest
		case rest == 0:
			return math.Copysign(0, b)
		case (rest < 0) != (b < 0):
			return rest + b
		}
		return rest
	}, ints: func(a, b int64) int64 {
		if b == 0 {
			return 0
		}
		rest := a % b
		if !like && rest != 0 && (rest < 0) != (b < 0) {
			rest += b
		}
		return rest
	}})
}

func inferBitShift(k *call) error {
	if err := k.require("direction"); err != nil {
		return err
	}
	to := k.given.String("direction")
	if to != "LEFT" && to != "RIGHT" {
		return k.fault("use LEFT or RIGHT", "its attribute \"direction\" is %q", to)
	}
	k.attrs["direction"] = to
	return inferBroadcast(k)
}
