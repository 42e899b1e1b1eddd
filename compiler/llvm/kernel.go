package llvm

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/ops"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/view"
)

// kernel is the function of one instruction while it is written.
type kernel struct {
	code
	*plan.Instruction
	in, out  []operand
	params   []param
	bits     int    // of vectors
	fallible bool   // it returns a tl_status instead of nothing
	symbol   string // "" when there is nothing to do
}

// operand is an argument or a result of a kernel. Its view begins at ptr: the
// offset is the caller's business.
type operand struct {
	elem
	view.View
	ptr      string
	present  bool
	constant *graph.Tensor
	source   int // parameter
}

// param is a pointer that a kernel is called with.
type param struct {
	buffer  int
	offset  int64 // in elements
	written bool
}

// kernel writes the kernel of an instruction, or finds one with the same text.
func (m *module) kernel(i *plan.Instruction) (*kernel, error) {
	k := &kernel{code: code{module: m}, Instruction: i, bits: m.opts.VectorBits}
	write, known := kernels[i.Op]
	if !known {
		return nil, k.unsupported(m.anyType(i), "%s", whyMissing(i))
	}
	k.operands()
	if err := k.accepts(write); err != nil {
		return nil, err
	}
	if err := write.emit(k); err != nil {
		return nil, err
	}
	if body := k.code.Text.String(); body != "" {
		k.symbol = m.define(k, body)
	}
	return k, nil
}

const noKernel = "there is no kernel for this operator"

func (m *module) anyType(i *plan.Instruction) graph.DType { return typeOf(m.place.buffers, i) }

// typeOf is the type that stands for an instruction in messages.
func typeOf(buffers []plan.Buffer, i *plan.Instruction) graph.DType {
	for _, o := range append(slices.Clone(i.Outputs), i.Inputs...) {
		if o.Buffer >= 0 {
			return buffers[o.Buffer].DType
		}
	}
	return graph.F32
}

// define gives the kernel a name and adds it to the module, unless there is one
// with the same text.
func (m *module) define(k *kernel, body string) string {
	params := make([]string, len(k.params))
	for i, p := range k.params {
		params[i] = fmt.Sprintf("%s noalias readonly %%p%d", m.pointer(), i)
		if p.written {
			params[i] = fmt.Sprintf("%s noalias %%p%d", m.pointer(), i)
		}
	}
	result, last := "void", "  ret void\n"
	if k.fallible {
		result, last = "i32", "  ret i32 0\n"
	}
	text := fmt.Sprintf("(%s) #0 {\nentry:\n%s%s}\n", strings.Join(params, ", "), body, last)
	if name, known := m.kernels[result+text]; known {
		return name
	}
	name := fmt.Sprintf("%s_%d_%s", m.name, len(m.kernels), k.Op)
	m.kernels[result+text] = name
	m.functions = append(m.functions, fmt.Sprintf("define internal %s @%s%s", result, name, text))
	return name
}

// operands makes the parameters. Results come first. An argument that is a result
// in place has its parameter, as two pointers to written memory would not be
// noalias.
func (k *kernel) operands() {
	for _, o := range k.Outputs {
		k.out = append(k.out, k.operand(o, true))
	}
	for _, o := range k.Inputs {
		k.in = append(k.in, k.operand(o, false))
	}
}

func (k *kernel) operand(o plan.Operand, written bool) operand {
	if o.Buffer < 0 {
		return operand{source: -1}
	}
	b := &k.module.place.buffers[o.Buffer]
	p := operand{elem: elems[b.DType], View: o.View, present: true, source: -1}
	if b.Kind == plan.Constant {
		p.constant = b.Constant
	}
	if !written {
		p.source = k.inPlace(o)
	}
	if p.source < 0 {
		p.source = len(k.params)
		k.params = append(k.params, param{o.Buffer, o.View.Offset, written})
	}
	p.ptr = fmt.Sprintf("%%p%d", p.source)
	p.View.Offset = 0
	return p
}

// inPlace returns the parameter of the result that lies exactly where o does, or -1.
func (k *kernel) inPlace(o plan.Operand) int {
	for i, r := range k.Outputs {
		if r.Buffer == o.Buffer && r.View.Offset == o.View.Offset {
			return k.out[i].source
		}
	}
	return -1
}

// overwrites reports whether argument i lies where a result does.
func (k *kernel) overwrites(i int) bool {
	return k.in[i].present && k.params[k.in[i].source].written
}

func (k *kernel) unsupported(d graph.DType, format string, args ...any) error {
	return &UnsupportedError{k.Node, k.Op, d, fmt.Sprintf(format, args...)}
}

// width is how many elements of a type fill a vector of registers.
func (k *kernel) width(e elem) int {
	if e.narrow() {
		return k.bits / 32
	}
	return k.bits / 8 / int(e.bytes)
}

// writer is how the kernels of an operator are written. How many arguments and results
// there are, and whether they may lie at one place, is what plan.Operator says.
type writer struct {
	emit    func(*kernel) error
	types   []graph.DType // of the deciding argument
	decider int           // which argument decides
	results int           // how many are computed; 0: all
}

// accepts holds an instruction to what its operator is and its kernels can do.
func (k *kernel) accepts(w writer) error {
	op, _ := plan.Operator(k.Op)
	d := k.module.anyType(k.Instruction)
	least, most := ops.Counts(op.Arguments())
	_, results := ops.Counts(op.Outputs)
	if w.results > 0 {
		results = w.results
	}
	if n := len(k.in); n < least || n > most {
		return k.unsupported(d, "it has %d arguments; it takes %d to %d", n, least, most)
	}
	if len(k.out) == 0 || !k.anyResult(results) {
		return k.unsupported(d, "it has no result")
	}
	inPlace := op.InPlace != nil || op.Moves != nil
	for i := range k.in {
		if !k.in[i].present && i < least {
			return k.unsupported(d, "argument %d was left out", i)
		}
		if k.overwrites(i) && !inPlace {
			return k.unsupported(k.in[i].dtype, "argument %d lies where a result does; it cannot work in place", i)
		}
	}
	for i, o := range k.out {
		if i >= results && o.present {
			return k.unsupported(o.dtype, "result %d is not computed", i)
		}
	}
	if decides := k.in[w.decider].dtype; !slices.Contains(w.types, decides) {
		return k.unsupported(decides, "there are kernels for %s", listed(w.types))
	}
	return nil
}

// anyResult reports whether one of the first n results is asked for.
func (k *kernel) anyResult(n int) bool {
	return slices.ContainsFunc(k.out[:min(n, len(k.out))], func(o operand) bool { return o.present })
}

func listed(types []graph.DType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return strings.Join(names, " ")
}

// Sets of element types that kernels are written for.
var (
	floats   = []graph.DType{graph.F32, graph.F64, graph.F16, graph.BF16}
	integers = []graph.DType{graph.I8, graph.I16, graph.I32, graph.I64, graph.U8, graph.U16, graph.U32, graph.U64}
	numbers  = append(slices.Clone(floats), integers...)
	signeds  = append(slices.Clone(floats), graph.I8, graph.I16, graph.I32, graph.I64)
	truths   = []graph.DType{graph.Bool}
	computed = append(slices.Clone(numbers), graph.Bool)
)
