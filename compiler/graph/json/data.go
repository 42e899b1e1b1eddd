package json

import (
	"fmt"
	"math"
	"strconv"

	"tlruntime/compiler/graph"
)

// numbers reads content that is written as numbers: nested as the shape says, or
// all in one array.
func (r *reader) numbers(e *element, d graph.DType, shape []int64) []byte {
	if (d == graph.F16 || d == graph.BF16) && graph.Elements(shape) > 0 {
		r.wrong(e, "content of %s has to be base64", d)
		return nil
	}
	flat := e.kind == '[' && (len(e.items) == 0 || e.items[0].kind != '[')
	var all []*element
	if flat {
		for i := range e.items {
			all = append(all, &e.items[i])
		}
	} else {
		all = r.nested(e, shape, nil)
	}
	if want := graph.Elements(shape); r.err == nil && int64(len(all)) != want {
		r.wrong(e, "the shape %s needs %d numbers, there are %d", graph.ShapeText(shape), want, len(all))
	}
	if r.err != nil {
		return nil
	}
	t := graph.NewTensor(d, shape)
	for i, item := range all {
		r.store(&t, int64(i), item)
	}
	return t.Data
}

func (r *reader) nested(e *element, shape []int64, all []*element) []*element {
	if len(shape) == 0 {
		return append(all, e)
	}
	if !r.is(e, '[') {
		return all
	}
	if int64(len(e.items)) != shape[0] {
		r.wrong(e, "the array has %d items, the shape says %d", len(e.items), shape[0])
	}
	for i := range e.items {
		if r.err != nil {
			return all
		}
		all = r.nested(&e.items[i], shape[1:], all)
	}
	return all
}

// store sets one element of a tensor from a number, or from a bool for Bool.
func (r *reader) store(t *graph.Tensor, i int64, e *element) {
	switch {
	case t.DType == graph.Bool && e.kind == 't':
		if e.text == "true" {
			t.SetInt(i, 1)
		}
	case t.DType == graph.F32 || t.DType == graph.F64:
		x := r.float(e)
		if t.DType == graph.F32 && !math.IsInf(x, 0) && math.IsInf(float64(float32(x)), 0) {
			r.wrong(e, "%s does not fit in f32", e.text)
		}
		t.SetFloat(i, x)
	case t.DType == graph.U64:
		if x, err := strconv.ParseUint(e.text, 10, 64); r.is(e, '0') && err == nil {
			t.SetInt(i, int64(x))
		} else {
			r.wrong(e, "%s does not fit in u64", e.text)
		}
	default:
		x := r.int(e)
		t.SetInt(i, x)
		if back := t.IntAt(i); back != x {
			r.wrong(e, "%d does not fit in %s", x, t.DType)
		}
	}
}

// maxReadable is up to how many elements Write writes as numbers.
const maxReadable = 16

// readable returns content as nested arrays of numbers, and whether it should be
// written so: it is small, and every element is a number.
func readable(t *graph.Tensor) (any, bool) {
	n := graph.Elements(t.Shape)
	if n == 0 {
		return []any{}, true
	}
	if n > maxReadable || t.DType == graph.F16 || t.DType == graph.BF16 {
		return nil, false
	}
	list := make([]any, n)
	for i := range list {
		v, ok := plain(t, int64(i))
		if !ok {
			return nil, false
		}
		list[i] = v
	}
	for axis := len(t.Shape) - 1; axis > 0; axis-- {
		list = group(list, int(t.Shape[axis]))
	}
	if len(t.Shape) == 0 {
		return list[0], true
	}
	return list, true
}

func group(list []any, size int) []any {
	var groups []any
	for at := 0; at < len(list); at += size {
		groups = append(groups, list[at:at+size])
	}
	return groups
}

// plain returns an element as encoding/json writes it.
func plain(t *graph.Tensor, i int64) (any, bool) {
	switch {
	case t.DType == graph.Bool:
		b := t.At(i)[0]
		return b == 1, b <= 1
	case t.DType == graph.Text:
		return nil, false
	case t.DType != graph.F32 && t.DType != graph.F64:
		return t.Number(i), true
	}
	x := t.FloatAt(i)
	if t.DType == graph.F32 {
		return number(x, 32), !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	return number(x, 64), !math.IsNaN(x) && !math.IsInf(x, 0)
}

// literal is a number as it is to be written.
type literal string

// MarshalJSON returns the number.
func (l literal) MarshalJSON() ([]byte, error) { return []byte(l), nil }

// number writes a float as the shortest text that reads as the same float, with a
// point or an exponent, which tells it from an integer.
func number(x float64, bits int) literal {
	text := strconv.FormatFloat(x, 'g', -1, bits)
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		text += ".0"
	}
	return literal(text)
}

func nameOfFloat(x float64) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 0):
		return map[bool]string{true: "Infinity", false: "-Infinity"}[x > 0]
	}
	return number(x, 64)
}

// plainAttr returns an attribute as encoding/json writes it.
func plainAttr(value any) (any, error) {
	switch v := value.(type) {
	case int64, string:
		return v, nil
	case float64:
		if text, ok := nameOfFloat(v).(string); ok {
			return map[string]any{"float": text}, nil
		}
		return number(v, 64), nil
	case []int64:
		return append([]int64{}, v...), nil
	case []float64:
		return plainFloats(v), nil
	case []string:
		if len(v) == 0 {
			return map[string]any{"strings": []string{}}, nil
		}
		return v, nil
	case graph.Tensor:
		return plainTensor(&v)
	}
	return nil, fmt.Errorf("it has the Go type %T", value)
}

func plainFloats(list []float64) any {
	all := make([]any, len(list))
	spelled := len(list) == 0
	for i, x := range list {
		all[i] = nameOfFloat(x)
		if _, ok := all[i].(string); ok {
			spelled = true
		}
	}
	if spelled {
		return map[string]any{"floats": all}
	}
	return all
}
