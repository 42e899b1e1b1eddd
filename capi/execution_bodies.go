//go:build full

// # Bodies of executions
//
// An instruction runs other graphs where it is an If, a Loop or a Scan, or an operator that
// is not known and has graphs as attributes. Each of them is a body: an execution of its
// own, whose memory lies in the instruction's temporary memory. Its ports, which are its
// inputs and outputs, tell what goes in and out at each turn.
package main

import "C"

import (
	"unsafe"

	"tlruntime/compiler/plan"
	"tlruntime/compiler/remat"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_port_role tells what an input or an output of a body is to its instruction.
//
//	C: enum tl_port_role {
//	    TL_PORT_ROLE_FOREIGN = 0,  /* the instruction's operator is not known */
//	    TL_PORT_ROLE_CAPTURE = 1,  /* an argument of the instruction, the same in all turns */
//	    TL_PORT_ROLE_COUNTER = 2,  /* the number of the turn, from 0 */
//	    TL_PORT_ROLE_GOING = 3,    /* as an input true; as an output, whether there is one more turn */
//	    TL_PORT_ROLE_CARRIED = 4,  /* as an output, what the input is in the next turn; the last one is the result */
//	    TL_PORT_ROLE_SCANNED = 5,  /* a part of an argument, another one in each turn */
//	    TL_PORT_ROLE_RESULT = 6,   /* a result of the instruction */
//	    TL_PORT_ROLE_COLLECTED = 7 /* a part of a result, another one in each turn */
//	};
const _ = "tl_port_role"

// tl_execution_body describes a graph that an instruction runs: a branch of If, what Loop
// or Scan repeats. What it needs lies in the instruction's temporary memory, at offsets in
// bytes. What is at -1 has no memory of its own: the last num_captures inputs are the
// arguments of the instruction at the indices in captures. What a Loop or Scan carries lies
// in the instruction's result, into which its first content is copied; what a turn reads or
// adds is the part of that turn in an argument or a result; the outputs of a branch are the
// results. tl_execution_get_port tells which argument or result.
//
//	C: typedef struct tl_execution_body {
//	    size_t struct_size;      /* sizeof(tl_execution_body) */
//	    const char* name;        /* then_branch, else_branch, body */
//	    int64_t frame;           /* where the frame of its execution begins */
//	    int64_t num_inputs;
//	    const int64_t* inputs;   /* where each lies */
//	    int64_t num_outputs;
//	    const int64_t* outputs;  /* where each lies */
//	    int64_t num_captures;
//	    const int64_t* captures; /* arguments of the instruction */
//	} tl_execution_body;
const _ = "tl_execution_body"

// tl_execution_port describes an input or an output of a body.
//
//	C: typedef struct tl_execution_port {
//	    size_t struct_size; /* sizeof(tl_execution_port) */
//	    int32_t role;       /* tl_port_role */
//	    int32_t is_back;    /* 1: the first turn has the last part of the whole */
//	    int64_t argument;   /* index of the argument of the instruction that is captured or scanned, or that is carried at first; -1: none */
//	    int64_t result;     /* index of the result of the instruction that this port is, or of which it is a part; -1: none */
//	    int64_t axis;       /* of the whole, along which the parts of the turns lie; 0 for other roles */
//	} tl_execution_port;
const _ = "tl_execution_port"

// tl_execution_get_body describes a graph that an instruction runs, by its index, and
// returns its plan as an execution. Each of the two may be NULL.
//
//	C: tl_status tl_execution_get_body(const tl_execution* execution, int64_t instruction, int64_t body,
//	    tl_execution_body* out_body, tl_execution** out_execution);
//
// Ownership: name and arrays belong to the execution. The caller ends *out_execution with
// tl_execution_destroy; it does not need this execution. Each call makes one.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, instruction or body, a struct_size
// that is too small), TL_E_LIMIT (4,096 executions).
//
//export tlgo_execution_get_body
func tlgo_execution_get_body(c, execution uintptr, instruction, body int64, outBody, outExecution uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionBody(o, execution, bodyPlace{instruction, body}, outBody, outExecution)
	})
}

// tl_execution_get_port tells what an input or an output of a body is to the instruction
// that runs it. role is TL_OPERAND_ROLE_INPUT or TL_OPERAND_ROLE_OUTPUT.
//
//	C: tl_status tl_execution_get_port(const tl_execution* execution, int64_t instruction, int64_t body, int32_t role,
//	    int64_t index, tl_execution_port* out_port);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, instruction, body, role, input or
// output, no out_port, a struct_size that is too small).
//
//export tlgo_execution_get_port
func tlgo_execution_get_port(c, execution uintptr, instruction, body int64, role int32, index int64,
	outPort uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionPort(o, execution, bodyPlace{instruction, body}, operandPlace{role: role, index: index},
			outPort)
	})
}

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
