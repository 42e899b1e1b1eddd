//go:build full

package main

import (
	"unsafe"

	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// bodyPlace says which body is wanted.
type bodyPlace struct{ instruction, body int64 }

func (p bodyPlace) find(o *object.Context, e *execution) (*plan.Instruction, status.Status) {
	in, st := e.instruction(o, p.instruction)
	if st != status.OK {
		return nil, st
	}
	if p.body < 0 || p.body >= int64(len(in.Bodies)) {
		return nil, outside(o, "body", p.body, len(in.Bodies))
	}
	return in, status.OK
}

func executionBody(o *object.Context, h uintptr, place bodyPlace, out, outExecution uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		in, st := place.find(o, e)
		switch {
		case st != status.OK:
			return st
		case !optional(outExecution):
			return fail(o, status.InvalidArgument, "out_execution is %#x, which is no address; NULL is for none",
				outExecution)
		}
		b := &in.Bodies[place.body]
		if out != 0 {
			st := fillStruct(o, out, "tl_execution_body", func() tl_execution_body {
				return tl_execution_body{Name: e.text(b.Name), Frame: b.Frame, NumInputs: int64(len(b.Inputs)),
					Inputs: e.numbers(b.Inputs), NumOutputs: int64(len(b.Outputs)), Outputs: e.numbers(b.Outputs),
					NumCaptures: int64(len(b.Captures)), Captures: e.numbers(indices(b.Captures))}
			})
			if st != status.OK {
				return st
			}
		}
		if outExecution == 0 {
			return status.OK
		}
		return keepExecution(o, &remat.Result{Plan: b.Plan}, outExecution)
	})
}

// indices are the same numbers in the same place: an int has 64 bits wherever the library runs.
func indices(list []int) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(list))), len(list))
}

func executionPort(o *object.Context, h uintptr, place bodyPlace, of operandPlace, out uintptr) status.Status {
	return executions.with(o, h, func(e *execution) status.Status {
		in, st := place.find(o, e)
		if st != status.OK {
			return st
		}
		ports, results := in.Ports(int(place.body))
		what := "input"
		switch of.role {
		case roleInput:
		case roleOutput:
			ports, what = results, "output"
		default:
			return fail(o, status.InvalidArgument, "there is no role %d of a port; it is an input or an output", of.role)
		}
		if of.index < 0 || of.index >= int64(len(ports)) {
			return outside(o, what, of.index, len(ports))
		}
		return fillStruct(o, out, "tl_execution_port", func() tl_execution_port {
			p := &ports[of.index]
			port := tl_execution_port{Role: int32(p.Role), Argument: int64(p.Argument), Result: int64(p.Result),
				Axis: int64(p.Axis)}
			if p.Back {
				port.IsBack = 1
			}
			return port
		})
	})
}
