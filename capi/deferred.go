// # Deferred deleters
//
// A deleter runs on whichever thread drops the last reference. For a language
// with an interpreter lock this may be a thread that the interpreter does not
// know, or one that runs after the interpreter has ended. A callback into the
// interpreter could then deadlock or crash. Such a language passes
// tl_deferred_push as its deleter, which puts a node on a list and returns. The
// language takes the list when it holds its lock anyway, and releases its
// objects then.
//
// A destructor has the same difficulty, and its object is gone when it has
// returned. So the objects of a type of tl_type_define_deferred leave a copy of
// their bytes on a list, and the language calls its function with that.
package main

/*
#include <stdint.h>
uintptr_t tlc_deferred_copier(void);
*/
import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_deferred is a node of such a list, and the ctx of tl_deferred_push. The
// caller stores what it keeps alive behind the node, in the same block.
//
//	C: typedef struct tl_deferred {
//	    void* next; /* the next node, in what tl_deferred_take returns */
//	    void* list; /* the list: the address of a pointer that starts as NULL */
//	} tl_deferred;
const _ = "tl_deferred"

// tl_deferred_push is a tl_deleter that puts its ctx, a tl_deferred, on the
// list that the node names. It calls nothing and never waits.
//
//	C: void tl_deferred_push(void* ptr, void* ctx);
//
// Ownership: the list takes the node until tl_deferred_take; ptr is not used.
// Threads: any thread, also one that the host's language does not know.
// Returns: nothing.
// Errors: none.
// Cost: fast; one compare-and-swap.
// LLVM: nounwind.
// Trusts: ctx.
const _ = "tl_deferred_push"

// tl_deferred_take empties a list. It does not change the last status.
//
//	C: void* tl_deferred_take(void* list);
//
// Ownership: the nodes pass to the caller.
// Returns: the first tl_deferred, newest first; NULL when the list is empty.
// Errors: none.
// Cost: fast; one atomic exchange.
// LLVM: nounwind.
// Trusts: list.
const _ = "tl_deferred_take"

// tl_deferred_dead is what has become of the dead objects of a type. All but
// bytes, which the caller sets to what it wants of each object, starts as zeros.
//
//	C: typedef struct tl_deferred_dead {
//	    size_t bytes;  /* of each copy; at most the size of the type */
//	    void* copies;  /* a list of tl_deferred_copy, for tl_deferred_take */
//	    void* waker;   /* a tl_deferred, or NULL: the next copy sets this to NULL and puts it on its list */
//	    uint64_t lost; /* objects for whose copies there was no memory */
//	} tl_deferred_dead;
const _ = "tl_deferred_dead"

// tl_deferred_copy is a node with the bytes of a dead object. The references in
// them were the object's, and may be dead by now. free() takes the node.
//
//	C: typedef struct tl_deferred_copy {
//	    void* next;                 /* the next node, in what tl_deferred_take returns */
//	    struct tl_deferred_dead* of; /* the type's */
//	    size_t bytes;               /* that follow the node */
//	} tl_deferred_copy;
const _ = "tl_deferred_copy"

// tl_type_define_deferred defines a type without a destructor, whose objects
// leave a copy on a list when they die. The type exists until the process ends.
// Equal definitions with the same list get one number, as with tl_type_define.
//
//	C: tl_status tl_type_define_deferred(const tl_type_desc* description, void* list, tl_type* out_type);
//
// Ownership: the description, its name and its offsets are copied; list, a
// tl_deferred_dead, stays the caller's and has to stay where it is. The nodes
// are the caller's.
// Threads: any thread; the type holds for all of them. The thread on which an
// object dies copies it, takes no lock and calls nothing but malloc().
// Returns: TL_OK and the type in *out_type, or why no type was defined.
// Errors: TL_E_INVALID_ARGUMENT (NULL, a destructor, more bytes than the type
// has, and those of tl_type_define), TL_E_LIMIT (too many types),
// TL_E_OUT_OF_MEMORY (no memory for the offsets).
// Cost: slow call; linear in the number of pointers.
// Trusts: list.
//
//export tlgo_type_define_deferred
func tlgo_type_define_deferred(c, description, list, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return defineDeferred(o, description, list, out) })
}

func defineDeferred(o *object.Context, description, list, out uintptr) status.Status {
	if !usable(description) || !usable(list) || !usable(out) {
		return fail(o, status.InvalidArgument, "description, list and out_type are all needed")
	}
	d := load[tl_type_desc](description)
	if d.Destructor != 0 {
		return fail(o, status.InvalidArgument, "destructor is %#x; objects on a list have none", d.Destructor)
	}
	if bytes := load[uintptr](list); bytes > d.Size {
		return fail(o, status.InvalidArgument, "%d bytes of each object are more than its %d", bytes, d.Size)
	}
	return defineDescribed(o, d, uintptr(C.tlc_deferred_copier()), list, out)
}
