/* What Python and NumPy call from C: memory for arrays, and capsules whose end needs no
 * interpreter code. */
#include <string.h>

#include "dlpack.h"
#include "held.h"
#include "python.h"
#include "tensor.h"

/* ---- NumPy's memory ---------------------------------------------------------------------
 *
 * Up to 64 KiB an array's memory is a held block. Larger ones are tensors of bytes, for
 * the sake of the pool, and the array's memory is the tensor's data. In a forked child,
 * where there is no slow door, what the fast one has not got comes from malloc; where a
 * block lies tells which it is. */

/* A tensor of n bytes out of the pool, with one reference that the caller holds. */
static inline void* pooled(tl_context* c, size_t n)
{
	if (TLC_UNLIKELY(!tlc_is_fast(c) || n > INT64_MAX / 2)) return NULL;
	tl_entry e = tlc_pool_take(n, TL_POOL_KIND(TL_DTYPE_U8, TL_DEVICE_CPU));
	if (e.object == 0) return NULL;
	int64_t shape = (int64_t)n;
	tlc_tensor_describe((tl_tensor_header*)e.object, TL_DTYPE_U8, n, 1, &shape);
	tlc_tensor_revive(c, tlc_g.records + e.record, 0);
	if (tlc_spend(c, n)) {
		tlc_sampled_object(c, (void*)e.object, n);
		tlc_python_name((const void*)e.object);
	}
	return (char*)e.object + TL_TENSOR_HEADER;
}

static inline size_t at_least_1(size_t n) { return n != 0 ? n : 1; }

/* The tensor whose data begins at p; NULL when there is none. */
static tl_tensor* tensor_of(uintptr_t p)
{
	tl_record* r;
	if (!tlc_find_record(p - TL_TENSOR_HEADER, &r) || TLC_LOAD(r->type_flags) != TL_TYPE_TENSOR) return NULL;
	const tl_tensor_header* h = (const tl_tensor_header*)(p - TL_TENSOR_HEADER);
	return h->data == p ? (tl_tensor*)h : NULL;
}

/* A block that the slow door has made, and may have recorded. */
static void* named(void* p)
{
	if (p == NULL || !tlc_in_heap((uintptr_t)p)) return p;
	const tl_tensor* tensor = tensor_of((uintptr_t)p);
	tlc_python_name(tensor != NULL ? (const void*)tensor : p);
	return p;
}

/* What is large, what the magazine has not got, and in a child of fork() malloc. */
static __attribute__((noinline)) void* other_malloc(void* ctx, size_t bytes)
{
	void* p = bytes > TLC_MAX_SMALL ? pooled(tlc_tls, bytes) : NULL;
	if (TLC_LIKELY(p != NULL)) return p;
	p = named(slow_numpy_malloc(ctx, bytes));
	return p != NULL || !tlc_forked() ? p : malloc(at_least_1(bytes));
}

void* tl_numpy_calloc(void* ctx, size_t count, size_t bytes_each)
{
	size_t bytes;
	if (!__builtin_mul_overflow(count, bytes_each, &bytes)) {
		void* p = bytes > TLC_MAX_SMALL ? pooled(tlc_tls, bytes) : tlc_held_take(tlc_tls, bytes);
		if (TLC_LIKELY(p != NULL)) return memset(p, 0, bytes);
	}
	void* p = named(slow_numpy_calloc(ctx, count, bytes_each));
	return p != NULL || !tlc_forked() ? p : calloc(at_least_1(count), at_least_1(bytes_each));
}

/* NumPy takes about 100 ns for an array, of which its own cache of small blocks takes
 * next to nothing: no registers are saved here before the block is found. */
void* tl_numpy_malloc(void* ctx, size_t bytes)
{
	void* p = tlc_held_take(tlc_tls, bytes);
	return TLC_LIKELY(p != NULL) ? p : other_malloc(ctx, bytes);
}

static __attribute__((noinline)) void other_free(void* block)
{
	if (block == NULL) return;
	if (!tlc_in_heap((uintptr_t)block)) {
		free(block);
		return;
	}
	tl_tensor* tensor = tensor_of((uintptr_t)block);
	if (tensor != NULL) tl_tensor_release(tensor);
	else tl_ptr_release(block);
}

void tl_numpy_free(void* ctx, void* block, size_t bytes)
{
	(void)ctx;
	(void)bytes;
	if (TLC_UNLIKELY(!tlc_held_drop(tlc_tls, (uintptr_t)block))) other_free(block);
}

/* Bytes that may be used at an array's block in the heap; 0 when there is none. */
static size_t room(uintptr_t p)
{
	const tl_tensor* tensor = tensor_of(p);
	if (tensor != NULL) return ((const tl_tensor_header*)tensor)->nbytes;
	tl_record* r;
	if (!tlc_find_record(p, &r) || TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN) return 0;
	uint32_t class = TLC_LOAD(r->gen) & 0xFF;
	return class <= TL_CLASS_SMALL ? tlc_g.classes[class].size : 0;
}

/* A block that is large enough, and not twice as large, stays where it is. */
void* tl_numpy_realloc(void* ctx, void* block, size_t bytes)
{
	size_t wanted = at_least_1(bytes);
	if (block == NULL) return tl_numpy_malloc(ctx, bytes);
	if (!tlc_in_heap((uintptr_t)block)) return realloc(block, wanted);
	size_t had = room((uintptr_t)block);
	if (wanted <= had && wanted > had / 2 && !tlc_g.debug) return block; /* with TL_DEBUG had counts the red zone */
	if (had == 0) {
		tlc_fail(TL_E_UNKNOWN_POINTER, TL_FN_tl_numpy_realloc, block);
		return NULL;
	}
	void* moved = tl_numpy_malloc(ctx, bytes);
	if (moved == NULL) return NULL;
	memcpy(moved, block, had < wanted ? had : wanted);
	tl_numpy_free(ctx, block, had);
	return moved;
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
	static const handler ours = {"tl_runtime", 1, NULL, tl_numpy_malloc, tl_numpy_calloc, tl_numpy_realloc, tl_numpy_free};
	return &ours;
}

/* ---- capsules ---------------------------------------------------------------------------- */

tlc_python_api tlc_python;

tl_status tl_python_attach(const tl_python_api* api)
{
	if ((uintptr_t)api < 64 << 10 || api->struct_size < sizeof *api || api->capsule_new == NULL ||
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

/* Whoever takes the tensor out of its capsule renames that; what still has its name was
 * never taken. */
static void end_versioned(void* capsule)
{
	if (tlc_python.is_valid(capsule, versioned_name)) tlc_dlpack_delete(tlc_python.get_pointer(capsule, versioned_name));
}

static void end_legacy(void* capsule)
{
	if (tlc_python.is_valid(capsule, legacy_name)) tlc_dlpack_delete_legacy(tlc_python.get_pointer(capsule, legacy_name));
}

/* Why there is no capsule, for Python. */
void* tlc_python_refuse(void)
{
	if (tl_last_status() != TL_OK) tlc_python.set_error(tlc_python.buffer_error, tl_last_error());
	return NULL;
}

static void* versioned(tlc_capsule_new make, tl_tensor* tensor, bool copy)
{
	struct DLManagedTensorVersioned* managed = tl_tensor_to_dlpack(tensor, copy);
	if (managed == NULL) return tlc_python_refuse();
	void* capsule = make(managed, versioned_name, end_versioned);
	if (capsule == NULL) tlc_dlpack_delete(managed);
	return capsule;
}

static void* legacy(tlc_capsule_new make, tl_tensor* tensor, bool copy)
{
	struct DLManagedTensor* managed = tl_tensor_to_dlpack_legacy(tensor, copy);
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
