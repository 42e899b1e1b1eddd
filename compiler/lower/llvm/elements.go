package llvm

import (
	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// keepAddresses finds the variables for which the address of the elements is kept, so
// that no call asks for it again. Those in slots have their tensors at one place. A
// tensor that a variable has for good does not move either; its address is kept where
// it is read twice, or in another block than the one that made it, perhaps a loop.
func (f *function) keepAddresses() {
	made, reads := make([]int, len(f.Vars)), make([]int, len(f.Vars))
	for i, b := range f.Blocks {
		for j := range b.Ops {
			if o := &b.Ops[j]; o.Dst != flow.NoVar {
				made[o.Dst] = i
			}
		}
	}
	for i, b := range f.Blocks {
		for j := range b.Ops {
			o := &b.Ops[j]
			if o.Code != flow.Element && o.Code != flow.Sum && o.Code != flow.TensorArith {
				continue
			}
			for _, a := range o.Args {
				if a.Var == flow.NoVar || a.Type.Kind != ir.Tensor {
					continue
				}
				reads[a.Var]++
				if made[a.Var] != i {
					reads[a.Var]++
				}
			}
		}
	}
	for v, n := range reads {
		f.kept[v] = f.kinds[v] == lower.Slotted || n > 1 && !f.onStack[v]
	}
}

// keepAddress notes where the elements of what a variable has been given are.
func (f *function) keepAddress(v flow.Var) {
	if v != flow.NoVar && f.kept[v] && !f.onStack[v] && f.elements[v] == "" {
		f.elements[v] = f.readCall(f.Use(v))
	}
}

// made makes the tensor of an operation and returns the address of its elements.
func (f *function) made(o *flow.Op) string {
	if o.Slot == flow.Heap {
		f.compute(o.Dst, "call ptr %s(%s)", f.need("tensor$heap"), f.described(o.Type))
	} else {
		f.compute(o.Dst, "call ptr %s(i64 %d, %s)", f.need("tensor$slot"), o.Slot, f.described(o.Type))
	}
	data := f.let("call ptr %s(ptr %s)", f.need("tl_tensor_data"), f.get(f.Use(o.Dst)))
	switch {
	case !f.kept[o.Dst]:
	case f.onStack[o.Dst]:
		f.Do("store ptr %s, ptr %s.data", data, f.name(o.Dst))
	default:
		f.elements[o.Dst] = data
	}
	return data
}

// keptAt returns the address that is kept for a variable.
func (f *function) keptAt(v flow.Var) (data string, kept bool) {
	switch {
	case v == flow.NoVar || !f.kept[v]:
		return "", false
	case f.onStack[v]:
		return f.let("load ptr, ptr %s.data", f.name(v)), true
	}
	return f.elements[v], true
}

// read returns the address of a tensor's elements; those of none are zeros.
func (f *function) read(a flow.Operand) string {
	if data, kept := f.keptAt(a.Var); kept {
		return data
	}
	return f.readCall(a)
}

func (f *function) readCall(a flow.Operand) string {
	f.largest = max(f.largest, a.Type.Bytes())
	return f.let("call ptr %s(ptr %s)", f.need("tensor$read"), f.get(a))
}

// data is the address of the elements of a tensor that is changed, which is not none.
func (f *function) data(v flow.Var) string {
	if data, kept := f.keptAt(v); kept {
		return data
	}
	return f.let("call ptr %s(ptr %s)", f.need("tl_tensor_data"), f.get(f.Use(v)))
}
