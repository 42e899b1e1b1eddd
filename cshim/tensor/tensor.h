/* Tensors, as both paths see them.
 *
 * A tensor is one heap object of type TL_TYPE_TENSOR: this header, then the data, both
 * aligned to TL_TENSOR_ALIGN. Its count is never biased: record.loc is 0 and record.sh has
 * MERGED, so that the last reference frees at once on any thread. It ends where any object ends: a
 * slot of a size class in the magazine of the thread that has dropped the last reference. The header lies in
 * memory that a program can overwrite, so the class comes from the slot, and no size from the header.
 *
 * Caches in Go keep dead tensors of devices, and those that tl_pool_release was given (runtime/tensor/cache.go). While they
 * do:
 *
 *   record.sh == 0, record.loc == 0, type stays, gen is the one of the next life
 *
 * so a stale pointer is TL_E_NOT_LIVE and a stale scope entry has another generation.
 */
#pragma once

#include "../object/fast.h"
#include "../shapes/shapes.h"

#include "../inline/tensors.h"

enum { TLC_TENSOR_HEADER = sizeof(tl_tensor_header) };

/* ---- the end of a tensor ------------------------------------------------------------------ */

#pragma GCC visibility push(hidden)

/* Ends memory that a child of fork() has opened (shared.c). */
void tlc_shared_end(void* data, void* ctx);

/* Whether a device other than 0 is not the CPU either, or may not be. */
bool tlc_is_elsewhere(int32_t device);
static inline bool tlc_is_cpu(int32_t device) { return TLC_LIKELY(device == 0) || !tlc_is_elsewhere(device); }

/* A contiguous copy of a tensor of the CPU, in whosever memory its elements lie, which the current scope holds; NULL: ask
 * Go. */
tl_tensor* tlc_tensor_clone(const tl_tensor* tensor);

/* Drops the last reference of a tensor over borrowed memory and calls its deleter; false: ask Go, nothing changed. The
 * last step of its caller (borrowed.c). */
bool tlc_borrowed_drop(tl_context* c, tl_record* r, tl_entry e, uint32_t sh);

#pragma GCC visibility pop

/* Takes the last reference of a tensor whose entry has the tag; false: another thread has changed the shared word since
 * the caller saw sh there. Where it has changed and changed back, the tag becomes that of the record's life now.
 *
 * While the context is the only one that was ever made, nobody else changes that word, and a store does what otherwise
 * takes a compare-and-swap. Whoever makes the second context clears `alone`, has every thread pass a memory barrier, and
 * then waits until this thread is not busy (runtime/object/alone.go). So either this thread sees that it is not alone, or
 * the other one sees that it is busy, and waits. The fence here is the compiler's only: the other side's barrier is one
 * on this processor, too (asymmetric fences, Goldblatt, WG21 P1202, 2018). docs/model/orders_alone.hpp has the steps. */
static inline __attribute__((always_inline)) bool tlc_tensor_end(tl_context* c, tl_record* r, uint32_t sh,
                                                                 uint64_t* tag)
{
	if (TLC_LIKELY(TLC_LOAD(c->alone) != 0)) {
		TLC_STORE(c->busy, 1);
		atomic_signal_fence(memory_order_seq_cst);
		const bool alone = TLC_LOAD(c->alone) != 0;
		if (TLC_LIKELY(alone)) atomic_store_explicit(&r->sh, 0, memory_order_release);
		atomic_store_explicit(&c->busy, 0, memory_order_release);
		if (TLC_LIKELY(alone)) return true;
	}
	if (TLC_UNLIKELY(
			!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed)))
		return false;
	const uint32_t gen = TLC_LOAD(r->gen);
	if (TLC_UNLIKELY(gen != (uint32_t)(*tag >> 32))) {
		*tag = (uint32_t)*tag | (uint64_t)gen << 32;
		__asm__ volatile(""
		                 : "+r"(*tag)); /* keeps the compiler from a conditional move, which would wait for the load */
	}
	return true;
}

/* Drops the last reference of a tensor whose slot is of a size class: the slot goes to the magazine. The tag is that of the
 * tensor's entry, and sh is the count word that the caller has seen. False: ask Go, nothing changed. The class comes from the
 * tag, and nothing from the header. The entry's next tag comes from the old one and not from the record: a program that makes
 * and frees one tensor after the other waits for each load of what it has just stored. */
static inline __attribute__((always_inline)) bool tlc_tensor_give_slot(tl_context* c, tl_record* r, uintptr_t object,
                                                                       uint64_t tag, uint32_t sh)
{
	tl_magazine* m = tlc_magazine_of(c, tag);
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(top >= m->limit || tlc_is_last_life((uint32_t)(tag >> 32)))) return false;
	if (TLC_UNLIKELY(!tlc_tensor_end(c, r, sh, &tag))) return false;
	tl_kind_counters* tensors = &c->kinds[TL_TYPE_TENSOR];
	tensors->gone++;
	tensors->bytes_gone += tlc_g.classes[(uint8_t)(tag >> 32)].size;
	tag += (uint64_t)TL_GEN_ONE << 32;
	tlc_set_life(r, tlc_life_of(tag, TL_TYPE_PLAIN));
	tlc_set_entry(top, object, tag);
	m->top = top + 1;
	TLC_PROBE_FREE(object);
	return true;
}

/* The same where the magazine is full, or the tensor is large (free.c). */
bool tlc_tensor_give_elsewhere(tl_context* c, tl_record* r, uintptr_t object, uint64_t tag, uint32_t sh)
	__attribute__((visibility("hidden")));

static inline bool tlc_tensor_recycle(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	const uint64_t tag = tlc_tag(&e);
	return TLC_LIKELY(tlc_tensor_give_slot(c, r, e.object, tag, sh)) ||
	       tlc_tensor_give_elsewhere(c, r, e.object, tag, sh);
}

/* What a header says from dtype to flags: dtype 8 | device 8 | rank 16 | flags 32. */
static inline uint64_t tlc_tensor_kind(uint32_t dtype, uint64_t rank)
{
	return dtype | rank << 16 | (uint64_t)TL_TENSOR_CONTIGUOUS << 32;
}

/* Whether a tensor ends with its slot: it is of the CPU, and its elements stand behind the header. */
static inline bool tlc_tensor_is_whole(const tl_tensor_header* h)
{
	const uint64_t device_and_flags = 0xFFFFFFFF0000FF00u;
	uint64_t kind;
	__builtin_memcpy(&kind, &h->dtype, sizeof kind);
	return (kind & device_and_flags) == tlc_tensor_kind(0, 0);
}

/* The same of a tensor that may have more to end than its slot; then false. */
static inline __attribute__((always_inline)) bool tlc_tensor_end_whole(tl_context* c, tl_record* r, uintptr_t object,
                                                                       uint64_t tag, uint32_t sh)
{
	return TLC_LIKELY(tlc_tensor_is_whole((const tl_tensor_header*)object)) &&
	       tlc_tensor_give_slot(c, r, object, tag, sh);
}

/* ---- live tensors (inline/tensors.h) --------------------------------------------------- */

/* Whether p is a tensor whose header and data lie in live frame memory of the calling thread. */
static inline bool tlc_tensor_in_slot(const tl_context* c, uintptr_t p)
{
	if (!tlc_is_fast(c) || p % TL_TENSOR_ALIGN != 0 || p - c->frame.base >= c->frame.top - c->frame.base) return false;
	const tl_tensor_header* h = (const tl_tensor_header*)p;
	uint64_t left = c->frame.top - p;
	return left >= TLC_TENSOR_HEADER && h->mark == (p ^ TL_TENSOR_MARK) && h->nbytes <= left - TLC_TENSOR_HEADER;
}

/* Fills the header of a contiguous tensor on the heap whose data follows it. The shape
 * was checked. Fields that have a meaning only with other flags stay as they were. Budget: 4 stores
 * and 2 for each dimension. */
static inline void tlc_tensor_describe(tl_tensor_header* h, uint8_t dtype, uint64_t numel, uint16_t rank,
                                       const int64_t* shape)
{
	const uint64_t kind = tlc_tensor_kind(dtype, rank);
	h->data = (uintptr_t)h + TLC_TENSOR_HEADER;
	h->numel = numel;
	h->nbytes = numel * tlc_dtype_bytes[dtype];
	__builtin_memcpy(&h->dtype, &kind, sizeof kind);
	tlc_lay_out(h->shape, h->strides, rank, shape);
}

/* Makes a slot whose header is complete a live tensor with one reference, and counts it; the bytes of a large one are the
 * caller's to count. A free slot's local word is 0. */
static inline void tlc_tensor_begin(tl_context* c, uint64_t tag)
{
	tl_record* r = tlc_g.records + (uint32_t)tag;
	tl_kind_counters* tensors = &c->kinds[TL_TYPE_TENSOR];
	tensors->made++;
	tensors->bytes_made += tlc_g.classes[(uint8_t)(tag >> 32)].size;
	tlc_set_life(r, tlc_life_of(tag, TL_TYPE_TENSOR));
	atomic_store_explicit(&r->sh, TL_SH_ALIVE | TL_SH_MERGED | TL_SH_ONE, memory_order_release);
}

/* Drops the only reference of a view: its slot goes to the magazine, and its reference to the
 * storage is dropped (free.c). False: ask Go, nothing changed. */
bool tlc_view_drop(tl_context* c, tl_record* r, tl_entry e, uint32_t sh) __attribute__((visibility("hidden")));
