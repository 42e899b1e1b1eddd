// # Registry: foreign memory with an owner
//
// Memory that the runtime did not allocate (from malloc, new, a device, another
// library) can be given an owner: registered, it has a count, it is freed by its
// kind when the count reaches zero, and any pointer can be asked about. One table
// holds all of it, also what tl_mem_register_struct adopts.
//
// A registration returns with one reference, which the registrant holds until
// tl_registry_unregister. Scopes, containers and callers may take more
// (tl_mem_register_*, tl_ptr_acquire); the last one frees, at once, on whichever
// thread that is.
//
// A shared buffer is a block with several names: its own address, and aliases
// into it, such as the columns of a matrix. Each name has a count of its own, and
// the block goes with the last reference of the last name. An alias may equal the
// block's address, or another alias: references at one address add up.
//
//	void* columns[3] = {matrix, matrix + rows, matrix + 2 * rows};
//	tl_registry_register_buffer(matrix, bytes, columns, 3, TL_ALLOC_NEW_ARRAY, &id);
//	tl_registry_unregister(matrix);         3 references are left, one of them here
//	tl_registry_unregister(columns[0]);     2
//
// A view that somebody else keeps alive is not registered: nothing is freed for it.
//
// Deleters run with no lock held. They may call anything, and each runs once.
package main

import "C"

import (
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_alloc_kind tells how a block is freed: one of tl_alloc_kind_code.
//
//	C: typedef int32_t tl_alloc_kind;
const _ = "tl_alloc_kind"

// tl_alloc_kind_code lists the kinds. Those of C++ need a C++ runtime in the
// process, of which the operators are looked up when they are first needed.
// Destructors are not run: for elements that have one, register a deleter, as
// tl::new_array does.
//
//	C: enum tl_alloc_kind_code {
//	    TL_ALLOC_MALLOC = 1,     /* free() */
//	    TL_ALLOC_NEW_ARRAY = 2,  /* operator delete[], of elements without a destructor */
//	    TL_ALLOC_NEW_SCALAR = 3, /* operator delete, likewise */
//	    TL_ALLOC_ALIGNED = 4,    /* free(): aligned_alloc, posix_memalign, tl_aligned_alloc */
//	    TL_ALLOC_CUSTOM = 5      /* a deleter: what tl_registry_info tells of tl_registry_register_custom */
//	};
const _ = "tl_alloc_kind_code"

// tl_alloc_info tells what is known of a registered pointer. Set struct_size
// before the call; a library that knows fewer fields fills fewer.
//
//	C: typedef struct tl_alloc_info {
//	    size_t struct_size;   /* sizeof(tl_alloc_info) */
//	    const void* block;    /* where its memory begins; the pointer itself, but for an alias */
//	    size_t bytes;         /* of the block */
//	    uint64_t count;       /* references at this address */
//	    uint64_t block_count; /* references to the block, at all of its addresses */
//	    uint64_t addresses;   /* at which the block is registered */
//	    uint64_t buffer_id;   /* for tl_registry_add_alias; 0 when the block is no shared buffer */
//	    int64_t kind;         /* tl_alloc_kind; 0 = memory of the runtime */
//	    const char* file;     /* of the line that was told, NULL = none; from here on what tracking recorded */
//	    uint64_t line;
//	    const void* const* stack; /* return addresses, innermost first */
//	    uint64_t frames;      /* how many */
//	    uint64_t time;        /* nanoseconds since 1970 */
//	    uint64_t thread;      /* the system's number */
//	    const char* tag;      /* tags that were pushed, NULL = none */
//	    uint64_t number;      /* of the recording, from 1; 0 = this allocation was not recorded */
//	    const char* type;     /* name of its type, NULL = plain bytes */
//	} tl_alloc_info;
type tl_alloc_info struct {
	StructSize uintptr
	Block      uintptr
	Bytes      uintptr
	Count      uint64
	BlockCount uint64
	Addresses  uint64
	BufferId   uint64
	Kind       int64
	File       uintptr
	Line       uint64
	Stack      uintptr
	Frames     uint64
	Time       uint64
	Thread     uint64
	Tag        uintptr
	Number     uint64
	Type       uintptr
}

// tl_registry_new_array allocates count times element_bytes bytes, aligned to 64
// and undefined, and registers them.
//
//	C: void* tl_registry_new_array(size_t count, size_t element_bytes);
//
// Ownership: the caller holds the reference, until tl_registry_unregister.
// Threads: any thread.
// Returns: the array, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (the product overflows), TL_E_OUT_OF_MEMORY.
// Cost: that of malloc and of tl_registry_register.
// Path: fast.
//
//export tlgo_registry_new_array
func tlgo_registry_new_array(c, count, elementBytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.NewForeignArray(count, elementBytes) })
}

// tl_registry_register gives a block an owner: the caller, who holds the one
// reference. A block of 0 bytes counts as one of 1. The caller is believed that the
// address is one of that kind. Where it fills whole 64 KiB, aligned to as many, it is
// not looked whether a smaller registered block begins in those; and where its address
// is not a multiple of 16, not whether that lies inside another block.
//
//	C: tl_status tl_registry_register(void* pointer, size_t bytes, tl_alloc_kind kind);
//
// Ownership: takes the block; the caller holds the reference, until
// tl_registry_unregister. On failure the block stays the caller's.
// Threads: any thread.
// Returns: TL_OK, also for NULL, or why nothing was registered.
// Errors: TL_E_INVALID_ARGUMENT (no such kind, an address that no block can have,
// more bytes than there are), TL_E_ALREADY_REGISTERED (the address is, or lies
// inside a block that is, or a registered block begins in this one),
// TL_E_UNSUPPORTED (memory of the runtime; or no C++ runtime is loaded),
// TL_E_OUT_OF_MEMORY.
// Cost: about 40 ns together with tl_registry_unregister, where the table is in the
// cache and the block inside 1 KiB of addresses; larger ones take several locks.
// Path: fast.
// Trusts: pointer.
//
//export tlgo_registry_register
func tlgo_registry_register(c, pointer, bytes uintptr, kind int32) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterForeign(pointer, bytes, kind) })
}

// tl_registry_register_custom gives an owner to a block that deleter(pointer, ctx)
// frees.
//
//	C: tl_status tl_registry_register_custom(void* pointer, size_t bytes, tl_deleter deleter, void* ctx);
//
// Ownership: takes the block and, for the deleter, ctx; the caller holds the
// reference, until tl_registry_unregister. On failure both stay the caller's.
// Threads: any thread; the deleter runs on the one that drops the last reference.
// Returns: TL_OK, also for NULL, or why nothing was registered.
// Errors: TL_E_INVALID_ARGUMENT (no deleter, an address that no block can have),
// TL_E_ALREADY_REGISTERED (as tl_registry_register), TL_E_UNSUPPORTED (memory of the
// runtime), TL_E_OUT_OF_MEMORY.
// Cost: one cgo call.
// Trusts: pointer.
//
//export tlgo_registry_register_custom
func tlgo_registry_register_custom(c, pointer, bytes, deleter, ctx uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return o.RegisterCustom(object.ForeignBlock{Real: pointer, Bytes: bytes, Deleter: deleter, Ctx: ctx})
	})
}

// tl_registry_register_buffer registers a block under its own address and n
// aliases into it, with one reference each: 1 + n in all. An alias may equal the
// block's address or another alias. All or nothing.
//
//	C: tl_status tl_registry_register_buffer(void* real, size_t bytes, void* const* aliases, size_t n, tl_alloc_kind kind, uint64_t* buffer_id);
//
// Ownership: takes the block; the caller holds the references, one
// tl_registry_unregister each. The array of aliases is not kept.
// Threads: any thread.
// Returns: TL_OK and in *buffer_id, which may be NULL, the number for
// tl_registry_add_alias; or why nothing was registered.
// Errors: TL_E_INVALID_ARGUMENT (real is NULL, an alias is NULL or outside the
// block, no such kind, an address that no block can have, a buffer_id that is no
// address), TL_E_ALREADY_REGISTERED (as tl_registry_register, or an alias belongs to
// another block), TL_E_UNSUPPORTED (memory of the runtime; or no C++ runtime is
// loaded), TL_E_OUT_OF_MEMORY.
// Cost: one cgo call, and linear in n.
// Trusts: real.
//
//export tlgo_registry_register_buffer
func tlgo_registry_register_buffer(c, real, bytes, aliases, n uintptr, kind int32, bufferId uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return registerBuffer(o, object.ForeignBlock{Real: real, Bytes: bytes}, aliases, n, kind, bufferId)
	})
}

// tl_registry_add_alias adds one reference to a live buffer, at an address inside
// it.
//
//	C: tl_status tl_registry_add_alias(uint64_t buffer_id, void* alias);
//
// Ownership: the caller holds the reference, until tl_registry_unregister(alias).
// Threads: any thread.
// Returns: TL_OK, or why nothing changed.
// Errors: TL_E_INVALID_ARGUMENT (not the id of a live buffer; alias is NULL or
// outside the buffer), TL_E_ALREADY_REGISTERED (alias belongs to another block),
// TL_E_OUT_OF_MEMORY.
// Cost: one cgo call.
//
//export tlgo_registry_add_alias
func tlgo_registry_add_alias(c uintptr, bufferId uint64, alias uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.AddAlias(bufferId, alias) })
}

// tl_registry_unregister drops one reference of a registered pointer. The last one
// frees the block, before the call returns; called from inside a deleter, when that
// has returned.
//
//	C: tl_status tl_registry_unregister(void* pointer);
//
// Ownership: takes one reference of the caller's at that address.
// Threads: any thread.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_UNKNOWN_POINTER (not registered, or no more), TL_E_NOT_LIVE
// (tl_ptr_dec_ref has brought it to zero; or it came from tl_aligned_alloc and was
// never registered).
// Cost: as tl_registry_register; one cgo call for the last reference at a name of
// a buffer or to a block with a deleter.
// Path: fast.
//
//export tlgo_registry_unregister
func tlgo_registry_unregister(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.ReleaseForeign(pointer) })
}

// tl_registry_is_registered tells whether somebody holds a reference at exactly
// this address. It takes no lock: no writer is held up, and while others write to
// that part of the table it looks again.
//
//	C: bool tl_registry_is_registered(const void* pointer);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: whether it is; false for NULL. An alias, and an address that is no
// multiple of 16, that tl_ptr_dec_ref has brought to zero still is, until
// tl_mem_free; tl_registry_info tells them apart.
// Errors: none.
// Cost: about 10 ns; one miss of the cache in a large table.
// Path: shim.
// LLVM: nounwind.
const _ = "tl_registry_is_registered"

// tl_registry_total_bytes sums up the registered blocks, each once, however many
// aliases it has.
//
//	C: size_t tl_registry_total_bytes(void);
//
// Ownership: none.
// Threads: any thread; exact while no other registers or unregisters.
// Returns: the bytes.
// Errors: none.
// Cost: one cgo call and a lock a shard.
//
//export tlgo_registry_total_bytes
func tlgo_registry_total_bytes(c uintptr) uintptr {
	return guarded(c, 0, func(*object.Context) uintptr { return uintptr(object.Registry().Totals().Bytes) })
}

// tl_registry_num_pointers counts the addresses at which somebody holds a
// reference. Blocks that tl_mem_register_struct has adopted are among them.
//
//	C: size_t tl_registry_num_pointers(void);
//
// Ownership: none.
// Threads: any thread; exact while no other registers or unregisters.
// Returns: the number.
// Errors: none.
// Cost: one cgo call and a lock a shard.
//
//export tlgo_registry_num_pointers
func tlgo_registry_num_pointers(c uintptr) uintptr {
	return guarded(c, 0, func(*object.Context) uintptr { return numPointers() })
}

// tl_registry_num_buffers counts the live buffers of tl_registry_register_buffer.
//
//	C: size_t tl_registry_num_buffers(void);
//
// Ownership: none.
// Threads: any thread; exact while no other registers or unregisters.
// Returns: the number.
// Errors: none.
// Cost: one cgo call and a lock a shard.
//
//export tlgo_registry_num_buffers
func tlgo_registry_num_buffers(c uintptr) uintptr {
	return guarded(c, 0, func(*object.Context) uintptr { return uintptr(object.Registry().Totals().Buffers) })
}

// tl_registry_info tells what is known of a registered pointer; nothing of NULL.
//
//	C: tl_status tl_registry_info(const void* pointer, tl_alloc_info* out_info);
//
// Ownership: none.
// Threads: any thread; counts are exact while no other changes them.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (no out_info, struct_size not set),
// TL_E_UNKNOWN_POINTER (not registered), TL_E_NOT_LIVE (held at zero),
// TL_E_UNSUPPORTED (memory of the runtime).
// Cost: one cgo call; for a buffer with aliases linear in all registered pointers,
// as block_count is summed up.
//
//export tlgo_registry_info
func tlgo_registry_info(c, pointer, outInfo uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return registryInfo(o, pointer, outInfo) })
}

// tl_registry_register_many registers n blocks of one kind: all of them or, when
// one is refused, none.
//
//	C: tl_status tl_registry_register_many(void* const* pointers, const size_t* bytes, size_t n, tl_alloc_kind kind);
//
// Ownership: as tl_registry_register, for each. The arrays are not kept.
// Threads: any thread.
// Returns: TL_OK, or why nothing was registered; tl_last_error names the pointer.
// Errors: TL_E_INVALID_ARGUMENT (a NULL array, or as tl_registry_register),
// TL_E_ALREADY_REGISTERED (also when a pointer comes twice), TL_E_UNSUPPORTED,
// TL_E_OUT_OF_MEMORY.
// Cost: one cgo call, and linear in n.
// Trusts: pointers.
//
//export tlgo_registry_register_many
func tlgo_registry_register_many(c, pointers, bytes, n uintptr, kind int32) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return registerMany(o, pointers, bytes, n, kind) })
}

// tl_registry_unregister_many drops one reference of each of n pointers. It goes on
// after one that is refused; NULL is passed over.
//
//	C: size_t tl_registry_unregister_many(void* const* pointers, size_t n);
//
// Ownership: takes one reference of the caller's at each address.
// Threads: any thread.
// Returns: how many were dropped; when that is not all, tl_last_status tells why the
// last one that was refused was.
// Errors: TL_E_INVALID_ARGUMENT (a NULL array), TL_E_UNKNOWN_POINTER, TL_E_NOT_LIVE.
// Cost: one cgo call, and linear in n.
//
//export tlgo_registry_unregister_many
func tlgo_registry_unregister_many(c, pointers, n uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return unregisterMany(o, pointers, n) })
}

// tl_registry_print_statistics writes what the registry holds, and how full its
// tables are, to a file; NULL is standard error.
//
//	C: tl_status tl_registry_print_statistics(const char* path);
//
// Ownership: the string is not kept.
// Threads: any thread.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (the file cannot be written).
// Cost: linear in the number of registered pointers.
//
//export tlgo_registry_print_statistics
func tlgo_registry_print_statistics(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return printRegistry(o, path) })
}

// tl_aligned_alloc returns memory whose address is a multiple of alignment, a power
// of two; alignments below 16 are 16. It may be registered as TL_ALLOC_ALIGNED.
//
//	C: void* tl_aligned_alloc(size_t bytes, size_t alignment);
//
// Ownership: the caller frees it with tl_aligned_free, or registers it.
// Threads: any thread.
// Returns: the memory, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (alignment is not a power of two), TL_E_OUT_OF_MEMORY.
// Cost: that of malloc and of two compare-and-swaps.
// Path: fast.
//
//export tlgo_aligned_alloc
func tlgo_aligned_alloc(c, bytes, alignment uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.AlignedAlloc(bytes, alignment) })
}

// tl_aligned_free frees memory of tl_aligned_alloc that is not registered.
//
//	C: tl_status tl_aligned_free(void* pointer);
//
// Ownership: takes the memory.
// Threads: any thread.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_UNKNOWN_POINTER (not from tl_aligned_alloc, freed already, or
// registered: then it goes by tl_registry_unregister).
// Cost: that of free and of one compare-and-swap.
// Path: fast.
//
//export tlgo_aligned_free
func tlgo_aligned_free(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.AlignedFree(pointer) })
}
