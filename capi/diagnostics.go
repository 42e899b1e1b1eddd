// # Diagnostics
//
// Counters cost nothing that would show: each thread adds to its own, and a
// reader sums them up. At quiescence the sums are exact. While others run,
// frees are read before allocations, so that a live figure may be too high for
// a moment and is never negative.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_stats is what tl_stats_get fills in. It grows at the end; struct_size
// tells the library how much of it the caller knows.
//
//	C: typedef struct tl_stats {
//	    size_t struct_size;            /* in: sizeof(tl_stats); out: bytes filled in */
//	    uint64_t live_objects;         /* heap objects, tensors' headers and data included */
//	    uint64_t live_bytes;           /* their size classes */
//	    uint64_t allocations;          /* heap objects ever; allocations - frees = live_objects */
//	    uint64_t frees;
//	    uint64_t foreign_live;         /* registered pointers that are not the runtime's memory */
//	    uint64_t tensors_live;
//	    uint64_t pooled_tensors;       /* kept by the pool; not live */
//	    uint64_t pooled_bytes;
//	    uint64_t reserved_bytes;       /* address space */
//	    uint64_t committed_bytes;      /* of it, usable memory */
//	    uint64_t scope_entries_skipped; /* their object had been freed by hand */
//	    uint64_t releases_deferred;    /* last references dropped by a thread that is not the owner */
//	    uint64_t slow_calls;           /* crossings into the slow door */
//	    uint64_t system_calls;         /* about memory */
//	    uint64_t contexts;             /* threads attached or parked */
//	} tl_stats;
type tl_stats struct {
	StructSize          uintptr
	LiveObjects         uint64
	LiveBytes           uint64
	Allocations         uint64
	Frees               uint64
	ForeignLive         uint64
	TensorsLive         uint64
	PooledTensors       uint64
	PooledBytes         uint64
	ReservedBytes       uint64
	CommittedBytes      uint64
	ScopeEntriesSkipped uint64
	ReleasesDeferred    uint64
	SlowCalls           uint64
	SystemCalls         uint64
	Contexts            uint64
}

// tl_stats_get fills in the counters of the process. Set struct_size first.
//
//	C: tl_status tl_stats_get(tl_stats* out_stats);
//
// Ownership: none.
// Threads: any thread.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (NULL, or a struct_size below 16).
// Cost: linear in the number of contexts.
//
//export tlgo_stats_get
func tlgo_stats_get(c, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return fillStats(o, out) })
}

// tl_mem_purge gives idle memory back to the system: free objects kept by this
// thread, the tensor pool, empty spans, the unused part of the stacks. Other
// threads give theirs back at their next slow call.
//
//	C: tl_status tl_mem_purge(void);
//
// Ownership: none.
// Threads: any thread.
// Returns: TL_OK.
// Errors: none.
// Cost: linear in what is idle.
//
//export tlgo_mem_purge
func tlgo_mem_purge(c uintptr) int32 {
	return guardedStatus(c, purge)
}

// tl_get_memory_bytes returns the resident memory of the process.
//
//	C: int64_t tl_get_memory_bytes(void);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: bytes, 0 when the system does not tell.
// Errors: none.
// Cost: a few microseconds; reads a file of the system.
// Door: shim.
// LLVM: nounwind.
const _ = "tl_get_memory_bytes"

// tl_get_memory_mb is tl_get_memory_bytes in units of 1024 * 1024 bytes,
// rounded down.
//
//	C: int64_t tl_get_memory_mb(void);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: mebibytes, 0 when the system does not tell.
// Errors: none.
// Cost: a few microseconds; reads a file of the system.
// Door: shim.
// LLVM: nounwind.
const _ = "tl_get_memory_mb"

// tl_log_alloc tells the runtime where emitted code has allocated. With
// TL_MEM_LOG set it writes one line to standard error; with tracking on, the line
// becomes the site of that allocation, as with tl_track_site. Else it does nothing.
//
//	C: tl_status tl_log_alloc(const void* pointer, int64_t bytes, const char* file, uint32_t line);
//
// Ownership: none; file is copied if need be.
// Threads: any thread.
// Returns: TL_OK.
// Errors: none.
// Cost: constant when logging is off; that of tl_track_site when tracking is on.
// Door: fast.
// Fails: TL_OK.
//
//export tlgo_log_alloc
func tlgo_log_alloc(c, pointer uintptr, bytes int64, file uintptr, line uint32) int32 {
	return guardedStatus(c, func(*object.Context) status.Status {
		nameSite(pointer, file, line)
		return status.OK
	})
}

// tl_log_free is the counterpart of tl_log_alloc.
//
//	C: tl_status tl_log_free(const void* pointer, const char* file, uint32_t line);
//
// Ownership: none; file is read during the call only.
// Threads: any thread.
// Returns: TL_OK.
// Errors: none.
// Cost: constant when logging is off.
// Door: shim.
// LLVM: nounwind.
const _ = "tl_log_free"

// tl_trace_mem writes a message and the resident memory of the process to
// standard error when TL_MEM_LOG is set.
//
//	C: tl_status tl_trace_mem(const char* message);
//
// Ownership: none; message is read during the call only.
// Threads: any thread.
// Returns: TL_OK.
// Errors: none.
// Cost: constant when logging is off.
// Door: shim.
// LLVM: nounwind.
const _ = "tl_trace_mem"
