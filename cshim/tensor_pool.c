/* The tensor pool's cold parts, what becomes of a dead tensor, and tl_pool_*. */
#include "tensor.h"

_Static_assert(sizeof(tl_tensor_header) % TL_TENSOR_ALIGN == 0, "the data starts on a cache line");
_Static_assert(sizeof(tl_tensor_pool_shard) == 128, "shards share no cache line");
_Static_assert(sizeof(tl_globals) <= TL_TENSOR_POOL_OFFSET, "the shards stand behind the globals");

_Static_assert(TL_DTYPES <= TLC_DTYPE_MASK + 1, "the mask keeps every dtype as it is");

const uint8_t tlc_dtype_bytes[TLC_DTYPE_MASK + 1] = {
	[TL_DTYPE_F32] = 4, [TL_DTYPE_F64] = 8,  [TL_DTYPE_I32] = 4,  [TL_DTYPE_I64] = 8, [TL_DTYPE_U8] = 1,
	[TL_DTYPE_F16] = 2, [TL_DTYPE_BF16] = 2, [TL_DTYPE_BOOL] = 1, [TL_DTYPE_I8] = 1,  [TL_DTYPE_I16] = 2,
	[TL_DTYPE_U16] = 2, [TL_DTYPE_U32] = 4,  [TL_DTYPE_U64] = 8,  [TL_DTYPE_C64] = 8, [TL_DTYPE_C128] = 16,
};

/* ---- locks ------------------------------------------------------------------------- */

static tl_tensor_pool_shard* all_shards(void)
{
	return (tl_tensor_pool_shard*)((char*)tlc_shared + TL_TENSOR_POOL_OFFSET);
}

/* For pthread_atfork: prepare takes all locks, parent and child release them. */
void tlc_tensor_pool_lock_all(void)
{
	for (int i = 0; i < TL_TENSOR_POOL_SHARDS; i++) tlc_lock(&all_shards()[i].lock);
}

void tlc_tensor_pool_unlock_all(void)
{
	for (int i = 0; i < TL_TENSOR_POOL_SHARDS; i++) tlc_unlock(&all_shards()[i].lock);
}

/* ---- keeping ------------------------------------------------------------------------- */

/* The bytes that a tensor needs by its header, header included. */
static inline uint64_t needed(const tl_tensor_header* h)
{
	return TLC_TENSOR_HEADER + TLC_ALIGNED64(h->numel * tlc_dtype_bytes[h->dtype]);
}

/* Gives the empty cell k to a new key; false when there is no room. Under the lock. */
static __attribute__((noinline)) bool open_key(tl_tensor_pool_shard* s, tl_tensor_pool_key* k,
                                               const tl_tensor_header* h, uint64_t bytes)
{
	if (s->keys >= s->key_limit || needed(h) > bytes) return false;
	uintptr_t stack = s->free_stack;
	if (stack != 0) {
		s->free_stack = ((const tl_entry*)stack)->object;
	} else {
		stack = s->fresh_stack;
		s->fresh_stack += s->room * sizeof(tl_entry);
	}
	*k = (tl_tensor_pool_key){
		.elements = h->numel, .bytes = bytes, .kind = TL_TENSOR_POOL_KIND(h->dtype, h->device), .stack = stack};
	s->keys++;
	return true;
}

/* Bytes of a large tensor's spans; 0 when they are not as many as the header's figures need. */
static __attribute__((noinline)) uint64_t large_bytes(const tl_tensor_header* h, uintptr_t p)
{
	uint64_t spans = (needed(h) + TL_SPAN_BYTES - 1) >> TL_SPAN_SHIFT, first = (p - tlc_g.heap_base) >> TL_SPAN_SHIFT;
	if (spans < 2 || spans > (tlc_g.heap_bytes >> TL_SPAN_SHIFT) - first) return 0;
	uint64_t last = atomic_load_explicit(&tlc_g.spans[first + spans - 1], memory_order_relaxed);
	return TL_SPAN_CLASS(last) == TL_CLASS_REST && TL_SPAN_BACK(last) == spans - 1 ? spans << TL_SPAN_SHIFT : 0;
}

bool tlc_tensor_is_large(const tl_tensor_header* h, uintptr_t p, uint64_t bytes) { return large_bytes(h, p) == bytes; }

/* Bytes of the heap that a tensor which may be pooled occupies; else 0. Only they prevent that an
 * overwritten header puts a slot under a key for which it is too small: a key's bytes are checked
 * against its elements once, and a slot's bytes against its key's each time. */
static inline uint64_t slot_bytes(const tl_tensor_header* h, tl_entry e)
{
	if (TLC_UNLIKELY(h->flags != TL_TENSOR_CONTIGUOUS || tlc_is_last_life(e.gen))) return 0;
	if (TLC_UNLIKELY(h->dtype >= TL_DTYPES || h->device != 0 || h->numel > 1ull << 47)) return 0;
	uint32_t class = e.gen & 0xFF;
	return TLC_LIKELY(class <= TL_CLASS_SMALL) ? tlc_g.classes[class].size : large_bytes(h, e.object);
}

enum keeping { KEPT, FULL, ASK_GO };

/* Whether there is room. Go can make room for more keys and more bytes, not for more tensors of a
 * key. */
static inline enum keeping room(const tl_tensor_pool_shard* s, const tl_tensor_pool_key* k, uint64_t bytes)
{
	if (TLC_UNLIKELY(k->bytes != bytes)) return ASK_GO;
	if (TLC_UNLIKELY((uint32_t)k->count + k->lent >= s->limit)) return FULL;
	return TLC_LIKELY(s->bytes + bytes <= s->grant) ? KEPT : ASK_GO;
}

/* Keeps a tensor under its key and takes its last reference. sh is the count word that the caller
 * has seen; if it has changed the caller has to ask Go. With every result but KEPT nothing has
 * changed. */
static inline enum keeping keep(tl_context* c, tl_record* r, tl_entry e, uint32_t sh, uint64_t bytes)
{
	const tl_tensor_header* h = (const tl_tensor_header*)e.object;
	uint64_t elements = h->numel;
	uint32_t kind = TL_TENSOR_POOL_KIND(h->dtype, h->device);
	uint64_t hash = tlc_tensor_pool_hash(elements, kind);
	tl_tensor_pool_shard* s = tlc_tensor_pool_shard(hash);
	tl_tensor_pool_key* home = tlc_tensor_pool_home(s, hash);
	if (TLC_UNLIKELY(home == NULL)) return ASK_GO;
	enum keeping result = ASK_GO;
	tlc_lock(&s->lock);
	tl_tensor_pool_key* k = tlc_tensor_pool_find(s, home, elements, kind);
	if (TLC_LIKELY(k->kind != 0) || open_key(s, k, h, bytes)) result = room(s, k, bytes);
	else if (s->keys >= s->key_limit && s->refusals != 0) s->refusals--, result = FULL;
	if (TLC_LIKELY(result == KEPT)) {
		if (TLC_LIKELY(
				atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed))) {
			e.gen = TLC_LOAD(r->gen);
			((tl_entry*)k->stack)[k->count++] = tlc_renew(r, e);
			s->bytes += bytes;
			s->puts++;
			c->tensors_gone++;
			TLC_PROBE_FREE(e.object);
		} else {
			result = ASK_GO;
		}
	}
	tlc_unlock(&s->lock);
	return result;
}

static inline bool drop_last(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	tl_tensor_header* h = (tl_tensor_header*)e.object;
	if ((h->flags & (TL_TENSOR_VIEW | TL_TENSOR_EXTERNAL)) != 0)
		return (h->flags & TL_TENSOR_VIEW) != 0 ? tlc_view_drop(c, r, e, sh) : tlc_borrowed_drop(c, r, e, sh);
	tl_tensor_cell* cell = tlc_tensor_cell_find(c, h->numel, tlc_tensor_said_kind(h));
	if (cell != NULL && (cell->class != TL_CLASS_LARGE || tlc_tensor_is_large(h, e.object, cell->bytes)) &&
	    tlc_tensor_keep_in(c, cell, r, e.object, tlc_tag(&e), sh)) {
		h->mark = (uint64_t)(cell - tlc_tensor_cell(c, 0)); /* nobody else has the tensor now */
		return true;
	}
	uint64_t bytes = slot_bytes(h, e);
	if (TLC_UNLIKELY(bytes == 0)) return false;
	enum keeping result = keep(c, r, e, sh, bytes);
	if (TLC_LIKELY(result == KEPT)) return true;
	return result == FULL && (e.gen & 0xFF) <= TL_CLASS_SMALL && tlc_tensor_recycle(c, r, e, sh);
}

/* The word after a release: counted references go before floats. */
static inline uint32_t released(uint32_t sh)
{
	int32_t count = tlc_sh_count(sh) - 1, floats = tlc_sh_floats(sh);
	if (floats > count) sh -= (uint32_t)(floats - count) << TL_SH_FLOAT_SHIFT;
	return sh - TL_SH_ONE;
}

/* Drops a reference, the last one or not; false: ask Go, nothing changed.
 * Budget of the last one: two compare-and-swaps (one, where the thread is alone and keeps it), one probe, about 60
 * instructions. */
bool tlc_tensor_drop(tl_context* c, tl_record* r, tl_entry e)
{
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire); /* the last one reads the header */
	for (;;) {
		int32_t count = tlc_sh_count(sh);
		if (TLC_UNLIKELY((sh & TL_SH_FLAGS) != (TL_SH_ALIVE | TL_SH_MERGED) || count <= 0)) return false;
		if (TLC_LIKELY(count == 1)) return drop_last(c, r, e, sh);
		if (atomic_compare_exchange_weak_explicit(&r->sh, &sh, released(sh), memory_order_acq_rel,
		                                          memory_order_acquire))
			return true;
	}
}

/* ---- tl_pool_* ------------------------------------------------------------------------- */

/* A floating tensor of one dimension. */
static inline tl_tensor* pool_acquire(tl_context* c, size_t elements, uint8_t dtype)
{
	tl_tensor_cell* cell;
	tl_entry e = tlc_tensor_take(c, elements, dtype, &cell);
	if (e.object == 0) {
		tlc_tensor_pool_missed(elements, TL_TENSOR_POOL_KIND(dtype, 0));
		tlc_clear_failure(c);
		return NULL;
	}
	TLC_PROBE_ALLOCATE(e.object, TLC_TENSOR_HEADER + TLC_ALIGNED64(elements * tlc_dtype_bytes[dtype]));
	int64_t shape = (int64_t)elements;
	tlc_tensor_describe((tl_tensor_header*)e.object, dtype, elements, 1, &shape);
	tlc_tensor_revive(c, tlc_g.records + e.record, TL_SH_FLOAT);
	const uint64_t bytes = ((const tl_tensor_header*)e.object)->nbytes + TLC_TENSOR_HEADER;
	return tlc_spend(c, bytes) ? tlc_sampled_object(c, (void*)e.object, bytes) : (tl_tensor*)e.object;
}

tl_tensor* tl_pool_acquire(size_t elements, uint8_t dtype, uint8_t device)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_is_fast(c) || dtype >= TL_DTYPES || tlc_dtype_bytes[dtype] == 0 || device != 0))
		return slow_pool_acquire(elements, dtype, device);
	return pool_acquire(c, elements, dtype);
}

tl_tensor* tl_pool_acquire_compat(size_t elements)
{
	tl_context* c = tlc_tls;
	return TLC_LIKELY(tlc_is_fast(c)) ? pool_acquire(c, elements, TL_DTYPE_F32) : slow_pool_acquire_compat(elements);
}

/* Keeps a tensor of that key with one reference; false: ask Go, nothing changed. */
static inline bool pool_release(uintptr_t p, size_t elements, uint8_t dtype, uint8_t device)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_tensor_record(c, p);
	if (TLC_UNLIKELY(r == NULL)) return false;
	const tl_tensor_header* h = (const tl_tensor_header*)p;
	uint32_t sh = TLC_LOAD(r->sh);
	if (TLC_UNLIKELY(h->numel != elements || h->dtype != dtype || h->device != device)) return false;
	if (TLC_UNLIKELY((sh & TL_SH_FLAGS) != (TL_SH_ALIVE | TL_SH_MERGED) || tlc_sh_count(sh) != 1)) return false;
	return drop_last(c, r, tlc_entry_of(r, p), sh);
}

tl_status tl_pool_release(tl_tensor* tensor, size_t elements, uint8_t dtype, uint8_t device)
{
	if (TLC_LIKELY(pool_release((uintptr_t)tensor, elements, dtype, device))) return TL_OK;
	return slow_pool_release(tensor, elements, dtype, device);
}

tl_status tl_pool_release_compat(tl_tensor* tensor, size_t elements)
{
	if (TLC_LIKELY(pool_release((uintptr_t)tensor, elements, TL_DTYPE_F32, TL_DEVICE_CPU))) return TL_OK;
	return slow_pool_release_compat(tensor, elements);
}
