// Package llvm writes a lowered program as the text of an LLVM module that calls
// the runtime. The text is for LLVM 14 (with -opaque-pointers) to 20.
//
//	llvm.go      the module: types, constants, declarations
//	function.go  functions and their operations
//	tensor.go    operations on tensors
//	elements.go  where their elements are
//	vec.go       operations on vecs
//	cells.go     operations on cells
//	integer.go   division
//	inline.go    operations of tl_inline.ll
//	kernel.go    loops over elements
//	support.go   functions that the module brings along
//
// Every function of the program becomes a function of the module with its symbol as
// the name: Int is i64, Float is double, structs, vecs and tensors are ptr. Extern
// functions are declared alike, and have to keep to the same rules. Arguments are lent: a
// caller holds them, by a scope or a count, during the call. Results float, and the caller
// registers them, as docs/ownership.md has it; of a cell the caller gets the reference.
// What the module needs besides has a $ in its name.
//
// What the runtime cannot do (no memory, a full stack of scopes) ends the process
// with the runtime's message, since the program has no means to go on.
package llvm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tlruntime/compiler/llvm/text"
	"tlruntime/compiler/lower"
	"tlruntime/compiler/lower/flow"
	"tlruntime/compiler/lower/ir"
)

// Versions of LLVM whose text can be written.
const (
	Oldest = 14
	Newest = 20
)

// Options tell how a module is written.
type Options struct {
	Version int    // of LLVM, Oldest to Newest; 0 is Oldest
	Init    string // name of the function that has to be called first; "" is module_init
	Inline  bool   // the module is for linking with tl_inline.ll, whose operations it inlines
}

// Emit returns the text of a module. Its function Init defines the types: it
// returns a tl_status, may be called again, and must have returned TL_OK before any
// other is called. The error names what cannot be written.
func Emit(m *lower.Module, options Options) (string, error) {
	if options.Version == 0 {
		options.Version = Oldest
	}
	if options.Init == "" {
		options.Init = "module_init"
	}
	if options.Version < Oldest || options.Version > Newest {
		return "", fmt.Errorf("LLVM %d: the text is for versions %d to %d", options.Version, Oldest, Newest)
	}
	w := &module{Module: m, Options: options, used: map[string]bool{}, shapes: map[string]string{}}
	if err := w.checkNames(); err != nil {
		return "", err
	}
	w.init()
	for i, f := range m.Functions {
		w.function(f, m.Kinds[i])
	}
	return w.assemble(), nil
}

// module is a module that is being written.
type module struct {
	*lower.Module
	Options
	text.Code
	used     map[string]bool   // declarations and support functions
	shapes   map[string]string // constants with the shapes of tensors, by name
	largest  int64             // bytes of the largest tensor that may be none
	finished []string          // of the support functions
}

func (w *module) checkNames() error {
	if w.Program == nil {
		return nil
	}
	for _, f := range slices.Concat(w.Program.Externs, w.Program.Functions) {
		var message string
		switch name := f.Symbol(); {
		case name == w.Init:
			message = "function %s has the name of the module's first function; choose another Options.Init"
		case strings.HasPrefix(name, "tl_"), declarations[name] != "":
			message = "function %s has a name that the module takes from elsewhere; rename it"
		default:
			continue
		}
		return &ir.Error{Part: f, Message: fmt.Sprintf(message, f.Symbol())}
	}
	return nil
}

func (w *module) line(format string, args ...any) {
	fmt.Fprintf(&w.Text, format+"\n", args...)
}

// need makes a declaration or a support function part of the module, and returns
// its name.
func (w *module) need(name string) string {
	name = w.operation(name)
	if !w.used[name] {
		w.used[name] = true
		for _, other := range support[name].needs {
			w.need(other)
		}
	}
	return "@" + name
}

// typeName is the type of values in LLVM.
func typeName(t ir.Type) string {
	switch t.Kind {
	case ir.Int:
		return "i64"
	case ir.Float:
		return "double"
	case ir.Void:
		return "void"
	}
	return "ptr"
}

// fieldBytes is the size of every field; fields follow each other without gaps.
const fieldBytes = 8

// structBytes is the size of an object. An object without fields has one byte, so
// that it has an address.
func structBytes(s *ir.StructDef) int { return max(fieldBytes*len(s.Fields), 1) }

// init writes the function that makes the struct types known to the runtime.
func (w *module) init() {
	w.line("define i32 @%s() {", w.Init)
	if last := len(w.Program.Structs) - 1; last >= 0 { // that is known when all are
		w.need("tl_type_define")
		w.Do("%%known = load i32, ptr @%s$type", w.Program.Structs[last].Name)
		w.Do("%%done = icmp ne i32 %%known, 0")
		w.Do("br i1 %%done, label %%good, label %%define.0")
	}
	for i, s := range w.Program.Structs {
		next := fmt.Sprintf("define.%d", i+1)
		if i+1 == len(w.Program.Structs) {
			next = "good"
		}
		w.line("define.%d:", i)
		w.Do("%%status.%d = call i32 @tl_type_define(ptr @%s$desc, ptr @%s$type)", i, s.Name, s.Name)
		w.Do("%%failed.%d = icmp ne i32 %%status.%d, 0", i, i)
		w.Do("br i1 %%failed.%d, label %%bad.%d, label %%%s", i, i, next)
		w.line("bad.%d:", i)
		w.Do("ret i32 %%status.%d", i)
	}
	if len(w.Program.Structs) > 0 {
		w.line("good:")
	}
	w.Do("ret i32 0\n}")
}

// assemble puts the parts of the module into order.
func (w *module) assemble() string {
	var text strings.Builder
	fmt.Fprintf(&text, "; Written for LLVM %d by compiler/lower.\n", w.Version)
	if w.Version == 14 {
		text.WriteString("; Opaque pointers: give LLVM 14 the option -opaque-pointers.\n")
	}
	w.structs(&text)
	for _, name := range slices.Sorted(maps.Keys(w.shapes)) {
		text.WriteString(w.shapes[name])
	}
	if w.largest > 0 {
		fmt.Fprintf(&text, "@tensor$zero = private constant [%d x i8] zeroinitializer, align 64\n", w.largest)
	}
	text.WriteByte('\n')
	for _, name := range slices.Sorted(maps.Keys(w.used)) {
		if d := declaration(name); d != "" {
			text.WriteString(d + "\n")
		}
	}
	for _, f := range w.Program.Externs {
		params := make([]string, len(f.Params))
		for i, p := range f.Params {
			params[i] = typeName(p.Type)
		}
		fmt.Fprintf(&text, "declare %s @%s(%s)\n", typeName(f.Result), f.Name, strings.Join(params, ", "))
	}
	text.WriteString("\n" + w.Text.String())
	w.supports(&text)
	return text.String()
}

// structs writes what tl_type_define is told of each struct, and an object of
// zeros, where fields of none are read.
func (w *module) structs(text *strings.Builder) {
	for _, s := range w.Program.Structs {
		var offsets []string
		for i, f := range s.Fields {
			if f.Type.Counted() {
				offsets = append(offsets, fmt.Sprintf("i64 %d", fieldBytes*i))
			}
		}
		fmt.Fprintf(text, "\n@%s$type = internal global i32 0\n", s.Name)
		fmt.Fprintf(text, "@%s$name = private constant [%d x i8] c\"%s\\00\"\n", s.Name, len(s.Name)+1, s.Name)
		fmt.Fprintf(text, "@%s$zero = private constant [%d x i8] zeroinitializer, align 8\n", s.Name, structBytes(s))
		list := "null"
		if len(offsets) > 0 {
			list = "@" + s.Name + "$offsets"
			fmt.Fprintf(text, "%s = private constant [%d x i64] [%s]\n", list, len(offsets),
				strings.Join(offsets, ", "))
		}
		// tl_type_desc: name, size, pointer_offsets, num_pointers, destructor, flags
		fmt.Fprintf(text, "@%s$desc = private constant { ptr, i64, ptr, i64, ptr, i32 } "+
			"{ ptr @%s$name, i64 %d, ptr %s, i64 %d, ptr null, i32 0 }\n", s.Name, s.Name, structBytes(s), list,
			len(offsets))
	}
	text.WriteByte('\n')
}

// shape returns the constant with a tensor type's extents.
func (w *module) shape(t ir.Type) string {
	var parts, values []string
	for _, extent := range t.Extents() {
		parts = append(parts, fmt.Sprint(extent))
		values = append(values, fmt.Sprintf("i64 %d", extent))
	}
	if len(parts) == 0 { // the runtime wants an address for rank 0, too
		parts, values = []string{"scalar"}, []string{"i64 1"}
	}
	name := "@shape$" + strings.Join(parts, "x")
	w.shapes[name] = fmt.Sprintf("%s = private constant [%d x i64] [%s]\n", name, len(values),
		strings.Join(values, ", "))
	return name
}

// described is how a tensor type is passed to the runtime: dtype, rank, shape.
func (w *module) described(t ir.Type) string {
	return fmt.Sprintf("i32 %d, i64 %d, ptr %s", t.DType, t.Rank, w.shape(t))
}

// definitions counts what gives each variable a value.
func definitions(f *flow.Function) []int {
	n := make([]int, len(f.Vars))
	for p := range f.Params {
		n[p] = 1
	}
	f.Each(func(o *flow.Op) {
		if o.Dst != flow.NoVar && !o.InMemory() {
			n[o.Dst]++
		}
	})
	return n
}
