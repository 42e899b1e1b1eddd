// # Checked and weak references
//
// A tl_ref is a word that names one object for ever. It holds the number of the
// object's record and the generation of that record, so the runtime finds the
// count without a search, and a reference to an object that is gone is an error
// even after its memory was given to another object. A pointer cannot tell
// these two objects apart. 0 refers to nothing, as NULL does.
//
// A tl_ref is no reference in the sense of the count: making, copying and
// forgetting one counts nothing. tl_ref_acquire and tl_ref_release count as
// tl_ptr_acquire and tl_ptr_release do, and have the same rule: who counts an
// object of another thread holds a reference to it already.
//
// The same word is a weak reference, from which tl_weak_get makes a counted
// one while the object lives. This may happen at the moment at which another
// thread drops the last reference, so the two kinds of count differ. While the
// owner of an object counts it without atomic operations, only the owner can
// upgrade a weak reference: tl_weak_of. tl_weak_share turns bias off, as
// tl_ptr_share does, and then every thread can. An object without bias is
// outside of what tl_mem_collect_cycles looks at.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_ref names one life of an object; 0 is none. Its bits are the library's: a
// program compares, copies and stores them.
//
//	C: typedef uint64_t tl_ref;
const _ = "tl_ref"

// tl_ref_of returns the reference to a live object. For each object it is
// always the same one.
//
//	C: tl_ref tl_ref_of(void* object);
//
// Ownership: nothing is counted.
// Threads: any thread that holds the object.
// Returns: the reference, 0 for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (registered memory, arena or frame memory: only objects have
// references).
// Cost: fast; about 3 ns.
// Refuses: object.
// Null: 0.
//
//export tlgo_ref_of
func tlgo_ref_of(c, pointer uintptr) uint64 {
	return guarded(c, 0, func(o *object.Context) uint64 { return uint64(o.RefOf(pointer)) })
}

// tl_ref_acquire adds one reference to the object of a tl_ref.
//
//	C: tl_ref tl_ref_acquire(tl_ref ref);
//
// Ownership: the caller holds the new reference and gives it back with
// tl_ref_release or tl_ptr_release.
// Threads: any thread that holds the object.
// Returns: its argument, 0 on failure.
// Errors: TL_E_NOT_LIVE (the object is gone), TL_E_INVALID_ARGUMENT (the word
// is not a tl_ref).
// Cost: fast; about 2 ns by the owner, one compare-and-swap by others.
//
//export tlgo_ref_acquire
func tlgo_ref_acquire(c uintptr, ref uint64) uint64 {
	return guarded(c, 0, func(o *object.Context) uint64 {
		if o.AcquireRef(object.Ref(ref)) != status.OK {
			return 0
		}
		return ref
	})
}

// tl_ref_release drops one reference to the object of a tl_ref, as
// tl_ptr_release does.
//
//	C: tl_status tl_ref_release(tl_ref ref);
//
// Ownership: takes one reference of the caller's.
// Returns: TL_OK, or why nothing was released.
// Errors: TL_E_NOT_LIVE (the object is gone), TL_E_INVALID_ARGUMENT (the word
// is not a tl_ref).
// Cost: fast; about 2 ns by the owner, one compare-and-swap by others, plus what freeing costs.
//
//export tlgo_ref_release
func tlgo_ref_release(c uintptr, ref uint64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.ReleaseRef(object.Ref(ref)) })
}

// tl_ref_get returns the address of the object of a tl_ref.
//
//	C: void* tl_ref_get(tl_ref ref);
//
// Ownership: the caller borrows the object from whoever holds it.
// Threads: any thread that holds the object.
// Returns: the object, NULL for 0 and on failure.
// Errors: TL_E_NOT_LIVE (the object is gone), TL_E_INVALID_ARGUMENT (the word
// is not a tl_ref).
// Cost: fast; about 3 ns.
//
//export tlgo_ref_get
func tlgo_ref_get(c uintptr, ref uint64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.GetRef(object.Ref(ref)) })
}

// tl_ref_check tells whether the object of a tl_ref is live. Any value is
// allowed.
//
//	C: tl_status tl_ref_check(tl_ref ref);
//
// Ownership: none.
// Threads: any thread. Without a reference the answer may be out of date when
// it is there.
// Returns: TL_OK for a live object and for 0.
// Errors: TL_E_NOT_LIVE (the object is gone), TL_E_INVALID_ARGUMENT (the word
// is not a tl_ref).
// Cost: fast; about 2 ns.
//
//export tlgo_ref_check
func tlgo_ref_check(c uintptr, ref uint64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.CheckRef(object.Ref(ref)) })
}

// tl_weak_of returns a weak reference to a live object. The way in which the
// object is counted does not change, so only the thread that owns the object
// can upgrade the reference, unless the object has no owner: a tensor, a sparse
// matrix, or one that tl_ptr_share or a release by another thread has taken
// from its owner. When tl_mem_realloc moves the object, the weak reference
// ends.
//
//	C: tl_ref tl_weak_of(void* object);
//
// Ownership: nothing is counted; the reference does not keep the object alive.
// Threads: any thread that holds the object.
// Returns: the reference, 0 for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (registered memory, arena or frame memory: only objects have
// references).
// Cost: fast; about 3 ns.
// Refuses: object.
// Null: 0.
//
//export tlgo_weak_of
func tlgo_weak_of(c, pointer uintptr) uint64 {
	return guarded(c, 0, func(o *object.Context) uint64 { return uint64(o.RefOf(pointer)) })
}

// tl_weak_share turns bias off as tl_ptr_share does, and returns a weak
// reference that every thread can upgrade. tl_mem_collect_cycles does not free
// the object from then on: break a ring of such objects by hand.
//
//	C: tl_ref tl_weak_share(void* object);
//
// Ownership: nothing is counted; the reference does not keep the object alive.
// Threads: the thread that created the object; any thread for one that has no
// owner.
// Returns: the reference, 0 for NULL and on failure.
// Errors: TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE,
// TL_E_UNSUPPORTED (registered memory, arena or frame memory: only objects have
// references), TL_E_BUSY (another thread owns it).
// Cost: fast; that of tl_weak_of and, the first time, of tl_ptr_share.
// Refuses: object.
// Null: 0.
//
//export tlgo_weak_share
func tlgo_weak_share(c, pointer uintptr) uint64 {
	return guarded(c, 0, func(o *object.Context) uint64 { return uint64(o.WeakShare(pointer)) })
}

// tl_weak_get upgrades a weak reference: while the object lives, it adds one
// reference and returns the object. NULL with TL_OK says that the object is
// gone. Safe against the last release by another thread: one of the two comes
// first. An object whose last reference another thread has dropped, and which
// waits for its owner, is gone.
//
// Should the slot of an object that is gone get another one at this very
// moment, that one has a reference more for an instant. A function that wants
// the only reference, for example tl_pool_release, may then answer TL_E_BUSY.
//
//	C: void* tl_weak_get(tl_ref ref);
//
// Ownership: the caller holds the new reference and gives it back with
// tl_ptr_release or tl_ref_release.
// Threads: the owner of the object; any thread for an object without an owner.
// Returns: the object, NULL for 0, when the object is gone and on failure.
// Errors: TL_E_BUSY (the object lives and another thread owns it),
// TL_E_INVALID_ARGUMENT (the word is not a tl_ref).
// Cost: fast; about 3 ns by the owner, one compare-and-swap for an object without an owner.
//
//export tlgo_weak_get
func tlgo_weak_get(c uintptr, ref uint64) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.Upgrade(object.Ref(ref)) })
}
