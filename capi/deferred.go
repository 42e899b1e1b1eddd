// # Deferred deleters
//
// A deleter runs on whichever thread drops the last reference. For a language
// with an interpreter lock this may be a thread that the interpreter does not
// know, or one that runs after the interpreter has ended. A callback into the
// interpreter could then deadlock or crash. Such a language passes
// tl_deferred_push as its deleter, which puts a node on a list and returns. The
// language takes the list when it holds its lock anyway, and releases its
// objects then.
package main

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
// Cost: one compare-and-swap.
// Path: shim.
// LLVM: nounwind.
// Trusts: ctx.
const _ = "tl_deferred_push"

// tl_deferred_take empties a list. It does not change the last status.
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
