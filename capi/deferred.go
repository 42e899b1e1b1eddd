// # Deferred deleters
//
// A deleter runs on whichever thread drops the last reference. For a language
// with an interpreter lock that may be a thread it has never seen, or one that
// still runs after the interpreter has ended: a callback into it could only
// deadlock or crash. Such a language passes tl_deferred_push as its deleter. It
// puts a node on a list and returns; the language takes the list whenever it
// holds its lock anyway, and lets its objects go there.
package main

// tl_deferred is a node of such a list; the ctx of tl_deferred_push. What is
// kept alive stands behind it, in the same block.
//
//	C: typedef struct tl_deferred {
//	    void* next; /* the next node, when it comes back from tl_deferred_take */
//	    void* list; /* where to put it: the address of a pointer that starts as NULL */
//	} tl_deferred;
const _ = "tl_deferred"

// tl_deferred_push is a tl_deleter that puts its ctx, a tl_deferred, on the
// list which that names. It calls nothing and waits for nobody.
//
//	C: void tl_deferred_push(void* ptr, void* ctx);
//
// Ownership: the list takes the node until tl_deferred_take; ptr is not used.
// Threads: any thread, also one that the host's language does not know.
// Returns: nothing.
// Errors: none.
// Cost: one compare-and-swap.
// Path: shim.
// LLVM: nounwind.
// Trusts: ctx.
const _ = "tl_deferred_push"

// tl_deferred_take empties a list. It touches no status.
//
//	C: void* tl_deferred_take(void* list);
//
// Ownership: the nodes pass to the caller.
// Threads: any thread.
// Returns: the first tl_deferred, newest first; NULL when the list is empty.
// Errors: none.
// Cost: one atomic exchange.
// Path: shim.
// LLVM: nounwind.
// Trusts: list.
const _ = "tl_deferred_take"
