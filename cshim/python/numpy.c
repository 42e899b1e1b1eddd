/* Functions that Python and NumPy call from C: memory for arrays, and capsules whose destructors
 * run no Python code. */
#include <string.h>

#include "../object/held.h"
#include "../guard/host_memory.h"
#include "../heap/heap.h"
#include "numpy.h"
#include "../tensor/tensor.h"
#include "../tensor/dlpack.h"

/* ---- NumPy's memory ---------------------------------------------------------------------
 *
 * An array's memory is a held block. In a forked child, which has no slow path, memory that the
 * fast path does not have comes from malloc; the address of a block shows which it is. */

static inline size_t at_least_1(size_t n) { return n != 0 ? n : 1; }

/* A block of malloc, in a child of fork(). */
static void* in_child(void* p, uint32_t function)
{
	if (p == NULL) tlc_fail(TL_E_OUT_OF_MEMORY, function, NULL);
	return p;
}

/* Large blocks, blocks for which the magazine is empty, and in a child of fork() malloc. */
static __attribute__((noinline)) void* other_malloc(void* ctx, size_t bytes)
{
	bool zero;
	if (tlc_forked()) return in_child(tlc_host.malloc(at_least_1(bytes)), TL_FN_tl_numpy_malloc);
	void* p = bytes != 0 ? tlc_held_take_elsewhere(tlc_tls, bytes, &zero) : NULL;
	return p != NULL ? p : slow_numpy_malloc(ctx, bytes);
}

void* tl_numpy_calloc(void* ctx, size_t count, size_t bytes_each)
{
	size_t bytes;
	if (!__builtin_mul_overflow(count, bytes_each, &bytes)) {
		void* p = tlc_held_take(tlc_tls, bytes);
		if (TLC_LIKELY(p != NULL)) return memset(p, 0, bytes);
		bool zero;
		p = bytes != 0 && !tlc_forked() ? tlc_held_take_elsewhere(tlc_tls, bytes, &zero) : NULL;
		if (p != NULL) return zero ? p : tlc_heap_clear(p, bytes);
	}
	if (tlc_forked())
		return in_child(tlc_host.calloc(at_least_1(count), at_least_1(bytes_each)), TL_FN_tl_numpy_calloc);
	return slow_numpy_calloc(ctx, count, bytes_each);
}

/* NumPy takes about 100 ns for an array, and its own cache of small blocks costs almost nothing of
 * that. So this function saves no registers before the block is found. */
void* tl_numpy_malloc(void* ctx, size_t bytes)
{
	void* p = tlc_held_take(tlc_tls, bytes);
	return TLC_LIKELY(p != NULL) ? p : other_malloc(ctx, bytes);
}

/* The record of the live block that begins at p; NULL: there is none. */
static tl_record* block_at(uintptr_t p)
{
	tl_record* r;
	if (!tlc_find_record(p, &r)) return NULL;
	return TLC_LOAD(r->type_flags) == TL_TYPE_PLAIN && tlc_is_live_object(r) ? r : NULL;
}

/* Drops the reference to a block without Go; false: nothing changed. */
static bool drop(uintptr_t p)
{
	tl_context* c = tlc_tls;
	if (TLC_LIKELY(tlc_held_drop(c, p))) return true;
	tl_record* r = tlc_is_fast(c) ? block_at(p) : NULL;
	return r != NULL && tlc_drop_shared(r);
}

/* Whether p is the runtime's memory, as far as a child of fork() can tell: no other memory is given
 * out. */
static bool is_ours(uintptr_t p) { return tlc_is_kept(p); }

static __attribute__((noinline)) void other_free(void* block)
{
	tl_status why;
	if (block == NULL || drop((uintptr_t)block)) return;
	bool foreign = tlc_forked() && !is_ours((uintptr_t)block);
	tl_context* c = foreign ? NULL : tlc_entry_begin(TL_FN_tl_numpy_free, &why);
	if (c != NULL) {
		foreign = tlentry_numpy_free((uintptr_t)c, (uintptr_t)block);
		tlc_entry_end(c);
	}
	if (!foreign) return;
	if (tlc_may_be_malloced((uintptr_t)block)) tlc_host.free(block);
	else tlc_fail(TL_E_UNKNOWN_POINTER, TL_FN_tl_numpy_free, block);
}

void tl_numpy_free(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	if (TLC_UNLIKELY(!tlc_held_drop(tlc_tls, (uintptr_t)block))) other_free(block);
}

/* Bytes of a live block; 0: ask Go. */
static size_t room(uintptr_t p)
{
	const tl_record* r = block_at(p);
	if (r == NULL) return 0;
	const uint32_t class = TLC_LOAD(r->gen) & 0xFF;
	if (class <= TL_CLASS_SMALL) return tlc_g.classes[class].size;
	return (size_t)TL_SPAN_BACK(TLC_LOAD(tlc_g.spans[(p - tlc_g.heap_base) >> TL_SPAN_SHIFT])) << TL_SPAN_SHIFT;
}

/* Copies the contents of a block to its new place, and drops the block. */
static void* moved(void* to, void* block, size_t had, size_t wanted)
{
	memcpy(to, block, had < wanted ? had : wanted);
	if (!drop((uintptr_t)block)) tlc_drop_slowly((uintptr_t)block);
	return to;
}

/* A block that is large enough, and not twice as large, stays where it is. NULL: ask Go. */
static inline void* realloc_here(tl_context* c, void* block, size_t bytes)
{
	size_t had = tlc_is_fast(c) ? room((uintptr_t)block) : 0, wanted = at_least_1(bytes);
	if (had == 0) return NULL;
	if (wanted <= had && wanted > had / 2) return block;
	bool zero;
	void* to = tlc_held_take(c, wanted);
	if (to == NULL && !tlc_forked()) to = tlc_held_take_elsewhere(c, wanted, &zero);
	return to != NULL ? moved(to, block, had, wanted) : NULL;
}

static void* realloc_in_child(void* block, size_t bytes)
{
	size_t had = room((uintptr_t)block), wanted = at_least_1(bytes);
	bool foreign = block == NULL || (!is_ours((uintptr_t)block) && tlc_may_be_malloced((uintptr_t)block));
	if (foreign) return in_child(tlc_host.realloc(block, wanted), TL_FN_tl_numpy_realloc);
	if (had == 0) return NULL;
	void* to = in_child(tlc_host.malloc(wanted), TL_FN_tl_numpy_realloc);
	return to != NULL ? moved(to, block, had, wanted) : NULL;
}

void* tl_numpy_realloc(void* ctx, void* block, size_t bytes)
{
	void* p = realloc_here(tlc_tls, block, bytes);
	if (TLC_LIKELY(p != NULL)) return p;
	p = tlc_forked() ? realloc_in_child(block, bytes) : NULL;
	return p != NULL ? p : slow_numpy_realloc(ctx, block, bytes);
}

/* PyDataMem_Handler of NumPy's C interface, version 1. */
typedef struct handler {
	char name[127];
	uint8_t version;
	void* ctx;
	void* (*malloc)(void*, size_t);
	void* (*calloc)(void*, size_t, size_t);
	void* (*realloc)(void*, void*, size_t);
	void (*free)(void*, void*, size_t);
} handler;

_Static_assert(sizeof(handler) == 168, "NumPy's ABI");

const void* tl_numpy_handler(void)
{
	static const handler ours = {"tl_runtime", 1, NULL, tl_numpy_malloc, tl_numpy_calloc, tl_numpy_realloc,
	                             tl_numpy_free};
	return &ours;
}

/* ---- capsules ---------------------------------------------------------------------------- */

tlc_python_api tlc_python;

tl_status tl_python_attach(const tl_python_api* api)
{
	if ((uintptr_t)api < TL_LOWEST_ADDRESS || api->struct_size < sizeof *api || api->capsule_new == NULL ||
	    api->capsule_is_valid == NULL || api->capsule_get_pointer == NULL || api->err_set_string == NULL ||
	    api->buffer_error == NULL)
		return tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_python_attach, NULL);
	tlc_python.is_valid = (tlc_capsule_is_valid)api->capsule_is_valid;
	tlc_python.get_pointer = (tlc_capsule_get_pointer)api->capsule_get_pointer;
	tlc_python.set_error = (tlc_err_set_string)api->err_set_string;
	tlc_python.buffer_error = api->buffer_error;
	tlc_python.make = (tlc_capsule_new)api->capsule_new;
	return TL_OK;
}

static const char versioned_name[] = "dltensor_versioned";
static const char legacy_name[] = "dltensor";

/* A consumer that takes the tensor out of a capsule renames the capsule; if it has its name still,
 * no consumer did. */
static void end_versioned(void* capsule)
{
	if (tlc_python.is_valid(capsule, versioned_name))
		tlc_dlpack_delete(tlc_python.get_pointer(capsule, versioned_name));
}

static void end_legacy(void* capsule)
{
	if (tlc_python.is_valid(capsule, legacy_name))
		tlc_dlpack_delete_legacy(tlc_python.get_pointer(capsule, legacy_name));
}

/* Sets the Python exception for a capsule that was not made. */
void* tlc_python_refuse(void)
{
	if (tl_last_status() != TL_OK) tlc_python.set_error(tlc_python.buffer_error, tl_last_error());
	return NULL;
}

void* tl_python_capsule(tl_tensor* tensor, uint32_t major, bool copy)
{
	tlc_capsule_new make = tlc_python.make;
	if (make == NULL || major > TL_DL_MAJOR) {
		tlc_fail(make == NULL ? TL_E_UNSUPPORTED : TL_E_INVALID_ARGUMENT, TL_FN_tl_python_capsule, NULL);
		return make == NULL ? NULL : tlc_python_refuse();
	}
	const bool legacy = major != TL_DL_MAJOR;
	void* managed = tlc_to_dlpack(tensor, copy, legacy, TL_FN_tl_python_capsule);
	if (managed == NULL) return tlc_python_refuse();
	void* capsule = legacy ? make(managed, legacy_name, end_legacy) : make(managed, versioned_name, end_versioned);
	if (capsule == NULL) (legacy ? tlc_dlpack_delete_legacy : tlc_dlpack_delete)(managed);
	return capsule;
}
