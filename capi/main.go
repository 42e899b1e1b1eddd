// Package main is the C interface of TL Runtime, built as libtl_runtime.so.
// Each public function is declared here once: its doc comment, its C prototype
// and the Go twin that the slow path calls. The header, the export map, the
// trampolines in cshim, the LLVM declarations and the ctypes table are written
// from these files by tools/gen. The rest of this comment opens the header.
//
// # Why this library exists
//
// A compiler for a tensor language has to decide who frees what. malloc leaves
// the answer to every line of emitted code, and one wrong line corrupts memory
// far from where it stands. TL Runtime takes the decision over: objects are
// counted, scopes hold what a block created, frames hold what a function needs
// while it runs, and any pointer that is handed in is looked up before it is
// believed. A pointer that was released already, that points into the middle of
// an object or that was never ours is an error code, not corruption.
//
// # Who holds a reference
//
// An object stays while its count is above zero. Each count belongs to exactly
// one holder: an entry of a scope, a slot of a container (a field, an element
// of a Vec), the caller of an acquire, or nobody yet. The last kind is called a
// floating reference: an allocation returns one, tl_mem_register_struct sinks
// it into the current scope without touching the count, and tl_mem_unregister
// takes the newest entry out of its scope and lets it float again. So a callee
// that ends in `return unregister(x)` and a caller that begins with
// `register(x)` hand the object over with its count still 1.
//
//	void* p = tl_mem_alloc(64);     count 1, floating
//	tl_mem_register_struct(p);      count 1, held by the scope
//	tl_ptr_acquire(p);              count 2, one held by the caller
//	tl_ptr_release(p);              count 1
//	tl_mem_exit_scope();            count 0, freed
//
// The verb tells the ownership: alloc and new give a reference, acquire and
// release count, get borrows, register and adopt take. Outputs stand last and
// are called out_something.
//
// # How errors travel
//
// A function that can fail returns a tl_status, and TL_OK is 0. A function that
// returns a pointer returns NULL when it fails. Either way the status stays
// with the calling thread (tl_last_status), and tl_last_error explains it: the
// pointer, what it was found to be, what to do. A NULL that is right (zero bytes
// asked for) sets TL_OK, so that the two can be told apart; other successful
// calls leave the last status alone, and so do those that return their argument
// (tl_ptr_acquire, tl_track_site), which tell a failure by the status alone.
//
// The lists of errors below are complete up to five statuses that any function
// may answer before it starts, and that none repeats: TL_E_FORKED in a process
// made by fork(), which has no second thread to run the slow path;
// TL_E_BUSY for a call from a signal handler that interrupted the slow path;
// TL_E_OUT_OF_MEMORY when a new thread finds no memory for its context, or when
// a thread that drops the last reference to another's object finds none to tell
// it (nothing changed then); TL_E_INTERNAL, a defect of this library that was
// contained; and, with TL_DEBUG=1 alone, TL_E_CORRUPTED: the call has done its work,
// and has found that something was written where nobody may.
//
// NULL is a value, the one of a type without any bytes: every function that
// takes an object accepts NULL, does nothing and returns TL_OK, NULL, 0 or
// false. NULL as the address of an output or of an array that is needed is
// TL_E_INVALID_ARGUMENT.
//
// # Threads
//
// Every function may be called from any thread, attached on its first call
// without ceremony. Scopes, frames and the arena belong to the thread that
// opened them. Objects may be used by all. The thread that created an object
// counts it with plain arithmetic, others pay an atomic operation; when the
// last reference is dropped by another thread the object waits for its owner's
// next scope exit, function exit or slow call (tl_ptr_share ends that wait for
// one object, tensors never have it).
//
// No function is async-signal-safe.
//
// # Callbacks
//
// Destructors and deleters run on the thread that dropped the last reference,
// with no lock held and no frame of this library's Go part below them. They may
// call any function declared here, release their own object, throw or longjmp.
// The error callback must return.
package main

func main() {}
