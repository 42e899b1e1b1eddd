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
// far from where it stands. TL Runtime takes over this decision. It counts the
// references to each object. Scopes hold the objects that a block of code
// created, and frames hold the memory that a function needs while it runs. The
// runtime validates every pointer that it receives: a pointer that was released
// already, that points into the middle of an object or that the runtime does
// not know results in an error code, not in corruption.
//
// # Who holds a reference
//
// An object lives while its count is above zero. Each count belongs to exactly
// one holder: an entry of a scope, a slot of a container (a field, an element
// of a Vec), the caller of an acquire, or no holder yet. A reference without a
// holder is called floating: an allocation returns one, tl_mem_register_struct
// sinks it into the current scope without touching the count, and
// tl_mem_unregister takes the newest entry out of its scope and lets it float
// again. So a callee that ends in `return unregister(x)` and a caller that
// begins with `register(x)` hand the object over with its count still 1.
//
//	void* p = tl_mem_alloc(64);     count 1, floating
//	tl_mem_register_struct(p);      count 1, held by the scope
//	tl_ptr_acquire(p);              count 2, one held by the caller
//	tl_ptr_release(p);              count 1
//	tl_mem_exit_scope();            count 0, freed
//
// The verb tells the ownership. alloc returns a floating reference, which the
// caller registers or releases. new registers the object in the current scope,
// and the caller borrows it. acquire adds a reference and release drops one.
// get returns a borrowed pointer. register and adopt take a reference over.
// Outputs stand last; most are called out_something.
//
// # How errors travel
//
// A function that can fail returns a tl_status, and TL_OK is 0. A function that
// returns a pointer returns NULL when it fails. In both cases the calling
// thread keeps the status (tl_last_status), and tl_last_error explains it:
// which pointer, what the runtime found there, what to do. A call that returns
// NULL as its correct result (zero bytes were requested) sets the last status
// to TL_OK, which distinguishes it from a failure. Other successful calls do
// not change the last status. A function that returns its argument
// (tl_ptr_acquire) reports a failure through the last status alone.
//
// The lists of errors below are complete, except for seven statuses. A function
// that can return TL_E_OUT_OF_MEMORY can return TL_E_LIMIT, where a limit that
// was set is the reason. Any function may return the other six. TL_E_FORKED: the
// process was made by fork(), so it has no second thread to run the slow path.
// TL_E_INVALID_ARGUMENT: GOMEMLIMIT, GOMAXPROCS or GODEBUG of the environment
// has a value for which Go would end the process; tl_last_error names it. TL_E_BUSY: the call came from a signal
// handler that interrupted the slow path. TL_E_OUT_OF_MEMORY: a new thread
// found no memory for its context, or a thread dropped the last reference to
// another thread's object and found no memory to notify that thread; nothing
// has changed then. TL_E_INTERNAL: a defect of this library, which was
// contained. TL_E_CORRUPTED, only with TL_DEBUG=1: the call has done its work,
// and has found a write to memory that nobody may write to.
//
// NULL is a valid object, one without bytes. Unless its comment says otherwise,
// a function that takes an object accepts NULL, does nothing and returns TL_OK,
// NULL, 0 or false. NULL as the address of a required output or array is
// TL_E_INVALID_ARGUMENT.
//
// # Threads
//
// Every function may be called from any thread; the first call of a thread
// attaches it. Scopes, frames and the arena belong to the thread that opened
// them. All threads may use all objects. The thread that created an object
// counts its references with plain arithmetic, other threads with an atomic
// operation. When another thread drops the last reference, the object is freed
// at its owner's next scope exit, function exit, slow call, or allocation of a
// size that its magazine has none of. tl_ptr_share ends this delay for one
// object; tensors are freed without it.
//
// No function is async-signal-safe.
//
// # Cost
//
// Each line Cost begins with what a call may cost in the steady state, that is,
// once the program has had as much as it uses. fast: no call of the slow path,
// which is written in Go; at most one call in twenty makes one. grows: the same
// but where memory grows, at most one call in ten. slow call: one call of the
// slow path, some 100 ns, or of the system, and what the rest of the line says.
//
// # Callbacks
//
// Destructors and deleters run on the thread that ends the object: the one that
// dropped the last reference, or the owner where the object waited for it
// (Threads), or, where the owner has ended, any thread in a slow call. The
// library holds no lock while they run, and its Go code has no frame on the
// stack. They may call any function declared here, release their own object,
// throw or longjmp. The error callback must return.
package main

import (
	"strings"
	"sync/atomic"

	"tlruntime/runtime/config"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

func main() {}

// onErrorAction masks the action in layout.Globals.OnError; the bit between is
// set while there is a callback.
const onErrorAction = 11

func setOnError(action string) {
	wanted := map[string]uint32{"ignore": 0, "log": 1, "abort": 2, "fail": 9}[action]
	word := &object.Globals().OnError
	for {
		old := atomic.LoadUint32(word)
		if atomic.CompareAndSwapUint32(word, old, old&^onErrorAction|wanted) {
			return
		}
	}
}

// publishFlag copies the value of a flag to the shim.
func publishFlag(word *uint32, name string) {
	flag := uint32(0)
	if options.Flag(name) {
		flag = 1
	}
	atomic.StoreUint32(word, flag)
}

// publishFlags does this for the flags that may change.
func publishFlags() {
	publishFlag(&object.Globals().ShowStats, "TL_SHOW_STATS")
	publishFlag(&object.Globals().MemLog, "TL_MEM_LOG")
}

// configure sets the option that the caller's strings name, after the first use.
func configure(o *object.Context, key, value uintptr) status.Status {
	name, st := textOf(o, key, "key")
	if st != status.OK {
		return st
	}
	wanted, st := textOf(o, value, "value")
	if st != status.OK {
		return st
	}
	fixed, err := options.Check(name, wanted)
	if err != nil {
		return fail(o, status.InvalidArgument, "%v", err)
	}
	if fixed != config.NotFixed {
		return fail(o, status.Busy, "%s is fixed by the %s of the library; set it before", name, fixed)
	}
	before, source := options.Word(name), options.Source(name)
	if err := options.Set(name, wanted, config.FromCall); err != nil {
		return fail(o, status.InvalidArgument, "%v", err)
	}
	switch name {
	case "TL_ON_ERROR":
		setOnError(wanted)
	case "TL_DEVICE":
		publishDefaultDevice()
	case "TL_LEAK_CHECK":
		setLeakCheck(options.Word(name))
	case "TL_SHOW_STATS", "TL_MEM_LOG":
		publishFlags()
	case "TL_FAIL_MEMORY":
		memory.FailAfter(options.Count(name))
	}
	st = configureLimits(o, name)
	if st == status.OK {
		st = configureTracking(o, name)
	}
	if st != status.OK {
		_ = options.Set(name, before, source) // it was a value before
	}
	return st
}

// ready reports settings of the environment that were not understood when the
// library started.
func ready(o *object.Context) status.Status {
	if complaints := options.Complaints(); len(complaints) > 0 {
		return fail(o, status.InvalidArgument, "%s", strings.Join(complaints, "; "))
	}
	return status.OK
}

// logPoolOperations applies TL_POOL_DEBUG, before the first pool.
func logPoolOperations() {
	mempool.Debug = options.Flag("TL_POOL_DEBUG")
	tensor.Debug = mempool.Debug
}
