//go:build full

package main

import "C"

import (
	"tlruntime/compiler/llvm"
	"tlruntime/compiler/plan"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

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
