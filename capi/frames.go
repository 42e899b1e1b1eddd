// # Frames
//
// Most values of a function end with it, and most buffers of a loop body are
// the same in every iteration. A frame gives them memory that is allocated by
// advancing a pointer and is freed as a whole. Frames lie on a frame stack
// beside the scopes. The address space of the stack is reserved once for each
// thread; only the part that was used is backed by memory.
//
// tl_mem_function_enter opens a scope and a frame of numbered slots. A slot
// keeps its buffer until the function exits, even if the buffer was first
// requested inside the scope of a loop. A larger request extends the buffer where
// it stands if nothing was taken from the frame stack after it. Otherwise it
// replaces the buffer, and the old buffer stays valid until the function exits. A
// planned frame is one block; the compiler has chosen the offsets inside it.
//
// Frames and the arena are separate, because a frame ends with its function and
// arena memory ends with its scope.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_mem_function_enter opens a scope and a frame of slots buffers. What the
// function registers goes into that scope, and tl_mem_unregister searches no
// further than it.
//
//	C: tl_status tl_mem_function_enter(int64_t slots);
//
// Ownership: none.
// Threads: the calling thread's scopes and frames.
// Returns: TL_OK, or why nothing was opened.
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_LIMIT (more than 2^28 - 1
// slots), TL_E_ARENA_EXHAUSTED (the frame or scope stack is full).
// Cost: fast; about 3 ns, and 1 ns for each slot.
//
//export tlgo_mem_function_enter
func tlgo_mem_function_enter(c uintptr, slots int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.FunctionEnter(slots) })
}

// tl_mem_function_exit closes the newest function frame, with the scopes and
// planned frames that were opened inside it.
//
//	C: tl_status tl_mem_function_exit(void);
//
// Ownership: the references held by the closed scopes are released; buffers of the
// slots become invalid.
// Threads: the calling thread's scopes and frames.
// Returns: TL_OK, or why nothing was closed.
// Errors: TL_E_NO_FRAME.
// Cost: fast; about 3 ns, plus what the scopes cost.
//
//export tlgo_mem_function_exit
func tlgo_mem_function_exit(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).LeaveFunction)
}

// tl_mem_get_buffer returns the buffer of a slot of the newest function frame,
// at least min_bytes long and 64-byte aligned. Asking again for no more than
// before gives the same buffer with its contents. Asking for more may give the
// same address, with its contents and more bytes, or another buffer without
// them, which is larger than the old one by half at least where that fits. So a
// slot that grows in small steps takes a few times the memory of its largest
// request.
//
//	C: void* tl_mem_get_buffer(int64_t slot, int64_t min_bytes);
//
// Ownership: the frame owns the buffer, and those it has replaced, until
// tl_mem_function_exit.
// Threads: the calling thread's frames.
// Returns: the buffer, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (a negative size), TL_E_NO_FRAME,
// TL_E_SLOT_OUT_OF_RANGE, TL_E_ARENA_EXHAUSTED (the frame stack is full).
// Cost: grows; about 3 ns.
//
//export tlgo_mem_get_buffer
func tlgo_mem_get_buffer(c uintptr, slot, minBytes int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.GetBuffer(slot, minBytes) })
}

// tl_mem_frame_enter opens a planned frame: one block, 64-byte aligned, for
// values whose offsets the caller has computed.
//
//	C: void* tl_mem_frame_enter(size_t bytes);
//
// Ownership: the frame owns the block until tl_mem_frame_exit.
// Threads: the calling thread's frames.
// Returns: the block, NULL on failure. A frame of zero bytes has an address too, and
// has to be closed.
// Errors: TL_E_ARENA_EXHAUSTED (the frame or scope stack is full).
// Cost: fast; about 3 ns.
//
//export tlgo_mem_frame_enter
func tlgo_mem_frame_enter(c, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.FrameEnter(bytes) })
}

// tl_mem_frame_exit closes the newest planned frame of this function, with the
// scopes that were opened inside it.
//
//	C: tl_status tl_mem_frame_exit(void);
//
// Ownership: the frame's block becomes invalid; the references held by the closed
// scopes are released.
// Threads: the calling thread's frames.
// Returns: TL_OK, or why nothing was closed.
// Errors: TL_E_NO_FRAME (no planned frame is open in this function).
// Cost: fast; about 3 ns.
//
//export tlgo_mem_frame_exit
func tlgo_mem_frame_exit(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).LeaveFrame)
}
