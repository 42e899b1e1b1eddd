package training

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tlruntime/compiler/graph"
)

func axes(keep int64, list ...int64) graph.Attrs {
	return graph.Attrs{"axes": list, "keepdims": keep}
}

func perm(p ...int64) graph.Attrs { return graph.Attrs{"perm": p} }

// swapped is a tensor with its last two axes exchanged.
func (t *tape) swapped(x *value) *value {
	n := len(x.shape)
	order, shape := make([]int64, n), slices.Clone(x.shape)
	for i := range order {
		order[i] = int64(i)
	}
	order[n-1], order[n-2] = order[n-2], order[n-1]
	shape[n-1], shape[n-2] = shape[n-2], shape[n-1]
	return t.node("Transpose", shape, perm(order...), x)
}

func (t *tape) product(a, b *value) *value {
	shape := slices.Clone(a.shape)
	shape[len(shape)-1] = b.shape[len(b.shape)-1]
	return t.node("MatMul", shape, nil, a, b)
}

// matmul multiplies; both have the same axes before the last two.
func (t *tape) matmul(a, b *value) *value {
	return t.record(t.product(a, b), func(up *value) []*value {
		return []*value{t.product(up, t.swapped(b)), t.product(t.swapped(a), up)}
	}, a, b)
}

// dense is x w + b for rows x.
func (t *tape) dense(x *value, to int64) *value {
	return t.bias(t.matmul(x, t.weight(x.shape[1], to)), 1)
}

// bias adds a vector along an axis.
func (t *tape) bias(x *value, axis int) *value {
	shape := slices.Repeat([]int64{1}, len(x.shape))
	shape[axis] = x.shape[axis]
	var others []int64
	for i := range x.shape {
		if i != axis {
			others = append(others, int64(i))
		}
	}
	b := t.weight(shape...)
	return t.record(t.one("Add", x, b), func(up *value) []*value {
		return []*value{up, t.node("ReduceSum", shape, axes(1, others...), up)}
	}, x, b)
}

func (t *tape) add(a, b *value) *value {
	return t.record(t.one("Add", a, b), func(up *value) []*value { return []*value{up, up} }, a, b)
}

func (t *tape) relu(x *value) *value {
	y := t.one("Relu", x)
	return t.record(y, func(up *value) []*value {
		return []*value{t.node("Where", y.shape, nil, t.one("Greater", y, t.scalar(0)), up, t.scalar(0))}
	}, x)
}

func (t *tape) tanh(x *value) *value {
	y := t.one("Tanh", x)
	return t.record(y, func(up *value) []*value {
		return []*value{t.one("Sub", up, t.one("Mul", up, t.one("Mul", y, y)))}
	}, x)
}

func (t *tape) reshape(x *value, shape ...int64) *value {
	to := func(x *value, shape []int64) *value { return t.node("Reshape", shape, graph.Attrs{"shape": shape}, x) }
	return t.record(to(x, shape), func(up *value) []*value { return []*value{to(up, x.shape)} }, x)
}

// conv keeps the size of the picture; the window has 1 or 3 taps a side.
func (t *tape) conv(x *value, channels, taps int64) *value {
	pad := taps / 2
	w := t.weight(channels, x.shape[1], taps, taps)
	attrs := func(k ...int64) graph.Attrs {
		return graph.Attrs{"kernel_shape": k, "pads": []int64{pad, pad, pad, pad}}
	}
	out := []int64{x.shape[0], channels, x.shape[2], x.shape[3]}
	swap := func(x *value) *value {
		return t.node("Transpose", []int64{x.shape[1], x.shape[0], x.shape[2], x.shape[3]}, perm(1, 0, 2, 3), x)
	}
	y := t.record(t.node("Conv", out, attrs(taps, taps), x, w), func(up *value) []*value {
		var down *value
		if x.name != "x" {
			down = t.node("ConvTranspose", x.shape, attrs(taps, taps), up, w)
		}
		dw := t.node("Conv", []int64{x.shape[1], channels, taps, taps}, attrs(x.shape[2], x.shape[3]), swap(x), swap(up))
		return []*value{down, swap(dw)}
	}, x, w)
	return t.bias(y, 1)
}

// halved takes the mean of every two by two elements of a picture.
func (t *tape) halved(x *value) *value {
	n, c, h, w := x.shape[0], x.shape[1], x.shape[2]/2, x.shape[3]/2
	split := []int64{n, c, h, 2, w, 2}
	whole := t.reshape(x, split...)
	y := t.node("ReduceMean", []int64{n, c, h, w}, axes(0, 3, 5), whole)
	t.record(y, func(up *value) []*value {
		quarter := t.one("Mul", up, t.scalar(0.25))
		apart := t.node("Reshape", []int64{n, c, h, 1, w, 1}, graph.Attrs{"shape": []int64{n, c, h, 1, w, 1}}, quarter)
		return []*value{t.expand(apart, split)}
	}, whole)
	return y
}

func (t *tape) expand(x *value, shape []int64) *value {
	var data []byte
	for _, d := range shape {
		data = binary.LittleEndian.AppendUint64(data, uint64(d))
	}
	to := &value{name: fmt.Sprint("shape", len(t.g.Constants))}
	t.constant(to.name, graph.I64, data, int64(len(shape)))
	return t.node("Expand", shape, nil, x, to)
}
