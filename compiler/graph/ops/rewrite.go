package ops

import (
	"slices"

	"tlruntime/compiler/graph"
)

// rewrite replaces a node by nodes of other operators, which go through inference and
// folding as if the graph had them. Faults name the node that was written. The node that
// makes its result has its name; the names of the others begin with it.
//
// After a fault the methods add nothing, values are -1, and is returns the fault.
type rewrite struct {
	*call
	names map[string]int // by base: the number of the last name that was given out
	err   error
}

func (k *call) rewrite() *rewrite { return &rewrite{call: k, names: map[string]int{}} }

// name returns a new name of something that the node becomes.
func (r *rewrite) name(what string) string {
	base := r.label + "_" + what
	name, n := r.draft.freshAfter(base, r.names[base])
	r.names[base] = n
	return name
}

// node adds a node with one result and returns that. An argument of -1 is left out.
func (r *rewrite) node(op string, attrs graph.Attrs, args ...int) int {
	return r.nodes(op, attrs, 1, args...)[0]
}

// nodes is node with as many results as are asked for.
func (r *rewrite) nodes(op string, attrs graph.Attrs, results int, args ...int) []int {
	values := slices.Repeat([]int{-1}, results)
	if r.err != nil {
		return values
	}
	n := &graph.Node{Op: op, Attrs: attrs}
	for _, v := range args {
		n.Inputs = append(n.Inputs, r.nameOf(v))
	}
	for range results {
		name := r.name(op)
		r.draft.Asked[name] = true
		n.Outputs = append(n.Outputs, name)
	}
	if r.err = r.draft.Host.Rewritten(r.index, n, n.Outputs[0]); r.err != nil {
		return values
	}
	for i, name := range n.Outputs {
		values[i] = r.draft.Index[name]
	}
	return values
}

// nameOf returns a name by which a node finds value v.
func (r *rewrite) nameOf(v int) string {
	if v < 0 {
		return ""
	}
	name := r.draft.Out.Values[v].Name
	r.draft.Index[name] = v
	return name
}

// value returns argument i as a value, -1 when it was left out.
func (r *rewrite) value(i int) int {
	if !r.has(i) {
		return -1
	}
	return r.args[i]
}

// of returns what is known of a value; after a fault, of nothing.
func (r *rewrite) of(v int) *graph.TypedValue {
	if v < 0 {
		return &graph.TypedValue{}
	}
	return &r.draft.Out.Values[v]
}

// constant adds a constant.
func (r *rewrite) constant(t graph.Tensor) int {
	v := r.draft.AddConstant(r.name("constant"), t)
	r.nameOf(v)
	return v
}

// number adds a scalar.
func (r *rewrite) number(d graph.DType, x float64) int {
	return r.constant(graph.FilledTensor(d, []int64{}, x))
}

// integers adds a list of i64.
func (r *rewrite) integers(list ...int64) int { return r.constant(graph.IntsTensor(list)) }

// shaped gives value v another shape. It, turned and cast add nothing where v is so already.
func (r *rewrite) shaped(v int, shape ...int64) int {
	if slices.Equal(r.of(v).Shape, shape) {
		return v
	}
	return r.node("Reshape", graph.Attrs{"shape": shape, "allowzero": int64(1)}, v)
}

// turned transposes value v.
func (r *rewrite) turned(v int, perm ...int64) int {
	if slices.IsSorted(perm) {
		return v
	}
	return r.node("Transpose", graph.Attrs{"perm": perm}, v)
}

// cast converts value v.
func (r *rewrite) cast(v int, to graph.DType) int {
	if r.of(v).DType == to {
		return v
	}
	return r.node("Cast", graph.Attrs{"to": to.String()}, v)
}

// sliced takes elements start to end-1 of an axis.
func (r *rewrite) sliced(v int, axis, start, end int64) int {
	return r.node("Slice", graph.Attrs{"starts": []int64{start}, "ends": []int64{end}, "axes": []int64{axis}}, v)
}

// is ends a rewrite: values are the results of the node, -1 for those that there are not.
func (r *rewrite) is(values ...int) error {
	if r.err == nil {
		r.replaced = true
		r.replacement = values
	}
	return r.err
}

// deliver gives the values of a rewrite the names that the graph has for them.
func (k *call) deliver() error {
	for i, name := range k.node.Outputs {
		if name == "" {
			continue
		}
		if i < len(k.replacement) && k.replacement[i] >= 0 {
			k.rename(k.replacement[i], name)
			continue
		}
		if k.wanted(i) {
			return k.notComputed(i, len(k.replacement))
		}
	}
	return nil
}

// notComputed is the fault of a node whose output i nobody can compute.
func (k *call) notComputed(i, results int) error {
	return k.fault("use "+k.spec.Name+" without it", "its output %d, %q, is asked for, and only %d can be computed", i,
		k.node.Outputs[i], results)
}

// rename gives a value a name of the graph: its own one when a rewrite made it, else that
// of a copy.
func (k *call) rename(v int, name string) {
	from := k.draft.Out.Values[v]
	if from.Constant == nil && k.draft.Makers[from.Name].What == rewritten {
		k.draft.Out.Values[v].Name = name
		k.draft.Index[name] = v
		for i := range k.draft.Out.Nodes {
			if n := &k.draft.Out.Nodes[len(k.draft.Out.Nodes)-1-i]; slices.Contains(n.Outputs, v) {
				n.Name = k.label
				return
			}
		}
	}
	k.draft.Alias(name, v, k.label)
}

// room fails when a constant of so many bytes is more than may be computed.
func (k *call) room(bytes int64) error {
	if bytes > k.draft.Left {
		return k.fault("use smaller extents, or raise FoldBytes",
			"its result takes %d bytes, and %d are left for computed constants", bytes, k.draft.Left)
	}
	k.draft.Left -= bytes
	return nil
}

// ones appends axes of extent 1 to a shape.
func ones(n int, shape ...int64) []int64 { return append(shape, slices.Repeat([]int64{1}, n)...) }
