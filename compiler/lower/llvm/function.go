package llvm

import (
	"fmt"
	"strings"

	"tlruntime/compiler/llvm/text"
	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// function is a function that is being written. A variable with one definition is
// a value of LLVM's; others stand on the stack, from where LLVM takes them.
type function struct {
	*module
	*flow.Function
	kinds    []lower.Kind // by variable
	values   []string     // by variable: its value, when it has one definition
	kept     []bool       // by variable: the address of its tensor's elements is kept
	elements []string     // by variable: that address, when it has one definition
	onStack  []bool       // by variable
	taken    bool         // this block has taken the context of its thread, and has called operations alone since
}

func (w *module) function(source *flow.Function, kinds []lower.Kind) {
	f := &function{module: w, Function: source, kinds: kinds, values: make([]string, len(source.Vars)),
		elements: make([]string, len(source.Vars)), kept: make([]bool, len(source.Vars)),
		onStack: make([]bool, len(source.Vars))}
	w.Names = 0
	params := make([]string, f.Params)
	for i := range params {
		params[i] = typeName(f.Vars[i].Type) + " %" + f.Vars[i].Name
		f.values[i] = "%" + f.Vars[i].Name
	}
	kind, name := "", w.owned(f.Symbol)
	if name != f.Symbol {
		kind = "internal "
		w.lent(source, params)
	}
	w.line("\ndefine %s%s @%s(%s) {", kind, typeName(f.Result), name, strings.Join(params, ", "))
	for i, b := range f.Blocks {
		w.line(".b%d:", i)
		f.taken = false
		if i == 0 {
			f.thread()
			f.stack()
			f.keepAddresses()
			for p := range flow.Var(f.Params) {
				f.keepAddress(p)
			}
		}
		for j := range b.Ops {
			f.op(&b.Ops[j], b)
			f.keepAddress(b.Ops[j].Dst)
		}
	}
	w.line("}")
}

// stack makes room for the variables that change, and puts parameters there.
func (f *function) stack() {
	for v, n := range definitions(f.Function) {
		if n < 2 {
			continue
		}
		t := typeName(f.Vars[v].Type)
		f.onStack[v] = true
		f.Do("%s = alloca %s", f.address(flow.Var(v)), t)
		if f.kinds[v] == lower.Slotted { // and so is where its elements are
			f.Do("%s.data = alloca ptr", f.name(flow.Var(v)))
		}
		if v < f.Params {
			f.Do("store %s %%%s, ptr %s", t, f.Vars[v].Name, f.address(flow.Var(v)))
		}
	}
}

// name is the variable's name in LLVM. Temporaries have a number for a name.
func (f *function) name(v flow.Var) string {
	name := f.Vars[v].Name
	if strings.HasPrefix(name, "%") {
		return "%t." + name[1:]
	}
	return "%" + name
}

func (f *function) address(v flow.Var) string { return f.name(v) + ".at" }

// get is the value of an operand, loaded where it has to be.
func (f *function) get(o flow.Operand) string {
	switch {
	case o.Var == flow.NoVar && o.Type.Kind == ir.Int:
		return fmt.Sprint(o.Int)
	case o.Var == flow.NoVar && o.Type.Kind == ir.Float:
		return text.Double(o.Float)
	case o.Var == flow.NoVar:
		return "null"
	case f.onStack[o.Var]:
		return f.let("load %s, ptr %s", typeName(o.Type), f.address(o.Var))
	}
	return f.values[o.Var]
}

func (f *function) gets(list []flow.Operand) (values []string) {
	for _, o := range list {
		values = append(values, f.get(o))
	}
	return values
}

// set gives a variable a value that has been computed.
func (f *function) set(v flow.Var, value string) {
	if f.onStack[v] {
		f.Do("store %s %s, ptr %s", typeName(f.Vars[v].Type), value, f.address(v))
		return
	}
	f.values[v] = value
}

// compute writes an instruction whose result is the variable's value.
func (f *function) compute(v flow.Var, format string, args ...any) {
	name := f.name(v)
	if f.onStack[v] {
		name = f.Name("%.")
	}
	f.set(v, f.Give(name, format, args...))
}

// let writes an instruction and returns its result.
func (f *function) let(format string, args ...any) string {
	return f.Give(f.Name("%."), format, args...)
}

func (f *function) op(o *flow.Op, b *flow.Block) {
	switch o.Code {
	case flow.Copy, flow.Taken:
		f.set(o.Dst, f.get(o.Args[0]))
	case flow.Arith:
		f.arith(o)
	case flow.Convert:
		f.convert(o)
	case flow.IsNone:
		bit := f.let("icmp eq ptr %s, null", f.get(o.Args[0]))
		f.compute(o.Dst, "zext i1 %s to i64", bit)
	case flow.New:
		f.newStruct(o)
	case flow.Reset:
		f.reset(o)
	case flow.Load:
		f.load(o)
	case flow.Take:
		at := f.field(f.get(o.Args[0]), o.Index)
		f.compute(o.Dst, "load ptr, ptr %s", at)
		f.Do("store ptr null, ptr %s", at)
	case flow.Store:
		t := o.Args[0].Type
		value := f.get(o.Args[0])
		f.Do("store %s %s, ptr %s", typeName(t), value, f.field(f.get(f.Use(o.Dst)), o.Index))
	case flow.Call:
		f.call(o)
	case flow.Jump, flow.Branch, flow.Return:
		f.terminate(o, b)
	case flow.Clear:
		f.set(o.Dst, "null")
	case flow.Unshare:
		f.unshare(o)
	default:
		f.reference(o)
	}
}

var integer = map[ir.Op]string{ir.Add: "add", ir.Sub: "sub", ir.Mul: "mul",
	ir.Eq: "icmp eq", ir.Ne: "icmp ne", ir.Lt: "icmp slt", ir.Le: "icmp sle", ir.Gt: "icmp sgt", ir.Ge: "icmp sge"}

var floating = map[ir.Op]string{ir.Add: "fadd", ir.Sub: "fsub", ir.Mul: "fmul", ir.Div: "fdiv",
	ir.Eq: "fcmp oeq", ir.Ne: "fcmp une", ir.Lt: "fcmp olt", ir.Le: "fcmp ole", ir.Gt: "fcmp ogt", ir.Ge: "fcmp oge"}

func (f *function) arith(o *flow.Op) {
	t := o.Args[0].Type
	word := integer[o.Op]
	if t.Kind == ir.Float {
		word = floating[o.Op]
	}
	if t.Kind == ir.Int && (o.Op == ir.Div || o.Op == ir.Rem) {
		f.divide(o)
		return
	}
	a := f.gets(o.Args)
	if o.Op.Comparison() {
		bit := f.let("%s %s %s, %s", word, typeName(t), a[0], a[1])
		f.compute(o.Dst, "zext i1 %s to i64", bit)
		return
	}
	f.compute(o.Dst, "%s %s %s, %s", word, typeName(t), a[0], a[1])
}

func (f *function) convert(o *flow.Op) {
	a := f.get(o.Args[0])
	if o.Args[0].Type.Kind == ir.Int {
		f.compute(o.Dst, "sitofp i64 %s to double", a)
		return
	}
	f.compute(o.Dst, "call i64 %s(double %s)", f.need("llvm.fptosi.sat.i64.f64"), a)
}

func (f *function) field(object string, index int64) string {
	return f.let("getelementptr inbounds i8, ptr %s, i64 %d", object, fieldBytes*index)
}

// load reads a field; those of none are zeros.
func (f *function) load(o *flow.Op) {
	object := f.get(o.Args[0])
	absent := f.let("icmp eq ptr %s, null", object)
	from := f.let("select i1 %s, ptr @%s$zero, ptr %s", absent, o.Type.Name, object)
	f.compute(o.Dst, "load %s, ptr %s", typeName(f.Vars[o.Dst].Type), f.field(from, o.Index))
}

func (f *function) call(o *flow.Op) {
	f.taken = false
	values := f.gets(o.Args)
	for i, a := range o.Args {
		values[i] = typeName(a.Type) + " " + values[i]
	}
	text := fmt.Sprintf("@%s(%s)", f.owned(o.Callee), strings.Join(values, ", "))
	if o.Dst == flow.NoVar {
		f.Do("call void %s", text)
		return
	}
	f.compute(o.Dst, "call %s %s", typeName(f.Vars[o.Dst].Type), text)
}

func (f *function) terminate(o *flow.Op, b *flow.Block) {
	switch {
	case o.Code == flow.Jump:
		f.Do("br label %%.b%d", b.Successors[0])
	case o.Code == flow.Branch:
		bit := f.let("icmp ne i64 %s, 0", f.get(o.Args[0]))
		f.Do("br i1 %s, label %%.b%d, label %%.b%d", bit, b.Successors[0], b.Successors[1])
	case len(o.Args) == 0:
		f.Do("ret void")
	default:
		f.Do("ret %s %s", typeName(f.Result), f.get(o.Args[0]))
	}
}

// unshare gives the variable a value that nobody else refers to.
func (f *function) unshare(o *flow.Op) {
	value := f.get(f.Use(o.Dst))
	if o.Type.Kind == ir.Tensor {
		f.compute(o.Dst, "call ptr %s(ptr %s, %s)", f.need("tensor$unshare"), value, f.described(o.Type))
		return
	}
	if o.Type.Kind == ir.Vec {
		f.compute(o.Dst, "call ptr %s(ptr %s)", f.need("vec$unshare"), value)
		return
	}
	f.taken = false
	f.needUnshare(o.Type.Name)
	f.compute(o.Dst, "call ptr @%s$unshare(ptr %s)", o.Type.Name, value)
}

// counting are the runtime's functions that count, for objects, tensors and cells.
var counting = map[flow.Code][3]string{
	flow.Acquire:    {"tl_ptr_acquire", "tl_tensor_acquire", "cell$dup"},
	flow.Release:    {"tl_ptr_release", "tl_tensor_release", "cell$drop"},
	flow.Register:   {"tl_mem_register_struct", "tl_tensor_register"},
	flow.Unregister: {"tl_mem_unregister", "tl_tensor_promote"},
}

// counting is the function that counts references of a type, and what it returns.
func (w *module) counting(c flow.Code, t ir.Type) (name, result string) {
	switch names := counting[c]; {
	case w.isCell(t):
		return names[2], "void"
	case t.Kind == ir.Tensor:
		name = names[1]
	default:
		name = names[0]
	}
	if c == flow.Acquire {
		return name, "ptr"
	}
	return name, "i32"
}

// reference writes what concerns references, scopes and tensors.
func (f *function) reference(o *flow.Op) {
	switch o.Code {
	case flow.FunctionEnter:
		f.Do("call void %s", f.runtime("function$enter", fmt.Sprintf("i64 %d", o.Index)))
	case flow.EnterScope:
		f.Do("call void %s", f.runtime("scope$enter"))
	case flow.FunctionExit:
		f.Do("call i32 %s", f.runtime("tl_mem_function_exit"))
	case flow.ExitScope:
		f.Do("call i32 %s", f.runtime("tl_mem_exit_scope"))
	case flow.Acquire, flow.Release, flow.Register, flow.Unregister:
		name, result := f.counting(o.Code, o.Args[0].Type)
		value := f.get(o.Args[0])
		f.Do("call %s %s", result, f.runtime(name, "ptr "+value))
	default:
		f.vec(o)
	}
}
