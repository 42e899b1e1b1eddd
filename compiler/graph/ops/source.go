package ops

import (
	"math"

	"tlruntime/compiler/graph"
)

// sources are operators without an argument, or that read only its shape.
var sources = []entry{
	{name: "Constant", out: "output other", becomes: "a constant.",
		accepts: "value tensor, value_float float, value_floats floats, value_int int, value_ints ints, value_string " +
			"string, value_strings strings",
		infer: inferConstant},
	{name: "ConstantOfShape", in: "input i64!", out: "output other", accepts: "value tensor", becomes: "a constant.",
		infer: inferConstantOfShape},
	{name: "Shape", in: "data any", out: "shape i64", accepts: "start int, end int", becomes: "a constant.",
		infer: inferShape},
	// The inputs of a plan are all there, those of an optional type as well.
	{name: "Optional", in: "input any?", out: "output other", becomes: "its argument.", infer: inferOptional},
	{name: "OptionalGetElement", in: "input any", out: "output other", becomes: "its argument.", infer: inferOptional},
	{name: "OptionalHasElement", in: "input any?", out: "output bool", becomes: "a constant.", infer: inferHasElement},
	{name: "Size", in: "data any", out: "size i64", becomes: "a constant.",
		infer: inferSize},
}

// is makes the only result this tensor.
func (k *call) is(t graph.Tensor) error {
	k.results = []result{{t.DType, t.Shape, &t}}
	return nil
}

func inferConstant(k *call) error {
	if len(k.given) != 1 {
		return k.fault("give one of the attributes that begin with value", "it has %d attributes", len(k.given))
	}
	switch {
	case k.given["value"] != nil:
		return k.is(k.given["value"].(graph.Tensor))
	case k.given["value_float"] != nil:
		return k.is(floatsTensor([]int64{}, []float64{k.given.Float("value_float")}))
	case k.given["value_floats"] != nil:
		list := k.given.Floats("value_floats")
		return k.is(floatsTensor([]int64{int64(len(list))}, list))
	case k.given["value_int"] != nil:
		t := graph.IntsTensor([]int64{k.given.Int("value_int")})
		t.Shape = []int64{}
		return k.is(t)
	case k.given["value_ints"] != nil:
		return k.is(graph.IntsTensor(k.given.Ints("value_ints")))
	}
	return k.fault("use a tensor of numbers", "its value is of strings")
}

func floatsTensor(shape []int64, list []float64) graph.Tensor {
	t := graph.NewTensor(graph.F32, shape)
	for i, x := range list {
		t.SetFloat(int64(i), x)
	}
	return t
}

func inferConstantOfShape(k *call) error {
	shape, _, err := k.list(0, "shape")
	if err != nil {
		return err
	}
	value := graph.NewTensor(graph.F32, []int64{1})
	if t, ok := k.given["value"].(graph.Tensor); ok {
		value = t
	}
	if graph.Elements(value.Shape) != 1 {
		return k.fault("give it one element", "its attribute \"value\" has the shape %s", graph.ShapeText(value.Shape))
	}
	if !graph.Fits(shape, value.DType) {
		return k.fault("use extents from 0 on, and smaller ones",
			"its shape is %s, which is negative or takes more than 2^56 bytes", graph.ShapeText(shape))
	}
	t, err := k.filled(value.DType, shape, value.Data)
	if err != nil {
		return err
	}
	return k.is(*t)
}

// filled makes a constant of which every element is the same. Constants of the
// same element share their memory.
func (k *call) filled(d graph.DType, shape []int64, element []byte) (*graph.Tensor, error) {
	key := d.String() + string(element)
	run := k.draft.fills[key]
	need := graph.Elements(shape) * d.Bytes()
	if grow := need - int64(len(run)); grow > 0 {
		if err := k.room(need); err != nil {
			return nil, err
		}
		run = make([]byte, need)
		for n := copy(run, element); n < len(run); n *= 2 {
			copy(run[n:], run[:n])
		}
		k.draft.fills[key] = run
	}
	return &graph.Tensor{DType: d, Shape: shape, Data: run[:need:need]}, nil
}

func inferShape(k *call) error {
	x := k.shape(0)
	d := int64(len(x))
	start, end := clamp(k.intOr("start", 0), d, 1), clamp(k.intOr("end", math.MaxInt64), d, 1)
	return k.is(graph.IntsTensor(x[start:max(start, end)]))
}

func inferOptional(k *call) error {
	if !k.has(0) {
		return k.fault("leave it out, with what reads it", "it is an optional that is empty, which has no place in a plan")
	}
	r := k.rewrite()
	return r.is(r.value(0))
}

func inferHasElement(k *call) error {
	t := graph.NewTensor(graph.Bool, []int64{})
	if k.has(0) {
		t.SetInt(0, 1)
	}
	return k.is(t)
}

func inferSize(k *call) error {
	t := graph.IntsTensor([]int64{graph.Elements(k.shape(0))})
	t.Shape = []int64{}
	return k.is(t)
}
