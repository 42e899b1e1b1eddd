// # Scopes
//
// A scope is a mark on a stack of references that each thread has. A
// registration pushes a reference onto the stack; the exit of the scope pops
// and releases the references down to the mark, newest first. So a block of
// emitted code needs two calls, however many objects it creates and however
// control leaves it.
//
// Scopes exist because a compiler finds the end of a block far more cheaply
// than the last use of every value. Objects are counted as well, because values
// outlive blocks. The exit of a scope also restores the arena (see Arena) to
// where it stood when the scope was entered.
//
// Below depth 0 every thread has a root scope. References that are registered
// while no scope is open go there. They are released after the thread has
// ended, or by tl_shutdown.
//
// Each entry has the generation of its object. When a program frees an object
// by hand while a scope still lists it, the scope's exit skips the entry and
// counts it (scope_entries_skipped in tl_stats). It does not release the object
// that uses the address by then.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_mem_enter_scope opens a scope on the calling thread.
//
//	C: tl_status tl_mem_enter_scope(void);
//
// Ownership: none.
// Threads: the calling thread's scopes.
// Returns: TL_OK, or why no scope was opened.
// Errors: TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 2 ns.
//
//export tlgo_mem_enter_scope
func tlgo_mem_enter_scope(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).EnterScope)
}

// tl_mem_exit_scope closes the innermost scope of the calling thread: releases
// its references, newest first, and restores the arena. Destructors that run
// meanwhile may open and close scopes, and may register objects into the closing
// one; those are released too. It never closes the scope that
// tl_mem_function_enter opened nor one below an open planned frame.
//
//	C: tl_status tl_mem_exit_scope(void);
//
// Ownership: the references held by the scope are released.
// Threads: the calling thread's scopes.
// Returns: TL_OK, or why nothing was closed.
// Errors: TL_E_SCOPE_UNDERFLOW.
// Cost: fast; about 2 ns and 2 ns for each reference, plus what destructors cost.
//
//export tlgo_mem_exit_scope
func tlgo_mem_exit_scope(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).LeaveScope)
}

// tl_mem_exit_scopes_to closes scopes, function frames and planned frames of the
// calling thread until depth scopes are open: for early returns, and for unwinding
// after an exception or a longjmp. With the current depth it closes nothing.
//
//	C: tl_status tl_mem_exit_scopes_to(int64_t depth);
//
// Ownership: the references held by the closed scopes are released.
// Threads: the calling thread's scopes.
// Returns: TL_OK, or why nothing was closed.
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_SCOPE_UNDERFLOW (fewer are
// open).
// Cost: fast; that of the exits that it replaces.
//
//export tlgo_mem_exit_scopes_to
func tlgo_mem_exit_scopes_to(c uintptr, depth int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.LeaveScopesTo(depth) })
}

// tl_get_scope_depth returns how many scopes the calling thread has open, those
// of function frames included.
//
//	C: int64_t tl_get_scope_depth(void);
//
// Ownership: none.
// Threads: the calling thread's scopes.
// Returns: the depth, 0 at rest.
// Errors: none.
// Cost: fast; about 2 ns.
//
//export tlgo_get_scope_depth
func tlgo_get_scope_depth(c uintptr) int64 {
	return guarded(c, 0, (*object.Context).Depth)
}
