//go:build full

package main

import "C"

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"tlruntime/compiler/export"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/graph/json"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// execution is a plan and what the program was given of it.
type execution struct {
	lent
	plan      *plan.ExecutionPlan
	fit       *remat.Result             // what the plan costs
	repeats   map[string]string         // nodes that are computed again, by those that do it
	data      map[*graph.Tensor]uintptr // content of constants
	constants []uintptr                 // addresses of their content, and one more that is 0
}

var executions = handles[execution, *execution]{kind: "execution", maker: "tl_graph_plan", most: 1 << 12}

// keepExecution hands a plan to the program.
func keepExecution(o *object.Context, made *remat.Result, out uintptr) status.Status {
	e := &execution{plan: made.Plan, fit: made, repeats: map[string]string{}, data: map[*graph.Tensor]uintptr{}}
	for _, again := range made.Again {
		e.repeats[again.Node] = again.Of
	}
	for i := range e.plan.Buffers {
		if b := &e.plan.Buffers[i]; b.Kind == plan.Constant {
			at := e.content(b.Constant.Data, b.DType.Bytes())
			e.data[b.Constant] = at
			e.constants = append(e.constants, at)
		}
	}
	e.constants = append(e.constants, 0)
	e.pins.Pin(&e.constants[0])
	h, st := executions.add(o, e)
	if st != status.OK {
		e.end()
		return st
	}
	store(out, h)
	return status.OK
}

func executionInfo(o *object.Context, h, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		return fillStruct(o, out, "tl_execution_info", func() tl_execution_info {
			f := &e.plan.Frame
			info := tl_execution_info{Name: e.text(e.plan.Name), FrameBytes: uintptr(f.Bytes),
				FrameAlignment: uintptr(f.Alignment), LowerBound: uintptr(f.LowerBound),
				NaiveBytes: uintptr(f.NaiveBytes),
				NumBuffers: int64(len(e.plan.Buffers)), NumInstructions: int64(len(e.plan.Instructions)),
				NumInputs: int64(len(e.plan.Inputs)), NumOutputs: int64(len(e.plan.Outputs)),
				NumConstants: int64(len(e.constants) - 1), NumRecomputed: int64(len(e.fit.Again)),
				NumTransfers: int64(len(e.fit.Moved)), OutsideBytes: uintptr(e.plan.Outside),
				Seconds: e.fit.Cost, SecondsOnce: e.fit.Given, NumSymbols: int64(len(e.plan.Symbols))}
			for _, m := range e.fit.Moved {
				info.MovedBytes += uintptr(m.Bytes)
			}
			if f.Optimal {
				info.IsOptimal = 1
			}
			if e.plan.Symbolic != nil && e.plan.Symbolic.Proved {
				info.IsProved = 1
			}
			return info
		})
	})
}

// outside tells of an index that is none.
func outside(o *object.Context, what string, index int64, n int) status.Status {
	return fail(o, status.InvalidArgument, "there is no %s %d; there are %d", what, index, n)
}

// dtypeOf is the number of an element type, -1 of one that C does not have.
func dtypeOf(d graph.DType) int32 {
	if d.Passed() {
		return -1
	}
	return int32(d)
}

func executionBuffer(o *object.Context, h uintptr, buffer int64, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		if buffer < 0 || buffer >= int64(len(e.plan.Buffers)) {
			return outside(o, "buffer", buffer, len(e.plan.Buffers))
		}
		return fillStruct(o, out, "tl_execution_buffer", func() tl_execution_buffer {
			b := &e.plan.Buffers[buffer]
			made := tl_execution_buffer{Name: e.text(b.Name), Kind: int32(b.Kind), Dtype: dtypeOf(b.DType),
				Rank: int64(len(b.Shape)), Shape: e.numbers(b.Shape), Bytes: uintptr(b.Bytes), First: int64(b.First),
				Last: int64(b.Last), Offset: b.Offset, Data: e.data[b.Constant], Outside: -1}
			if b.Kind == plan.Outside {
				made.Outside = b.Outside
			}
			return made
		})
	})
}

// instruction finds one by its index.
func (e *execution) instruction(o *object.Context, i int64) (*plan.Instruction, status.Status) {
	if i < 0 || i >= int64(len(e.plan.Instructions)) {
		return nil, outside(o, "instruction", i, len(e.plan.Instructions))
	}
	return &e.plan.Instructions[i], status.OK
}

func executionInstruction(o *object.Context, h uintptr, instruction int64, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		in, st := e.instruction(o, instruction)
		if st != status.OK {
			return st
		}
		attrs, err := json.WriteAttrs(in.Attrs)
		if err != nil {
			return fail(o, status.Internal, "the attributes of node %q: %v", in.Node, err)
		}
		return fillStruct(o, out, "tl_execution_instruction", func() tl_execution_instruction {
			made := tl_execution_instruction{Node: e.text(in.Node), Op: e.text(in.Op),
				Attributes: e.text(string(attrs)),
				NumInputs:  int64(len(in.Inputs)), NumOutputs: int64(len(in.Outputs)), NumBodies: int64(len(in.Bodies))}
			if in.Scratch != nil {
				made.NumScratch = 1
			}
			if of, again := e.repeats[in.Node]; again {
				made.Repeats = e.text(of)
			}
			return made
		})
	})
}

// operandPlace says which operand is wanted.
type operandPlace struct {
	instruction int64
	role        int32
	index       int64
}

// The numbers of tl_operand_role.
const (
	roleInput = iota
	roleOutput
	roleScratch
)

func (p operandPlace) find(o *object.Context, e *execution) (*plan.Operand, status.Status) {
	var list []plan.Operand
	n := int64(len(e.plan.Instructions))
	switch {
	case p.instruction < -1 || p.instruction >= n:
		return nil, outside(o, "instruction", p.instruction, int(n))
	case p.role < roleInput || p.role > roleScratch:
		return nil, fail(o, status.InvalidArgument, "there is no role %d; tl_operand_role lists them", p.role)
	case p.instruction == -1:
		list = [...][]plan.Operand{e.plan.Inputs, e.plan.Outputs, nil}[p.role]
	default:
		in := &e.plan.Instructions[p.instruction]
		list = [...][]plan.Operand{in.Inputs, in.Outputs, nil}[p.role]
		if p.role == roleScratch && in.Scratch != nil {
			list = []plan.Operand{*in.Scratch}
		}
	}
	if p.index < 0 || p.index >= int64(len(list)) {
		return nil, outside(o, [...]string{"input", "output", "temporary memory"}[p.role], p.index, len(list))
	}
	return &list[p.index], status.OK
}

func executionOperand(o *object.Context, h uintptr, place operandPlace, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		operand, st := place.find(o, e)
		if st != status.OK {
			return st
		}
		return fillStruct(o, out, "tl_execution_operand", func() tl_execution_operand {
			v := &operand.View
			return tl_execution_operand{Name: e.text(operand.Name), Buffer: int64(operand.Buffer),
				Rank: int64(len(v.Shape)), Shape: e.numbers(v.Shape), Strides: e.numbers(v.Strides), Offset: v.Offset}
		})
	})
}

func executionConstants(o *object.Context, h uintptr) uintptr {
	e := executions.find(o, h)
	if e == nil {
		return 0
	}
	return uintptr(unsafe.Pointer(&e.constants[0]))
}

func executionText(o *object.Context, h, form, name uintptr, version int32) (at uintptr) {
	executions.with(o, h, func(e *execution) status.Status {
		at = e.written(o, form, name, version, func(asked formOfText) ([]byte, status.Status) {
			return writeText(o, func(b *strings.Builder) error { return e.write(b, asked) })
		})
		return status.OK
	})
	return at
}

// writeText runs what writes a text, and tells why there is none.
func writeText(o *object.Context, write func(*strings.Builder) error) ([]byte, status.Status) {
	var b strings.Builder
	err := write(&b)
	var missing llvm.MissingError
	switch {
	case errors.As(err, &missing):
		return nil, fail(o, status.Unsupported, "%v", err)
	case err != nil:
		return nil, invalid(o, err)
	}
	return []byte(b.String()), status.OK
}

// memoryOf is where the code of a form has its memory from.
var memoryOf = map[string]llvm.Memory{"llvm": llvm.OneFrame, "llvm-slots": llvm.Slots, "llvm-caller": llvm.Caller,
	"header-caller": llvm.Caller}

// write writes the plan down.
func (e *execution) write(b *strings.Builder, asked formOfText) error {
	code := llvm.Options{Name: asked.name, Version: int(asked.version), Memory: memoryOf[asked.form]}
	var text string
	var err error
	switch asked.form {
	case "json":
		return export.WriteJSON(b, e.plan, export.WithoutContent)
	case "header":
		return export.WriteHeader(b, e.plan, asked.name)
	case "header-caller":
		if err = export.WriteHeader(b, e.plan, asked.name); err == nil {
			text, err = llvm.Header(e.plan, code)
			text = "\n" + text
		}
	case "llvm", "llvm-slots", "llvm-caller":
		text, err = llvm.Module(e.plan, code)
	case "refusal":
		text = llvm.Refusal(e.plan)
	default:
		return fmt.Errorf("the form %q is unknown; there are json, llvm, llvm-slots, llvm-caller, header, header-caller and "+
			"refusal", asked.form)
	}
	b.WriteString(text)
	return err
}

func validateExecution(o *object.Context, h uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		if bytes := plan.ValidationBytes(e.plan); !memory.Obtainable(bytes) {
			return fail(o, status.OutOfMemory, "the system refuses %d bytes for the check of a frame of %d", bytes,
				e.plan.Frame.Bytes)
		}
		if err := plan.Validate(e.plan); err != nil {
			return fail(o, status.Internal, "the plan is wrong, which is a defect of this library: %v", err)
		}
		return status.OK
	})
}

// symbols lists those of the graph's shapes by name, with the numbers that the plan is for.
func (e *execution) symbols() []plan.Symbol {
	if e.plan.Symbolic != nil {
		return e.plan.Symbolic.Symbols
	}
	var list []plan.Symbol
	for _, name := range slices.Sorted(maps.Keys(e.plan.Symbols)) {
		list = append(list, plan.Symbol{Name: name, From: e.plan.Symbols[name], To: e.plan.Symbols[name]})
	}
	return list
}

func executionSymbol(o *object.Context, h uintptr, symbol int64, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		list := e.symbols()
		if symbol < 0 || symbol >= int64(len(list)) {
			return outside(o, "symbol", symbol, len(list))
		}
		return fillStruct(o, out, "tl_execution_symbol", func() tl_execution_symbol {
			s := &list[symbol]
			return tl_execution_symbol{Name: e.text(s.Name), First: s.From, Last: s.To}
		})
	})
}

// placesOut are the addresses of what tl_execution_get_places fills in.
type placesOut struct{ frame, offsets, bytes, n uintptr }

func executionPlaces(o *object.Context, h uintptr, numbers addressList, out placesOut) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	if st := e.checkPlaces(o, numbers, out); st != status.OK {
		return st
	}
	list := make([]int64, numbers.n)
	for i := range list {
		list[i] = load[int64](numbers.at + uintptr(i)*8)
	}
	frame, offsets, err := e.plan.Places(list)
	if err != nil {
		return invalid(o, err)
	}
	sizes, err := e.plan.BufferSizes(list)
	if err != nil {
		return invalid(o, err)
	}
	if out.frame != 0 {
		store(out.frame, uintptr(frame))
	}
	for i := range offsets {
		if out.offsets != 0 {
			store(out.offsets+uintptr(i)*8, offsets[i])
		}
		if out.bytes != 0 {
			store(out.bytes+uintptr(i)*unsafe.Sizeof(out.bytes), uintptr(sizes[i]))
		}
	}
	return status.OK
}

// checkPlaces refuses arrays of other lengths, and what is no address.
func (e *execution) checkPlaces(o *object.Context, numbers addressList, out placesOut) status.Status {
	buffers := uintptr(len(e.plan.Buffers))
	switch {
	case e.plan.Symbolic == nil:
		return fail(o, status.InvalidArgument, "the plan is for one number of each symbol; plan with "+
			"TL_GRAPH_FLAG_SYMBOLIC for all up to a bound")
	case numbers.n != uintptr(len(e.plan.Symbols)):
		return fail(o, status.InvalidArgument, "%d numbers were passed; there are %d symbols", numbers.n,
			len(e.plan.Symbols))
	case numbers.n > 0 && !usable(numbers.at):
		return fail(o, status.InvalidArgument, "an array of %d numbers is needed; %#x is none", numbers.n, numbers.at)
	case (out.offsets != 0 || out.bytes != 0) && out.n != buffers:
		return fail(o, status.InvalidArgument, "there is room for %d buffers; there are %d", out.n, buffers)
	}
	for _, at := range []uintptr{out.frame, out.offsets, out.bytes} {
		if !optional(at) {
			return fail(o, status.InvalidArgument, "%#x is no address to fill in; NULL is for what is not wanted", at)
		}
	}
	return status.OK
}

// runArguments are what a compiled function is called with.
type runArguments struct {
	function        uintptr
	inputs, outputs addressList
}

// checkRun refuses what a function that takes its memory from the runtime cannot be called with.
func checkRun(o *object.Context, h uintptr, a runArguments) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	for i := range e.plan.Buffers {
		if b := &e.plan.Buffers[i]; b.Kind == plan.State {
			return fail(o, status.InvalidArgument, "%q is a state of an arena, which the caller brings; call "+
				"tl_execution_run_in with it", b.Name)
		}
	}
	return e.checkArguments(o, a)
}

// tlentry_execution_refused records why a function has returned TL_E_INVALID_ARGUMENT (graph_run.c).
//
//export tlentry_execution_refused
func tlentry_execution_refused(c, execution uintptr) {
	guarded(c, status.InvalidArgument, func(o *object.Context) status.Status {
		e := executions.find(o, execution)
		if e == nil {
			return status.InvalidArgument
		}
		why := llvm.Refusal(e.plan)
		if why == "" {
			why = "the function is not that of this execution, or takes its memory in another way"
		}
		return fail(o, status.InvalidArgument, "the compiled function has refused the call; %s", why)
	})
}

// space is memory that the caller brings.
type space struct{ at, bytes uintptr }

// checkRunIn refuses what a function with memory of its caller cannot be called with.
func checkRunIn(o *object.Context, h uintptr, a runArguments, memory, second space) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	if st := e.checkSpace(o, memory, e.plan.Frame.Bytes, "memory", "frame"); st != status.OK {
		return st
	}
	if e.plan.Outside == 0 && second != (space{}) {
		// graph_run.c passes outside whenever it has bytes, and this function has no such argument.
		return fail(o, status.InvalidArgument, "outside is %#x with %d bytes; the plan has no second space, and takes NULL and 0",
			second.at, second.bytes)
	}
	if st := e.checkSpace(o, second, e.plan.Outside, "outside", "second space"); st != status.OK {
		return st
	}
	return e.checkArguments(o, a)
}

// checkSpace refuses memory that is too small for a space of the plan, or not aligned.
func (e *execution) checkSpace(o *object.Context, given space, bytes int64, name, what string) status.Status {
	alignment := uintptr(llvm.ScratchAlignment(e.plan))
	switch {
	case given.bytes < uintptr(bytes):
		return fail(o, status.InvalidArgument, "%s has %d bytes; the %s has %d", name, given.bytes, what, bytes)
	case bytes > 0 && (!usable(given.at) || given.at%alignment != 0):
		return fail(o, status.InvalidArgument, "%s is at %#x; it lies at a multiple of %d", name, given.at, alignment)
	}
	return status.OK
}

func (e *execution) checkArguments(o *object.Context, a runArguments) status.Status {
	if !usable(a.function) {
		return fail(o, status.InvalidArgument, "the function is %#x, which is none", a.function)
	}
	if st := e.checkList(o, a.inputs, e.plan.Inputs, "input"); st != status.OK {
		return st
	}
	return e.checkList(o, a.outputs, e.plan.Outputs, "output")
}

func (e *execution) checkList(o *object.Context, given addressList, want []plan.Operand, kind string) status.Status {
	switch {
	case given.n != uintptr(len(want)):
		return fail(o, status.InvalidArgument, "%d %ss were passed; the graph has %d", given.n, kind, len(want))
	case given.n > 0 && !usable(given.at):
		return fail(o, status.InvalidArgument, "an array of %d %ss is needed; %#x is none", given.n, kind, given.at)
	}
	for i := range want {
		at := given.entry(i)
		if e.isLookedAt(want[i].Buffer) && at < layout.LowestAddress {
			return fail(o, status.InvalidArgument, "%s %d, %q, is %#x, which is no tensor", kind, i, want[i].Name, at)
		}
	}
	return status.OK
}

// isLookedAt reports whether the caller brings the content of a buffer.
func (e *execution) isLookedAt(buffer int) bool {
	return buffer >= 0 && e.plan.Buffers[buffer].Bytes > 0 && e.plan.Buffers[buffer].Kind != plan.State
}
