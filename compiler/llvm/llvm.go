// Package llvm writes an execution plan as LLVM IR: one module in text form with
// one function, which a compiler links with what it has compiled itself.
//
//	define i32 @NAME(ptr %inputs, ptr %outputs, ptr %constants)
//	define i32 @NAME(ptr %inputs, ptr %outputs, ptr %constants, ptr %scratch) ; Caller
//	define i32 @NAME(ptr %inputs, ptr %outputs, ptr %constants, ptr %scratch, ptr %outside) ; the same, with transfers
//
// The arguments are arrays of pointers in the plan's order (constants: the order
// of the plan's constant buffers). The function returns a tl_status. It takes the
// memory for all that lies between inputs and outputs by one call of the runtime
// and gives it back before it returns, or it is given that memory (Caller); it
// allocates nothing else.
//
// Each instruction becomes an internal function, a kernel, that knows shapes,
// strides and attributes of its operands; instructions that do the same share one.
// Two globals describe the function to whoever calls it: NAME_info, a structure
// that Header declares, and NAME_json, the same as JSON.
//
// The text is for LLVM 14, where pointers are i8*, or for a later version.
//
//	llvm.go, function.go, arena.go            the module, and the function of a plan or of each entry of an arena
//	builder.go, pointer.go                    a function while it is written; pointers with and without types
//	place.go, bodies.go, checks.go            where buffers lie, who runs bodies, what is checked at run time
//	header.go, info.go                        the C header, and what describes a function
//	table.go, missing.go, kernel.go           the kernels by operator, those that there are not, the function of one
//	lanes.go, half.go, spread.go              vectors: their types, f16 and bf16, elements that lie apart
//	nest.go, row.go                           loops over views, and over rows
//	elementwise.go, activation.go, leaky_relu.go, power.go, math.go  operators on elements
//	move.go, pad.go, indexed.go, nonzero.go   operators that carry elements elsewhere
//	reduce.go, norm.go, rms.go, ranking.go    operators on rows
//	matmul.go, conv.go, pack.go, integral.go  products of matrices, convolutions, those of bytes
//	pool.go, pool_indices.go, window.go       pools, and the windows of pools and convolutions
package llvm

import (
	"fmt"
	"slices"
	"strings"

	"tlruntime/compiler/graph"
	"tlruntime/compiler/llvm/text"
	"tlruntime/compiler/plan"
)

// Memory tells how the function takes the memory of its frame.
type Memory uint8

// One block for the whole frame, by tl_mem_frame_enter; slots, by
// tl_mem_function_enter and tl_mem_get_buffer: one slot for each offset at which
// buffers begin. Buffers in one slot are never alive together, as the plan has
// them at one place. Slots take more memory than the frame wherever buffers of the
// plan overlap without beginning at the same offset. Or the caller's memory: the
// function takes its address as one more argument, and that of the second space of
// a plan that moves values there as another, and calls no function of the runtime.
const (
	OneFrame Memory = iota
	Slots
	Caller
)

// Options are what a module is written for. The zero value is a sensible choice.
type Options struct {
	// Name of the function; "" takes the plan's name. Characters other than ASCII
	// letters, digits and _ become _. A name that begins with a digit or with tl_mem_, or
	// that is tl_last_status, memcpy, memmove or memset, gets a _ in front.
	Name string

	// Version is the major version of the LLVM that will read the module, 14 or
	// higher; 0 is the newest one.
	Version int

	Memory Memory

	// EmbedBytes is the size up to which constants become part of the module. The
	// caller's array has an entry for them too, which is not looked at. 0: none.
	EmbedBytes int64

	// VectorBits is the width of the vectors that kernels are written with, a power
	// of two from 64 to 2048; 0 is 256. Any width runs on any machine, as LLVM
	// splits what is too wide; the machine's own is the fastest.
	VectorBits int

	Triple string // of the target; "" leaves it to the tool that reads the module
}

const (
	oldest        = 14
	opaqueKnown   = 15 // first version without typed pointers
	defaultVector = 256
	frameAligned  = 64 // by the runtime
)

// UnsupportedError tells of an instruction that there is no kernel for.
type UnsupportedError struct {
	Node, Op string
	DType    graph.DType // of the argument, or the result, that decides
	Reason   string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("node %q: operator %s on %s: %s", e.Node, e.Op, e.DType, e.Reason)
}

// Module returns the module for p. It fails with a MissingError, which wraps an
// *UnsupportedError each, when p has instructions that it cannot write. It does not change p, and may be called by any
// number of goroutines at once.
func Module(p *plan.ExecutionPlan, o Options) (string, error) {
	m, err := newModule(p, o, newUnit())
	if err != nil {
		return "", err
	}
	if err := m.function(); err != nil {
		return "", err
	}
	return m.text(m.name), nil
}

func newModule(p *plan.ExecutionPlan, o Options, u *unit) (*module, error) {
	if o.Version == 0 {
		o.Version = text.MemoryKnown
	}
	if o.VectorBits == 0 {
		o.VectorBits = defaultVector
	}
	m := &module{unit: u, plan: p, opts: o, name: nameOf(p, o)}
	if err := m.checkOptions(); err != nil {
		return nil, err
	}
	return m, m.placeBuffers()
}

func (m *module) checkOptions() error {
	bits := m.opts.VectorBits
	switch {
	case m.opts.Version < oldest:
		return fmt.Errorf("LLVM %d: the oldest version that reads the module is %d", m.opts.Version, oldest)
	case bits < 64 || bits > 2048 || bits&(bits-1) != 0:
		return fmt.Errorf("vectors of %d bits: the width is a power of two from 64 to 2048", bits)
	case m.opts.Memory > Caller:
		return fmt.Errorf("memory of kind %d: it is OneFrame, Slots or Caller", m.opts.Memory)
	case m.plan.Frame.Alignment > frameAligned && m.opts.Memory != Caller:
		return fmt.Errorf("a frame aligned to %d bytes: the runtime aligns frames to %d; memory of the caller can "+
			"be aligned to more", m.plan.Frame.Alignment, frameAligned)
	case m.opts.Memory != Caller && slices.ContainsFunc(m.plan.Buffers, isState):
		return fmt.Errorf("the plan has state in an arena, which the caller brings: set Options.Memory to Caller")
	case m.name == "":
		return fmt.Errorf("the plan has no name: set Options.Name")
	}
	return nil
}

func nameOf(p *plan.ExecutionPlan, o Options) string {
	name := o.Name
	if name == "" {
		name = p.Name
	}
	clean := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	if clean != "" && (clean[0] >= '0' && clean[0] <= '9' || taken(clean)) {
		return "_" + clean
	}
	return clean
}

// taken says that functions of this name are called: those of the runtime, and what LLVM makes of loops that copy.
func taken(name string) bool {
	return strings.HasPrefix(name, "tl_mem_") ||
		slices.Contains([]string{"tl_last_status", "memcpy", "memmove", "memset"}, name)
}

// module is one visible function and what it needs, before it is written down.
type module struct {
	*unit
	plan  *plan.ExecutionPlan
	opts  Options
	name  string
	place placement
}

// unit is the text of a module, which may have several visible functions.
type unit struct {
	structs   []string          // types, in order
	kernels   map[string]string // names by text
	functions []string          // definitions in order
	declared  map[string]string // declarations and definitions of helpers, by name
	order     []string          // of declared
	globals   []string
	embedded  map[string]string // names of constants by content
}

func newUnit() *unit {
	return &unit{kernels: map[string]string{}, declared: map[string]string{}, embedded: map[string]string{}}
}

// declare adds a declaration, or the definition of a helper, once.
func (m *module) declare(name, text string) {
	if _, known := m.declared[name]; known {
		return
	}
	m.declared[name] = text
	m.order = append(m.order, name)
}

// runtime declares a function of the runtime and returns its name.
func (m *module) runtime(name string) string {
	m.declare(name, strings.ReplaceAll(text.Runtime(name), " ptr ", " "+m.pointer()+" "))
	return "@" + name
}

// kernelAttributes hold for every kernel: it touches memory that its arguments
// point to and constants of the module, calls nothing but intrinsics and functions
// of mathematics, and ends.
func (m *module) kernelAttributes() string {
	return text.ArgumentsOnly(m.opts.Version, "nofree noinline nosync nounwind willreturn")
}

// libraryAttributes hold for functions of C's library, whose errno nobody reads.
func (m *module) libraryAttributes() string {
	if m.opts.Version < text.MemoryKnown {
		return "nofree nosync nounwind readnone willreturn"
	}
	return "nofree nosync nounwind willreturn memory(none)"
}

// dialect tells which versions read the module.
func (m *module) dialect() string {
	switch {
	case m.opts.Version < opaqueKnown:
		return "LLVM 14, without -opaque-pointers"
	case m.opts.Version < text.MemoryKnown:
		return "LLVM 15"
	}
	return "LLVM 16 and later"
}

func (m *module) text(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "; %s: an execution plan of TL Runtime.\n", name)
	fmt.Fprintf(&b, "; For %s.\n", m.dialect())
	if m.opts.Triple != "" {
		fmt.Fprintf(&b, "target triple = %s\n", quoted(m.opts.Triple))
	}
	section(&b, m.structs)
	section(&b, m.globals)
	section(&b, m.functions)
	for _, name := range m.order {
		b.WriteString("\n" + m.declared[name] + "\n")
	}
	fmt.Fprintf(&b, "\nattributes #0 = { %s }\nattributes #1 = { %s }\n", m.kernelAttributes(), m.libraryAttributes())
	b.WriteString("\n!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}\n")
	return b.String()
}

func section(b *strings.Builder, texts []string) {
	for _, t := range texts {
		b.WriteString("\n" + t)
		if !strings.HasSuffix(t, "\n") {
			b.WriteString("\n")
		}
	}
}

// quoted is a string literal of LLVM IR.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
