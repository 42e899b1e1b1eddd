package graph

import "slices"

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
	name, n := r.c.freshAfter(base, r.names[base])
	r.names[base] = n
	return name
}

// node adds a node with one result and returns that. An argument of -1 is left out.
func (r *rewrite) node(op string, attrs Attrs, args ...int) int {
	return r.nodes(op, attrs, 1, args...)[0]
}

// nodes is node with as many results as are asked for.
func (r *rewrite) nodes(op string, attrs Attrs, results int, args ...int) []int {
	values := slices.Repeat([]int{-1}, results)
	if r.err != nil {
		return values
	}
	n := &Node{Op: op, Attrs: attrs}
	for _, v := range args {
		n.Inputs = append(n.Inputs, r.nameOf(v))
	}
	for range results {
		name := r.name(op)
		r.c.asked[name] = true
		n.Outputs = append(n.Outputs, name)
	}
	if r.err = r.add(r.index, n, n.Outputs[0]); r.err != nil {
		return values
	}
	for i, name := range n.Outputs {
		values[i] = r.c.index[name]
	}
	return values
}

// nameOf returns a name by which a node finds value v.
func (r *rewrite) nameOf(v int) string {
	if v < 0 {
		return ""
	}
	name := r.c.out.Values[v].Name
	r.c.index[name] = v
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
func (r *rewrite) of(v int) *TypedValue {
	if v < 0 {
		return &TypedValue{}
	}
	return &r.c.out.Values[v]
}

// constant adds a constant.
func (r *rewrite) constant(t Tensor) int {
	v := r.c.addConstant(r.name("constant"), t)
	r.nameOf(v)
	return v
}

// number adds a scalar.
func (r *rewrite) number(d DType, x float64) int { return r.constant(filledTensor(d, []int64{}, x)) }

// integers adds a list of i64.
func (r *rewrite) integers(list ...int64) int { return r.constant(intsTensor(list)) }

// shaped gives value v another shape. It, turned and cast add nothing where v is so already.
func (r *rewrite) shaped(v int, shape ...int64) int {
	if slices.Equal(r.of(v).Shape, shape) {
		return v
	}
	return r.node("Reshape", Attrs{"shape": shape, "allowzero": int64(1)}, v)
}

// turned transposes value v.
func (r *rewrite) turned(v int, perm ...int64) int {
	if slices.IsSorted(perm) {
		return v
	}
	return r.node("Transpose", Attrs{"perm": perm}, v)
}

// cast converts value v.
func (r *rewrite) cast(v int, to DType) int {
	if r.of(v).DType == to {
		return v
	}
	return r.node("Cast", Attrs{"to": to.String()}, v)
}

// sliced takes elements start to end-1 of an axis.
func (r *rewrite) sliced(v int, axis, start, end int64) int {
	return r.node("Slice", Attrs{"starts": []int64{start}, "ends": []int64{end}, "axes": []int64{axis}}, v)
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
	from := k.c.out.Values[v]
	if from.Constant != nil {
		k.c.index[name] = k.c.addConstant(name, *from.Constant)
		return
	}
	if k.c.makers[from.Name].what == rewritten {
		k.c.out.Values[v].Name = name
		k.c.index[name] = v
		for i := range k.c.out.Nodes {
			if n := &k.c.out.Nodes[len(k.c.out.Nodes)-1-i]; slices.Contains(n.Outputs, v) {
				n.Name = k.label
				return
			}
		}
	}
	to := k.c.addValue(name, from.DType, from.Shape)
	k.c.out.Nodes = append(k.c.out.Nodes, TypedNode{Name: k.label, Op: "Identity", Inputs: []int{v}, Outputs: []int{to},
		Attrs: Attrs{}})
}

// rewritten is the maker of names that Check makes up.
const rewritten = "Check"

// room fails when a constant of so many bytes is more than may be computed.
func (k *call) room(bytes int64) error {
	if bytes > k.c.left {
		return k.fault("use smaller extents, or raise FoldBytes",
			"its result takes %d bytes, and %d are left for computed constants", bytes, k.c.left)
	}
	k.c.left -= bytes
	return nil
}

// filledTensor makes a tensor of which every element is x.
func filledTensor(d DType, shape []int64, x float64) Tensor {
	t := newTensor(d, shape)
	for i := range Elements(shape) {
		t.setNumber(i, x)
	}
	return t
}

// setNumber stores x as an element of any type, rounded to it as kernels do: to f16 and bf16
// through f32.
func (t *Tensor) setNumber(i int64, x float64) {
	switch {
	case foldedFloats.Has(t.DType):
		t.setFloat(i, x)
	case t.DType == F16:
		le.PutUint16(t.at(i), halfBits(float64(float32(x))))
	case t.DType == BF16:
		le.PutUint16(t.at(i), shortBits(x))
	default:
		t.setInt(i, int64(x))
	}
}

// ones appends axes of extent 1 to a shape.
func ones(n int, shape ...int64) []int64 { return append(shape, slices.Repeat([]int64{1}, n)...) }
