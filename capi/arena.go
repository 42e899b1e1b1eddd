// # Arena
//
// The arena is a block in which a thread allocates short-lived values one after
// another. The exit of a scope sets the arena back to where it stood when the
// scope was entered. So allocation inside a loop body costs an addition, and
// freeing costs nothing.
//
// A thread has no active arena until it calls tl_arena_init. Emitted code asks
// tl_arena_is_active and uses the heap when no arena is active, so a program
// decides with one call where its temporaries live. When the arena is full,
// tl_arena_alloc returns NULL with TL_E_ARENA_EXHAUSTED. It never takes memory
// from elsewhere, because such memory would outlive the scope.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_arena_init makes the calling thread's arena active with room for capacity
// bytes; a capacity of 0 means all that TL_ARENA_BYTES reserved. An arena that
// is active already keeps its contents and gets the new capacity, if the bytes
// in use fit.
//
//	C: tl_status tl_arena_init(int64_t capacity);
//
// Ownership: none.
// Threads: the calling thread's arena.
// Returns: TL_OK, or why the arena is unchanged.
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_LIMIT (more than is reserved),
// TL_E_BUSY (more is in use).
//
//export tlgo_arena_init
func tlgo_arena_init(c uintptr, capacity int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.ArenaInit(capacity) })
}

// tl_arena_alloc returns bytes of the arena, 64-byte aligned.
//
//	C: void* tl_arena_alloc(int64_t bytes);
//
// Ownership: the current scope owns the memory; there is nothing to free.
// Threads: the calling thread's arena.
// Returns: the memory, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_NO_FRAME (no arena is active),
// TL_E_ARENA_EXHAUSTED.
// Cost: fast; about 2 ns.
//
//export tlgo_arena_alloc
func tlgo_arena_alloc(c uintptr, bytes int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.ArenaAlloc(bytes) })
}

// tl_arena_malloc returns memory of the arena while it is active and has room,
// and a floating object of the heap otherwise. Both may be registered, acquired
// and released alike.
//
//	C: void* tl_arena_malloc(int64_t bytes);
//
// Ownership: the current scope owns arena memory; a heap object floats.
// Threads: the calling thread's arena.
// Returns: the memory, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (negative), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 2 ns in the arena, 3 ns on the heap.
//
//export tlgo_arena_malloc
func tlgo_arena_malloc(c uintptr, bytes int64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.ArenaMalloc(bytes) })
}

// tl_arena_free makes the calling thread's arena inactive and gives its memory
// back to the system.
//
//	C: tl_status tl_arena_free(void);
//
// Ownership: everything in the arena becomes invalid.
// Threads: the calling thread's arena.
// Returns: TL_OK, also when none was active.
// Errors: none.
// Cost: slow call; a system call.
//
//export tlgo_arena_free
func tlgo_arena_free(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).ArenaFree)
}

// tl_arena_reset empties the calling thread's arena and keeps it active.
//
//	C: tl_status tl_arena_reset(void);
//
// Ownership: everything in the arena becomes invalid.
// Threads: the calling thread's arena.
// Returns: TL_OK, also when none is active.
// Errors: none.
//
//export tlgo_arena_reset
func tlgo_arena_reset(c uintptr) int32 {
	return guardedStatus(c, (*object.Context).ArenaReset)
}

// tl_arena_is_active tells whether the calling thread has an active arena.
//
//	C: bool tl_arena_is_active(void);
//
// Ownership: none.
// Threads: the calling thread's arena.
// Returns: true between tl_arena_init and tl_arena_free.
// Errors: none.
// Cost: fast; about 2 ns.
//
//export tlgo_arena_is_active
func tlgo_arena_is_active(c uintptr) bool {
	return guarded(c, false, (*object.Context).ArenaActive)
}

// tl_arena_contains tells whether a pointer lies in live memory of the calling
// thread's arena.
//
//	C: bool tl_arena_contains(const void* pointer);
//
// Ownership: none.
// Threads: the calling thread's arena.
// Returns: true below the arena's offset; false beyond it, elsewhere and for
// NULL.
// Errors: none.
// Cost: fast; about 2 ns.
//
//export tlgo_arena_contains
func tlgo_arena_contains(c, pointer uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool { return o.ArenaContains(pointer) })
}

// tl_arena_get_offset returns how many bytes of the calling thread's arena are
// in use.
//
//	C: int64_t tl_arena_get_offset(void);
//
// Ownership: none.
// Threads: the calling thread's arena.
// Returns: the offset, 0 without an active arena.
// Errors: none.
// Cost: fast; about 2 ns.
//
//export tlgo_arena_get_offset
func tlgo_arena_get_offset(c uintptr) int64 {
	return guarded(c, 0, (*object.Context).ArenaOffset)
}

// tl_arena_set_offset sets the arena back to an offset that tl_arena_get_offset
// returned.
//
//	C: tl_status tl_arena_set_offset(int64_t offset);
//
// Ownership: what lies beyond the offset becomes invalid.
// Threads: the calling thread's arena.
// Returns: TL_OK, or why the offset stays.
// Errors: TL_E_INVALID_ARGUMENT (negative, or beyond what is in use),
// TL_E_NO_FRAME (no arena is active).
// Cost: fast; about 2 ns, and a load for each open scope that began above the offset.
//
//export tlgo_arena_set_offset
func tlgo_arena_set_offset(c uintptr, offset int64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.ArenaSetOffset(offset) })
}

// tl_arena_get_capacity returns the size of the calling thread's arena.
//
//	C: int64_t tl_arena_get_capacity(void);
//
// Ownership: none.
// Threads: the calling thread's arena.
// Returns: bytes, 0 without an active arena.
// Errors: none.
//
//export tlgo_arena_get_capacity
func tlgo_arena_get_capacity(c uintptr) int64 {
	return guarded(c, 0, (*object.Context).ArenaCapacity)
}
