// # Limits
//
// The runtime counts the memory that it holds in accounts. The account of the
// CPU has the spans of the heap and the chunks of memory pools over the CPU.
// Each other device has an account of the chunks of its pools, and one more
// account has the chunks of pools over allocators of the program's own. Each
// account, and the sum of all, can have two limits: above the soft limit caches
// shrink, and the hard limit is never exceeded. TL_MEM_LIMIT and
// TL_MEM_SOFT_LIMIT set them from the environment.
//
// When a request would exceed a hard limit, or the system or a device has no
// more memory, the runtime reclaims memory before the request fails: from
// magazines, from the tensor pool, from empty chunks of pools and idle pages of
// the heap. Last it calls a callback of the program's, which can release what
// the program can do without. The runtime reclaims in small steps, and tries
// the request again after each. If all that is not enough the call fails:
// TL_E_LIMIT for a limit, TL_E_OUT_OF_MEMORY otherwise, from every function
// that makes objects, tensors or blocks. The message has the figures.
package main

import "C"

import (
	"tlruntime/runtime/limit"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
	"tlruntime/runtime/tensor"
)

// tl_mem_account lists the accounts that do not belong to one device. The
// account of a device has the number of the device; 0 is the CPU.
//
//	C: enum tl_mem_account {
//	    TL_MEM_TOTAL = -1,         /* the sum of all */
//	    TL_MEM_OWN_ALLOCATORS = -2 /* memory pools over allocators of the program's own */
//	};
const _ = "tl_mem_account"

// tl_out_of_memory_callback is called when a request for memory is about to
// fail, so that the program can release something. device is the device of the
// memory (or TL_MEM_OWN_ALLOCATORS), requested the size of the request in
// bytes, and attempt counts the calls for this request from 1. The callback
// returns true to have the request tried again, and false to let it fail. It
// may call any function of the library; calls of its own that find no memory
// fail at once. It runs on the thread that needs the memory, with no lock held.
// It may throw or longjmp; the call that needed the memory has then done
// nothing.
//
//	C: typedef bool (*tl_out_of_memory_callback)(int32_t device, size_t requested, uint32_t attempt, void* ctx);
const _ = "tl_out_of_memory_callback"

// tl_mem_usage_info is filled in by tl_mem_usage. New versions add fields at
// the end; struct_size tells the library which fields the caller knows.
//
// An object waits when another thread has dropped its last reference and the
// thread that made the object did not free it yet: that thread sleeps, or makes
// no call. On Linux the library frees plain objects of a thread that sleeps once
// more than 4 MiB wait; others that thread alone frees. waiting_bytes counts the object,
// and a Vec's table, and not what it refers to. tl_ptr_share before the hand-over
// has the thread that drops the last reference free the object. tl_thread_detach
// before a long wait lets other threads free what waits for this one.
//
//	C: typedef struct tl_mem_usage_info {
//	    size_t struct_size;          /* in: sizeof(tl_mem_usage_info); out: bytes filled in */
//	    uint64_t in_use;             /* bytes of live objects and of live blocks of pools */
//	    uint64_t cached;             /* the rest of what is reserved: kept tensors, free slots and blocks */
//	    uint64_t reserved;           /* bytes of spans in use and of chunks: what the limits bound */
//	    uint64_t peak;               /* the most that reserved was, ever or since tl_stats_reset_peak */
//	    uint64_t soft_limit;         /* 0 = none */
//	    uint64_t hard_limit;         /* 0 = none */
//	    uint64_t relieved;            /* how often caches were asked to give memory back */
//	    uint64_t failed;             /* how often that was not enough */
//	    uint64_t largest_free_block; /* in the memory that is held */
//	    uint64_t waiting_bytes;      /* in use by objects that wait for their owners, see below */
//	    uint64_t waiting_objects;    /* how many they are */
//	} tl_mem_usage_info;
const _ = "tl_mem_usage_info"

// tl_pool_key_stats is filled in by tl_pool_key_stats_get. It tells what the
// tensor pool or a device tensor cache keeps under one key.
//
//	C: typedef struct tl_pool_key_stats {
//	    size_t struct_size; /* in: sizeof(tl_pool_key_stats); out: bytes filled in */
//	    uint64_t elements;
//	    uint64_t tensors;   /* kept now; 0: no such key */
//	    uint64_t bytes;     /* of all of them */
//	    uint32_t dtype;
//	    uint32_t device;
//	} tl_pool_key_stats;
const _ = "tl_pool_key_stats"

// tl_mem_set_limit bounds the memory of a device, or of all. Above the soft
// limit caches are emptied, at most every 100 milliseconds, and requests
// succeed. A request that would exceed the hard limit empties caches, calls the
// callback, and then fails. 0 means no limit. Idle memory above a new limit is
// given back at once. Live memory stays, and further requests fail until enough
// has been released.
//
//	C: tl_status tl_mem_set_limit(int32_t device, uint64_t soft_bytes, uint64_t hard_bytes);
//
// Ownership: none.
// Returns: TL_OK, or why the limits stay as they were.
// Errors: TL_E_DEVICE (no such device), TL_E_INVALID_ARGUMENT (a soft limit above
// the hard one).
// Cost: slow call; linear in the idle memory that is given back.
//
//export tlgo_mem_set_limit
func tlgo_mem_set_limit(c uintptr, device int32, softBytes, hardBytes uint64) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return setLimit(o, device, softBytes, hardBytes) })
}

// tl_mem_get_limit returns the limits of a device, or of all; 0 means no limit.
//
//	C: tl_status tl_mem_get_limit(int32_t device, uint64_t* out_soft_bytes, uint64_t* out_hard_bytes);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_DEVICE (no such device), TL_E_INVALID_ARGUMENT (NULL).
//
//export tlgo_mem_get_limit
func tlgo_mem_get_limit(c uintptr, device int32, outSoftBytes, outHardBytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return getLimit(o, device, outSoftBytes, outHardBytes)
	})
}

// tl_mem_usage tells how much memory the runtime holds of a device, or of all.
// Set struct_size first. The figures are exact while no other thread changes
// them. The calling thread frees first what waits for it.
//
//	C: tl_status tl_mem_usage(int32_t device, tl_mem_usage_info* out_info);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_DEVICE (no such device), TL_E_INVALID_ARGUMENT (NULL, or a
// struct_size below 16).
// Cost: slow call; linear in the number of threads, pools and keys of the tensor pool.
//
//export tlgo_mem_usage
func tlgo_mem_usage(c uintptr, device int32, outInfo uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return memUsage(o, device, outInfo) })
}

// tl_mem_set_out_of_memory_callback sets the function that is called last
// before a request for memory fails; NULL removes it. When the callback has
// released enough the call succeeds, and the thread's last error is cleared.
//
//	C: tl_status tl_mem_set_out_of_memory_callback(tl_out_of_memory_callback callback, void* ctx);
//
// Ownership: none; ctx is passed to the callback as it is.
// Threads: any thread; the callback serves all threads, and may run on several at once.
// Returns: TL_OK, or why the runtime could not start.
// Errors: TL_E_OUT_OF_MEMORY.
const _ = "tl_mem_set_out_of_memory_callback"

// tl_pool_set_limits bounds the tensor pool, the list of tensors that tl_pool_release
// was given, and the device tensor cache of each device: how many tensors of one
// key (elements, dtype, device) each keeps, by default 32, and how many bytes of
// all keys, by default 256 MiB. If either is 0 they keep nothing. Tensors above a
// new limit are freed at once. TL_TENSOR_POOL does the same from the environment.
//
//	C: tl_status tl_pool_set_limits(size_t per_key, size_t bytes);
//
// Ownership: none.
// Returns: TL_OK, or why the limits stay as they were.
// Errors: TL_E_INVALID_ARGUMENT (more than 1024 tensors of a key).
// Cost: slow call; linear in what is kept.
//
//export tlgo_pool_set_limits
func tlgo_pool_set_limits(c, perKey, bytes uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return tensor.SetPoolLimits(o, uint64(perKey), uint64(bytes))
	})
}

// tl_pool_key_stats_get tells what the tensor pool and the device tensor caches
// keep under one key: rank 0 is the key with the most bytes, rank 1 the next one,
// and so on. Beyond the last key all figures are 0. Set struct_size first.
//
//	C: tl_status tl_pool_key_stats_get(size_t rank, tl_pool_key_stats* out_stats);
//
// Ownership: none.
// Returns: TL_OK, or why nothing was filled in.
// Errors: TL_E_INVALID_ARGUMENT (NULL, or a struct_size below 16).
// Cost: slow call; linear in the number of keys, and the sorting of them.
//
//export tlgo_pool_key_stats_get
func tlgo_pool_key_stats_get(c, rank, outStats uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return poolKeyStats(o, rank, outStats) })
}

func init() {
	limit.Probe = func(device int32) (free, total uint64) {
		d, err := devices().At(device)
		if err != nil {
			return 0, 0
		}
		if free, total, err = d.Memory(); err != nil {
			return 0, 0
		}
		return free, total
	}
}

// account makes sure that a number names an account, and that one of a device has the
// limits that options give it.
func account(o *object.Context, device int32) status.Status {
	if device == limit.Total || device == limit.Own {
		return status.OK
	}
	d, err := devices().At(device)
	if err == nil {
		limit.Open(device, d.Name())
	}
	return deviceStatus(o, err)
}

func setLimit(o *object.Context, device int32, soft, hard uint64) status.Status {
	if st := account(o, device); st != status.OK {
		return st
	}
	if hard != 0 && soft > hard {
		return fail(o, status.InvalidArgument, "the soft limit of %d bytes is above the hard one of %d", soft, hard)
	}
	limit.Set(device, soft, hard)
	return status.OK
}

func getLimit(o *object.Context, device int32, outSoft, outHard uintptr) status.Status {
	if !usable(outSoft) || !usable(outHard) {
		return fail(o, status.InvalidArgument, "out_soft_bytes and out_hard_bytes are both needed")
	}
	if st := account(o, device); st != status.OK {
		return st
	}
	soft, hard := limit.Get(device)
	store(outSoft, soft)
	store(outHard, hard)
	return status.OK
}

func memUsage(o *object.Context, device int32, out uintptr) status.Status {
	if st := account(o, device); st != status.OK {
		return st
	}
	return fillStruct(o, out, "tl_mem_usage_info", func() tl_mem_usage_info {
		f := limit.Read(device)
		return tl_mem_usage_info{0, f.InUse, f.Cached, f.Reserved, f.Peak, f.Soft, f.Hard, f.Relieved, f.Failed,
			f.LargestFree, f.Waiting, f.WaitingObjects}
	})
}

func poolKeyStats(o *object.Context, rank, out uintptr) status.Status {
	return fillStruct(o, out, "tl_pool_key_stats", func() tl_pool_key_stats {
		k := tensor.ReadPoolKey(rank)
		return tl_pool_key_stats{0, k.Elements, k.Tensors, k.Bytes, k.Dtype, k.Device}
	})
}

// configureLimits applies the options about memory.
func configureLimits(o *object.Context, name string) status.Status {
	switch name {
	case "TL_MEM_LIMIT":
		limit.ConfigureHard(options.Limits(name))
	case "TL_MEM_SOFT_LIMIT":
		limit.ConfigureSoft(options.Limits(name))
	case "TL_TENSOR_POOL":
		perKey, bytes := options.Room(name)
		return tensor.SetPoolLimits(o, perKey, bytes)
	}
	return status.OK
}

// openLimits applies them before the first context.
func openLimits() {
	limit.ConfigureHard(options.Limits("TL_MEM_LIMIT"))
	limit.ConfigureSoft(options.Limits("TL_MEM_SOFT_LIMIT"))
	tensor.ConfigurePool(options.Room("TL_TENSOR_POOL"))
}
