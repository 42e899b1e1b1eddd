// # Registry: foreign memory with an owner
//
// Memory that the runtime did not allocate (from malloc, new, a device, another
// library) can be registered. Registered memory has a count, and it is freed in
// the way of its kind when the count reaches zero. A program can ask about any
// pointer. One table holds all registered memory, also what
// tl_mem_register_struct adopts.
//
// A registration gives its caller one reference, which tl_registry_unregister
// drops. Scopes, containers and callers may add references (tl_mem_register_*,
// tl_ptr_acquire). The thread that drops the last one frees the memory at once.
//
// A shared buffer is a block with several addresses: its own, and aliases
// inside the block, such as the columns of a matrix. Each address has a count
// of its own, and the block is freed with the last reference at the last
// address. An alias may equal the block's address, or another alias: references
// at one address add up.
//
//	void* columns[3] = {matrix, matrix + rows, matrix + 2 * rows};
//	tl_registry_register_buffer(matrix, bytes, columns, 3, TL_ALLOC_NEW_ARRAY, &id);
//	tl_registry_unregister(matrix);         3 references are left, one of them here
//	tl_registry_unregister(columns[0]);     2
//
// Do not register a view of memory that another owner keeps alive: there is
// nothing to free for it.
//
// Deleters run with no lock held. They may call anything, and each runs once.
package main

import "C"

import (
	"slices"

	"tlruntime/runtime/layout"
	"tlruntime/runtime/memory"
	"tlruntime/runtime/object"
	"tlruntime/runtime/status"
)

// tl_alloc_kind tells how a block is freed: one of tl_alloc_kind_code.
//
//	C: typedef int32_t tl_alloc_kind;
const _ = "tl_alloc_kind"

// tl_alloc_kind_code lists the kinds. Those for C++ need a C++ runtime in the
// process; its operators are looked up when they are first needed. Destructors
// are not run: for elements that have one, register a deleter, as tl::new_array
// does.
//
//	C: enum tl_alloc_kind_code {
//	    TL_ALLOC_MALLOC = 1,     /* free() */
//	    TL_ALLOC_NEW_ARRAY = 2,  /* operator delete[], of elements without a destructor */
//	    TL_ALLOC_NEW_SCALAR = 3, /* operator delete, likewise */
//	    TL_ALLOC_ALIGNED = 4,    /* free(): aligned_alloc, posix_memalign, tl_aligned_alloc */
//	    TL_ALLOC_CUSTOM = 5      /* a deleter; tl_registry_info returns it for tl_registry_register_custom and _custom_buffer */
//	};
const _ = "tl_alloc_kind_code"

// tl_alloc_info describes a registered pointer. Set struct_size before the
// call; an older library, which knows fewer fields, fills in fewer.
//
//	C: typedef struct tl_alloc_info {
//	    size_t struct_size;   /* sizeof(tl_alloc_info) */
//	    const void* block;    /* where its memory begins: the pointer itself, unless it is an alias */
//	    size_t bytes;         /* of the block */
//	    uint64_t count;       /* references at this address */
//	    uint64_t block_count; /* references to the block, at all of its addresses */
//	    uint64_t addresses;   /* number of addresses at which the block is registered */
//	    uint64_t buffer_id;   /* for tl_registry_add_alias; 0 when the block is not a shared buffer */
//	    int64_t kind;         /* tl_alloc_kind; 0 = memory of the runtime */
//	    const char* file;     /* source file, NULL = not known; tracking recorded this and what follows */
//	    uint64_t line;
//	    const void* const* stack; /* return addresses, innermost first; a value from 2^56 on stands for a frame of Python */
//	    uint64_t frames;      /* how many */
//	    uint64_t time;        /* nanoseconds since 1970 */
//	    uint64_t thread;      /* the system's number */
//	    const char* tag;      /* tags that were pushed, NULL = none */
//	    uint64_t number;      /* of the recording, from 1; 0 = this allocation was not recorded */
//	    const char* type;     /* name of its type, NULL = plain bytes */
//	} tl_alloc_info;
const _ = "tl_alloc_info"

// tl_registry_new_array allocates count times element_bytes bytes, aligned to 64
// and undefined, and registers them.
//
//	C: void* tl_registry_new_array(size_t count, size_t element_bytes);
//
// Ownership: the caller holds the reference, until tl_registry_unregister.
// Returns: the array, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (the product is 2^48 or more), TL_E_OUT_OF_MEMORY.
// Cost: fast; that of malloc and of tl_registry_register.
//
//export tlgo_registry_new_array
func tlgo_registry_new_array(c, count, elementBytes uintptr) uintptr {
	return guarded(c, 0, func(o *object.Context) uintptr { return o.NewForeignArray(count, elementBytes) })
}

// tl_registry_register registers a block; the caller holds its one reference. A
// block of 0 bytes counts as one of 1. The runtime relies on the caller for the
// kind of the block. A block that overlaps a registered one is refused. Two overlaps
// are not noticed: a block that fills 64 KiB of addresses, aligned to 64 KiB, and
// extends beyond them, over a block that lies inside them; and an overlap of two
// blocks one of which contains no multiple of 16.
//
//	C: tl_status tl_registry_register(void* pointer, size_t bytes, tl_alloc_kind kind);
//
// Ownership: takes the block; the caller holds the reference, until
// tl_registry_unregister. On failure the block stays the caller's.
// Returns: TL_OK, also for NULL, or why nothing was registered.
// Errors: TL_E_INVALID_ARGUMENT (no such kind, an address that no block can have, more
// bytes than an address space has), TL_E_ALREADY_REGISTERED (the address is
// registered, or lies inside a registered block, or a registered block begins
// in this one), TL_E_UNSUPPORTED (memory of the runtime; or no C++ runtime is
// loaded), TL_E_OUT_OF_MEMORY.
// Cost: fast; about 40 ns together with tl_registry_unregister, when the table is in the CPU's cache and the
// block lies inside 1 KiB of addresses; beyond 64 KiB it takes two or three locks.
// Trusts: pointer.
//
//export tlgo_registry_register
func tlgo_registry_register(c, pointer, bytes uintptr, kind int32) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.RegisterForeign(pointer, bytes, kind) })
}

// tl_registry_register_custom registers a block that deleter(pointer, ctx)
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
// Cost: fast; about 50 ns together with tl_registry_unregister, as tl_registry_register.
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
// block's address or another alias. The call registers all addresses or none.
//
//	C: tl_status tl_registry_register_buffer(void* real, size_t bytes, void* const* aliases, size_t n, tl_alloc_kind kind, uint64_t* buffer_id);
//
// Ownership: takes the block; the caller holds the references, one
// tl_registry_unregister each. The array of aliases is not kept.
// Returns: TL_OK, and the number for tl_registry_add_alias in *buffer_id (buffer_id may
// be NULL); or why nothing was registered.
// Errors: TL_E_INVALID_ARGUMENT (real is NULL, an alias is NULL or outside the
// block, no such kind, an address that no block can have, a buffer_id that is
// not an address), TL_E_ALREADY_REGISTERED (as tl_registry_register, or an
// alias belongs to another block), TL_E_UNSUPPORTED (memory of the runtime; or
// no C++ runtime is loaded), TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in n.
// Trusts: real.
//
//export tlgo_registry_register_buffer
func tlgo_registry_register_buffer(c, real, bytes, aliases, n uintptr, kind int32, bufferId uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return registerBuffer(o, object.ForeignBlock{Real: real, Bytes: bytes}, aliases, n, kind, bufferId)
	})
}

// tl_registry_register_custom_buffer registers a block that deleter(real, ctx)
// frees, under its own address and n aliases into it: what is mapped, or a
// device's or another library's, handed out as columns or rows. References and
// aliases are those of tl_registry_register_buffer, and so is the number for
// tl_registry_add_alias.
//
//	C: tl_status tl_registry_register_custom_buffer(void* real, size_t bytes, void* const* aliases, size_t n, tl_deleter deleter, void* ctx, uint64_t* buffer_id);
//
// Ownership: takes the block and, for the deleter, ctx; the caller holds the
// references, one tl_registry_unregister each. The array of aliases is not kept.
// On failure block and ctx stay the caller's.
// Threads: any thread; the deleter runs on the one that drops the last reference
// at the last address.
// Returns: TL_OK, and the number in *buffer_id (buffer_id may be NULL); or why
// nothing was registered.
// Errors: TL_E_INVALID_ARGUMENT (real is NULL, no deleter, an alias is NULL or
// outside the block, an address that no block can have, a buffer_id that is not
// an address), TL_E_ALREADY_REGISTERED (as tl_registry_register, or an alias
// belongs to another block), TL_E_UNSUPPORTED (memory of the runtime),
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in n.
// Trusts: real.
//
//export tlgo_registry_register_custom_buffer
func tlgo_registry_register_custom_buffer(c, real, bytes, aliases, n, deleter, ctx, bufferId uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		block := object.ForeignBlock{Real: real, Bytes: bytes, Deleter: deleter, Ctx: ctx}
		return registerBuffer(o, block, aliases, n, layout.ForeignCustom, bufferId)
	})
}

// tl_registry_add_alias adds one reference to a live buffer, at an address inside
// it.
//
//	C: tl_status tl_registry_add_alias(uint64_t buffer_id, void* alias);
//
// Ownership: the caller holds the reference, until tl_registry_unregister(alias).
// Returns: TL_OK, or why nothing changed.
// Errors: TL_E_INVALID_ARGUMENT (not the id of a live buffer; alias is NULL or
// outside the buffer), TL_E_ALREADY_REGISTERED (alias belongs to another block),
// TL_E_OUT_OF_MEMORY.
// Cost: fast; about 40 ns together with tl_registry_unregister.
//
//export tlgo_registry_add_alias
func tlgo_registry_add_alias(c uintptr, bufferId uint64, alias uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.AddAlias(bufferId, alias) })
}

// tl_registry_unregister drops one reference of a registered pointer. The last
// one frees the block before the call returns. In a call from inside a deleter,
// the block is freed when the deleter has returned.
//
//	C: tl_status tl_registry_unregister(void* pointer);
//
// Ownership: takes one reference of the caller's at that address.
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_UNKNOWN_POINTER (not registered, or not any more), TL_E_NOT_LIVE
// (tl_ptr_dec_ref has brought it to zero; or it came from tl_aligned_alloc and was
// never registered).
// Cost: fast; as tl_registry_register, and that of the deleter.
//
//export tlgo_registry_unregister
func tlgo_registry_unregister(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.ReleaseForeign(pointer) })
}

// tl_registry_is_registered tells whether a reference is held at exactly this
// address. At a multiple of 16 it takes no lock, so it delays no writer; while others
// write to that part of the table it repeats its lookup, and after 32 attempts it
// takes the lock.
//
//	C: bool tl_registry_is_registered(const void* pointer);
//
// Ownership: none.
// Threads: any thread, also in a forked child.
// Returns: true when one is; false for NULL. An alias, or a block with a deleter, also
// counts as registered after tl_ptr_dec_ref has brought its count to zero, until
// tl_mem_free; tl_registry_info distinguishes the two.
// Errors: none.
// Cost: fast; about 10 ns; one miss of the cache in a large table.
// LLVM: nounwind.
const _ = "tl_registry_is_registered"

// tl_registry_total_bytes returns the bytes of all registered blocks. A block
// counts once, however many aliases it has.
//
//	C: size_t tl_registry_total_bytes(void);
//
// Ownership: none.
// Threads: any thread; exact while no other registers or unregisters.
// Returns: the bytes.
// Errors: none.
// Cost: slow call; one lock for each shard.
//
//export tlgo_registry_total_bytes
func tlgo_registry_total_bytes(c uintptr) uintptr {
	return guarded(c, 0, func(*object.Context) uintptr { return uintptr(object.Registry().Totals().Bytes) })
}

// tl_registry_num_pointers counts the addresses at which a reference is held.
// Blocks that tl_mem_register_struct has adopted are among them.
//
//	C: size_t tl_registry_num_pointers(void);
//
// Ownership: none.
// Threads: any thread; exact while no other registers or unregisters.
// Returns: the number.
// Errors: none.
// Cost: slow call; one lock for each shard.
//
//export tlgo_registry_num_pointers
func tlgo_registry_num_pointers(c uintptr) uintptr {
	return guarded(c, 0, func(*object.Context) uintptr { return numPointers() })
}

// tl_registry_num_buffers counts the live buffers of tl_registry_register_buffer and
// tl_registry_register_custom_buffer.
//
//	C: size_t tl_registry_num_buffers(void);
//
// Ownership: none.
// Threads: any thread; exact while no other registers or unregisters.
// Returns: the number.
// Errors: none.
// Cost: slow call; one lock for each shard.
//
//export tlgo_registry_num_buffers
func tlgo_registry_num_buffers(c uintptr) uintptr {
	return guarded(c, 0, func(*object.Context) uintptr { return uintptr(object.Registry().Totals().SharedBlocks) })
}

// tl_registry_info describes a registered pointer. For NULL it succeeds, and
// all fields are zero.
//
//	C: tl_status tl_registry_info(const void* pointer, tl_alloc_info* out_info);
//
// Ownership: none.
// Threads: any thread; counts are exact while no other changes them.
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (no out_info, struct_size not set),
// TL_E_UNKNOWN_POINTER (not registered), TL_E_NOT_LIVE (its count is zero),
// TL_E_UNSUPPORTED (memory of the runtime).
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
// Returns: TL_OK, or why nothing was registered; tl_last_error names the pointer.
// Errors: TL_E_INVALID_ARGUMENT (a NULL array, or as tl_registry_register),
// TL_E_ALREADY_REGISTERED (also when a pointer occurs twice), TL_E_UNSUPPORTED,
// TL_E_OUT_OF_MEMORY.
// Cost: slow call; linear in n.
// Trusts: pointers.
//
//export tlgo_registry_register_many
func tlgo_registry_register_many(c, pointers, bytes, n uintptr, kind int32) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return registerMany(o, pointers, bytes, n, kind) })
}

// tl_registry_unregister_many drops one reference of each of n pointers. It
// continues after a pointer that is refused, and skips NULL.
//
//	C: size_t tl_registry_unregister_many(void* const* pointers, size_t n);
//
// Ownership: takes one reference of the caller's at each address.
// Returns: how many references were dropped; when some pointers were refused,
// tl_last_status tells why the last of them was.
// Errors: TL_E_INVALID_ARGUMENT (a NULL array), TL_E_UNKNOWN_POINTER, TL_E_NOT_LIVE.
// Cost: slow call; linear in n.
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
// Returns: TL_OK, or why nothing was written.
// Errors: TL_E_INVALID_ARGUMENT (the file cannot be written).
// Cost: slow call; linear in the number of registered pointers.
//
//export tlgo_registry_print_statistics
func tlgo_registry_print_statistics(c, path uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status {
		return printText(o, path, object.Registry().Report())
	})
}

// tl_aligned_alloc returns memory whose address is a multiple of alignment, a power
// of two; an alignment below 16 counts as 16. It may be registered as
// TL_ALLOC_ALIGNED.
//
//	C: void* tl_aligned_alloc(size_t bytes, size_t alignment);
//
// Ownership: the caller frees it with tl_aligned_free, or registers it.
// Returns: the memory, NULL on failure or for zero bytes.
// Errors: TL_E_INVALID_ARGUMENT (alignment is not a power of two), TL_E_OUT_OF_MEMORY.
// Cost: fast; that of malloc and of one compare-and-swap.
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
// Returns: TL_OK, also for NULL, or why nothing was done.
// Errors: TL_E_UNKNOWN_POINTER (not from tl_aligned_alloc, freed already, or
// registered: then use tl_registry_unregister).
// Cost: fast; that of free and of one compare-and-swap.
//
//export tlgo_aligned_free
func tlgo_aligned_free(c, pointer uintptr) int32 {
	return guardedStatus(c, func(o *object.Context) status.Status { return o.AlignedFree(pointer) })
}

func registerBuffer(o *object.Context, b object.ForeignBlock, aliases, n uintptr, kind int32,
	out uintptr) status.Status {
	if !optional(out) {
		return fail(o, status.InvalidArgument, "buffer_id is neither NULL nor an address")
	}
	names, st := addresses(o, aliases, n)
	if st != status.OK {
		return st
	}
	id, st := o.RegisterBuffer(b, names, kind)
	if st == status.OK {
		storeWanted(out, id)
	}
	return st
}

func registerMany(o *object.Context, pointers, bytes, n uintptr, kind int32) status.Status {
	blocks, st := addresses(o, pointers, n)
	if st != status.OK {
		return st
	}
	sizes, st := addresses(o, bytes, n)
	if st != status.OK {
		return st
	}
	return o.RegisterMany(uint64(n), func(i uint64) (p, bytes uintptr) { return blocks[i], sizes[i] }, kind)
}

// unregisterMany copies the array first, since it may be one of the blocks. If
// there is no memory for the copy it reads the array itself, because a release
// must not fail for lack of memory.
func unregisterMany(o *object.Context, pointers, n uintptr) (dropped uintptr) {
	if checkArray(o, pointers, n) != status.OK {
		return 0
	}
	blocks := layout.Slice[uintptr](pointers, uint64(n))
	if memory.Obtainable(uint64(n) * pointerBytes) {
		blocks = slices.Clone(blocks)
	}
	for _, p := range blocks {
		if o.ReleaseForeign(p) == status.OK {
			dropped++
		}
	}
	return dropped
}
