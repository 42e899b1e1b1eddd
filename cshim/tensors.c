/* Tensors: making them from the pool, counting, and what they are asked for. */
#include "tensor.h"

/* ---- making -------------------------------------------------------------------------- */

enum { LOWEST_ADDRESS = 64 << 10 };

/* What a request comes to; bytes 0: ask Go, which says what is wrong. */
typedef struct size {
	uint64_t numel;
	uint64_t bytes; /* header included */
} size;

static inline size measure(int32_t dtype, int64_t rank, const int64_t* shape)
{
	const size wrong = {0, 0};
	if (TLC_UNLIKELY((uint32_t)dtype >= TL_DTYPES || (uint64_t)rank > TL_MAX_RANK)) return wrong;
	if (TLC_UNLIKELY(rank != 0 && (uintptr_t)shape < LOWEST_ADDRESS)) return wrong;
	uint64_t numel = 1, spread = tlc_dtype_bytes[dtype]; /* spread counts empty dimensions as 1 */
	for (int64_t i = 0; i < rank; i++) {
		if (TLC_UNLIKELY(shape[i] < 0 || __builtin_mul_overflow(spread, (uint64_t)tlc_at_least_1(shape[i]), &spread)))
			return wrong;
		numel *= (uint64_t)shape[i];
	}
	if (TLC_UNLIKELY(spread == 0 || spread > 1ull << 47)) return wrong;
	return (size){numel, TL_TENSOR_HEADER + TLC_ALIGNED64(numel * tlc_dtype_bytes[dtype])};
}

/* A slot from the magazine, for a key that the pool has nothing for. */
static inline tl_entry take(tl_magazine* m)
{
	m->allocs++;
	tl_entry e = *--m->top;
	tl_record* r = tlc_g.records + e.record;
	TLC_STORE(r->type_flags, TL_TYPE_TENSOR);
	TLC_STORE(r->loc, 0);
	return e;
}

/* Budget of a hit, rank 2: one compare-and-swap, one probe, about 90 instructions. */
tl_tensor* tl_tensor_empty(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c) || device != 0)) return slow_tensor_empty(dtype, device, rank, shape);
	size z = measure(dtype, rank, shape);
	if (TLC_UNLIKELY(z.bytes == 0)) return slow_tensor_empty(dtype, device, rank, shape);
	tl_magazine* m = &c->magazines[z.bytes <= TLC_MAX_SMALL ? tlc_class_of(z.bytes) : 0];
	bool at_hand = m->top != m->base;
	tl_entry e = tlc_pool_take(z.numel, TL_POOL_KIND(dtype, 0), at_hand);
	if (TLC_UNLIKELY(e.object == 0)) {
		if (!at_hand) return slow_tensor_empty(dtype, device, rank, shape);
		e = take(m);
	}
	tlc_tensor_describe((tl_tensor_header*)e.object, (uint8_t)dtype, z.numel, (uint16_t)rank, shape);
	tlc_tensor_revive(c, tlc_g.records + e.record, 0);
	tlc_push(c, e);
	return (tl_tensor*)e.object;
}

/* ---- references ------------------------------------------------------------------------ */

tl_tensor* tl_tensor_acquire(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_tensor_record(c, (uintptr_t)tensor);
	if (TLC_LIKELY(r != NULL && tlc_retain_shared(r))) return tensor;
	if (tlc_tensor_in_slot(c, (uintptr_t)tensor)) return tensor;
	return slow_tensor_acquire(tensor);
}

/* Drops a reference of a tensor on the heap; a frame's own is its frame's. */
static inline bool release(tl_context* c, uintptr_t p)
{
	tl_record* r = tlc_tensor_record(c, p);
	if (TLC_LIKELY(r != NULL)) return tlc_tensor_drop(c, r, tlc_entry_of(r, p));
	return tlc_tensor_in_slot(c, p);
}

tl_status tl_tensor_release(tl_tensor* tensor)
{
	return TLC_LIKELY(release(tlc_tls, (uintptr_t)tensor)) ? TL_OK : slow_tensor_release(tensor);
}

tl_status tl_tensor_release_safe(tl_tensor* tensor)
{
	return TLC_LIKELY(release(tlc_tls, (uintptr_t)tensor)) ? TL_OK : slow_tensor_release_safe(tensor);
}

enum { COMPACT_HOLES = 4096 };

/* Takes the newest entry of p out of this function's scopes, if there is one; false:
 * ask Go, nothing changed. */
static inline bool forget_entry(tl_context* c, const tl_record* r, uintptr_t p)
{
	int64_t at = tlc_find_entry(c, p);
	if (at == TLC_NOT_FOUND) return true;
	if (TLC_UNLIKELY(at == TLC_ASK_GO || c->holes > COMPACT_HOLES || c->entries[at].gen != TLC_LOAD(r->gen))) return false;
	tlc_take_out(c, (uint64_t)at);
	return true;
}

tl_status tl_tensor_free(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	uintptr_t p = (uintptr_t)tensor;
	tl_record* r = tlc_tensor_record(c, p);
	if (TLC_UNLIKELY(r == NULL)) return tlc_tensor_in_slot(c, p) ? TL_OK : slow_tensor_free(tensor);
	if (TLC_UNLIKELY(!forget_entry(c, r, p))) return slow_tensor_free(tensor);
	return TLC_LIKELY(tlc_tensor_drop(c, r, tlc_entry_of(r, p))) ? TL_OK : slow_tensor_release(tensor);
}

/* ---- properties ------------------------------------------------------------------------- */

static __attribute__((noinline)) const tl_tensor_header* in_slot(const tl_context* c, uintptr_t p)
{
	return tlc_tensor_in_slot(c, p) ? (const tl_tensor_header*)p : NULL;
}

/* The header of a tensor; NULL: ask Go. Budget: 6 loads, 5 branches. */
static inline const tl_tensor_header* header(const tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	if (TLC_LIKELY(tlc_tensor_record(c, (uintptr_t)tensor) != NULL)) return (const tl_tensor_header*)tensor;
	return in_slot(c, (uintptr_t)tensor);
}

void* tl_tensor_data(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	if (TLC_LIKELY(h != NULL && h->numel != 0)) return (void*)h->data;
	return slow_tensor_data(tensor); /* a NULL that is right says so in the last status */
}

size_t tl_tensor_nbytes(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? h->nbytes : slow_tensor_nbytes(tensor);
}

int64_t tl_tensor_numel(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? (int64_t)h->numel : slow_tensor_numel(tensor);
}

int64_t tl_tensor_len(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? (int64_t)h->numel : slow_tensor_len(tensor);
}

int64_t tl_tensor_rank(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? h->rank : slow_tensor_rank(tensor);
}

const int64_t* tl_tensor_shape(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? h->shape : slow_tensor_shape(tensor);
}

const int64_t* tl_tensor_strides(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? h->strides : slow_tensor_strides(tensor);
}

int32_t tl_tensor_dtype(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? h->dtype : slow_tensor_dtype(tensor);
}

int32_t tl_tensor_device(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? h->device : slow_tensor_device(tensor);
}

bool tl_tensor_is_contiguous(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	return TLC_LIKELY(h != NULL) ? (h->flags & TL_TENSOR_CONTIGUOUS) != 0 : slow_tensor_is_contiguous(tensor);
}

int64_t tl_tensor_dim(const tl_tensor* tensor, int64_t axis)
{
	const tl_tensor_header* h = header(tensor);
	if (TLC_UNLIKELY(h == NULL)) return slow_tensor_dim(tensor, axis);
	uint64_t i = (uint64_t)axis + (axis < 0 ? h->rank : 0);
	return TLC_LIKELY(i < h->rank) ? h->shape[i] : slow_tensor_dim(tensor, axis);
}
