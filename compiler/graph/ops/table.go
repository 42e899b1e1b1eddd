package ops

import "slices"

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
var table = slices.Concat(elementwise, activations, linear, windows, normalizations, reductions, quantized, recurrent,
	shapes, parts, indexed, composed, functions, resizes, sources)
