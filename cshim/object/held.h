/* Held blocks: plain bytes with one counted reference that the caller has, and no owner, so that
 * any thread that drops the reference frees them at once:
 *
 *   record.loc == 0, record.sh == ALIVE | MERGED | ONE
 *
 * They are what NumPy and DLPack get: neither knows scopes, and both free from any
 * thread. object.AllocHeld is the Go side.
 */
#pragma once

#include "fast.h"

#define TLC_HELD (TL_SH_ALIVE | TL_SH_MERGED | TL_SH_ONE)

/* A block of 1 to 64 KiB; NULL: ask Go. Budget: that of tl_mem_alloc. */
static inline void* tlc_held_take(tl_context* c, size_t n)
{
	tl_entry e = tlc_take(c, n);
	if (TLC_UNLIKELY(e.object == 0)) return NULL;
	tlc_set_counts(tlc_g.records + e.record, (uint64_t)TLC_HELD << 32);
	TLC_PROBE_ALLOCATE(e.object, n);
	return (void*)e.object;
}

/* The same of one that is large, or where the magazine is empty (heap.c). *zero: it reads as zero. */
void* tlc_held_take_elsewhere(tl_context* c, size_t n, bool* zero) __attribute__((visibility("hidden")));

/* Frees a plain object without an owner whose shared word is sh, which shows one reference; false: ask
 * Go, nothing changed. Atomic, so that one of two threads that drop the same reference at the same time
 * gets an error, and because another thread may upgrade a weak reference. A stub context fails, its
 * magazines being full; a merged record's local word is 0. */
static inline bool tlc_end_held(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	tl_magazine* m = &c->magazines[e.gen & 0xFF];
	if (TLC_UNLIKELY(TLC_LOAD(r->type_flags) != TL_TYPE_PLAIN)) return false;
	if (TLC_UNLIKELY(tlc_is_last_life(e.gen) || !tlc_is_fast(c))) return false;
	const bool elsewhere = m->top >= m->limit;
	if (TLC_UNLIKELY(elsewhere) && tlc_forked()) return false;
	if (TLC_UNLIKELY(
			!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed)))
		return false;
	if (TLC_UNLIKELY(elsewhere)) return tlc_recycle_elsewhere(c, r, e.object, e.record | (uint64_t)e.gen << 32);
	*m->top++ = tlc_renew(r, e);
	TLC_PROBE_FREE(e.object);
	return true;
}

/* Frees the block at p when it has only its one reference; false: ask Go, nothing changed. Budget: 8
 * loads, one compare-and-swap, 3 stores. */
static inline bool tlc_held_drop(tl_context* c, uintptr_t p)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(p, &r))) return false;
	return tlc_end_held(c, r, tlc_entry_of(r, p), TLC_HELD);
}

/* Drops the caller's reference to a block, on any thread. */
static inline tl_status tlc_held_free(void* block)
{
	return TLC_LIKELY(tlc_held_drop(tlc_tls, (uintptr_t)block)) ? TL_OK : tl_ptr_release(block);
}
