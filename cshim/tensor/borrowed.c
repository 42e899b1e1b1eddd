/* Tensors over memory that others describe, made and ended without Go: runtime/tensor/dlpack.go and make.go are the
 * Go side.
 *
 * In a child of fork() no function of the program ends memory, so none is borrowed there. But some deleters are this
 * library's: a tensor that they end is made and ended in the child, too. */
#include "../object/inbox.h"
#include "tensor.h"
#include "dlpack.h"

/* Whether a deleter is this library's own and calls no code of the program. */
static inline bool is_ours(uintptr_t deleter)
{
	return deleter == (uintptr_t)tl_deferred_push || deleter == (uintptr_t)tlc_shared_end;
}

static inline bool are_there(const int64_t* numbers) { return (uintptr_t)numbers >= TL_LOWEST_ADDRESS; }

/* Copies numbers that another thread may write to. */
static inline void copy_numbers(int64_t* to, const int64_t* from, int32_t n)
{
	for (int32_t i = 0; i < n; i++) to[i] = ((const volatile int64_t*)from)[i];
}

/* Reads the shape; false: Go says what is wrong with it. */
static inline bool read_shape(tl_tensor_header* h, const tl_dl_tensor* from, uint64_t itemsize)
{
	if (TLC_UNLIKELY(from->ndim != 0 && !are_there(from->shape))) return false;
	copy_numbers(h->shape, from->shape, from->ndim);
	if (TLC_UNLIKELY(tlc_measure(itemsize, from->ndim, h->shape, &h->numel) >= 0)) return false;
	h->nbytes = h->numel * itemsize;
	return true;
}

/* Reads the strides; false: Go says what is wrong with them. */
static inline bool read_strides(tl_tensor_header* h, const tl_dl_tensor* from, uint64_t itemsize, uint32_t* flags)
{
	if (from->strides == NULL) {
		tlc_lay_out(h->shape, h->strides, from->ndim, h->shape);
		return true;
	}
	if (TLC_UNLIKELY(!are_there(from->strides) && from->ndim != 0)) return false;
	copy_numbers(h->strides, from->strides, from->ndim);
	if (TLC_UNLIKELY(tlc_check_strides(itemsize, from->ndim, h->shape, h->strides) >= 0)) return false;
	if (!tlc_is_contiguous(tlc_count(from->ndim, h->shape, h->strides))) *flags &= ~TL_TENSOR_CONTIGUOUS;
	return true;
}

/* Writes the header of the slot on top of the magazine, which stays free until the tensor is sure to be made. */
static inline bool describe(tl_tensor_header* h, const tl_dl_tensor* from, uint32_t flags)
{
	const uint32_t dtype = tlc_dl_dtype(from->dtype);
	if (TLC_UNLIKELY(from->device_type != TL_DL_CPU && from->device_type != TL_DL_CPU_PINNED)) return false;
	if (TLC_UNLIKELY(dtype == TL_DTYPES || (uint32_t)from->ndim > TL_MAX_RANK)) return false;
	const uint64_t itemsize = tlc_dtype_bytes[dtype];
	uintptr_t data = (uintptr_t)from->data;
	if (TLC_UNLIKELY(data != 0 && __builtin_add_overflow(data, from->byte_offset, &data))) return false;
	flags |= TL_TENSOR_EXTERNAL | TL_TENSOR_CONTIGUOUS;
	if (!read_shape(h, from, itemsize) || !read_strides(h, from, itemsize, &flags)) return false;
	if (TLC_UNLIKELY(data < TL_LOWEST_ADDRESS && (data != 0 || h->numel != 0))) return false;
	h->data = data;
	h->dtype = (uint8_t)dtype;
	h->device = TL_DEVICE_CPU;
	h->rank = (uint16_t)from->ndim;
	h->flags = flags;
	return true;
}

tl_tensor* tlc_borrow(const tl_dl_tensor* given, uint32_t flags, tl_deleter end, void* managed)
{
	tl_context* c = tlc_tls;
	tl_magazine* m = tlc_magazine_for(c, TLC_TENSOR_HEADER);
	const tl_dl_tensor from = *given;
	if (TLC_UNLIKELY(!tlc_has_room(c) ||
	                 (m->top <= m->base && !tlc_refill_magazine(c, tlc_class_of(TLC_TENSOR_HEADER)))))
		return NULL;
	if (TLC_UNLIKELY(tlc_forked() && !is_ours((uintptr_t)end))) return NULL;
	if (TLC_UNLIKELY(m->allocs + 1 == 0)) return NULL; /* a sample is the slow path's */
	tl_entry e = m->top[-1];
	tl_tensor_header* h = (tl_tensor_header*)e.object;
	if (TLC_UNLIKELY(!describe(h, &from, flags))) return NULL;
	h->base = 0;
	h->deleter = (uintptr_t)end;
	h->deleter_context = (uintptr_t)managed;
	m->allocs++;
	tlc_set_top(m, m->top - 1);
	tlc_tensor_begin(c, tlc_tag(&e));
	tlc_push(c, e);
	TLC_PROBE_ALLOCATE(e.object, TLC_TENSOR_HEADER);
	return (tl_tensor*)h;
}

/* The same of memory whose description is not DLPack's. */
static inline tl_tensor* borrow(tl_dl_tensor given, int32_t dtype, int32_t device, uint32_t flags, tl_deleter end,
                                void* ctx)
{
	if (TLC_UNLIKELY((uint32_t)dtype >= TL_DTYPES || !tlc_is_cpu(device))) return NULL;
	given.device_type = TL_DL_CPU;
	given.dtype = tlc_dl_types[dtype];
	return tlc_borrow(&given, flags, end, ctx);
}

tl_tensor* tl_tensor_from_buffer(int32_t dtype, int32_t device, int64_t rank, const int64_t* shape, void* data,
                                 const int64_t* strides, tl_deleter deleter, void* ctx)
{
	const tl_dl_tensor given = {
		.data = data,
		.ndim = (uint64_t)rank <= TL_MAX_RANK ? (int32_t)rank : -1,
		.shape = (int64_t*)(uintptr_t)shape,
		.strides = (int64_t*)(uintptr_t)strides,
	};
	tl_tensor* made = borrow(given, dtype, device, 0, deleter, ctx);
	if (TLC_LIKELY(made != NULL)) return made;
	return slow_tensor_from_buffer(dtype, device, rank, shape, data, strides, deleter, ctx);
}

tl_tensor* tl_tensor_wrap(const tl_tensor_info* info, tl_deleter deleter, void* ctx)
{
	if (TLC_UNLIKELY((uintptr_t)info < TL_LOWEST_ADDRESS || info->struct_size < sizeof *info))
		return slow_tensor_wrap(info, deleter, ctx);
	const tl_dl_tensor given = {
		.data = info->data,
		.ndim = info->rank,
		.shape = (int64_t*)(uintptr_t)info->shape,
		.strides = (int64_t*)(uintptr_t)info->strides,
	};
	tl_tensor* made = borrow(given, info->dtype, info->device, info->flags & TL_TENSOR_READ_ONLY, deleter, ctx);
	return TLC_LIKELY(made != NULL) ? made : slow_tensor_wrap(info, deleter, ctx);
}

/* ---- the end ------------------------------------------------------------------------------- */

/* Whether nothing but its deleter is to be called when the tensor ends. */
static inline bool is_lent(const tl_tensor_header* h)
{
	return (h->flags & ~(TL_TENSOR_READ_ONLY | TL_TENSOR_CONTIGUOUS)) == TL_TENSOR_EXTERNAL;
}

static inline tlc_ended ended_of(const tl_tensor_header* h)
{
	return (tlc_ended){.pointer = h->data, .kind = TL_FOREIGN_CUSTOM, .deleter = h->deleter, .ctx = h->deleter_context};
}

/* The tensor waits until whoever works on the queue comes to it, or nobody does. */
static __attribute__((noinline)) bool drop_later(tl_context* c, tl_record* r, uintptr_t object, uint32_t sh)
{
	if (!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed))
		return false;
	tlc_enqueue(c, r, object);
	if (!c->draining.active) tlc_finish(c);
	return true;
}

/* The deleter is called from C, with the tensor gone, so it may do anything. */
bool tlc_borrowed_drop(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	const tl_tensor_header* h = (const tl_tensor_header*)e.object;
	if (!is_lent(h) || TLC_UNLIKELY(tlc_is_last_life(e.gen) || (e.gen & 0xFF) > TL_CLASS_SMALL)) return false;
	const tlc_ended ended = ended_of(h);
	const bool calls = ended.deleter != 0 && !is_ours(ended.deleter);
	if (calls && TLC_UNLIKELY(tlc_forked())) return false;
	if (calls && TLC_UNLIKELY(tlc_deleters_wait())) return drop_later(c, r, e.object, sh);
	if (TLC_UNLIKELY(!tlc_tensor_recycle(c, r, e, sh))) return false;
	if (calls) tlc_call_deleter(c, &ended);
	else if (ended.deleter != 0) ((tl_deleter)ended.deleter)((void*)ended.pointer, (void*)ended.ctx);
	return true;
}

bool tlc_borrowed_end(tl_context* c, tl_record* r, uintptr_t object, uint32_t next)
{
	const tl_tensor_header* h = (const tl_tensor_header*)object;
	if (!is_lent(h)) return false;
	const tlc_ended ended = ended_of(h);
	const bool called = (TLC_LOAD(r->type_flags) & TL_RECORD_DESTROYED) != 0;
	c->draining.destroy_first = next;
	tlc_free_kind(c, r, object, TL_TYPE_TENSOR);
	if (ended.deleter != 0 && !called) tlc_call_ended(c, &ended);
	return true;
}
