// # References
//
// Counting is checked: each of these functions classifies its pointer in a few
// instructions before it touches a count. Memory of the runtime is recognised
// by its address; memory from elsewhere (malloc, a device, another library) by
// its entry in the registry.
//
// The thread that created an object counts in a word of its own, without
// atomic operations; every other thread uses a shared one, and the last release
// merges the two exactly once. A count that would overflow sticks: the object
// is never freed, which is a leak, where a wrapped count would be a use after
// free.
//
// A live pointer into the calling thread's arena or frame may be registered,
// acquired and released like an object. Nothing happens, because its scope or
// frame owns the memory.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_mem_register_struct puts a reference into the current scope: the floating
// one when there is one, else a new one. An address that the runtime does not
// know is adopted as memory from malloc: count 1, and free() when the count
// comes to 0. That is the one place where the caller is trusted about memory: what
// malloc can have returned is aligned to 16 bytes and can be read, and more is not
// looked at.
//
//	C: tl_status tl_mem_register_struct(void* object);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime where no object is),
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_INVALID_ARGUMENT (misaligned, or not
// memory that can be read, so not from malloc), TL_E_ALREADY_REGISTERED (inside a block that is
// registered), TL_E_UNSUPPORTED (another thread's arena or frame),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: about 3 ns for an object of the runtime, 15 ns for one from malloc.
// Path: fast.
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
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime where no object is),
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_INVALID_ARGUMENT (misaligned, or not
// memory that can be read, so not from malloc), TL_E_ALREADY_REGISTERED (inside a block that is
// registered), TL_E_UNSUPPORTED (another thread's arena or frame),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: that of tl_mem_register_struct.
// Path: fast.
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
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER (memory of the runtime where no object is),
// TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_INVALID_ARGUMENT (misaligned, or not
// memory that can be read, so not from malloc), TL_E_ALREADY_REGISTERED (inside a block that is
// registered), TL_E_UNSUPPORTED (another thread's arena or frame),
// TL_E_OUT_OF_MEMORY, TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: that of tl_mem_register_struct.
// Path: fast.
// Trusts: object.
//
//export tlgo_mem_register
func tlgo_mem_register(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Register(pointer) })
}

// tl_mem_register_ptr is tl_mem_register_struct for pointers that must be known
// already; nothing is adopted.
//
//	C: tl_status tl_mem_register_ptr(void* object);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: about 3 ns.
// Path: fast.
//
//export tlgo_mem_register_ptr
func tlgo_mem_register_ptr(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterKnown(pointer) })
}

// tl_mem_register_tensor is tl_mem_register_ptr, emitted for tensors.
//
//	C: tl_status tl_mem_register_tensor(void* tensor);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: about 3 ns.
// Path: fast.
//
//export tlgo_mem_register_tensor
func tlgo_mem_register_tensor(c, tensor uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterKnown(tensor) })
}

// tl_mem_register_vec_ptr is tl_mem_register_ptr, emitted for Vecs.
//
//	C: tl_status tl_mem_register_vec_ptr(void* vec);
//
// Ownership: the current scope holds the reference.
// Threads: any thread; the calling thread's scope.
// Returns: TL_OK, or why nothing was registered.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_ARENA_EXHAUSTED (the scope stack is full).
// Cost: about 3 ns.
// Path: fast.
//
//export tlgo_mem_register_vec_ptr
func tlgo_mem_register_vec_ptr(c, vec uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterKnown(vec) })
}

// tl_mem_unregister takes the newest entry of an object out of the innermost
// scope of this function that has one; its reference floats from then on. The
// count does not change and the fields are not touched. Only scopes opened since
// the newest tl_mem_function_enter are searched, so that a function that
// returns its own parameter cannot take its caller's reference. For memory
// adopted from malloc the object is marked as handed back: the host may free()
// it, and registering it again sinks the reference.
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
// Cost: about 5 ns among the newest 32 entries; for any other a lookup in the
// scope's index, a miss of the cache or two in a large one. The same in failure.
// Path: fast.
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
// Threads: any thread.
// Returns: its argument, always; tl_last_status tells whether it was live.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: about 3 ns by the owner, one compare-and-swap by others.
// Path: fast.
// Fails: object.
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
// is freed. When the last reference of an object goes on a thread that does not
// own it, that happens at the owner's next scope exit, function exit or slow
// call.
//
//	C: tl_status tl_ptr_release(void* object);
//
// Ownership: takes one reference of the caller's.
// Threads: any thread.
// Returns: TL_OK, or why nothing was released.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: about 3 ns by the owner, one compare-and-swap by others, plus what
// freeing costs.
// Path: fast.
//
//export tlgo_ptr_release
func tlgo_ptr_release(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Release(pointer) })
}

// tl_ptr_inc_ref is tl_ptr_acquire that returns a status.
//
//	C: tl_status tl_ptr_inc_ref(void* object);
//
// Ownership: the caller holds the new reference.
// Threads: any thread.
// Returns: TL_OK, or why nothing was counted.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: about 3 ns by the owner, one compare-and-swap by others.
// Path: fast.
//
//export tlgo_ptr_inc_ref
func tlgo_ptr_inc_ref(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Acquire(pointer) })
}

// tl_ptr_dec_ref drops one reference and leaves the end to the caller: when it
// returns 1 the count is 0, and the caller releases the fields itself and calls
// tl_mem_free. An object that another thread owns ends by its descriptor, as
// with tl_ptr_release, and 0 is returned: freeing fields by hand needs an owned,
// shared or foreign object.
//
//	C: int32_t tl_ptr_dec_ref(void* object);
//
// Ownership: takes one reference of the caller's.
// Threads: any thread.
// Returns: 1 when the count reached 0 and the caller has to free, else 0.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: about 3 ns by the owner, one compare-and-swap by others.
// Path: fast.
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
// Threads: any thread.
// Returns: true when the pointer was live and a reference was dropped.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: that of tl_ptr_release.
// Path: fast.
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
// Threads: any thread.
// Returns: the count; 1 for live arena and frame memory of the calling thread;
// 0 for NULL; -1 when the pointer is not live.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: about 3 ns.
// Path: fast.
// Fails: -1.
//
//export tlgo_ptr_refcount
func tlgo_ptr_refcount(c, pointer uintptr) int64 {
	return guarded(c, -1, func(o *object.Context) int64 { return o.Refcount(pointer) })
}

// tl_ptr_check tells what a pointer is without touching it. Any value is
// allowed.
//
//	C: tl_status tl_ptr_check(const void* object);
//
// Ownership: none.
// Threads: any thread.
// Returns: TL_OK for the start of a live object, for live arena and frame
// memory of the calling thread and for NULL.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: about 3 ns.
// Path: fast.
//
//export tlgo_ptr_check
func tlgo_ptr_check(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.Check(pointer) })
}

// tl_ptr_share turns the creator's bias off for one object: from then on every
// thread counts it alike, and its last release frees it at once on whichever
// thread that is. For objects that are handed to other threads for good.
//
//	C: tl_status tl_ptr_share(void* object);
//
// Ownership: unchanged.
// Threads: the thread that created the object.
// Returns: TL_OK, also for what is shared already, or why nothing changed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE, TL_E_BUSY
// (another thread owns it).
// Cost: one cgo call.
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
// Ownership: every reference, present and future, is free of charge.
// Threads: any thread.
// Returns: TL_OK, also for what is immortal already, or why nothing changed.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE.
// Cost: one cgo call.
//
//export tlgo_ptr_make_immortal
func tlgo_ptr_make_immortal(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.MakeImmortal(pointer) })
}
