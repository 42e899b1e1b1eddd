// # Diagnostics
//
// Counters cost almost nothing: each thread adds to its own, and a reader sums
// them up. The sums are exact while no other thread calls the library. While
// others do, the reader reads frees before allocations, so a live figure may be
// too high for a moment and is never negative. docs/statistics.md tells which
// figures add up.
package main

import "C"

import (
	"tlruntime/runtime/layout"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/debug"
	"tlruntime/runtime/observe/openmetrics"
	"tlruntime/runtime/observe/stats"
	"tlruntime/runtime/output"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_stats is filled in by tl_stats_get. New versions add fields at the end;
// struct_size tells the library which fields the caller knows.
//
//	C: typedef struct tl_stats {
//	    size_t struct_size;            /* in: sizeof(tl_stats); out: bytes filled in */
//	    uint64_t live_objects;         /* heap objects, tensors' headers and data included */
//	    uint64_t live_bytes;           /* bytes of their size classes */
//	    uint64_t allocations;          /* heap objects ever; allocations - frees = live_objects */
//	    uint64_t frees;
//	    uint64_t foreign_live;         /* registered pointers that are not the runtime's memory */
//	    uint64_t tensors_live;
//	    uint64_t pooled_tensors;       /* kept by the tensor pool and device tensor caches; not live */
//	    uint64_t pooled_bytes;
//	    uint64_t reserved_bytes;       /* address space */
//	    uint64_t committed_bytes;      /* the part of it that is usable memory */
//	    uint64_t scope_entries_skipped; /* entries whose object had been freed by hand */
//	    uint64_t releases_deferred;    /* last references dropped by a thread that is not the owner */
//	    uint64_t slow_calls;           /* calls of the slow path */
//	    uint64_t system_calls;         /* system calls about memory */
//	    uint64_t contexts;             /* threads attached or parked */
//	    uint64_t plain_live;           /* live objects by kind: plain bytes, */
//	    uint64_t typed_live;           /* of a tl_type, */
//	    uint64_t vecs_live;            /* Vecs, without their element tables, */
//	    uint64_t sparse_live;          /* sparse matrices, without the tensors that they are made of */
//	    uint64_t tensor_bytes;         /* live tensors' part of live_bytes */
//	    uint64_t tensor_allocations;   /* tensors ever; with those that were kept and given out again */
//	    uint64_t pool_hits;            /* calls of tl_pool_acquire and requests of devices that kept tensors served */
//	    uint64_t pool_misses;          /* those that they did not */
//	    uint64_t foreign_allocations;  /* pointers ever registered: foreign_live, and those released or handed back */
//	    uint64_t foreign_bytes;        /* bytes of registered memory */
//	    uint64_t registry_buffers;     /* live shared buffers of the registry */
//	    uint64_t pool_blocks_live;     /* blocks of memory pools, */
//	    uint64_t pool_blocks_allocated; /* ever given out, */
//	    uint64_t pool_block_bytes;     /* and the bytes of live ones */
//	    uint64_t frame_bytes;          /* in use in the frames of all threads */
//	    uint64_t arena_bytes;          /* in use in their arenas */
//	    uint64_t scope_entries;        /* references that their scopes hold */
//	    uint64_t held_bytes;           /* tl_mem_usage of TL_MEM_TOTAL: reserved */
//	    uint64_t held_peak;            /* the most that held_bytes was since tl_stats_reset_peak */
//	    uint64_t in_use_bytes;         /* the part of it in live objects and blocks */
//	    uint64_t in_use_peak;          /* bound of its peak: not below the true peak, not above held_peak */
//	    uint64_t bytes_allocated;      /* in objects and blocks, ever; without bytes_freed it is in_use_bytes */
//	    uint64_t bytes_freed;
//	    uint64_t out_of_memory;        /* requests that failed although caches were emptied */
//	} tl_stats;
const _ = "tl_stats"

// tl_stats_get fills in the counters of the process. Set struct_size first.
//
//	C: tl_status tl_stats_get(tl_stats* out_stats);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (NULL, or a struct_size below 16).
// Cost: slow call; linear in the number of threads, types, pools and keys of the tensor pool.
//
//export tlgo_stats_get
func tlgo_stats_get(c, out uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return fillStruct(o, out, "tl_stats", gather) })
}

// tl_stats_json writes all statistics as JSON, in the form of docs/statistics.md: the
// sum, kinds, types, size classes, devices. It writes as much of the text as
// fits and always ends it with a zero byte, as snprintf does. The figures, and
// with them the length, may change from call to call.
//
//	C: size_t tl_stats_json(char* buffer, size_t bytes);
//
// Ownership: none.
// Returns: the length of the whole text without its zero byte; when the length is not
// less than bytes, the text was cut. 0 on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, and bytes is not 0).
// Cost: slow call; that of tl_stats_get for each device, and some 20 microseconds.
//
//export tlgo_stats_json
func tlgo_stats_json(c, buffer, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return fillText(o, buffer, bytes, stats.Read(stats.All).JSON())
	})
}

// tl_stats_openmetrics writes all statistics as OpenMetrics text (the OpenMetrics
// specification 1.0.0), for Prometheus and its like, into a buffer as tl_stats_json
// does. While other threads work a counter may read a little less than it did before.
//
//	C: size_t tl_stats_openmetrics(char* buffer, size_t bytes);
//
// Ownership: none.
// Returns: the length of the whole text without its zero byte; when that is not less
// than bytes, the text was cut. 0 on failure.
// Errors: TL_E_INVALID_ARGUMENT (NULL, and bytes is not 0).
// Cost: slow call; that of tl_stats_json.
//
//export tlgo_stats_openmetrics
func tlgo_stats_openmetrics(c, buffer, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		return fillText(o, buffer, bytes, openmetrics.Text(stats.Read(stats.All)))
	})
}

// tl_stats_print writes all statistics as a table for people: into a file, which is
// replaced (by the rule that stands under Profiles), or to standard error.
// TL_SHOW_STATS=1 does it at the end of the process.
//
//	C: tl_status tl_stats_print(const char* path);
//
// Ownership: none; path is read during the call only. NULL is standard error.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (the file cannot be written; the message says why).
// Cost: slow call; that of tl_stats_json.
//
//export tlgo_stats_print
func tlgo_stats_print(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return printText(o, path, stats.Read(stats.All).Table())
	})
}

// tl_stats_reset_peak sets every peak to what is held or in use now: for all
// devices, in tl_stats, tl_mem_usage_info and tl_memory_pool_stats.
//
//	C: tl_status tl_stats_reset_peak(void);
//
// Ownership: none.
// Returns: TL_OK.
// Errors: none.
// Cost: slow call; linear in the number of pools.
//
//export tlgo_stats_reset_peak
func tlgo_stats_reset_peak(c uintptr) int32 {
	return guardedStatus(c, func(*object.Context) status.Status {
		stats.ResetPeaks()
		return status.OK
	})
}

// tl_mem_purge gives idle memory back to the system: free objects kept by this
// thread, the tensor pool, empty spans, the unused part of the stacks. Other
// threads give back what they keep at their next slow call. What waits for
// another thread stays, see tl_mem_usage_info.
//
//	C: tl_status tl_mem_purge(void);
//
// Ownership: none.
// Returns: TL_OK.
// Errors: none.
// Cost: slow call; linear in what is idle.
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
// Cost: slow call; a few microseconds; reads a file of the system.
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
// Cost: slow call; a few microseconds; reads a file of the system.
// LLVM: nounwind.
const _ = "tl_get_memory_mb"

// tl_log_alloc tells the runtime the source line of an allocation by emitted
// code. With TL_MEM_LOG set it writes one line to standard error. With tracking
// on, the line becomes the site of that allocation, as with tl_track_site.
// Otherwise it does nothing.
//
//	C: tl_status tl_log_alloc(const void* pointer, int64_t bytes, const char* file, uint32_t line);
//
// Ownership: none; file is copied if need be.
// Returns: TL_OK.
// Errors: none.
// Cost: fast; constant when logging is off; that of tl_track_site when tracking is on.
// Fails: TL_OK.
//
//export tlgo_log_alloc
func tlgo_log_alloc(c, pointer uintptr, bytes int64, file uintptr, line uint32) int32 {
	return guardedStatus(c, func(*object.Context) status.Status {
		nameSite(pointer, file, line)
		return status.OK
	})
}

// tl_log_free is the counterpart of tl_log_alloc: with TL_MEM_LOG set it writes
// one line to standard error.
//
//	C: tl_status tl_log_free(const void* pointer, const char* file, uint32_t line);
//
// Ownership: none; file is read during the call only.
// Returns: TL_OK.
// Errors: none.
// Cost: fast; constant when logging is off.
// LLVM: nounwind.
const _ = "tl_log_free"

// tl_trace_mem writes a message and the resident memory of the process to
// standard error when TL_MEM_LOG is set.
//
//	C: tl_status tl_trace_mem(const char* message);
//
// Ownership: none; message is read during the call only.
// Returns: TL_OK.
// Errors: none.
// Cost: fast; constant when logging is off.
// LLVM: nounwind.
const _ = "tl_trace_mem"

// smallestStats is the struct_size of a caller that wants one field.
const smallestStats = 16

func gather() tl_stats {
	s := stats.Read(stats.Options{Total: true})
	k := s.Kinds
	plain, typed, vecs, tensors, sparse := k[0].Count, k[1].Count, k[2].Count, k[4].Count, k[5].Count
	d := s.Devices[0]
	return tl_stats{
		LiveObjects: s.Total.Live, LiveBytes: s.Total.Bytes, Allocations: s.Total.Allocations, Frees: s.Total.Frees,
		ForeignLive: s.Foreign.Live, TensorsLive: tensors.Live,
		PooledTensors: s.TensorPool.Tensors, PooledBytes: s.TensorPool.Bytes,
		ReservedBytes: s.Process.ReservedAddresses, CommittedBytes: s.Process.CommittedBytes,
		ScopeEntriesSkipped: s.Process.ScopeEntriesSkipped, ReleasesDeferred: s.Process.ReleasesDeferred,
		SlowCalls: s.Process.SlowCalls, SystemCalls: s.Process.SystemCalls, Contexts: s.Process.Contexts,
		PlainLive: plain.Live, TypedLive: typed.Live, VecsLive: vecs.Live, SparseLive: sparse.Live,
		TensorBytes: tensors.Bytes, TensorAllocations: tensors.Allocations,
		PoolHits: s.TensorPool.Hits, PoolMisses: s.TensorPool.Misses,
		ForeignAllocations: s.Foreign.Allocations, ForeignBytes: s.Foreign.Bytes,
		RegistryBuffers: s.Process.RegistryBuffers,
		PoolBlocksLive:  s.PoolBlocks.Live, PoolBlocksAllocated: s.PoolBlocks.Allocations,
		PoolBlockBytes: s.PoolBlocks.Bytes,
		FrameBytes:     s.Stacks.FrameBytes, ArenaBytes: s.Stacks.ArenaBytes, ScopeEntries: s.Stacks.ScopeEntries,
		HeldBytes: d.Reserved, HeldPeak: d.Peak, InUseBytes: d.InUse, InUsePeak: d.PeakInUse,
		BytesAllocated: d.Allocated, BytesFreed: d.Freed, OutOfMemory: d.Failed,
	}
}

// fillText writes a text and its end into the caller's buffer, as much of it as fits, and
// returns the length of all of it.
func fillText(o *object.Context, buffer, room uintptr, text []byte) uintptr {
	if room == 0 {
		return uintptr(len(text))
	}
	if !usable(buffer) {
		fail(o, status.InvalidArgument, "there is no buffer of %d bytes; pass one, or NULL and 0 for the length", room)
		return 0
	}
	n := min(uintptr(len(text)), room-1)
	copy(layout.Bytes(buffer, uint64(n)), text[:n])
	store(buffer+n, byte(0))
	return uintptr(len(text))
}

// printText writes a text into the file that path names, to standard error when path is NULL.
func printText(o *object.Context, path uintptr, text string) status.Status {
	if path == 0 {
		output.TellText(text)
		return status.OK
	}
	name, st := textOf(o, path, "path")
	if st != status.OK {
		return st
	}
	if err := output.WriteText(name, text); err != nil {
		return fail(o, status.InvalidArgument, "nothing was written: %v", err)
	}
	return status.OK
}

// purge gives back what the tensor pool keeps first: it lies in objects that
// the heap can then give back too.
func purge(o *object.Context) status.Status {
	tensor.Purge(o)
	o.Purge()
	return status.OK
}

// shutdown empties the tensor pool as well: it lies in the heap.
func shutdown(o *object.Context) status.Status {
	st := o.Shutdown()
	if st == status.OK {
		tensor.Purge(o)
		o.Purge()
	}
	if st == status.OK && options.Flag("TL_DEBUG") {
		debug.CheckAll(o) // damage is the status of the call: it is not asked for here
	}
	return st
}
