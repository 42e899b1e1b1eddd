// # Frames
//
// Most values of a function die with it, and most buffers of a loop body are
// the same in every iteration. A frame gives them memory that costs a bump and
// is never freed one by one. It lies on a frame stack beside the scopes, in
// address space that is reserved once for each thread and backed by memory only
// as far as it was used.
//
// tl_mem_function_enter opens a scope and a frame of numbered slots. A slot's
// buffer stays the same until the function exits, also when it was first taken
// in a loop's scope; a buffer that was outgrown stays valid as long. A planned
// frame is one block whose inside the compiler has laid out itself.
//
// Frames follow functions, the arena follows scopes: that is why there are two.
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
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_LIMIT (more than 2^29 - 1
// slots), TL_E_ARENA_EXHAUSTED (the frame or scope stack is full).
// Cost: about 3 ns, and 1 ns for each slot.
// Path: fast.
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
// Ownership: the references held by the closed scopes are released; buffers of
// the slots are dead.
// Threads: the calling thread's scopes and frames.
// Returns: TL_OK, or why nothing was closed.
// Errors: TL_E_NO_FRAME.
// Cost: about 3 ns, plus what the scopes cost.
// Path: fast.
//
//export tlgo_mem_function_exit
func tlgo_mem_function_exit(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).LeaveFunction)
}

// tl_mem_get_buffer returns the buffer of a slot of the newest function frame,
// at least min_bytes long and 64-byte aligned. Asking again for no more than
// before gives the same buffer with its contents.
//
//	C: void* tl_mem_get_buffer(int64_t slot, int64_t min_bytes);
//
// Ownership: the frame owns the buffer until tl_mem_function_exit.
// Threads: the calling thread's frames.
// Returns: the buffer, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (a negative size), TL_E_NO_FRAME,
// TL_E_SLOT_OUT_OF_RANGE, TL_E_ARENA_EXHAUSTED (the frame stack is full).
// Cost: about 3 ns.
// Path: fast.
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
// Returns: the block, NULL on failure; also for zero bytes an address, and a
// frame to leave.
// Errors: TL_E_ARENA_EXHAUSTED (the frame or scope stack is full).
// Cost: about 3 ns.
// Path: fast.
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
// Ownership: the frame's block is dead; the references held by the closed
// scopes are released.
// Threads: the calling thread's frames.
// Returns: TL_OK, or why nothing was closed.
// Errors: TL_E_NO_FRAME (no planned frame is open in this function).
// Cost: about 3 ns.
// Path: fast.
//
//export tlgo_mem_frame_exit
func tlgo_mem_frame_exit(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).LeaveFrame)
}
