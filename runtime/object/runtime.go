// Package object is the runtime proper: contexts, reference counts, scopes,
// frames, types, Vecs, clones and cycles, on the memory of package heap and the
// registry of foreign pointers. Each method of Context is the complete slow-path
// operation of the C function of the same name; the fast path in cshim answers
// its common case on the same words.
//
// Counting is owner-biased (Choi, Shull and Torrellas, "Biased Reference
// Counting", PACT 2018): the context that created an object counts in its local
// word without atomic read-modify-writes, everybody else in the shared word.
// docs/model holds the checked model of the protocol.
//
//	runtime.go, hooks.go                       the process's state, and what packages above hand over
//	context.go, slices.go, alone.go            contexts: from begin to park, their memory, the first one's privilege
//	shutdown.go, rest.go                       the end; what is done for threads that rest
//	alloc.go, give_magazines.go                slots out of magazines and back; what is done when memory is short
//	counts.go, left_floats.go                  the counting protocol
//	nodes.go, late_waits.go                    inboxes: objects that wait for their owners
//	refs.go, pointers.go                       references by record, and by address
//	scopes.go, register.go, index.go           scopes, what is put into them, and how an entry is found in a large one
//	frames.go, arena.go, workspace.go          memory that is not counted
//	types.go, destruction.go, deleters.go      types; the ends of objects and of registered blocks
//	vec.go, compiler_vecs.go                   Vecs, and those that a compiler lays out
//	cells.go, cells_typed.go                   cells
//	foreign.go, foreign_texts.go, typed.go     memory of malloc and others; such blocks with a type
//	clone.go, clone_blocks.go                  deep clones
//	cycles.go, cycles_blocks.go                the cycle collector
//	tensor_support.go, sparse_support.go       what tensors and sparse matrices need of contexts
//	counters.go, stats.go, samples.go          what is counted, what the counters say, which allocations are recorded
//	errors.go, describe.go                     the sentences of errors; what is said of an object
//	check.go, check_slots.go, check_stacks.go  the checkers
package object

import (
	"cmp"
	"sync"
	"sync/atomic"

	"tlruntime/runtime/heap"
	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/registry"
	"tlruntime/runtime/status"
)

// Config is what can be chosen before the first use; zero fields take the
// defaults that docs/options.md lists.
type Config struct {
	HeapReserve    uint64
	HugePages      func() bool // heap.Config
	ArenaBytes     uint64
	RegistryShards int
	SlowOnly       bool
	// Debug guards every object; it needs SlowOnly. nil: it is off.
	Debug Debugger
	// Settles tells that whoever leaves the slow path gives recorded allocations their
	// stack (package track); a Go program's are those of its own calls.
	Settles bool
	// Malloc is the program's malloc, 0 when there is none, and Free its free; nil in a Go program,
	// where such memory cannot be registered.
	Malloc func(bytes uintptr) uintptr
	Free   func(p uintptr)
	// MallocAlign is what Malloc aligns the smallest blocks to; 0 means as the C library's does.
	MallocAlign uintptr
	// HasBarrier tells that passBarriers works without delay: the first context may be alone (alone.go).
	HasBarrier bool
	// UsableSize tells the bytes of a malloc'ed block; false: p cannot be one. 0 means that no block
	// starts at p if MallocTells, else that the program's malloc does not tell.
	UsableSize  func(p uintptr) (bytes uintptr, ok bool)
	MallocTells bool
	// AlignedAlloc returns memory that AlignedFree takes, 0 when there is none.
	AlignedAlloc func(bytes, alignment uintptr) uintptr
	AlignedFree  func(p uintptr)
	// Deleter returns the C function that frees memory of a kind that Free does not
	// take (layout.ForeignNewArray, ForeignNewScalar); 0 when the process has none.
	Deleter func(kind uint8) uintptr
	// FreeNew calls it at once, from Go.
	FreeNew func(p uintptr, kind uint8)
}

// process is the one runtime of this process. Everything in it but the locks is
// written by open, before the first context exists.
var process struct {
	opening sync.Mutex // one thread at a time starts the runtime
	opened  atomic.Bool

	cfg      Config
	g        *layout.Globals
	heap     *heap.Heap
	registry *registry.Table
	slices   slices
	nodes    nodes
	late     lateWaits
	resting  resting
	types    types
	counters counters
	debug    Debugger // nil while it is off
}

// Open starts the runtime; the first call that succeeds decides the configuration, and
// one that fails leaves nothing behind. It is safe from any goroutine.
func Open(cfg Config) status.Status {
	if process.opened.Load() {
		return status.OK
	}
	process.opening.Lock()
	defer process.opening.Unlock()
	if process.opened.Load() {
		return status.OK
	}
	defer func() { // a panic is an end without success, too
		if !process.opened.Load() {
			discard()
		}
	}()
	st := open(cfg)
	process.opened.Store(st == status.OK)
	return st
}

// Opened reports whether Open has succeeded.
func Opened() bool { return process.opened.Load() }

// discard gives back what an open that failed has made, newest first.
func discard() {
	process.slices.close()
	process.types.close()
	if process.debug != nil {
		process.debug.Close()
		process.debug = nil
	}
	if process.registry != nil {
		process.registry.Close()
		process.registry = nil
	}
	if process.heap != nil {
		process.heap.Close()
		process.heap = nil
	}
	if process.g != nil {
		memory.Unmap(layout.Address(process.g), layout.SpanBytes, "globals")
		process.g = nil
	}
}

const mallocAlign = 16

func open(cfg Config) status.Status {
	page, err := memory.Map(layout.SpanBytes, "globals")
	if err != nil {
		return status.OutOfMemory
	}
	g := layout.At[layout.Globals](page)
	cfg.MallocAlign = cmp.Or(cfg.MallocAlign, mallocAlign)
	process.cfg, process.g = cfg, g
	g.Fast = 1
	st := status.OK
	if recorder != nil {
		st = recorder.Open(g)
	}
	if st != status.OK {
		return st
	}
	if cfg.SlowOnly {
		g.Fast = 0
	}
	process.heap, st = heap.Open(g, heap.Config{ReserveBytes: cfg.HeapReserve, HugePages: cfg.HugePages, Rest: rest,
		HasBarriers: cfg.HasBarrier})
	if st != status.OK {
		return st
	}
	if process.registry, st = registry.Open(cfg.RegistryShards); st != status.OK {
		return st
	}
	g.Shards, g.ShardMask = process.registry.Layout()
	if cfg.Debug != nil {
		if st = cfg.Debug.Open(); st != status.OK {
			return st
		}
		process.debug, g.Debug = cfg.Debug, 1
	}
	if st = process.types.open(g); st != status.OK {
		return st
	}
	if st = process.slices.open(g, cfg.ArenaBytes); st != status.OK {
		return st
	}
	return process.nodes.open()
}

// Globals returns the shared table of addresses.
func Globals() *layout.Globals { return process.g }

// Settles returns Config.Settles.
func Settles() bool { return process.cfg.Settles }

// Heap returns the process's heap.
func Heap() *heap.Heap { return process.heap }

// Registry returns the table of foreign pointers.
func Registry() *registry.Table { return process.registry }
