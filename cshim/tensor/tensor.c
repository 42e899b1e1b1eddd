/* Tensors: making them, counting, their properties, and copies. */
#include <string.h>

#include "../copies/copy.h"
#include "../heap/heap.h"
#include "../object/inbox.h"
#include "tensor.h"

_Static_assert(sizeof(tl_tensor_header) % TL_TENSOR_ALIGN == 0, "the data starts on a cache line");

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
	const uint64_t bytes = tlc_dtype_bytes[dtype];
	uint64_t numel;
	if (TLC_UNLIKELY(bytes == 0 || tlc_measure(bytes, rank, shape, &numel) >= 0)) return wrong;
	return (size){numel, TLC_TENSOR_HEADER + TLC_ALIGNED64(numel * bytes)};
}

/* A slot; object 0: ask Go. *zero: it reads as zero. Calls no function of the program: there is room in the scope stack
 * afterwards as before. */
static inline tl_entry take(tl_context* c, size_t bytes, bool* zero)
{
	*zero = false;
	if (bytes > TLC_MAX_SMALL) return tlc_take_large(c, bytes, zero);
	tl_entry e = tlc_take(c, bytes);
	return e.object == 0 && tlc_refill_magazine(c, tlc_class_of(bytes)) ? tlc_take(c, bytes) : e;
}

/* Whether TL_DEVICE_DEFAULT is the CPU; false until Go has set it. */
static _Atomic bool default_is_cpu;

void tlc_tensor_default_is_cpu(bool yes) { atomic_store_explicit(&default_is_cpu, yes, memory_order_relaxed); }

__attribute__((noinline)) bool tlc_is_elsewhere(int32_t device)
{
	return device != TL_DEVICE_DEFAULT || !atomic_load_explicit(&default_is_cpu, memory_order_relaxed);
}

/* A new tensor and the bytes of its elements, which its header says as well, where others may write. */
typedef struct made {
	tl_tensor* tensor; /* NULL: ask Go */
	uint64_t nbytes;
	bool zero; /* they read as zero */
} made;

/* A registered tensor of the CPU. */
static __attribute__((noinline)) made make_other(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	const made none = {NULL, 0, false};
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c) || !tlc_is_cpu(device))) return none;
	int64_t dimensions[TL_MAX_RANK]; /* another thread may write to the caller's */
	if (TLC_LIKELY((uint64_t)rank <= TL_MAX_RANK && (uintptr_t)shape >= TL_LOWEST_ADDRESS)) {
		for (int64_t i = 0; i < rank; i++) dimensions[i] = ((const volatile int64_t*)shape)[i];
		shape = dimensions;
	}
	size z = measure(dtype, rank, shape);
	if (TLC_UNLIKELY(z.bytes == 0)) return none;
	bool zero;
	const tl_entry e = take(c, z.bytes, &zero);
	if (TLC_UNLIKELY(e.object == 0)) return none;
	tlc_tensor_describe((tl_tensor_header*)e.object, (uint8_t)dtype, z.numel, (uint16_t)rank, shape);
	tlc_tensor_begin(c, tlc_tag(&e));
	if (tlc_class_at(&e) == TL_CLASS_LARGE)
		c->kinds[TL_TYPE_TENSOR].bytes_made += tlc_slot_bytes(e.object, TL_CLASS_LARGE);
	tlc_push(c, e);
	TLC_PROBE_ALLOCATE(e.object, z.bytes);
	return (made){(tl_tensor*)e.object, z.numel * tlc_dtype_bytes[dtype], zero};
}

/* The same where the magazine has a slot, for up to four dimensions of which none is 0. The product of four of less than
 * 2^16 does not overflow, and others come to more elements than a slot has. Warm places that are in the way are make_other's: nothing is called.
 * Budget of rank 2: 27 loads, 19 stores, about 110 instructions. */
static inline __attribute__((always_inline)) made make_small(int32_t dtype, int32_t device, int64_t rank,
                                                             const int64_t* shape)
{
	enum { MOST = 4 };
	const made none = {NULL, 0, false};
	tl_context* c = tlc_tls;
	tl_entry* top = c->top;
	if (TLC_UNLIKELY(top >= c->end || device != 0 || (uint32_t)dtype >= TL_DTYPES)) return none;
	if (TLC_UNLIKELY((uint64_t)rank > MOST || (rank != 0 && (uintptr_t)shape < TL_LOWEST_ADDRESS))) return none;
	uint64_t numel = 1, bits = 0;
	int64_t dimensions[MOST]; /* another thread may write to the caller's */
	for (int64_t i = 0; i < rank; i++) {
		const uint64_t n = (uint64_t)((const volatile int64_t*)shape)[i];
		dimensions[i] = (int64_t)n;
		bits |= n;
		numel *= n;
	}
	if (TLC_UNLIKELY(bits >= TLC_MAX_SMALL || numel - 1 >= TLC_MAX_SMALL)) return none;
	const uint64_t nbytes = numel * tlc_dtype_bytes[dtype], bytes = TLC_TENSOR_HEADER + TLC_ALIGNED64(nbytes);
	if (TLC_UNLIKELY(nbytes == 0)) return none; /* no such type */
	const tl_entry* slot = tlc_take_slot(c, bytes);
	if (TLC_UNLIKELY(slot == NULL)) return none;
	const uintptr_t object = slot->object;
	const uint64_t tag = tlc_tag(slot), kind = tlc_tensor_kind((uint32_t)dtype, (uint64_t)rank);
	tl_tensor_header* h = (tl_tensor_header*)object;
	h->data = object + TLC_TENSOR_HEADER;
	h->numel = numel;
	h->nbytes = nbytes;
	__builtin_memcpy(&h->dtype, &kind, sizeof kind);
	int64_t stride = 1;
	for (int64_t i = rank; i-- > 0;) {
		h->strides[i] = stride;
		stride *= h->shape[i] = dimensions[i];
	}
	tlc_tensor_begin(c, tag);
	tlc_set_entry(top, object, tag);
	c->top = top + 1;
	TLC_PROBE_ALLOCATE(object, bytes);
	return (made){(tl_tensor*)h, nbytes, false};
}

static inline void* data_of(made m) { return (char*)m.tensor + TLC_TENSOR_HEADER; }

static inline __attribute__((always_inline)) made make_any(int32_t dtype, int32_t device, int64_t rank,
                                                           const int64_t* shape)
{
	made m = make_small(dtype, device, rank, shape);
	return TLC_LIKELY(m.tensor != NULL) ? m : make_other(dtype, device, rank, shape);
}

static __attribute__((noinline)) tl_tensor* empty_other(int32_t dtype, int32_t device, int64_t rank,
                                                        const int64_t* shape)
{
	tl_tensor* t = make_other(dtype, device, rank, shape).tensor;
	return TLC_LIKELY(t != NULL) ? t : slow_tensor_empty(dtype, device, rank, shape);
}

tl_tensor* tl_tensor_empty(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	tl_tensor* t = make_small(dtype, device, rank, shape).tensor;
	return TLC_LIKELY(t != NULL) ? t : empty_other(dtype, device, rank, shape);
}

tl_tensor* tl_tensor_new_zeroed(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape)
{
	made m = make_any(dtype, device, rank, shape);
	if (TLC_UNLIKELY(m.tensor == NULL)) return slow_tensor_new_zeroed(dtype, device, rank, shape);
	if (!m.zero) tlc_heap_clear(data_of(m), m.nbytes);
	return m.tensor;
}

/* Fills a new tensor with the elements at from, which may lie anywhere; NULL where there are none. A scalar costs no
 * call. */
static inline __attribute__((always_inline)) tl_tensor* filled(made m, const void* from)
{
	if (m.nbytes == sizeof(uint32_t)) __builtin_memcpy(data_of(m), from, sizeof(uint32_t));
	else if (m.nbytes == sizeof(uint64_t)) __builtin_memcpy(data_of(m), from, sizeof(uint64_t));
	else if (TLC_LIKELY(m.nbytes != 0)) memmove(data_of(m), from, m.nbytes);
	return m.tensor;
}

/* Go says what is wrong with data that is NULL; for a tensor without elements nothing is. */
tl_tensor* tl_tensor_new(const float* data, int64_t rank, const int64_t* shape)
{
	if (TLC_UNLIKELY((uintptr_t)data < TL_LOWEST_ADDRESS)) return slow_tensor_new(data, rank, shape);
	made m = make_any(TL_DTYPE_F32, TL_DEVICE_CPU, rank, shape);
	return TLC_LIKELY(m.tensor != NULL) ? filled(m, data) : slow_tensor_new(data, rank, shape);
}

tl_tensor* tl_tensor_new_i64(const int64_t* data, int64_t rank, const int64_t* shape)
{
	if (TLC_UNLIKELY((uintptr_t)data < TL_LOWEST_ADDRESS)) return slow_tensor_new_i64(data, rank, shape);
	made m = make_any(TL_DTYPE_I64, TL_DEVICE_CPU, rank, shape);
	return TLC_LIKELY(m.tensor != NULL) ? filled(m, data) : slow_tensor_new_i64(data, rank, shape);
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

/* Budget: 6 loads, a prefetch, one compare-and-swap. */
static inline bool retain(tl_record* r)
{
	tlc_will_write(r);
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
	tlc_will_write(r);
	uint32_t sh = TLC_LOAD(r->sh);
	while (is_plain(sh) && tlc_sh_floats(sh) == 0 && tlc_sh_count(sh) > 1)
		if (TLC_LIKELY(atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh - TL_SH_ONE, memory_order_release,
		                                                     memory_order_relaxed)))
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
	int64_t at = tlc_find_entry(c, (uintptr_t)tensor, c->floor);
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

/* ---- properties ------------------------------------------------------------------------- */

static __attribute__((noinline)) const tl_tensor_header* in_slot(const tl_context* c, uintptr_t p)
{
	return tlc_tensor_in_slot(c, p) ? (const tl_tensor_header*)p : NULL;
}

/* The header of a tensor; NULL: ask Go. */
static inline const tl_tensor_header* header(const tl_tensor* tensor)
{
	tl_context* c = tlc_tls;
	const tl_tensor_header* h = tlc_tensor_on_heap(c, tensor);
	return TLC_LIKELY(h != NULL) ? h : in_slot(c, (uintptr_t)tensor);
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

static __attribute__((noinline)) void* data_rest(const tl_tensor* tensor)
{
	void* result;
	return tlc_data_of(in_slot(tlc_tls, (uintptr_t)tensor), &result) ? result : slow_tensor_data(tensor);
}

void* tl_tensor_data(const tl_tensor* tensor)
{
	void* result;
	return TLC_LIKELY(tlc_data_of(tlc_tensor_on_heap(tlc_tls, tensor), &result)) ? result : data_rest(tensor);
}

size_t tl_tensor_nbytes(const tl_tensor* tensor)
{
	size_t result;
	return TLC_LIKELY(tlc_nbytes_of(header(tensor), &result)) ? result : slow_tensor_nbytes(tensor);
}

int64_t tl_tensor_numel(const tl_tensor* tensor)
{
	int64_t result;
	return TLC_LIKELY(tlc_numel_of(header(tensor), &result)) ? result : slow_tensor_numel(tensor);
}

int64_t tl_tensor_len(const tl_tensor* tensor)
{
	int64_t result;
	return TLC_LIKELY(tlc_numel_of(header(tensor), &result)) ? result : slow_tensor_len(tensor);
}

int64_t tl_tensor_rank(const tl_tensor* tensor)
{
	int64_t result;
	return TLC_LIKELY(tlc_rank_of(header(tensor), &result)) ? result : slow_tensor_rank(tensor);
}

const int64_t* tl_tensor_shape(const tl_tensor* tensor)
{
	const int64_t* result;
	return TLC_LIKELY(tlc_shape_of(header(tensor), &result)) ? result : slow_tensor_shape(tensor);
}

const int64_t* tl_tensor_strides(const tl_tensor* tensor)
{
	const int64_t* result;
	return TLC_LIKELY(tlc_strides_of(header(tensor), &result)) ? result : slow_tensor_strides(tensor);
}

int32_t tl_tensor_dtype(const tl_tensor* tensor)
{
	int32_t result;
	return TLC_LIKELY(tlc_dtype_of(header(tensor), &result)) ? result : slow_tensor_dtype(tensor);
}

int32_t tl_tensor_device(const tl_tensor* tensor)
{
	int32_t result;
	return TLC_LIKELY(tlc_device_of(header(tensor), &result)) ? result : slow_tensor_device(tensor);
}

bool tl_tensor_is_contiguous(const tl_tensor* tensor)
{
	bool result;
	return TLC_LIKELY(tlc_contiguity_of(header(tensor), &result)) ? result : slow_tensor_is_contiguous(tensor);
}

int64_t tl_tensor_dim(const tl_tensor* tensor, int64_t axis)
{
	int64_t result;
	return TLC_LIKELY(tlc_dim_of(header(tensor), axis, &result)) ? result : slow_tensor_dim(tensor, axis);
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Whether C copies a tensor with these flags. Blocks of matrices are no tensors that a program has. */
static inline bool is_copied(const tl_tensor_header* h)
{
	return h->device == 0 && (h->flags & (TL_TENSOR_ON_DEVICE | TL_TENSOR_BLOCK)) == 0;
}

/* Reads the header, which programs can overwrite at any time, once; false: ask Go. */
static inline bool read_elements(const tl_tensor_header* h, uint8_t* dtype, tlc_elements* e)
{
	*dtype = h->dtype;
	e->data = h->data;
	e->rank = h->rank;
	e->size = tlc_dtype_bytes[*dtype];
	__builtin_memcpy(e->shape, h->shape, sizeof e->shape);
	__builtin_memcpy(e->strides, h->strides, sizeof e->strides);
	return TLC_LIKELY(e->size != 0 && e->rank <= TL_MAX_RANK);
}

static __attribute__((noinline)) tl_tensor* clone_with_gaps(const tl_tensor_header* h)
{
	uint8_t dtype;
	tlc_elements from;
	if (TLC_UNLIKELY(!read_elements(h, &dtype, &from))) return NULL;
	made m = make_any(dtype, TL_DEVICE_CPU, from.rank, from.shape);
	if (TLC_UNLIKELY(m.tensor == NULL)) return NULL;
	if (m.nbytes != 0) tlc_copy_elements((uintptr_t)data_of(m), ((tl_tensor_header*)m.tensor)->strides, &from);
	return m.tensor;
}

tl_tensor* tlc_tensor_clone(const tl_tensor* tensor)
{
	const tl_tensor_header* h = header(tensor);
	if (TLC_UNLIKELY(h == NULL || !is_copied(h))) return NULL;
	if ((h->flags & TL_TENSOR_CONTIGUOUS) == 0) return clone_with_gaps(h);
	const void* data = (const void*)h->data;
	made m = make_any(h->dtype, TL_DEVICE_CPU, h->rank, h->shape);
	return TLC_LIKELY(m.tensor != NULL) ? filled(m, data) : NULL;
}

tl_tensor* tl_tensor_clone(const tl_tensor* tensor)
{
	tl_tensor* copy = tlc_tensor_clone(tensor);
	return TLC_LIKELY(copy != NULL) ? copy : slow_tensor_clone(tensor);
}

tl_tensor* tl_tensor_to(const tl_tensor* tensor, int32_t device)
{
	tl_tensor* copy = tlc_is_cpu(device) ? tlc_tensor_clone(tensor) : NULL;
	return TLC_LIKELY(copy != NULL) ? copy : slow_tensor_to(tensor, device);
}

static inline bool lie_apart(const tlc_elements* a, const tlc_elements* b)
{
	uintptr_t a_low, a_high, b_low, b_high;
	tlc_reach(a, &a_low, &a_high);
	tlc_reach(b, &b_low, &b_high);
	return a_high <= b_low || b_high <= a_low;
}

/* Copies between tensors of the CPU that have no bytes in common; false: ask Go, nothing changed. */
static inline bool copy(const tl_tensor_header* to, const tl_tensor_header* from)
{
	uint8_t to_dtype, from_dtype;
	tlc_elements t, f;
	if (TLC_UNLIKELY(to == NULL || from == NULL || !is_copied(to) || !is_copied(from))) return false;
	if (TLC_UNLIKELY((to->flags & TL_TENSOR_READ_ONLY) != 0)) return false;
	if (TLC_UNLIKELY(!read_elements(to, &to_dtype, &t) || !read_elements(from, &from_dtype, &f))) return false;
	if (TLC_UNLIKELY(to_dtype != from_dtype || t.rank != f.rank)) return false;
	if (TLC_UNLIKELY(memcmp(t.shape, f.shape, (size_t)t.rank * sizeof *t.shape) != 0)) return false;
	uint64_t numel;
	if (TLC_UNLIKELY(tlc_measure(t.size, t.rank, t.shape, &numel) >= 0)) return false;
	if (TLC_UNLIKELY(tlc_repeats(t.rank, t.shape, t.strides))) return false;
	if (TLC_UNLIKELY(numel == 0)) return true;
	if (TLC_UNLIKELY(!lie_apart(&t, &f))) return false;
	tlc_copy_elements(t.data, t.strides, &f);
	return true;
}

tl_status tl_tensor_copy(tl_tensor* to, const tl_tensor* from)
{
	return TLC_LIKELY(copy(header(to), header(from))) ? TL_OK : slow_tensor_copy(to, from);
}
