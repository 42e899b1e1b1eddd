//go:build full

package main

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"tlruntime/compiler/export"
	"tlruntime/compiler/graph"
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// execution is a plan and what the program was given of it. Memory that the program may read
// is pinned until the execution ends.
type execution struct {
	plan      *plan.ExecutionPlan
	fit       *remat.Result     // what the plan costs
	repeats   map[string]string // nodes that are computed again, by those that do it
	constants []uintptr         // addresses of their content, and one more that is 0

	mu    sync.Mutex // guards the rest
	pins  runtime.Pinner
	seen  map[*int64]bool           // shapes that are pinned
	texts map[string]uintptr        // strings by their content
	forms map[formOfText]uintptr    // what was written
	data  map[*graph.Tensor]uintptr // content of constants
}

// formOfText is what a text was asked for as.
type formOfText struct {
	form, name string
	version    int32
}

var executions = handles[execution]{kind: "execution", maker: "tl_graph_plan", most: 1 << 12}

// keepExecution hands a plan to the program.
func keepExecution(o *object.Context, made *remat.Result, out uintptr) status.Status {
	e := &execution{plan: made.Plan, fit: made, repeats: map[string]string{}, seen: map[*int64]bool{},
		texts: map[string]uintptr{}, forms: map[formOfText]uintptr{}, data: map[*graph.Tensor]uintptr{}}
	for _, again := range made.Again {
		e.repeats[again.Node] = again.Of
	}
	e.pinConstants()
	h, st := executions.add(o, e)
	if st != status.OK {
		e.pins.Unpin()
		return st
	}
	store(out, h)
	return status.OK
}

// pinConstants finds the addresses of all constants. Content that is not aligned to its
// elements is copied.
func (e *execution) pinConstants() {
	for i := range e.plan.Buffers {
		b := &e.plan.Buffers[i]
		if b.Kind != plan.Constant {
			continue
		}
		content := b.Constant.Data
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(content))); at%uintptr(max(b.DType.Bytes(), 1)) != 0 {
			words := make([]uint64, len(content)/8+1)
			content = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(content))
			copy(content, b.Constant.Data)
		}
		var at uintptr
		if len(content) > 0 {
			at = e.pinned(unsafe.Pointer(&content[0]))
		}
		e.data[b.Constant] = at
		e.constants = append(e.constants, at)
	}
	e.constants = append(e.constants, 0)
	e.pins.Pin(&e.constants[0])
}

func (e *execution) pinned(p unsafe.Pointer) uintptr {
	e.pins.Pin((*byte)(p))
	return uintptr(p)
}

// text returns the address of a C string, the same for the same text. The lock is held.
func (e *execution) text(s string) uintptr {
	s, _, _ = strings.Cut(s, "\x00")
	at, known := e.texts[s]
	if !known {
		content := append([]byte(s), 0)
		at = e.pinned(unsafe.Pointer(&content[0]))
		e.texts[s] = at
	}
	return at
}

// numbers returns the address of numbers of the plan, 0 when there are none. The lock is held.
func (e *execution) numbers(list []int64) uintptr {
	if len(list) == 0 {
		return 0
	}
	first := &list[0]
	if !e.seen[first] {
		e.seen[first] = true
		e.pins.Pin(first)
	}
	return uintptr(unsafe.Pointer(first))
}

// withExecution runs body with the execution's lock held.
func withExecution(o *object.Context, h uintptr, body func(*execution) status.Status) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return body(e)
}

func destroyExecution(o *object.Context, h uintptr) status.Status {
	if h == 0 {
		return status.OK
	}
	e := executions.remove(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pins.Unpin()
	return status.OK
}

func executionInfo(o *object.Context, h, out uintptr) status.Status {
	return withExecution(o, h, func(e *execution) status.Status {
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

func executionBuffer(o *object.Context, h uintptr, buffer int64, out uintptr) status.Status {
	return withExecution(o, h, func(e *execution) status.Status {
		if buffer < 0 || buffer >= int64(len(e.plan.Buffers)) {
			return outside(o, "buffer", buffer, len(e.plan.Buffers))
		}
		return fillStruct(o, out, "tl_execution_buffer", func() tl_execution_buffer {
			b := &e.plan.Buffers[buffer]
			made := tl_execution_buffer{Name: e.text(b.Name), Kind: int32(b.Kind), Dtype: int32(b.DType),
				Rank: int64(len(b.Shape)), Shape: e.numbers(b.Shape), Bytes: uintptr(b.Bytes), First: int64(b.First),
				Last: int64(b.Last), Offset: b.Offset, Data: e.data[b.Constant], Outside: -1}
			if b.Kind == plan.Outside {
				made.Outside = b.Outside
			}
			return made
		})
	})
}

func executionInstruction(o *object.Context, h uintptr, instruction int64, out uintptr) status.Status {
	return withExecution(o, h, func(e *execution) status.Status {
		if instruction < 0 || instruction >= int64(len(e.plan.Instructions)) {
			return outside(o, "instruction", instruction, len(e.plan.Instructions))
		}
		in := &e.plan.Instructions[instruction]
		attrs, err := graph.WriteAttrs(in.Attrs)
		if err != nil {
			return fail(o, status.Internal, "the attributes of node %q: %v", in.Node, err)
		}
		return fillStruct(o, out, "tl_execution_instruction", func() tl_execution_instruction {
			made := tl_execution_instruction{Node: e.text(in.Node), Op: e.text(in.Op),
				Attributes: e.text(string(attrs)),
				NumInputs:  int64(len(in.Inputs)), NumOutputs: int64(len(in.Outputs))}
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
	return withExecution(o, h, func(e *execution) status.Status {
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
	withExecution(o, h, func(e *execution) status.Status {
		asked := formOfText{version: version}
		var st status.Status
		if asked.form, st = textOf(o, form, "a form"); st != status.OK {
			return st
		}
		if name != 0 {
			if asked.name, st = textOf(o, name, "a name"); st != status.OK {
				return st
			}
		}
		at = e.forms[asked]
		if at != 0 {
			return status.OK
		}
		written, st := e.write(o, asked)
		if st == status.OK {
			content := append(written, 0)
			at = e.pinned(unsafe.Pointer(&content[0]))
			e.forms[asked] = at
		}
		return st
	})
	return at
}

// write writes the plan down.
func (e *execution) write(o *object.Context, asked formOfText) ([]byte, status.Status) {
	var b strings.Builder
	var err error
	switch asked.form {
	case "json":
		err = export.WriteJSON(&b, e.plan, export.WithoutContent)
	case "header":
		err = export.WriteHeader(&b, e.plan, asked.name)
	case "llvm":
		var text string
		text, err = llvm.Module(e.plan, llvm.Options{Name: asked.name, Version: int(asked.version)})
		b.WriteString(text)
	default:
		return nil, fail(o, status.InvalidArgument, "the form %q is unknown; there are json, llvm and header",
			asked.form)
	}
	var missing llvm.MissingError
	switch {
	case errors.As(err, &missing):
		return nil, fail(o, status.Unsupported, "%v", err)
	case err != nil:
		return nil, invalid(o, err)
	}
	return []byte(b.String()), status.OK
}

func validateExecution(o *object.Context, h uintptr) status.Status {
	return withExecution(o, h, func(e *execution) status.Status {
		if err := plan.Validate(e.plan); err != nil {
			return fail(o, status.Internal, "the plan is wrong, which is a defect of this library: %v", err)
		}
		return status.OK
	})
}

// tensorList is an array of addresses of tensors.
type tensorList struct{ at, n uintptr }

// checkRun refuses what a compiled function cannot be called with.
func checkRun(o *object.Context, h, function uintptr, inputs, outputs tensorList) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	if !usable(function) {
		return fail(o, status.InvalidArgument, "the function is %#x, which is none", function)
	}
	if st := e.checkList(o, inputs, e.plan.Inputs, "input"); st != status.OK {
		return st
	}
	return e.checkList(o, outputs, e.plan.Outputs, "output")
}

func (e *execution) checkList(o *object.Context, given tensorList, want []plan.Operand, kind string) status.Status {
	switch {
	case given.n != uintptr(len(want)):
		return fail(o, status.InvalidArgument, "%d %ss were passed; the graph has %d", given.n, kind, len(want))
	case given.n > 0 && !usable(given.at):
		return fail(o, status.InvalidArgument, "an array of %d %ss is needed; %#x is none", given.n, kind, given.at)
	}
	for i := range want {
		at := load[uintptr](given.at + uintptr(i)*unsafe.Sizeof(given.at))
		if b := want[i].Buffer; b >= 0 && e.plan.Buffers[b].Bytes > 0 && at < layout.LowestAddress {
			return fail(o, status.InvalidArgument, "%s %d, %q, is %#x, which is no tensor", kind, i, want[i].Name, at)
		}
	}
	return status.OK
}
