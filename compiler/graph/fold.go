package graph

import (
	"slices"

	"tlruntime/compiler/view"
)

// fold turns the results into constants if all inputs are constants, the operator of
// the normal form can compute them, and there is room for them. An operator's fold
// returns nil when it cannot: for a type that it does not know, or a division by zero,
// which is for the run to meet.
func (k *call) fold() {
	op := operators[k.op]
	known := func(r result) bool { return r.constant != nil }
	if op.fold == nil || len(k.keep) == 0 || slices.ContainsFunc(k.results, known) {
		return
	}
	for _, v := range k.keep {
		if v < 0 || k.draft.Out.Values[v].Constant == nil {
			return
		}
	}
	need := int64(0)
	for _, r := range k.results {
		need += Elements(r.shape) * r.dtype.Bytes()
	}
	if !op.shares && need > k.draft.Left {
		return
	}
	tensors := op.fold(k)
	if !op.shares && tensors != nil {
		k.draft.Left -= need
	}
	for i := range tensors {
		k.results[i].constant = &tensors[i]
	}
}

// input returns the content of input i of the normal form.
func (k *call) input(i int) *Tensor { return k.draft.Out.Values[k.keep[i]].Constant }

func evalShared(k *call) []Tensor {
	r := k.results[0]
	return []Tensor{{r.dtype, r.shape, k.input(0).Data}}
}

// gathered copies what a view shows of a tensor.
func gathered(t *Tensor, v view.View) Tensor {
	to := newTensor(t.DType, v.Shape)
	n := t.DType.Bytes()
	at := int64(0)
	for from := range v.All() {
		copy(to.Data[at:at+n], t.Data[from*n:])
		at += n
	}
	return to
}

// fold copies what the result shows of input 0.
func (m *Movement) fold(k *call) []Tensor {
	v, ok := m.View(view.Contiguous(k.input(0).Shape), k.attrs, k.results[0].shape)
	if !ok {
		return nil
	}
	return []Tensor{gathered(k.input(0), v)}
}

func evalSplit(k *call) []Tensor {
	t := k.input(0)
	var parts []Tensor
	at := int64(0)
	for _, d := range k.attrs.Ints("split") {
		v, ok := view.Contiguous(t.Shape).Part(int(k.attrs.Int("axis")), at, d)
		if !ok {
			return nil
		}
		at += d
		parts = append(parts, gathered(t, v))
	}
	return parts
}

// evalConcat copies, for each index of the axes before the one that grows, one
// stretch of each input.
func evalConcat(k *call) []Tensor {
	r := k.results[0]
	axis := k.attrs.Int("axis")
	out := newTensor(r.dtype, r.shape)
	at := 0
	for outer := range int(Elements(r.shape[:axis])) {
		for i := range k.keep {
			t := k.input(i)
			stretch := int(Elements(t.Shape[axis:]) * r.dtype.Bytes())
			at += copy(out.Data[at:], t.Data[outer*stretch:(outer+1)*stretch])
		}
	}
	return []Tensor{out}
}

func evalGather(k *call) []Tensor {
	data, indices, r := k.input(0), k.input(1), k.results[0]
	axis := k.attrs.Int("axis")
	d := data.Shape[axis]
	stretch := Elements(data.Shape[axis+1:]) * r.dtype.Bytes()
	out := newTensor(r.dtype, r.shape)
	at := 0
	for outer := range Elements(data.Shape[:axis]) {
		for i := range Elements(indices.Shape) {
			index := indices.intAt(i)
			if index < 0 {
				index += d
			}
			from := (outer*d + index) * stretch
			at += copy(out.Data[at:], data.Data[from:from+stretch])
		}
	}
	return []Tensor{out}
}
