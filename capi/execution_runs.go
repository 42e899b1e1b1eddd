//go:build full

package main

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

// checkRunIn refuses what a function with memory of its caller cannot be called with.
func checkRunIn(o *object.Context, h uintptr, a runArguments, scratch, bytes uintptr) status.Status {
	e := executions.find(o, h)
	if e == nil {
		return status.InvalidArgument
	}
	need, alignment := uintptr(e.plan.Frame.Bytes), uintptr(llvm.ScratchAlignment(e.plan))
	switch {
	case e.plan.Outside > 0:
		return fail(o, status.InvalidArgument, "the plan moves values to a second space, which is an argument more of "+
			"the function; call it yourself, or compile the form llvm and call tl_execution_run")
	case bytes < need:
		return fail(o, status.InvalidArgument, "the memory has %d bytes; the frame has %d", bytes, need)
	case need > 0 && (!usable(scratch) || scratch%alignment != 0):
		return fail(o, status.InvalidArgument, "the memory is at %#x; it lies at a multiple of %d", scratch, alignment)
	}
	return e.checkArguments(o, a)
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
