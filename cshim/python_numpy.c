/* Functions that Python and NumPy call from C: memory for arrays, and capsules whose destructors
 * run no Python code. */
#include <string.h>

#include "object_held.h"
#include "registry_host_memory.h"
#include "python_numpy.h"
#include "tensor.h"
#include "tensor_dlpack.h"

/* ---- NumPy's memory ---------------------------------------------------------------------
 *
 * Up to 64 KiB an array's memory is a held block. Larger ones are tensors of bytes, so that the
 * pool keeps them, and the array's memory is the tensor's data. In a forked child, which has no
 * slow path, memory that the fast path does not have comes from malloc; the address of a block
 * shows which it is. */

/* The bytes that an array of n bytes gets: above 64 KiB what the spans of the heap have, to an eighth
 * of the size. The pool keeps tensors by their exact size. Without this, a program whose arrays have
 * all sizes would leave one or more in the pool for each of them, and find none again. Under TL_DEBUG
 * a block ends with its array, for the sake of its red zone. */
static inline size_t granted(size_t n)
{
	const size_t span = (size_t)1 << TL_SPAN_SHIFT;
	if (n <= TLC_MAX_SMALL || n > INT64_MAX / 4 || tlc_g.debug != 0) return n;
	const size_t spans = (n + TLC_TENSOR_HEADER + span - 1) >> TL_SPAN_SHIFT;
	const unsigned digits = 63u - (unsigned)__builtin_clzll(spans), coarse = digits > 3 ? digits - 3 : 0;
	const size_t rounded = (spans + ((size_t)1 << coarse) - 1) >> coarse << coarse;
	return (rounded << TL_SPAN_SHIFT) - TLC_TENSOR_HEADER;
}

/* A tensor of n bytes out of the pool, with one reference that the caller holds. */
static inline void* pooled(tl_context* c, size_t n)
{
	if (TLC_UNLIKELY(!tlc_is_fast(c) || n > INT64_MAX / 2)) return NULL;
	tl_tensor_cell* cell;
	tl_entry e = tlc_tensor_take(c, n, TL_DTYPE_U8, &cell);
	if (e.object == 0) return NULL;
	int64_t shape = (int64_t)n;
	tlc_tensor_describe((tl_tensor_header*)e.object, TL_DTYPE_U8, n, 1, &shape);
	tlc_tensor_revive(c, tlc_g.records + e.record, 0);
	if (tlc_spend(c, n)) tlc_sampled_object(c, (void*)e.object, n);
	return (char*)e.object + TLC_TENSOR_HEADER;
}

static inline size_t at_least_1(size_t n) { return n != 0 ? n : 1; }

/* The object that has the block at p: plain bytes, or a tensor whose data begins there, in
 * its slot; 0: none, or it is not live. */
static uintptr_t object_of(uintptr_t p, tl_record** r)
{
	uintptr_t tensor = p - TLC_TENSOR_HEADER;
	if (tlc_find_record(p, r)) return TLC_LOAD((*r)->type_flags) == TL_TYPE_PLAIN && tlc_is_live_object(*r) ? p : 0;
	if (!tlc_find_record(tensor, r) || TLC_LOAD((*r)->type_flags) != TL_TYPE_TENSOR || !tlc_is_live_object(*r))
		return 0;
	return ((const tl_tensor_header*)tensor)->data == p ? tensor : 0;
}

/* A block of malloc, in a child of fork(). */
static void* in_child(void* p, uint32_t function)
{
	if (p == NULL) tlc_fail(TL_E_OUT_OF_MEMORY, function, NULL);
	return p;
}

/* Large blocks, blocks for which the magazine is empty, and in a child of fork() malloc. */
static __attribute__((noinline)) void* other_malloc(void* ctx, size_t bytes)
{
	void* p = bytes > TLC_MAX_SMALL ? pooled(tlc_tls, granted(bytes)) : NULL;
	if (TLC_LIKELY(p != NULL)) return p;
	return tlc_forked() ? in_child(tlc_host.malloc(at_least_1(bytes)), TL_FN_tl_numpy_malloc)
	                    : slow_numpy_malloc(ctx, granted(bytes));
}

void* tl_numpy_calloc(void* ctx, size_t count, size_t bytes_each)
{
	size_t bytes;
	if (!__builtin_mul_overflow(count, bytes_each, &bytes)) {
		void* p = bytes > TLC_MAX_SMALL ? pooled(tlc_tls, granted(bytes)) : tlc_held_take(tlc_tls, bytes);
		if (TLC_LIKELY(p != NULL)) return memset(p, 0, bytes);
		if (bytes > TLC_MAX_SMALL && !tlc_forked()) return slow_numpy_calloc(ctx, 1, granted(bytes));
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

/* Drops the reference to a block without Go; false: nothing changed. */
static bool drop(uintptr_t p)
{
	tl_context* c = tlc_tls;
	tl_record* r;
	if (TLC_LIKELY(tlc_held_drop(c, p))) return true;
	uintptr_t object = tlc_is_fast(c) ? object_of(p, &r) : 0;
	if (object == 0) return false;
	return tlc_drop_shared(r) || (object != p && tlc_tensor_drop(c, r, tlc_entry_of(r, object)));
}

/* Whether p is the runtime's memory, as far as a child of fork() can tell: no other memory is given
 * out. */
static bool is_ours(uintptr_t p) { return tlc_in_heap(p) || tlc_in_slices(p); }

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

/* Bytes of a live block that the heap or the pool has given out; 0: ask Go. */
static size_t room(uintptr_t p)
{
	tl_record* r;
	uintptr_t object = object_of(p, &r);
	if (object == 0) return 0;
	if (object != p) return ((const tl_tensor_header*)object)->nbytes;
	uint32_t class = TLC_LOAD(r->gen) & 0xFF;
	return class <= TL_CLASS_SMALL ? tlc_g.classes[class].size : 0;
}

/* Copies the contents of a block to its new place, and drops the block. */
static void* moved(void* to, void* block, size_t had, size_t wanted)
{
	tl_record* r;
	memcpy(to, block, had < wanted ? had : wanted);
	if (!drop((uintptr_t)block)) tlc_drop_slowly(object_of((uintptr_t)block, &r));
	return to;
}

/* A block that is large enough, and not twice as large, stays where it is. NULL: ask Go. */
static inline void* realloc_here(tl_context* c, void* block, size_t bytes)
{
	size_t had = tlc_is_fast(c) ? room((uintptr_t)block) : 0, wanted = at_least_1(bytes);
	if (had == 0) return NULL;
	if (wanted <= had && wanted > had / 2) return block;
	void* to = wanted > TLC_MAX_SMALL ? pooled(c, granted(wanted)) : tlc_held_take(c, wanted);
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
	return p != NULL ? p : slow_numpy_realloc(ctx, block, granted(bytes));
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

/* The number of the interpreter that has attached itself, and one more; 0: none has. */
static _Atomic int64_t attached;

tl_status tl_python_attach(const tl_python_api* api)
{
	if ((uintptr_t)api < TL_LOWEST_ADDRESS || api->struct_size < sizeof *api || api->capsule_new == NULL ||
	    api->capsule_is_valid == NULL || api->capsule_get_pointer == NULL || api->err_set_string == NULL ||
	    api->buffer_error == NULL || api->interpreter < 0 || api->interpreter == INT64_MAX)
		return tlc_fail(TL_E_INVALID_ARGUMENT, TL_FN_tl_python_attach, NULL);
	int64_t other = 0;
	if (!atomic_compare_exchange_strong(&attached, &other, api->interpreter + 1) && other != api->interpreter + 1)
		return tlc_fail(TL_E_BUSY, TL_FN_tl_python_attach, NULL);
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

static void* versioned(tlc_capsule_new make, tl_tensor* tensor, bool copy)
{
	struct DLManagedTensorVersioned* managed = tlc_to_dlpack(tensor, copy, TL_FN_tl_python_capsule);
	if (managed == NULL) return tlc_python_refuse();
	void* capsule = make(managed, versioned_name, end_versioned);
	if (capsule == NULL) tlc_dlpack_delete(managed);
	return capsule;
}

static void* legacy(tlc_capsule_new make, tl_tensor* tensor, bool copy)
{
	struct DLManagedTensor* managed = tlc_to_dlpack_legacy(tensor, copy, TL_FN_tl_python_capsule);
	if (managed == NULL) return tlc_python_refuse();
	void* capsule = make(managed, legacy_name, end_legacy);
	if (capsule == NULL) tlc_dlpack_delete_legacy(managed);
	return capsule;
}

void* tl_python_capsule(tl_tensor* tensor, uint32_t major, bool copy)
{
	tlc_capsule_new make = tlc_python.make;
	if (make == NULL || major > TL_DL_MAJOR) {
		tlc_fail(make == NULL ? TL_E_UNSUPPORTED : TL_E_INVALID_ARGUMENT, TL_FN_tl_python_capsule, NULL);
		return make == NULL ? NULL : tlc_python_refuse();
	}
	return major == TL_DL_MAJOR ? versioned(make, tensor, copy) : legacy(make, tensor, copy);
}
