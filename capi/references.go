// # References
//
// Each of these functions validates its pointer in a few instructions before it
// changes a count. Memory of the runtime is recognised by its address; memory
// from elsewhere (malloc, a device, another library) by its entry in the
// registry.
//
// The thread that created an object counts in a word of its own, without atomic
// operations. All other threads count in a shared word, and the last release
// merges the two words exactly once. An object whose count would overflow is
// never freed. That is a leak; a count that wrapped around would be a use after
// free.
//
// A live pointer into the calling thread's arena or frame may be registered,
// acquired and released like an object. The calls have no effect, because a
// scope or frame owns the memory.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_mem_register_struct puts a reference into the current scope: a floating
// reference of the object if it has one, else a new one. The runtime adopts an
// address that it does not know as memory from malloc: the count is 1, and
// free() is called when it reaches 0. malloc and free are the program's, whatever
// library has them. Here the runtime has to trust the caller: it checks only that
// the address is aligned as malloc's blocks are (to 16 bytes, or to 8 where malloc
// is not the C library's), can belong to a program, and can be read.
//
//	C: tl_status tl_mem_register_struct(void* object);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime that holds no object),
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_INVALID_ARGUMENT (misaligned, or
// memory that cannot be read or where no block starts, so not from malloc), TL_E_ALREADY_REGISTERED
// (inside a block that is registered), TL_E_UNSUPPORTED (another thread's arena
// or frame), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: fast; about 3 ns for an object of the runtime, 15 ns for one from malloc.
// Trusts: object.
//
//export tlgo_mem_register_struct
func tlgo_mem_register_struct(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Register(pointer) })
}

// tl_mem_register_struct_named is tl_mem_register_struct with the name of the
// struct, which reports show.
//
//	C: tl_status tl_mem_register_struct_named(void* object, const char* name);
//
// Ownership: the current scope holds the reference; name must be static.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime that holds no object),
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_INVALID_ARGUMENT (misaligned, or
// memory that cannot be read or where no block starts, so not from malloc), TL_E_ALREADY_REGISTERED
// (inside a block that is registered), TL_E_UNSUPPORTED (another thread's arena
// or frame), TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is
// full).
// Cost: fast; that of tl_mem_register_struct.
// Trusts: object.
//
//export tlgo_mem_register_struct_named
func tlgo_mem_register_struct_named(c, pointer, name uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Register(pointer) })
}

// tl_mem_register is tl_mem_register_struct under a shorter name.
//
//	C: tl_status tl_mem_register(void* object);
//
// As: tl_mem_register_struct.
// Cost: fast; that of tl_mem_register_struct.
//
//export tlgo_mem_register
func tlgo_mem_register(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Register(pointer) })
}

// tl_mem_register_ptr is tl_mem_register_struct without adoption: a pointer
// that the runtime does not know is an error.
//
//	C: tl_status tl_mem_register_ptr(void* object);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: fast; about 3 ns.
//
//export tlgo_mem_register_ptr
func tlgo_mem_register_ptr(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterKnown(pointer) })
}

// tl_mem_register_tensor is tl_mem_register_ptr under the name that the TL
// compiler emits for tensors.
//
//	C: tl_status tl_mem_register_tensor(void* tensor);
//
// As: tl_mem_register_ptr.
//
//export tlgo_mem_register_tensor
func tlgo_mem_register_tensor(c, tensor uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterKnown(tensor) })
}

// tl_mem_register_vec_ptr is tl_mem_register_ptr under the name that the TL
// compiler emits for Vecs. After tl_vec_set_type it also takes a Vec that the
// program laid out in memory of malloc, and registers that as
// tl_mem_register_struct_typed does.
//
//	C: tl_status tl_mem_register_vec_ptr(void* vec);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_ARENA_EXHAUSTED (the scope stack is full); after tl_vec_set_type also
// TL_E_INVALID_ARGUMENT (misaligned, not from malloc, too small, or not a
// Vec), TL_E_ALREADY_REGISTERED (inside a registered block),
// TL_E_OUT_OF_MEMORY.
// Cost: fast; about 3 ns.
//
//export tlgo_mem_register_vec_ptr
func tlgo_mem_register_vec_ptr(c, vec uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterVec(vec) })
}

// tl_mem_unregister removes the newest entry of an object from the innermost
// scope of this function that has one. The reference of this entry floats from
// then on. The count does not change and the fields are not touched. Only
// scopes opened since the newest tl_mem_function_enter are searched, so that a
// function that returns its own parameter cannot take its caller's reference.
// Memory that was adopted from malloc is marked as handed back: the program may
// free() it, or register it again, which sinks the reference.
//
//	C: tl_status tl_mem_unregister(void* object);
//
// Ownership: the scope's reference passes to the caller, floating.
// Threads: the calling thread's scopes.
// Returns: TL_OK, or why nothing was taken out.
// Errors: TL_E_NOT_REGISTERED (live, but not in these scopes),
// TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_OVERFLOW
// (fifteen references float already), TL_E_UNSUPPORTED (arena memory: copy it
// out).
// Cost: fast; about 5 ns for one of the newest 32 entries; for any other a lookup in the scope's index, which
// in a large scope is one or two cache misses. A failure costs the same.
//
//export tlgo_mem_unregister
func tlgo_mem_unregister(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Unregister(pointer) })
}

// tl_ptr_acquire adds one reference to a live object.
//
//	C: void* tl_ptr_acquire(void* object);
//
// Ownership: the caller holds the new reference and gives it back with
// tl_ptr_release.
// Returns: its argument, always; tl_last_status tells whether it was live, if
// tl_clear_error was called before.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns by the owner, one compare-and-swap by others.
// Fails: object.
// Refuses: object.
// LLVM: returned 0.
//
//export tlgo_ptr_acquire
func tlgo_ptr_acquire(c, pointer uintptr) uintptr {
	return guarded(c, pointer, func(o *object.Context) uintptr {
		o.Acquire(pointer)
		return pointer
	})
}

// tl_ptr_release drops one reference: a counted one while there is one, else a
// floating one. At zero the destructor runs, fields are released and the memory
// is freed. When a thread that does not own the object drops the last
// reference, the owner does this later (Threads, in the introduction).
//
//	C: tl_status tl_ptr_release(void* object);
//
// Ownership: takes one reference of the caller's.
// Returns: TL_OK, or why nothing was released.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns by the owner, one compare-and-swap by others, plus what freeing costs.
// Refuses: object.
//
//export tlgo_ptr_release
func tlgo_ptr_release(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Release(pointer) })
}

// tl_ptr_inc_ref is tl_ptr_acquire with a status as its result.
//
//	C: tl_status tl_ptr_inc_ref(void* object);
//
// Ownership: the caller holds the new reference.
// Returns: TL_OK, or why nothing was counted.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns by the owner, one compare-and-swap by others.
// Refuses: object.
//
//export tlgo_ptr_inc_ref
func tlgo_ptr_inc_ref(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Acquire(pointer) })
}

// tl_ptr_dec_ref drops one reference and leaves freeing to the caller. When it
// returns 1 the count is 0, and the caller releases the fields itself and calls
// tl_mem_free. An object that another thread owns is freed by the rules of its
// type, as with tl_ptr_release, and the call returns 0. So only an object that
// is the calling thread's own, shared or foreign can be freed by hand.
//
//	C: int32_t tl_ptr_dec_ref(void* object);
//
// Ownership: takes one reference of the caller's.
// Returns: 1 when the count reached 0 and the caller has to free, else 0.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns by the owner, one compare-and-swap by others.
// Refuses: object.
// Null: 0.
//
//export tlgo_ptr_dec_ref
func tlgo_ptr_dec_ref(c, pointer uintptr) int32 {
	return guarded(c, 0, func(o *object.Context) int32 { return o.DecRef(pointer) })
}

// tl_ptr_release_bool is tl_ptr_release with a simpler answer.
//
//	C: bool tl_ptr_release_bool(void* object);
//
// Ownership: takes one reference of the caller's.
// Returns: true when the pointer was live and a reference was dropped.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; that of tl_ptr_release.
// Refuses: object.
//
//export tlgo_ptr_release_bool
func tlgo_ptr_release_bool(c, pointer uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool {
		return pointer != 0 && o.Release(pointer) == status.OK
	})
}

// tl_ptr_refcount returns the number of references, floating ones included. It
// is exact while no other thread counts the object.
//
//	C: int64_t tl_ptr_refcount(const void* object);
//
// Ownership: none.
// Returns: the count; 1 for live arena and frame memory of the calling thread;
// 0 for NULL; -1 when the pointer is not live.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns.
// Fails: -1.
// Refuses: object.
// Null: 0.
//
//export tlgo_ptr_refcount
func tlgo_ptr_refcount(c, pointer uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return o.Refcount(pointer) })
}

// tl_ptr_is_unique tells whether there is one reference to an object. If it is
// the caller's, no other reference leads to the object: it may be changed in
// place, and what other threads wrote to it before they dropped theirs is seen.
// A thread that did not allocate the object gets false until tl_ptr_share. Of
// registered memory the count says nothing of what the program itself does.
//
//	C: bool tl_ptr_is_unique(const void* object);
//
// Ownership: none.
// Threads: any thread that holds the reference. The result means nothing to a
// thread that holds none, or whose only reference is its scope's.
// Returns: whether there is one reference, which may float; false for NULL, for
// immortal objects, for arena and frame memory, and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns.
// Refuses: object.
//
//export tlgo_ptr_is_unique
func tlgo_ptr_is_unique(c, pointer uintptr) bool {
	return guarded(c, false, func(o *object.Context) bool { return o.IsUnique(pointer) })
}

// tl_ptr_check tells whether a pointer is live, without access to the memory
// there. Any value is allowed.
//
//	C: tl_status tl_ptr_check(const void* object);
//
// Ownership: none.
// Returns: TL_OK for the start of a live object, for live arena and frame
// memory of the calling thread and for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: fast; about 3 ns.
// Refuses: object.
// Null: TL_OK.
//
//export tlgo_ptr_check
func tlgo_ptr_check(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Check(pointer) })
}

// tl_ptr_share ends the owner's advantage in counting one object: from then on
// every thread counts it with atomic operations, and the thread that drops the
// last reference frees it at once. Use it for objects that other threads keep
// for good.
//
//	C: tl_status tl_ptr_share(void* object);
//
// Ownership: unchanged.
// Threads: the thread that created the object.
// Returns: TL_OK, also for what is shared already, or why nothing changed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_BUSY
// (another thread owns it).
// Cost: fast; that of tl_ptr_acquire.
// Refuses: object.
// Null: TL_OK.
//
//export tlgo_ptr_share
func tlgo_ptr_share(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Share(pointer) })
}

// tl_ptr_make_immortal freezes the count of an object: acquire and release
// succeed and change nothing, and the object lives until the process ends. It
// is not reported as a leak.
//
//	C: tl_status tl_ptr_make_immortal(void* object);
//
// Ownership: references to the object are no longer counted.
// Returns: TL_OK, also for what is immortal already, or why nothing changed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Refuses: object.
// Null: TL_OK.
//
//export tlgo_ptr_make_immortal
func tlgo_ptr_make_immortal(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.MakeImmortal(pointer) })
}
