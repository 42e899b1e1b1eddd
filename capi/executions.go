//go:build full

// # Executions
//
// An execution is a planned graph: instructions in strict order, the buffers that
// they read and write, and the offset of each buffer in one frame. A compiler of its
// own walks the instructions. Others take the text: LLVM IR of one function
//
//	int32_t NAME(const void* const* inputs, void* const* outputs, const void* const* constants);
//
// which takes the frame from the runtime, computes the outputs, and returns a
// tl_status. tl_execution_run calls the function when it was compiled. Its memory can be
// the program's instead: tl_execution_run_in.
//
// An execution does not change. Strings and arrays that its functions return belong
// to it: they are valid until tl_execution_destroy.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_buffer_kind tells whose memory a buffer of an execution is.
//
//	C: enum tl_buffer_kind {
//	    TL_BUFFER_KIND_ACTIVATION = 0, /* in the frame */
//	    TL_BUFFER_KIND_INPUT = 1,      /* the caller's, read only; with TL_GRAPH_FLAG_PLACE_INPUTS in the frame */
//	    TL_BUFFER_KIND_OUTPUT = 2,     /* the caller's; with TL_GRAPH_FLAG_PLACE_OUTPUTS in the frame */
//	    TL_BUFFER_KIND_CONSTANT = 3,   /* the execution's, read only */
//	    TL_BUFFER_KIND_STATE = 4,      /* in an arena, where it keeps its content between calls */
//	    TL_BUFFER_KIND_OUTSIDE = 5     /* in the second space */
//	};
const _ = "tl_buffer_kind"

// tl_operand_role tells what an operand is to its instruction.
//
//	C: enum tl_operand_role {
//	    TL_OPERAND_ROLE_INPUT = 0,
//	    TL_OPERAND_ROLE_OUTPUT = 1,
//	    TL_OPERAND_ROLE_SCRATCH = 2 /* temporary memory, without a meaning before and after */
//	};
const _ = "tl_operand_role"

// tl_execution_info describes an execution. Set struct_size before the call, which
// fills in as much as there is room for.
//
//	C: typedef struct tl_execution_info {
//	    size_t struct_size;       /* sizeof(tl_execution_info) */
//	    const char* name;
//	    size_t frame_bytes;
//	    size_t frame_alignment;
//	    size_t lower_bound;       /* no placement of these buffers is smaller */
//	    size_t naive_bytes;       /* what a buffer for each value would take */
//	    int64_t is_optimal;       /* 1: no placement is smaller, which is proved */
//	    int64_t num_buffers;
//	    int64_t num_instructions;
//	    int64_t num_inputs;
//	    int64_t num_outputs;
//	    int64_t num_constants;    /* buffers of kind TL_BUFFER_KIND_CONSTANT */
//	    int64_t num_recomputed;   /* nodes that are computed again for the capacity */
//	    int64_t num_transfers;    /* to the second space and back */
//	    size_t moved_bytes;       /* of all transfers */
//	    size_t outside_bytes;     /* of the second space; 0: there is none */
//	    double seconds;           /* that the nodes take, estimated by the rates; 0 for a body */
//	    double seconds_once;      /* the same when none is computed again and nothing is moved */
//	    int64_t num_symbols;
//	    int64_t is_proved;        /* 1: tl_execution_get_places was compared with a plan for all numbers */
//	} tl_execution_info;
const _ = "tl_execution_info"

// tl_execution_symbol describes a symbol in the shapes of the graph, by name, and the
// numbers that the plan is for. Without TL_GRAPH_FLAG_SYMBOLIC that is one number.
//
//	C: typedef struct tl_execution_symbol {
//	    size_t struct_size; /* sizeof(tl_execution_symbol) */
//	    const char* name;
//	    int64_t first;      /* a lower number takes the memory and the places of this one */
//	    int64_t last;       /* the bound */
//	} tl_execution_symbol;
const _ = "tl_execution_symbol"

// tl_execution_buffer describes a buffer: that of one value, in which others may lie.
//
//	C: typedef struct tl_execution_buffer {
//	    size_t struct_size;   /* sizeof(tl_execution_buffer) */
//	    const char* name;     /* of the value that it was made for */
//	    int32_t kind;         /* tl_buffer_kind */
//	    int32_t dtype;        /* tl_dtype; -1: one of ONNX's that plans pass on, strings or narrow numbers */
//	    int64_t rank;
//	    const int64_t* shape; /* of that value */
//	    size_t bytes;
//	    int64_t first;        /* instruction that touches it first; -1: alive before the first one */
//	    int64_t last;         /* the last one; num_instructions: alive afterwards */
//	    int64_t offset;       /* bytes in the frame; -1: it is not there */
//	    const void* data;     /* content of a constant; NULL for others */
//	    int64_t outside;      /* bytes in the second space; -1: it is not there */
//	} tl_execution_buffer;
const _ = "tl_execution_buffer"

// tl_execution_instruction describes an instruction: one operator at work. Besides those
// of ONNX there are Copy, and MoveOut and MoveIn, which copy to the second space and back.
//
//	C: typedef struct tl_execution_instruction {
//	    size_t struct_size;     /* sizeof(tl_execution_instruction) */
//	    const char* node;       /* name of the node it came from */
//	    const char* op;
//	    const char* attributes; /* a JSON object that has all of them, defaults, too */
//	    int64_t num_inputs;
//	    int64_t num_outputs;
//	    int64_t num_scratch;    /* 0 or 1 */
//	    const char* repeats;    /* the node that it computes again for the capacity; NULL: none */
//	    int64_t num_bodies;     /* graphs that it runs: tl_execution_get_body */
//	} tl_execution_instruction;
const _ = "tl_execution_instruction"

// tl_execution_operand describes a tensor in a buffer. Element (i, j, ...) lies
// offset + i * strides[0] + j * strides[1] + ... elements behind the buffer's start.
//
//	C: typedef struct tl_execution_operand {
//	    size_t struct_size;     /* sizeof(tl_execution_operand) */
//	    const char* name;       /* of the value */
//	    int64_t buffer;         /* -1: the argument was left out, or nobody wants the result */
//	    int64_t rank;
//	    const int64_t* shape;
//	    const int64_t* strides; /* in elements */
//	    int64_t offset;         /* in elements */
//	} tl_execution_operand;
const _ = "tl_execution_operand"

// tl_execution_destroy ends an execution, and with it every string and array that its
// functions have returned.
//
//	C: tl_status tl_execution_destroy(tl_execution* execution);
//
// Ownership: takes the execution.
// Threads: any thread, when no other one uses the execution.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_INVALID_ARGUMENT (no such execution).
//
//export tlgo_execution_destroy
func tlgo_execution_destroy(c, execution uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return executions.destroy(o, execution) })
}

// tl_execution_get_info describes an execution.
//
//	C: tl_status tl_execution_get_info(const tl_execution* execution, tl_execution_info* out_info);
//
// Ownership: the name belongs to the execution.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, no out_info, a struct_size that is too
// small).
//
//export tlgo_execution_get_info
func tlgo_execution_get_info(c, execution, outInfo uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return executionInfo(o, execution, outInfo) })
}

// tl_execution_get_buffer describes a buffer, by its index.
//
//	C: tl_status tl_execution_get_buffer(const tl_execution* execution, int64_t buffer,
//	    tl_execution_buffer* out_buffer);
//
// Ownership: name, shape and data belong to the execution.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution or buffer, no out_buffer, a struct_size
// that is too small).
//
//export tlgo_execution_get_buffer
func tlgo_execution_get_buffer(c, execution uintptr, buffer int64, outBuffer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionBuffer(o, execution, buffer, outBuffer)
	})
}

// tl_execution_get_instruction describes an instruction, by its index.
//
//	C: tl_status tl_execution_get_instruction(const tl_execution* execution, int64_t instruction,
//	    tl_execution_instruction* out_instruction);
//
// Ownership: the strings belong to the execution.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution or instruction, no out_instruction, a
// struct_size that is too small).
//
//export tlgo_execution_get_instruction
func tlgo_execution_get_instruction(c, execution uintptr, instruction int64, outInstruction uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionInstruction(o, execution, instruction, outInstruction)
	})
}

// tl_execution_get_operand describes an operand of an instruction, or, with -1 as the
// instruction, an input or output of the graph, in the order in which it declares them.
//
//	C: tl_status tl_execution_get_operand(const tl_execution* execution, int64_t instruction, int32_t role,
//	    int64_t index, tl_execution_operand* out_operand);
//
// Ownership: name, shape and strides belong to the execution.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, instruction, role or operand, no
// out_operand, a struct_size that is too small).
//
//export tlgo_execution_get_operand
func tlgo_execution_get_operand(c, execution uintptr, instruction int64, role int32, index int64,
	outOperand uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionOperand(o, execution, operandPlace{instruction, role, index}, outOperand)
	})
}

// tl_execution_get_symbol describes a symbol, by its index.
//
//	C: tl_status tl_execution_get_symbol(const tl_execution* execution, int64_t symbol,
//	    tl_execution_symbol* out_symbol);
//
// Ownership: the name belongs to the execution.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution or symbol, no out_symbol, a struct_size
// that is too small).
//
//export tlgo_execution_get_symbol
func tlgo_execution_get_symbol(c, execution uintptr, symbol int64, outSymbol uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionSymbol(o, execution, symbol, outSymbol)
	})
}

// tl_execution_get_places tells for other numbers of the symbols, in their order and from 0 on, how
// large the frame is, and the place and size of each buffer. The execution was planned
// with TL_GRAPH_FLAG_SYMBOLIC. A buffer outside the frame has the offset -1. No two
// buffers that are alive at once share a byte, whatever the numbers; is_proved of
// tl_execution_info tells whether the sizes were compared for all of them or for a sample.
// The text of form "llvm" is for the bounds.
//
//	C: tl_status tl_execution_get_places(const tl_execution* execution, const int64_t* numbers, size_t num_numbers,
//	    size_t* out_frame_bytes, int64_t* out_offsets, size_t* out_bytes, size_t num_buffers);
//
// Ownership: the numbers are only read. out_offsets and out_bytes have num_buffers
// entries, as many as the execution has buffers; each out parameter may be NULL.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, one that was not planned so, another
// number of symbols or buffers, a number below 0 or above its bound).
// Cost: slow call; grows with the number of buffers and of those that they lie on.
//
//export tlgo_execution_get_places
func tlgo_execution_get_places(c, execution, numbers, numNumbers, outFrameBytes, outOffsets, outBytes,
	numBuffers uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return executionPlaces(o, execution, addressList{numbers, numNumbers},
			placesOut{outFrameBytes, outOffsets, outBytes, numBuffers})
	})
}

// tl_execution_constants returns what the compiled function takes as constants: the
// addresses of the content of all constant buffers, in their order.
//
//	C: const void* const* tl_execution_constants(const tl_execution* execution);
//
// Ownership: the array and the content belong to the execution; the content is read only.
// Returns: the array; NULL on failure. One without constants has a NULL behind its end.
// Errors: TL_E_INVALID_ARGUMENT (no such execution).
//
//export tlgo_execution_constants
func tlgo_execution_constants(c, execution uintptr) uintptr {
	return guarded(c, uintptr(0), func(o *object.Context) uintptr { return executionConstants(o, execution) })
}

// tl_execution_text writes an execution down. form is "json" (as `tl plan -o FILE.json`
// writes it), "llvm" (a module in LLVM IR with one function), "llvm-slots" (its memory
// comes from slots of a function's frame), "llvm-caller" (its memory is one more argument,
// `void* scratch`, and that of a second space another, `void* outside`, and it calls
// nothing of the library: tl_execution_run_in), "header"
// (offsets as C macros), "header-caller" (these and the declaration of the function of
// "llvm-caller") or "refusal" (what the function looks at while it runs, and returns
// TL_E_INVALID_ARGUMENT for; "" when that is nothing). name is that of the function or the
// prefix of the macros; NULL takes the graph's. llvm_version is the major version of the LLVM
// that reads the module, from 14; 0 is the newest one.
//
//	C: const char* tl_execution_text(const tl_execution* execution, const char* form, const char* name,
//	    int32_t llvm_version);
//
// Ownership: the text belongs to the execution, which keeps one for each form, name and
// version.
// Returns: the text; NULL on failure.
// Errors: TL_E_INVALID_ARGUMENT (no such execution or form, a name above 4095 bytes, a
// version that is too old, an alignment above 64 for LLVM with memory of the library,
// states of an arena with memory that is not the caller's), TL_E_UNSUPPORTED
// (LLVM alone: operators that have no kernel; the message names all of them).
// Cost: slow call; that of writing the text.
//
//export tlgo_execution_text
func tlgo_execution_text(c, execution, form, name uintptr, llvmVersion int32) uintptr {
	return guarded(c, uintptr(0), func(o *object.Context) uintptr {
		return executionText(o, execution, form, name, llvmVersion)
	})
}

// tl_execution_validate checks an execution with code that is independent of the
// planner: lifetimes, overlaps, offsets, and, up to 2^27 elements, what each instruction
// finds.
//
//	C: tl_status tl_execution_validate(const tl_execution* execution);
//
// Ownership: none.
// Returns: TL_OK; else the plan has a defect, which is one of this library, and the
// message names it.
// Errors: TL_E_INVALID_ARGUMENT (no such execution), TL_E_OUT_OF_MEMORY.
// Cost: slow call; grows with the square of the number of buffers, and with the elements.
//
//export tlgo_execution_validate
func tlgo_execution_validate(c, execution uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return validateExecution(o, execution) })
}

// tl_execution_run calls the compiled function of an execution, with the execution's
// constants. inputs and outputs are the addresses of the tensors' content, row by row
// without gaps, in the order of the graph's inputs and outputs. function is the address
// of the function in the compiled text of form "llvm".
//
//	C: tl_status tl_execution_run(const tl_execution* execution, void* function, const void* const* inputs,
//	    size_t num_inputs, void* const* outputs, size_t num_outputs);
//
// Ownership: inputs are only read, outputs written.
// Threads: any thread, several at once; none may destroy the execution meanwhile.
// Returns: what the function returns, such as TL_OK; or why it was not called. It is not
// checked whether the function is that of the execution.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, no function, another number of
// inputs or outputs, an address that is none where the tensor has bytes; or the function
// has found something wrong, such as an index out of range, and the message names the
// nodes that look).
// Cost: slow call; two of them, and that of the function.
// Path: fast.
//
//export tlgo_execution_run
func tlgo_execution_run(c, execution, function, inputs, numInputs, outputs, numOutputs uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return checkRun(o, execution, runArguments{function, addressList{inputs, numInputs},
			addressList{outputs, numOutputs}})
	})
}

// tl_execution_run_in is tl_execution_run for a function that is given its memory: that of
// the form "llvm-caller", or of an entry of an arena (tl_graph_arena_text). memory has at
// least frame_bytes bytes of tl_execution_info, and outside, to which values are moved, at
// least outside_bytes; both lie at a multiple of frame_alignment and of 64, and overlap
// neither each other nor a tensor. A plan without a second space takes NULL and 0. For an
// entry of an arena memory is the arena: inputs and outputs that are states lie there,
// and their entries in the arrays are not looked at. Otherwise the content of both has no
// meaning before and after.
//
//	C: tl_status tl_execution_run_in(const tl_execution* execution, void* function, const void* const* inputs,
//	    size_t num_inputs, void* const* outputs, size_t num_outputs, void* memory, size_t bytes, void* outside,
//	    size_t outside_bytes);
//
// Ownership: inputs are only read, outputs, memory and outside written; all stay the
// caller's.
// Threads: any thread, several at once with memory of their own; none may destroy the
// execution meanwhile.
// Returns: what the function returns, such as TL_OK; or why it was not called. It is not
// checked whether the function is that of the execution, and takes its memory so.
// Errors: TL_E_INVALID_ARGUMENT (no such execution, no function, another number of
// inputs or outputs, an address that is none where the tensor has bytes, memory of one of
// the two spaces that is too small or not aligned, outside for a plan that has no second
// space; or what the function has found wrong, as in tl_execution_run).
// Cost: slow call; two of them, and that of the function. Nothing is allocated.
// Path: fast.
//
//export tlgo_execution_run_in
func tlgo_execution_run_in(c, execution, function, inputs, numInputs, outputs, numOutputs, memory, bytes, outside,
	outsideBytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return checkRunIn(o, execution, runArguments{function, addressList{inputs, numInputs},
			addressList{outputs, numOutputs}}, space{memory, bytes}, space{outside, outsideBytes})
	})
}
