package ops

import (
	"slices"

	"tlruntime/compiler/graph"
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
		need += graph.Elements(r.shape) * r.dtype.Bytes()
	}
	if !op.shares && need > k.draft.Left {
		return
	}
	tensors := op.fold(k)
	k.folded = !op.shares
	for i := range tensors {
		k.results[i].constant = &tensors[i]
	}
}

// input returns the content of input i of the normal form.
func (k *call) input(i int) *graph.Tensor { return k.draft.Out.Values[k.keep[i]].Constant }

func evalShared(k *call) []graph.Tensor {
	r := k.results[0]
	return []graph.Tensor{{DType: r.dtype, Shape: r.shape, Data: k.input(0).Data}}
}

// gathered copies what a view shows of a tensor.
func gathered(t *graph.Tensor, v view.View) graph.Tensor {
	to := graph.NewTensor(t.DType, v.Shape)
	n := t.DType.Bytes()
	at := int64(0)
	for from := range v.All() {
		copy(to.Data[at:at+n], t.Data[from*n:])
		at += n
	}
	return to
}

// fold copies what the result shows of input 0.
func (m *Movement) fold(k *call) []graph.Tensor {
	v, ok := m.View(view.Contiguous(k.input(0).Shape), k.attrs, k.results[0].shape)
	if !ok {
		return nil
	}
	return []graph.Tensor{gathered(k.input(0), v)}
}
