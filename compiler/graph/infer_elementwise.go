package graph

import (
	"math"
	"slices"
	"strings"

	"tlruntime/runtime/dtype"
)

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
				"its input %d has the shape %s, which does not go with %s", i, shapeText(k.shape(i)), shapeText(shape))
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
			shapeText(b), axis, shapeText(a))
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

// castTarget understands the attribute `to`.
func castTarget(to any) (DType, bool) {
	switch to := to.(type) {
	case int64:
		return FindDType(func(i *dtype.Info) bool { return int64(i.ONNX) == to })
	case string:
		return FindDType(func(i *dtype.Info) bool { return strings.EqualFold(i.Data, to) || i.Name == to })
	}
	return 0, false
}

func inferCast(k *call) error {
	if err := k.require("to"); err != nil {
		return err
	}
	to, ok := castTarget(k.given["to"])
	if !ok {
		return k.fault("use a number or name of ONNX's TensorProto.DataType, or a name such as f32",
			"its attribute \"to\" is %v, which is no element type", k.given["to"])
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
		if Elements(t.Shape) != 1 || t.intAt(0) != 0 && !dropsNothing(k) {
			return k.fault("export the model for inference", "its input 2 (training_mode) is set")
		}
	}
	shape := k.shape(0)
	if err := k.become("Identity", shape); err != nil || !k.wanted(1) {
		return err
	}
	mask := result{Bool, shape, nil}
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
	return err == nil && Elements(ratio.Shape) == 1 && ratio.floatAt(0) == 0
}

// oneOf returns the bytes of the number 1 of a float type.
func oneOf(d DType) []byte {
	switch d {
	case F16:
		return []byte{0x00, 0x3c}
	case BF16:
		return []byte{0x80, 0x3f}
	}
	t := newTensor(d, []int64{1})
	t.setFloat(0, 1)
	return t.Data
}
