package graph

import "math"

// is makes the only result this tensor.
func (k *call) is(t Tensor) error {
	k.results = []result{{t.DType, t.Shape, &t}}
	return nil
}

func inferConstant(k *call) error {
	if len(k.given) != 1 {
		return k.fault("give one of the attributes that begin with value", "it has %d attributes", len(k.given))
	}
	switch {
	case k.given["value"] != nil:
		return k.is(k.given["value"].(Tensor))
	case k.given["value_float"] != nil:
		return k.is(floatsTensor([]int64{}, []float64{k.given.Float("value_float")}))
	case k.given["value_floats"] != nil:
		list := k.given.Floats("value_floats")
		return k.is(floatsTensor([]int64{int64(len(list))}, list))
	case k.given["value_int"] != nil:
		t := intsTensor([]int64{k.given.Int("value_int")})
		t.Shape = []int64{}
		return k.is(t)
	case k.given["value_ints"] != nil:
		return k.is(intsTensor(k.given.Ints("value_ints")))
	}
	return k.fault("use a tensor of numbers", "its value is of strings")
}

func floatsTensor(shape []int64, list []float64) Tensor {
	t := newTensor(F32, shape)
	for i, x := range list {
		t.setFloat(int64(i), x)
	}
	return t
}

func inferConstantOfShape(k *call) error {
	shape, _, err := k.list(0, "shape")
	if err != nil {
		return err
	}
	value := newTensor(F32, []int64{1})
	if t, ok := k.given["value"].(Tensor); ok {
		value = t
	}
	if Elements(value.Shape) != 1 {
		return k.fault("give it one element", "its attribute \"value\" has the shape %s", shapeText(value.Shape))
	}
	if !fits(shape, value.DType) {
		return k.fault("use extents from 0 on, and smaller ones",
			"its shape is %s, which is negative or takes more than 2^56 bytes", shapeText(shape))
	}
	t, err := k.filled(value.DType, shape, value.Data)
	if err != nil {
		return err
	}
	return k.is(*t)
}

// filled makes a constant of which every element is the same. Constants of the
// same element share their memory.
func (k *call) filled(d DType, shape []int64, element []byte) (*Tensor, error) {
	key := d.String() + string(element)
	run := k.draft.fills[key]
	need := Elements(shape) * d.Bytes()
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
	return &Tensor{DType: d, Shape: shape, Data: run[:need:need]}, nil
}

func inferShape(k *call) error {
	x := k.shape(0)
	d := int64(len(x))
	start, end := clamp(k.intOr("start", 0), d, 1), clamp(k.intOr("end", math.MaxInt64), d, 1)
	return k.is(intsTensor(x[start:max(start, end)]))
}

func inferSize(k *call) error {
	t := intsTensor([]int64{Elements(k.shape(0))})
	t.Shape = []int64{}
	return k.is(t)
}
