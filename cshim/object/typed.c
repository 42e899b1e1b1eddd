/* Makes typed objects and ends them and Vecs; typed_blocks.c ends blocks of malloc's with a type. The Go twins are
 * runtime/object/destruction.go and typed.go, for Go programs and for modes that look at every object. Both work on the
 * same deferred-destruction queue: dead records, linked first in first out through their counting words, so that a chain
 * of any length needs no stack.
 *
 *	loc = link bits 28..31 << 16 | record number in its block     (owner 0: matches no context)
 *	sh  = link bits 0..27 << 4                     (not ALIVE: dead for every thread)
 */
#include <string.h>

#include "fast.h"
#include "inbox.h"
#include "typed.h"

const tl_type_info* tlc_type_info(uint32_t type)
{
	const tl_type_info* info = info_of(type);
	return info != NULL && info->size != 0 ? info : NULL;
}

/* Gives a cleared slot its type, counts it and registers it. */
static inline __attribute__((always_inline)) void* enliven(tl_context* c, uintptr_t object, uint64_t tag, uint32_t type)
{
	tl_record* r = tlc_g.records + (uint32_t)tag;
	count_of(c, type)->made++;
	tlc_set_life(r, tlc_life_of(tag, type));
	tlc_set_counts(r, tlc_pair_of(&c->new_loc));
	tlc_set_entry(c->top++, object, tag);
	return (void*)object;
}

/* An object of more than 512 bytes, of a type that is not known, or without room. */
static __attribute__((noinline)) void* object_new_rest(uint32_t type)
{
	tl_context* c = tlc_tls;
	const tl_type_info* info = info_of(type);
	if (info == NULL || !tlc_has_room(c)) return slow_object_new(type);
	const tl_entry* slot = tlc_take_slot(c, info->size);
	if (slot == NULL && tlc_refill(c, tlc_magazine_for(c, info->size)) && tlc_tls == c && tlc_has_room(c))
		slot = tlc_take_slot(c, info->size);
	if (slot == NULL) return slow_object_new(type);
	uintptr_t object = slot->object;
	uint64_t tag = tlc_tag(slot);
	TLC_PROBE_ALLOCATE(object, info->size);
	memset((void*)object, 0, info->size);
	return enliven(c, object, tag, type);
}

/* Small slots are cleared without a call. All else is
 * a tail call, so that no register is saved. Budget: 14 loads, 8 stores, 6 branches, about 45
 * instructions, and 5 for every 32 bytes. */
void* tl_object_new(tl_type type)
{
	tl_context* c = tlc_tls;
	const tl_type_info* info = info_of(type);
	if (TLC_UNLIKELY(info == NULL || info->size - 1 >= CLEARED_INLINE || c->top >= c->end))
		return object_new_rest(type);
	const tl_entry* slot = tlc_take_slot(c, info->size);
	if (TLC_UNLIKELY(slot == NULL)) return object_new_rest(type);
	uintptr_t object = slot->object;
	uint64_t tag = tlc_tag(slot);
	TLC_PROBE_ALLOCATE(object, info->size);
	clear_small(object, info->size);
	return enliven(c, object, tag, type);
}

/* ---- the destruction queue -------------------------------------------------------------------- */

static inline void set_link(tl_record* r, uint32_t next)
{
	TLC_STORE(r->loc, (TLC_LOAD(r->loc) & 0xFFFF) | next >> 28 << 16);
	TLC_STORE(r->sh, next << 4);
}

static inline uint32_t next_of(const tl_record* r) { return TLC_LOAD(r->sh) >> 4 | TLC_LOAD(r->loc) >> 16 << 28; }

static inline void enqueue(tl_context* c, tl_record* r, uintptr_t object)
{
	uint32_t index = (uint32_t)(r - tlc_g.records);
	const tl_class_info* k = &tlc_g.classes[TLC_LOAD(r->gen) & 0xFF];
	unsigned __int128 in = (uint32_t)(object - tlc_g.heap_base) & k->mask;
	TLC_STORE(r->loc, (uint32_t)(in * k->reciprocal >> 64));
	TLC_STORE(r->sh, 0);
	if (c->draining.destroy_first == 0) c->draining.destroy_first = index;
	else set_link(tlc_g.records + c->draining.destroy_last, index);
	c->draining.destroy_last = index;
}

void tlc_enqueue(tl_context* c, tl_record* r, uintptr_t object) { enqueue(c, r, object); }

bool tlc_may_enqueue(uint32_t type)
{
	const tl_type_info* info = info_of(type);
	return type == TL_TYPE_VEC || (info != NULL && info->ends <= TL_ENDS_WITH_CALL);
}

/* ---- destroying ------------------------------------------------------------------------ */

/* Drops a reference to an object of another owner, or of none; false: ask Go. */
static __attribute__((noinline)) bool drop_remote(tl_context* c, tl_record* r, uintptr_t p)
{
	if (TLC_LIKELY(tlc_drop_shared(r))) return true;
	return tlc_drop_last(c, r, tlc_entry_of(r, p));
}

/* Leaves Go, perhaps while references wait in the ring below, onto which an error callback could push. These
 * calls fail only by a defect of the library, which Go has printed; then no callback hears of it. */
static void leave(tl_context* in)
{
	if (in->draining.active && in->error_pending == 1) in->error_pending = 0;
	tlc_entry_end(in);
}

__attribute__((noinline)) void tlc_drop_slowly(uintptr_t p)
{
	tl_status why;
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) return;
	tlentry_drop_field((uintptr_t)in, p);
	leave(in);
}

static __attribute__((noinline)) void recycle_slowly(tl_record* r, uintptr_t object, uint64_t tag)
{
	tl_status why;
	tlc_clear_counts(r);
	TLC_STORE(r->type_flags, TL_TYPE_PLAIN);
	tl_context* in = tlc_entry_begin(TL_FN_NONE, &why);
	if (in == NULL) return;
	tlentry_recycle((uintptr_t)in, object, (uint32_t)tag, (uint32_t)(tag >> 32));
	leave(in);
}

void tlc_free_dead(tl_context* c, tl_record* r, uintptr_t object)
{
	const uint64_t tag = tlc_tag_of(tlc_life(r), r);
	if (TLC_UNLIKELY(!tlc_free_slot(c, r, object, tag))) recycle_slowly(r, object, tag);
}

void tlc_free_kind(tl_context* c, tl_record* r, uintptr_t object, uint32_t kind)
{
	c->kinds[kind].gone++;
	c->kinds[kind].bytes_gone += tlc_slot_bytes(object, TLC_LOAD(r->gen) & 0xFF);
	tlc_free_dead(c, r, object);
}

static inline uintptr_t* place(const ring* q, uint32_t i) { return q->references + i % RING; }

/* Gives the slot of a dead object of a user's type back. */
static inline __attribute__((always_inline)) void free_slot(tl_context* c, tl_record* r, uintptr_t object,
                                                            uint64_t life, uint32_t class)
{
	count_of(c, (uint32_t)life)->gone++;
	uint64_t tag = tlc_tag_of(life, r);
	if (TLC_UNLIKELY(!tlc_recycle(&c->magazines[class], r, object, tag)) && !tlc_recycle_elsewhere(c, r, object, tag))
		recycle_slowly(r, object, tag);
}

/* Takes a dead object apart; the ring has room for its fields. No branch depends on a field: which
 * ones are NULL cannot be predicted. */
static inline __attribute__((always_inline)) void take_apart(ring* q, tl_record* r, uintptr_t object, uint64_t life,
                                                             uint32_t class, const tl_type_info* info)
{
	tl_context* c = q->context;
	const uint32_t* offset = info->offsets;
	for (const uint32_t* last = offset + info->fields; offset != last; offset++) {
		uintptr_t p = ((const uintptr_t*)object)[*offset];
		__builtin_prefetch((const void*)p);
		*place(q, q->end) = p;
		q->end += p != 0;
	}
	free_slot(c, r, object, life, class);
}

/* Ends an object whose only reference is being dropped by its owner; false: more than counting is
 * needed. */
static inline __attribute__((always_inline)) bool end_own(ring* q, tl_record* r, uintptr_t p, uint32_t class)
{
	tl_context* c = q->context;
	if (TLC_UNLIKELY(atomic_load_explicit(&r->sh, memory_order_acquire) != TL_SH_ALIVE)) return false;
	uint64_t life = tlc_life(r);
	if ((uint32_t)life == TL_TYPE_PLAIN) {
		const uint64_t tag = life | (uint64_t)(r - tlc_g.records);
		return TLC_LIKELY(tlc_recycle(&c->magazines[class], r, p, tag)) || tlc_recycle_elsewhere(c, r, p, tag);
	}
	const tl_type_info* info = info_of((uint32_t)life);
	if (TLC_LIKELY(is_simple(info) && c->draining.destroy_first == 0 && RING - (q->end - q->first) >= info->fields))
		take_apart(q, r, p, life, class, info);
	else enqueue(c, r, p);
	return true;
}

/* Drops a reference to a registered block, if p is one; false: ask Go. What has a record waits in the context's
 * list when it ends. Go frees the others: free() may be the program's, and the ring would be in its way. */
static bool drop_block(tl_context* c, uintptr_t p)
{
	for (;;) {
		tlc_lookup x = tlc_lock_entry(p);
		if (x.entry == NULL) return true;
		if (x.entry->count <= 1 && (x.entry->link == 0 || tlc_bytes(x.entry) == 0)) {
			tlc_shard_unlock(x.shard);
			return false;
		}
		tlc_ended ended;
		int result = tlc_drop_at(x, p, TLC_DROP_RELEASE, tlc_effect_of(x.entry, TLC_DROP_RELEASE, 0), tlc_here, &ended);
		if (TLC_UNLIKELY(result == TLC_AGAIN)) continue;
		if (result == TLC_GONE) {
			c->foreign_freed++;
			tlc_append_ended(c, ended.record);
		}
		return result == TLC_OK || result == TLC_GONE;
	}
}

static __attribute__((noinline)) void drop_elsewhere(tl_context* c, uintptr_t p)
{
	if (tlc_in_heap(p) || tlc_in_slices(p) || !drop_block(c, p)) tlc_drop_slowly(p);
}

/* Drops a reference to an object of this thread's of which some float; false: ask Go. */
static __attribute__((noinline)) bool drop_floating(ring* q, tl_record* r, uintptr_t p, uint32_t class)
{
	const uint32_t loc = TLC_LOAD(r->loc), count = loc & TL_LOC_COUNT;
	if (count == 1) return end_own(q, r, p, class);
	if (count == 0 || atomic_load_explicit(&r->sh, memory_order_acquire) != TL_SH_ALIVE) return false;
	TLC_STORE(r->loc, tlc_loc_floats(loc) == count ? loc - 1 - TL_LOC_FLOAT : loc - 1);
	return true;
}

/* Drops a reference that a dead object held. What does not refer to a live object is skipped. */
static inline __attribute__((always_inline)) void drop_field(ring* q, uintptr_t p)
{
	tl_context* c = q->context;
	tl_record* r;
	uint32_t class;
	if (TLC_LIKELY(tlc_find_slot(p, &r, &class))) {
		uint32_t loc = TLC_LOAD(r->loc), own = tlc_own(c, loc);
		if (TLC_LIKELY(own == 1)) {
			if (TLC_LIKELY(end_own(q, r, p, class))) return;
		} else if (own - 2 < TL_LOC_COUNT - 1) {
			TLC_STORE(r->loc, loc - 1);
			return;
		} else if (own >= TLC_OWNED ? drop_remote(c, r, p) : drop_floating(q, r, p, class)) {
			return;
		}
	}
	drop_elsewhere(c, p);
}

static __attribute__((noinline)) void drop_element(ring* q, uintptr_t p) { drop_field(q, p); }

/* Takes a Vec apart, last element first. The header is dead, and read once: a program may write to it still. Of a damaged
 * one nothing is released. */
static void take_vec_apart(ring* q, tl_record* r, uintptr_t object)
{
	tl_context* c = q->context;
	const tl_vec_payload v = *(const tl_vec_payload*)object;
	const bool has_table = v.data.object != 0 && tlc_has_table(&v);
	const uintptr_t *table = (const uintptr_t*)v.data.object, *at = table + (has_table ? v.len : 0);
	while (at > table) {
		const uintptr_t p = *--at;
		if (TLC_UNLIKELY(!tlc_drop_one_of_many(c, p)) && p != 0) drop_element(q, p);
	}
	if (has_table) tlc_free_kind(c, tlc_g.records + v.data.record, v.data.object, TL_TYPE_VEC_DATA);
	tlc_free_kind(c, r, object, TL_TYPE_VEC);
}

/* The object of a record in the queue. */
static inline uintptr_t queued_object(const tl_context* c, const tl_record* r, uint64_t life)
{
	const uint32_t n = TLC_LOAD(r->loc) & 0xFFFF;
	return tlc_slot_address(c, (uint32_t)(r - tlc_g.records) - n, n, life >> 32 & 0xFF);
}

/* Takes the first object of the queue apart; the ring is empty. false: a destructor has to be called before, or it needs
 * the slow path. */
static __attribute__((noinline)) bool next_of_queue(ring* q)
{
	tl_context* c = q->context;
	uint32_t record = c->draining.destroy_first;
	if (record == 0) return false;
	tl_record* r = tlc_g.records + record;
	uint64_t life = tlc_life(r);
	const uint32_t type = (uint32_t)life & TL_TYPE_MASK;
	const tl_type_info* info = info_of(type);
	const bool called = ((uint32_t)life & TL_RECORD_DESTROYED) != 0, vec = type == TL_TYPE_VEC;
	if (!vec && !is_simple(info) && !(called && info != NULL && info->ends == TL_ENDS_WITH_CALL)) return false;
	const uintptr_t object = queued_object(c, r, life);
	c->draining.destroy_first = next_of(r);
	if (vec) take_vec_apart(q, r, object);
	else take_apart(q, r, object, tlc_life_of(life, type), life >> 32 & 0xFF, info);
	return true;
}

__attribute__((noinline)) void tlc_drain_ring(tl_context* c, ring q)
{
	c->draining.active = 1;
	for (;;) {
		while (q.first != q.end) {
			uintptr_t p = *place(&q, q.first++);
			if (q.first == q.end) q.first = q.end = 0; /* few references stay in the same lines */
			drop_field(&q, p);
		}
		if (TLC_LIKELY(c->draining.destroy_first == 0)) break;
		ring next = q; /* q itself stays in registers */
		if (!next_of_queue(&next)) break;
		q = next;
	}
	c->draining.active = 0;
}

void tlc_call_destructor(tl_context* c, const tl_type_info* info, uintptr_t object)
{
	__attribute__((cleanup(tlc_stop_draining))) tl_context* guard = c;
	guard->draining.active = 1;
	guard->draining.frame = (uintptr_t)__builtin_frame_address(0);
	if (TLC_LIKELY(info->context == 0)) ((void (*)(void*))info->destructor)((void*)object);
	else ((void (*)(void*, void*))info->destructor)((void*)object, (void*)info->context);
}

bool tlc_end_first(tl_context* c)
{
	const uint32_t record = c->draining.destroy_first;
	tl_record* r = tlc_g.records + record;
	const uint64_t life = tlc_life(r);
	if (((uint32_t)life & TL_TYPE_MASK) == TL_TYPE_TENSOR)
		return tlc_borrowed_end(c, r, queued_object(c, r, life), next_of(r));
	const tl_type_info* info = info_of((uint32_t)life);
	if (info != NULL && info->ends == TL_ENDS_WITH_CALL) { /* neither called nor anything else is noted of it */
		TLC_STORE(r->type_flags, (uint32_t)life | TL_RECORD_DESTROYED);
		tlc_call_destructor(c, info, queued_object(c, r, life));
		if (TLC_UNLIKELY(c->draining.destroy_first != record || tlc_tls != c || tlc_forked())) return true;
	}
	if (!has_ring(c)) return false;
	drop_all(c, 0);
	return c->draining.destroy_first != record;
}

/* Ends an object of a type with a destructor while nothing waits and nobody drains: as tlc_finish does, by which whatever
 * is left then is finished. It is in the queue while the function runs. */
static __attribute__((noinline)) bool end_with_call(tl_context* c, tl_record* r, uintptr_t object,
                                                    const tl_type_info* info)
{
	const uint64_t life = tlc_life(r);
	const uint32_t record = (uint32_t)(r - tlc_g.records);
	enqueue(c, r, object);
	TLC_STORE(r->type_flags, (uint32_t)life | TL_RECORD_DESTROYED);
	tlc_call_destructor(c, info, object);
	if (TLC_LIKELY(c->draining.destroy_first == record && tlc_life(r) == (life | TL_RECORD_DESTROYED)) &&
	    TLC_LIKELY(tlc_tls == c && !tlc_forked()) && is_leaf(info, object)) {
		c->draining.destroy_first = next_of(r);
		free_slot(c, r, object, life, life >> 32 & 0xFF);
	}
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0)) tlc_finish(c);
	return true;
}

/* Ends a Vec while nothing waits and nobody drains. */
static __attribute__((noinline)) bool end_vec(tl_context* c, tl_record* r, uintptr_t object)
{
	ring q = ring_of(c, 0);
	c->draining.active = 1;
	tlc_clear_counts(r); /* it may be an element of its own */
	take_vec_apart(&q, r, object);
	c->draining.active = 0;
	if (q.end != 0 || c->draining.destroy_first != 0) tlc_drain_ring(c, q);
	if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0)) tlc_finish(c);
	return true;
}

static __attribute__((noinline)) bool kill_rest(tl_context* c, tl_record* r, uintptr_t object, uint32_t type)
{
	if (is_simple(info_of(type)) && !c->draining.active && has_ring(c)) {
		TLC_STORE(r->loc, c->one); /* without floats */
		*(uintptr_t*)tlc_unused_stack(c) = object;
		drop_all(c, 1);
		if (TLC_UNLIKELY(tlc_has_to_destroy(c) != 0)) tlc_finish(c); /* a destructor, or a block in a field */
		return true;
	}
	if (TLC_UNLIKELY(!tlc_may_enqueue(type))) return false;
	enqueue(c, r, object);
	if (!c->draining.active) tlc_finish(c); /* otherwise the call that drains continues with it */
	return true;
}

bool tlc_kill_typed(tl_context* c, tl_record* r, uintptr_t object)
{
	const uint64_t life = tlc_life(r);
	const tl_type_info* info = info_of((uint32_t)life);
	if (TLC_LIKELY((c->draining.active | tlc_has_to_destroy(c)) == 0)) {
		if (TLC_UNLIKELY(info == NULL)) {
			if ((uint32_t)life == TL_TYPE_VEC && has_ring(c)) return end_vec(c, r, object);
		} else if (info->ends == TL_ENDS_WITH_CALL) {
			return end_with_call(c, r, object, info);
		}
	}
	return kill_rest(c, r, object, (uint32_t)life);
}

bool tlc_end_held_typed(tl_context* c, tl_record* r, tl_entry e, uint32_t sh)
{
	if (!tlc_may_enqueue(TLC_LOAD(r->type_flags))) return false;
	if (!atomic_compare_exchange_strong_explicit(&r->sh, &sh, 0, memory_order_acq_rel, memory_order_relaxed))
		return false;
	enqueue(c, r, e.object);
	if (!c->draining.active) tlc_finish(c);
	return true;
}

bool tlc_free_typed(tl_context* c, tl_record* r, uintptr_t object)
{
	const uint64_t life = tlc_life(r);
	uint32_t at_zero = TLC_AT_ZERO;
	if (info_of((uint32_t)life) == NULL || !tlc_is_fast(c) || tlc_forked() || tlc_is_last_life(life >> 32))
		return false;
	if (!atomic_compare_exchange_strong_explicit(&r->sh, &at_zero, 0, memory_order_acq_rel, memory_order_relaxed))
		return false;
	count_of(c, (uint32_t)life)->gone++;
	return tlc_free_slot(c, r, object, tlc_tag_of(life, r));
}
