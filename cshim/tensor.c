/* Tensors: making them from the pool, counting, and their properties. */
#include <string.h>

#include "tensor.h"

/* ---- making -------------------------------------------------------------------------- */

/* What a request comes to; bytes 0: ask Go, which says what is wrong. */
typedef struct size {
	uint64_t numel;
	uint64_t bytes; /* header included */
} size;

static inline size measure(int32_t dtype, int64_t rank, const int64_t* shape)
{
	const size wrong = {0, 0};
	if (TLC_UNLIKELY((uint32_t)dtype >= TL_DTYPES || (uint64_t)rank > TL_MAX_RANK)) return wrong;
	if (TLC_UNLIKELY(rank != 0 && (uintptr_t)shape < TL_LOWEST_ADDRESS)) return wrong;
	uint64_t numel = 1, spread = tlc_dtype_bytes[dtype]; /* spread counts empty dimensions as 1 */
	for (int64_t i = 0; i < rank; i++) {
		if (TLC_UNLIKELY(shape[i] < 0 || __builtin_mul_overflow(spread, (uint64_t)tlc_at_least_1(shape[i]), &spread)))
			return wrong;
		numel *= (uint64_t)shape[i];
	}
	if (TLC_UNLIKELY(spread == 0 || spread > 1ull << 47)) return wrong;
	return (size){numel, TLC_TENSOR_HEADER + TLC_ALIGNED64(numel * tlc_dtype_bytes[dtype])};
}

/* A slot from the magazine, for a key for which the pool has no tensor; object 0: ask Go. */
static __attribute__((noinline)) tl_entry take(tl_context* c, size z, uint32_t kind)
{
	tl_entry e = tlc_take(c, z.bytes);
	if (e.object == 0) return e;
	tlc_tensor_pool_missed(z.numel, kind);
	tl_record* r = tlc_g.records + e.record;
	TLC_STORE(r->type_flags, TL_TYPE_TENSOR);
	TLC_STORE(r->loc, 0);
	tl_kind_counters* tensors = &c->kinds[TL_TYPE_TENSOR];
	tensors->made++;
	tensors->bytes_made += tlc_g.classes[e.gen & 0xFF].size;
	return e;
}

/* Whether TL_DEVICE_DEFAULT is the CPU; false until Go has set it. */
static _Atomic bool default_is_cpu;

void tlc_tensor_default_is_cpu(bool yes) { atomic_store_explicit(&default_is_cpu, yes, memory_order_relaxed); }

static __attribute__((noinline)) bool is_elsewhere(int32_t device)
{
	return device != TL_DEVICE_DEFAULT || !atomic_load_explicit(&default_is_cpu, memory_order_relaxed);
}

/* A registered tensor of the CPU; NULL: ask Go. Budget of a hit, rank 2: one lock, one probe, about
 * 80 instructions. */
static inline tl_tensor* make(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c) || (device != 0 && is_elsewhere(device)))) return NULL;
	size z = measure(dtype, rank, shape);
	if (TLC_UNLIKELY(z.bytes == 0)) return NULL;
	uint32_t kind = TL_TENSOR_POOL_KIND(dtype, 0);
	tl_entry e = tlc_tensor_pool_take(z.numel, kind);
	bool sample = false;
	if (TLC_LIKELY(e.object != 0)) {
		sample = tlc_spend(c, z.bytes);
	} else {
		e = take(c, z, kind);
		if (e.object == 0) return NULL;
	}
	tlc_tensor_describe((tl_tensor_header*)e.object, (uint8_t)dtype, z.numel, (uint16_t)rank, shape);
	tlc_tensor_revive(c, tlc_g.records + e.record, 0);
	tlc_push(c, e);
	return TLC_LIKELY(!sample) ? (tl_tensor*)e.object : tlc_sampled_object(c, (void*)e.object, z.bytes);
}

tl_tensor* tl_tensor_empty(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	tl_tensor* t = make(dtype, device, rank, shape);
	return TLC_LIKELY(t != NULL) ? t : slow_tensor_empty(dtype, device, rank, shape);
}

tl_tensor* tl_tensor_zeros(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	tl_tensor* t = make(dtype, device, rank, shape);
	if (TLC_UNLIKELY(t == NULL)) return slow_tensor_zeros(dtype, device, rank, shape);
	const tl_tensor_header* h = (const tl_tensor_header*)t;
	memset((void*)h->data, 0, h->nbytes);
	return t;
}

/* Budget in the steady state: a slot's buffer and a header, about 60 instructions. */
tl_tensor* tl_tensor_in_slot(int64_t slot, int32_t dtype, int64_t rank, const int64_t* shape)
{
	tl_context* c = tlc_tls;
	size z = measure(dtype, rank, shape);
	if (TLC_UNLIKELY(z.bytes == 0 || (uint64_t)slot >= c->slots)) return slow_tensor_in_slot(slot, dtype, rank, shape);
	tl_tensor_header* h = tlc_get_buffer(c, slot, (int64_t)z.bytes);
	if (TLC_UNLIKELY(h == NULL)) return slow_tensor_in_slot(slot, dtype, rank, shape);
	tlc_tensor_describe(h, (uint8_t)dtype, z.numel, (uint16_t)rank, shape);
	h->flags = TL_TENSOR_CONTIGUOUS | TL_TENSOR_IN_SLOT;
	h->base = h->deleter = h->deleter_context = 0;
	h->mark = (uintptr_t)h ^ TL_TENSOR_MARK;
	return (tl_tensor*)h;
}

/* ---- references ------------------------------------------------------------------------ */

/* Live, unbiased, not immortal; it may have floats. */
static inline bool is_plain(uint32_t sh) { return (sh & TL_SH_FLAGS) == (TL_SH_ALIVE | TL_SH_MERGED); }

/* Budget: 6 loads, one compare-and-swap. */
static inline bool retain(tl_record* r)
{
	uint32_t sh = TLC_LOAD(r->sh);
	while (TLC_LIKELY(is_plain(sh) && (uint32_t)tlc_sh_count(sh) - 1 < TL_SH_COUNT_MAX - 1))
		if (TLC_LIKELY(atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_ONE, memory_order_relaxed,
		                                                     memory_order_relaxed)))
			return true;
	return false;
}

tl_tensor* tl_tensor_acquire(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_tensor_record(c, (uintptr_t)tensor);
	if (TLC_LIKELY(r != NULL && retain(r))) return tensor;
	if (tlc_tensor_in_slot(c, (uintptr_t)tensor)) return tensor;
	return slow_tensor_acquire(tensor);
}

/* Drops a reference of a tensor on the heap; for a tensor in a slot there is nothing to do. Budget
 * when other references are left: 6 loads, one compare-and-swap. */
static inline bool release(uintptr_t p)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_tensor_record(c, p);
	if (TLC_UNLIKELY(r == NULL)) return tlc_tensor_in_slot(c, p);
	uint32_t sh = TLC_LOAD(r->sh);
	if (is_plain(sh) && tlc_sh_floats(sh) == 0 && tlc_sh_count(sh) > 1 &&
	    atomic_compare_exchange_strong_explicit(&r->sh, &sh, sh - TL_SH_ONE, memory_order_release,
	                                            memory_order_relaxed))
		return true;
	return tlc_tensor_drop(c, r, tlc_entry_of(r, p));
}

tl_status tl_tensor_register(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	if (TLC_LIKELY(tlc_tensor_record(c, (uintptr_t)tensor) != NULL && tlc_register_known((uintptr_t)tensor)))
		return TL_OK;
	if (tensor == NULL || tlc_tensor_in_slot(c, (uintptr_t)tensor)) return TL_OK;
	return slow_tensor_register(tensor);
}

/* A tensor that no scope of this function holds is returned as it is. */
tl_tensor* tl_tensor_prepare_return(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	tl_record* r = tlc_tensor_record(c, (uintptr_t)tensor);
	if (TLC_UNLIKELY(r == NULL || !tlc_is_live_object(r))) return slow_tensor_prepare_return(tensor);
	int64_t at = tlc_find_entry(c, (uintptr_t)tensor);
	if (at == TLC_NOT_FOUND) return tensor;
	if (TLC_UNLIKELY(at == TLC_ASK_GO || !tlc_unregister_at(c, (uint64_t)at)))
		return slow_tensor_prepare_return(tensor);
	return tensor;
}

tl_status tl_tensor_release(tl_tensor* tensor)
{
	return TLC_LIKELY(release((uintptr_t)tensor)) ? TL_OK : slow_tensor_release(tensor);
}

tl_status tl_tensor_release_safe(tl_tensor* tensor)
{
	return TLC_LIKELY(release((uintptr_t)tensor)) ? TL_OK : slow_tensor_release_safe(tensor);
}

/* Whether both refer to one life of one object: a pointer may get another record, which has
 * generations of its own. */
static inline bool same_entry(tl_entry a, tl_entry b)
{
	return a.object == b.object && a.record == b.record && a.gen == b.gen;
}

/* Removes the newest entry of an object from this function's scopes, if there is one; false: ask
 * Go, nothing changed. */
static __attribute__((noinline)) bool forget_entry(tl_context* c, tl_entry e)
{
	int64_t at = tlc_find_entry(c, e.object);
	if (at == TLC_NOT_FOUND) return true;
	if (TLC_UNLIKELY(at == TLC_ASK_GO || tlc_needs_compaction(c) || !same_entry(c->entries[at], e))) return false;
	tlc_take_out(c, (uint64_t)at);
	return true;
}

/* The same for the newest entry of the current scope. */
static inline bool pop_entry(tl_context* c, tl_entry e)
{
	uint64_t n = (uint64_t)(c->top - c->entries), low = c->mark_top != c->marks ? c->mark_top[-1].entries : 0;
	if (TLC_UNLIKELY(n <= low || n <= c->indexed || c->holes != 0)) return false;
	if (TLC_UNLIKELY(!same_entry(c->top[-1], e))) return false;
	c->top--;
	return true;
}

/* The rest of tl_tensor_free after the entry was removed; the scope gets the entry back when Go
 * cannot be entered. */
static __attribute__((noinline)) tl_status free_slowly(tl_context* c, tl_entry e)
{
	tl_status status;
	tl_context* in = tlc_entry_begin(TL_FN_tl_tensor_free, &status);
	if (in == NULL) {
		if (tlc_has_room(c)) tlc_push(c, e);
		return status;
	}
	status = tlgo_tensor_release((uintptr_t)in, e.object);
	tlc_entry_end(in);
	return tlc_found(in, status);
}

tl_status tl_tensor_free(tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	uintptr_t p = (uintptr_t)tensor;
	tl_record* r = tlc_tensor_record(c, p);
	if (TLC_UNLIKELY(r == NULL)) return tlc_tensor_in_slot(c, p) ? TL_OK : slow_tensor_free(tensor);
	if (TLC_UNLIKELY(!tlc_is_live_object(r))) return slow_tensor_free(tensor);
	tl_entry e = tlc_entry_of(r, p);
	if (TLC_UNLIKELY(!pop_entry(c, e) && !forget_entry(c, e))) return slow_tensor_free(tensor);
	return TLC_LIKELY(tlc_tensor_drop(c, r, e)) ? TL_OK : free_slowly(c, e);
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
	const tl_record* r = tlc_tensor_record(c, (uintptr_t)tensor);
	if (TLC_LIKELY(r != NULL && tlc_is_live_object(r))) return (const tl_tensor_header*)tensor;
	return in_slot(c, (uintptr_t)tensor);
}

/* Budget: that of header, 10 stores. */
tl_status tl_tensor_info_get(const tl_tensor* tensor, tl_tensor_info* out_info)
{
	const tl_tensor_header* h = header(tensor);
	if (TLC_UNLIKELY(h == NULL || (uintptr_t)out_info < TL_LOWEST_ADDRESS || out_info->struct_size < sizeof *out_info))
		return slow_tensor_info_get(tensor, out_info);
	*out_info = (tl_tensor_info){
		.struct_size = sizeof *out_info,
		.data = h->numel != 0 ? (void*)h->data : NULL,
		.shape = h->shape,
		.strides = h->strides,
		.numel = (int64_t)h->numel,
		.nbytes = h->nbytes,
		.dtype = h->dtype,
		.device = h->device,
		.rank = h->rank,
		.flags = h->flags,
		.base = (h->flags & TL_TENSOR_VIEW) != 0 ? (tl_tensor*)h->base : NULL,
	};
	return TL_OK;
}

void* tl_tensor_data(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	if (TLC_LIKELY(h != NULL && h->numel != 0)) return (void*)h->data;
	return slow_tensor_data(tensor); /* a NULL that is correct sets the last status to TL_OK */
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
