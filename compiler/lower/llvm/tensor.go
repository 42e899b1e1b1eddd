package llvm

import (
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// element is the type of a tensor's elements in LLVM.
func element(t ir.Type) string {
	if t.DType == ir.F32 {
		return "float"
	}
	return "double"
}

func (f *function) tensor(o *flow.Op) {
	switch o.Code {
	case flow.Fill:
		x := f.get(o.Args[0])
		f.Do("call void %s(ptr %s, double %s, i64 %d)", f.need("fill$"+o.Type.DType.String()), f.made(o), x,
			o.Type.Elements())
	case flow.Literal:
		values := f.gets(o.Args)
		data := f.made(o)
		for i, x := range values {
			f.storeElement(o.Type, data, int64(i), x)
		}
	case flow.TensorArith:
		f.tensorArith(o)
	case flow.Sum:
		data := f.read(o.Args[0])
		f.compute(o.Dst, "call double %s(ptr %s, i64 %d)", f.need("sum$"+o.Type.DType.String()), data,
			o.Type.Elements())
	case flow.Element:
		f.loadElement(o)
	case flow.StoreElement:
		x := f.get(o.Args[0])
		data := f.data(o.Dst)
		if i := o.Args[1]; i.Var == flow.NoVar {
			f.storeElement(o.Type, data, i.Int, x)
			return
		}
		f.Do("call void %s(ptr %s, i64 %s, i64 %d, double %s)", f.need("put$"+o.Type.DType.String()), data,
			f.get(o.Args[1]), o.Type.Elements(), x)
	}
}

var tensorOperators = map[ir.Op]string{ir.Add: "add$", ir.Sub: "sub$", ir.Mul: "mul$"}

// tensorArith reads where its operands are before it makes the result, which may
// be in the slot of one of them, with the same shape and so at the same address.
func (f *function) tensorArith(o *flow.Op) {
	a, b := f.read(o.Args[0]), f.read(o.Args[1])
	f.Do("call void %s(ptr %s, ptr %s, ptr %s, i64 %d)",
		f.need(tensorOperators[o.Op]+o.Type.DType.String()), f.made(o), a, b, o.Type.Elements())
}

func (f *function) elementAt(t ir.Type, data string, index int64) string {
	return f.let("getelementptr inbounds %s, ptr %s, i64 %d", element(t), data, index)
}

func (f *function) storeElement(t ir.Type, data string, index int64, x string) {
	at := f.elementAt(t, data, index)
	if t.DType == ir.F32 {
		x = f.let("fptrunc double %s to float", x)
	}
	f.Do("store %s %s, ptr %s", element(t), x, at)
}

func (f *function) loadElement(o *flow.Op) {
	data := f.read(o.Args[0])
	if i := o.Args[1]; i.Var != flow.NoVar {
		f.compute(o.Dst, "call double %s(ptr %s, i64 %s, i64 %d)", f.need("get$"+o.Type.DType.String()), data,
			f.get(i), o.Type.Elements())
		return
	}
	at := f.elementAt(o.Type, data, o.Args[1].Int)
	if o.Type.DType == ir.F64 {
		f.compute(o.Dst, "load double, ptr %s", at)
		return
	}
	x := f.let("load float, ptr %s", at)
	f.compute(o.Dst, "fpext float %s to double", x)
}
