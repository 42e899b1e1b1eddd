// # Memory pools
//
// Memory of a device is slow to obtain: it takes a call to the driver or the
// system, and on the CPU a page fault for each page. A pool obtains a chunk
// once and cuts blocks out of it. For each request it takes the smallest free
// block that is large enough, and of several the one at the lowest address. It
// splits the block when more than 256 bytes would remain, and merges a returned
// block with its free neighbours. A pool never reads or writes the memory, so
// the same calls give the same layout on every device.
//
// Threads that use a pool at the same time keep a few blocks each, which they
// gave back, and take them again for requests of the same size. Before a request
// fails or obtains a chunk, and before statistics, trim or reset, the pool takes
// those blocks back.
//
// Sizes are rounded up to the alignment of the allocator. When no block fits,
// the pool asks its allocator for a chunk as large as its first one, or twice
// the request if that is more, and when the allocator refuses, for a chunk of
// the request alone. When the allocator refuses that too, the runtime empties
// caches and returns idle chunks of all pools over that memory before the
// request fails; see Limits.
//
//	tl_memory_pool* pool;
//	tl_memory_pool_create(allocator, TL_MEMORY_POOL_DEFAULT_BYTES, &pool);
//	void* block = tl_memory_pool_allocate(pool, 4096);
//	tl_memory_pool_deallocate(pool, block);
//	tl_memory_pool_destroy(pool);
package main

import "C"

import (
	"tlruntime/runtime/device"
	"tlruntime/runtime/mempool"
	"tlruntime/runtime/object"
	"tlruntime/runtime/observe/debug"
	"tlruntime/runtime/observe/track"
	"tlruntime/runtime/status"
)

// TL_MEMORY_POOL_DEFAULT_BYTES is a size for the first chunk, 256 MiB. On the
// CPU a chunk is address space; only pages that are written to take memory.
//
//	C: #define TL_MEMORY_POOL_DEFAULT_BYTES 268435456u
const _ = "TL_MEMORY_POOL_DEFAULT_BYTES"

// tl_memory_pool is the handle of a pool. It is not an address: nothing can be
// read there.
//
//	C: typedef struct tl_memory_pool tl_memory_pool;
const _ = "tl_memory_pool"

// tl_memory_pool_stats are the counters of one pool. Set struct_size before the
// call; an older library, which knows fewer counters, fills in fewer. Bytes are
// those of blocks, so each request counts with its rounded size. While several
// threads use a pool at once, peak_usage is at least what was in use at once and
// at most the sum of the most that each of them held.
//
//	C: typedef struct tl_memory_pool_stats {
//	    size_t struct_size;              /* sizeof(tl_memory_pool_stats) */
//	    uint64_t total_allocated;        /* bytes ever given out */
//	    uint64_t total_freed;            /* of them, bytes that came back */
//	    uint64_t current_usage;          /* bytes of live blocks: the difference */
//	    uint64_t peak_usage;             /* the most that current_usage was, ever or since tl_stats_reset_peak */
//	    uint64_t num_allocations;        /* blocks ever given out */
//	    uint64_t num_deallocations;      /* of them, blocks that came back */
//	    uint64_t num_pool_allocations;   /* blocks that were cut from chunks: equal to num_allocations */
//	    uint64_t num_device_allocations; /* chunks ever obtained, the first one included */
//	    uint64_t reserved;               /* bytes of the chunks that the pool has */
//	    uint64_t largest_free_block;     /* bytes */
//	    uint64_t num_free_blocks;
//	    uint64_t waiting_bytes;          /* given back in the order of a stream, and not free yet */
//	    uint64_t num_waiting_blocks;
//	} tl_memory_pool_stats;
const _ = "tl_memory_pool_stats"

// tl_memory_pool_create makes a pool over an allocator and obtains its first
// chunk. The allocator's description is copied; what it describes has to stay
// usable for as long as the pool.
//
//	C: tl_status tl_memory_pool_create(const tl_device_allocator* allocator, size_t initial_bytes, tl_memory_pool** out_pool);
//
// Ownership: the caller ends the pool with tl_memory_pool_destroy.
// Threads: any thread; the pool is for all of them.
// Returns: TL_OK and the pool in *out_pool, or why no pool was made.
// Errors: TL_E_INVALID_ARGUMENT (NULL, zero bytes, an alignment that is not a power
// of two, a struct_size that is too small, a function that is missing),
// TL_E_OVERFLOW (more bytes than a chunk can have), TL_E_OUT_OF_MEMORY (the
// allocator returned NULL, or no memory for tables), TL_E_DEVICE (the allocator
// returned memory that is misaligned or at an impossible address), TL_E_LIMIT
// (1023 pools, or a limit of the memory).
// Cost: slow call; one call of the allocator, and two of the system for tables.
//
//export tlgo_memory_pool_create
func tlgo_memory_pool_create(c, allocator, initialBytes, outPool uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return createPool(o, allocator, initialBytes, outPool)
	})
}

// tl_memory_pool_allocate returns a block of at least that many bytes, with the
// allocator's alignment. Its contents are undefined.
//
//	C: void* tl_memory_pool_allocate(tl_memory_pool* pool, size_t bytes);
//
// Ownership: the caller gives the block back with tl_memory_pool_deallocate.
// Returns: the block, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_OVERFLOW (more bytes than a
// block can have), TL_E_OUT_OF_MEMORY (no block fits and the allocator has no
// chunk, or there is no memory for tables), TL_E_LIMIT (see
// tl_memory_pool_set_limit and tl_mem_set_limit), TL_E_DEVICE (the allocator returned memory that is
// misaligned or overlaps an earlier chunk).
// Cost: fast; about 5 ns for the size that was given back last; else about 50 ns, and at most logarithmic in
// the number of blocks.
//
//export tlgo_memory_pool_allocate
func tlgo_memory_pool_allocate(c, p, bytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return giveOut(o, mempool.Handle(p), bytes) })
}

// tl_memory_pool_deallocate takes a block back, from any thread.
//
//	C: tl_status tl_memory_pool_deallocate(tl_memory_pool* pool, void* block);
//
// Ownership: takes the block.
// Returns: TL_OK, or why nothing was done.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_UNKNOWN_POINTER (no live block of
// this pool starts there: the block was given back already, or the address lies inside
// a block, belongs to another pool or to none).
// Cost: fast; about 5 ns for the block that was given out last; else about 50 ns.
//
//export tlgo_memory_pool_deallocate
func tlgo_memory_pool_deallocate(c, p, block uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return takeBack(o, mempool.Handle(p), block, false, func() error {
			return mempool.Deallocate(mempool.Handle(p), block)
		})
	})
}

// tl_memory_pool_allocate_async returns a block for work that will be put into a
// stream of the pool's device. Blocks that were given back in the same stream
// can be reused at once; the pool takes the best fit of them. If none fits it
// allocates as tl_memory_pool_allocate does.
//
//	C: void* tl_memory_pool_allocate_async(tl_memory_pool* pool, size_t bytes, void* stream);
//
// Ownership: the caller gives the block back with tl_memory_pool_deallocate_async,
// or with tl_memory_pool_deallocate when no work uses it any more.
// Returns: the block, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_UNSUPPORTED (the device has no
// streams, and stream is not NULL), TL_E_OVERFLOW (more bytes than a block can
// have), TL_E_OUT_OF_MEMORY, TL_E_LIMIT, TL_E_DEVICE, as with
// tl_memory_pool_allocate.
// Cost: slow call; linear in the number of blocks that wait.
//
//export tlgo_memory_pool_allocate_async
func tlgo_memory_pool_allocate_async(c, p, bytes, stream uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr {
		block, err := mempool.AllocateAsync(mempool.Handle(p), bytes, device.Stream(stream))
		track.SpendBlock(o, block, bytes)
		if room, onCPU := mempool.Room(mempool.Handle(p), bytes); onCPU {
			debug.OpenRange(block, uintptr(room))
		}
		return blockOr(o, block, err)
	})
}

// tl_memory_pool_deallocate_async gives a block back that work in a stream may still
// use. Allocations for the same stream may reuse the block at once, all others
// only after the work that is in the stream now. The block counts as freed from
// here on, and as a free block when that work is done. Before the pool asks its
// device for memory it checks which blocks are ready; when the device has no
// memory left, the pool waits for the oldest block.
//
//	C: tl_status tl_memory_pool_deallocate_async(tl_memory_pool* pool, void* block, void* stream);
//
// Ownership: takes the block. NULL is fine.
// Returns: TL_OK, or why nothing was given back.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_UNKNOWN_POINTER (no live block
// of this pool starts there), TL_E_UNSUPPORTED (the device has no streams, and
// stream is not NULL), TL_E_OUT_OF_MEMORY (no memory for an event), TL_E_DEVICE
// (the driver did not record one).
// Cost: slow call; two calls of the driver.
//
//export tlgo_memory_pool_deallocate_async
func tlgo_memory_pool_deallocate_async(c, p, block, stream uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return takeBack(o, mempool.Handle(p), block, true, func() error {
			return mempool.DeallocateAsync(mempool.Handle(p), block, device.Stream(stream))
		})
	})
}

// tl_memory_pool_reset takes all blocks back at once: every chunk is one free
// block again, of the size that it was obtained with. Live blocks count as
// given back, and the peak stays. Old pointers are TL_E_UNKNOWN_POINTER until
// their address is given out again. The call first waits for blocks that were
// given back in the order of a stream.
//
//	C: tl_status tl_memory_pool_reset(tl_memory_pool* pool);
//
// Ownership: takes all blocks.
// Threads: any thread; the blocks of all threads end.
// Returns: TL_OK, or why nothing was done.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_DEVICE (the driver fails to tell
// when the streams are done).
// Cost: slow call; linear in the most blocks that the pool ever had.
//
//export tlgo_memory_pool_reset
func tlgo_memory_pool_reset(c, p uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return resetPool(o, mempool.Handle(p)) })
}

// tl_memory_pool_trim gives every chunk that has no live block back to the
// allocator. The next request that finds no block obtains a new one.
//
//	C: tl_status tl_memory_pool_trim(tl_memory_pool* pool);
//
// Ownership: none.
// Returns: TL_OK, or what went wrong.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_DEVICE (the device did not
// take a chunk back; the pool gives it up nevertheless).
// Cost: slow call; linear in the number of chunks, and a call of the allocator for each chunk that it gives
// back.
//
//export tlgo_memory_pool_trim
func tlgo_memory_pool_trim(c, p uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return poolStatus(o, mempool.Trim(mempool.Handle(p)))
	})
}

// tl_memory_pool_destroy ends a pool and gives its chunks back to the allocator.
// A pool that has live blocks stays as it is, so that no pointer in use loses
// its memory: give them back, or reset the pool, first.
//
//	C: tl_status tl_memory_pool_destroy(tl_memory_pool* pool);
//
// Ownership: takes the pool; its handle is invalid from here on. NULL is fine.
// Returns: TL_OK, or what went wrong.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_BUSY (blocks are live),
// TL_E_DEVICE (the device did not take a chunk back; the pool has ended
// nevertheless).
// Cost: slow call; a call of the allocator for each chunk.
//
//export tlgo_memory_pool_destroy
func tlgo_memory_pool_destroy(c, p uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return poolStatus(o, mempool.Destroy(mempool.Handle(p)))
	})
}

// tl_memory_pool_set_limit bounds the bytes of all chunks of a pool. Idle chunks
// above the limit are given back at once, blocks in use stay, and a request
// that would need a chunk beyond the limit fails with TL_E_LIMIT.
//
//	C: tl_status tl_memory_pool_set_limit(tl_memory_pool* pool, size_t bytes);
//
// Ownership: none.
// Returns: TL_OK, or what went wrong.
// Errors: TL_E_INVALID_ARGUMENT (no such pool), TL_E_DEVICE (the device did not
// take a chunk back; the limit is set nevertheless).
// Cost: slow call; with more reserved than the limit, that of tl_memory_pool_trim.
//
//export tlgo_memory_pool_set_limit
func tlgo_memory_pool_set_limit(c, p, bytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return poolStatus(o, mempool.SetLimit(mempool.Handle(p), uint64(bytes)))
	})
}

// tl_memory_pool_stats_get reads the counters of a pool, all at one moment.
//
//	C: tl_status tl_memory_pool_stats_get(tl_memory_pool* pool, tl_memory_pool_stats* out_stats);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (no such pool, NULL, struct_size not set).
//
//export tlgo_memory_pool_stats_get
func tlgo_memory_pool_stats_get(c, p, outStats uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return poolStats(o, p, outStats) })
}

// lockBlocks lets one thread at a time give out blocks of a pool and take them back, with TL_DEBUG: what is
// given out is guarded, and what is taken back is looked at, before another thread can take it or
// have its chunk trimmed.
func lockBlocks(h mempool.Handle) (unlock func()) {
	if !options.Flag("TL_DEBUG") {
		return func() {}
	}
	return mempool.LockBlocks(h)
}

// giveOut allocates a block and puts a red zone behind it, with TL_DEBUG.
func giveOut(o *object.Context, h mempool.Handle, bytes uintptr) uintptr {
	defer lockBlocks(h)()
	block, err := mempool.Allocate(h, bytes)
	track.SpendBlock(o, block, bytes)
	if room, onCPU := mempool.Room(h, bytes); onCPU && options.Flag("TL_DEBUG") {
		debug.GuardBlock(uintptr(h), block, uint64(bytes), room)
	}
	return blockOr(o, block, err)
}

// takeBack takes a block back. Without TL_DEBUG its record lapses by itself, unless it goes in the order of a
// stream.
func takeBack(o *object.Context, h mempool.Handle, block uintptr, ordered bool, free func() error) status.Status {
	defer lockBlocks(h)()
	again := debug.UnguardBlock(o, uintptr(h), block, !ordered)
	err := free()
	switch {
	case err != nil:
		again()
	case ordered || options.Flag("TL_DEBUG"):
		track.Forget(uint64(block))
	}
	return poolStatus(o, err)
}

// resetPool takes all blocks of a pool back and drops their records.
func resetPool(o *object.Context, h mempool.Handle) status.Status {
	defer lockBlocks(h)()
	var recorded []uint64
	if track.Period() != 0 {
		mempool.Live(func(of mempool.Handle, address, _ uintptr) {
			if of == h {
				recorded = append(recorded, uint64(address))
			}
		})
	}
	err := mempool.Reset(h, func() { debug.UnguardPool(o, uintptr(h)) })
	if err == nil {
		for _, address := range recorded {
			track.Forget(address)
		}
	}
	return poolStatus(o, err)
}
