/* Steps that several fast functions share; hot ones state their budget. "Ask Go" in a comment means
 * that the caller has to take the slow path. */
#ifndef TL_FAST_H
#define TL_FAST_H

#include <stdlib.h>

#include "entry.h"
#include "entry_guard.h"

#pragma GCC visibility push(hidden)

/* ---- records ------------------------------------------------------------------- */

static inline int32_t tlc_sh_count(uint32_t sh) { return (int32_t)sh >> TL_SH_COUNT_SHIFT; }
static inline int32_t tlc_sh_floats(uint32_t sh) { return (int32_t)(sh & TL_SH_FLOAT_MASK) >> TL_SH_FLOAT_SHIFT; }
static inline uint32_t tlc_loc_floats(uint32_t loc) { return (loc & TL_LOC_FLOATS) / TL_LOC_FLOAT; }

/* The local word minus the owner: floats and count of an object that c owns, otherwise a number of
 * at least 2^20. */
#define TLC_OWNED 0x100000u
static inline uint32_t tlc_own(const tl_context* c, uint32_t loc) { return loc - c->owner; }

/* Whether this local word has c as the owner, no float, at least one reference, and room for
 * another. */
static inline __attribute__((always_inline)) bool tlc_has_more(const tl_context* c, uint32_t loc)
{
	return loc - c->one < TL_LOC_COUNT - 1;
}

static inline tl_entry tlc_entry_of(const tl_record* r, uintptr_t object)
{
	return (tl_entry){object, (uint32_t)(r - tlc_g.records), TLC_LOAD(r->gen)};
}

/* The second half of an entry in one register: record | gen << 32. */
static inline uint64_t tlc_tag(const tl_entry* e) { return *(const tlc_pair*)(const void*)&e->record; }
static inline uint64_t tlc_tag_of(const tl_record* r)
{
	return (uint64_t)(r - tlc_g.records) | (uint64_t)TLC_LOAD(r->gen) << 32;
}
static inline void tlc_set_tag(tl_entry* e, uint64_t tag)
{
	__atomic_store_n((tlc_pair*)(void*)&e->record, tag, __ATOMIC_RELAXED);
}
/* Two stores: the compiler would rather assemble a vector for one store. */
static inline void tlc_set_entry(tl_entry* e, uintptr_t object, uint64_t tag)
{
	__atomic_store_n(&e->object, object, __ATOMIC_RELAXED);
	tlc_set_tag(e, tag);
}

/* Was this the last life of the slot? */
static inline bool tlc_is_last_life(uint32_t gen) { return gen >= TL_GEN_LAST; }

/* The tag of the slot's next life; false: this one was the last. */
static inline bool tlc_next_life(uint64_t tag, uint64_t* next)
{
	_Static_assert((uint32_t)(TL_GEN_LAST + TL_GEN_ONE) == 0, "the generation after the last one overflows");
	return !__builtin_add_overflow(tag, (uint64_t)TL_GEN_ONE << 32, next);
}

/* Gives a record whose life was not its last the next one; the entry shows it. */
static inline tl_entry tlc_renew(tl_record* r, tl_entry e)
{
	e.gen += TL_GEN_ONE;
	TLC_STORE(r->gen, e.gen);
	return e;
}

/* Makes the slot of a dead object available again, as plain bytes, in the place at of
 * its magazine; false when that is full (or none: the object is large), or when this
 * life was its last. */
static inline bool tlc_recycle_at(tl_entry* at, const tl_entry* limit, tl_record* r, uintptr_t object, uint64_t tag)
{
	uint64_t next;
	if (TLC_UNLIKELY(at == limit || !tlc_next_life(tag, &next))) return false;
	tlc_clear_counts(r);
	tlc_set_life(r, next >> 32 << 32);
	tlc_set_entry(at, object, next);
	return true;
}

/* The same at the magazine's top. The caller finds m by the class of the span or of the generation,
 * whichever it knows first, because the next allocation waits for the address of m. */
static inline bool tlc_recycle(tl_magazine* m, tl_record* r, uintptr_t object, uint64_t tag)
{
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(!tlc_recycle_at(top, m->limit, r, object, tag))) return false;
	m->top = top + 1;
	return true;
}

/* The same for an object whose only reference the caller has seen in the local word:
 * plain bytes, with this shared word. */
static inline __attribute__((always_inline)) bool tlc_end_plain(tl_magazine* m, tl_record* r, uintptr_t object,
                                                                uint32_t sh)
{
	_Static_assert(TL_TYPE_PLAIN == 0, "the life of a plain object is its generation alone");
	uint64_t life = tlc_life(r);
	if (TLC_UNLIKELY(((uint32_t)life | (atomic_load_explicit(&r->sh, memory_order_acquire) ^ sh)) != 0)) return false;
	return tlc_recycle(m, r, object, life | (uint64_t)(r - tlc_g.records));
}

/* Ends the object of a scope's entry if it is plain, of the tag's generation, and has exactly these
 * counts: then the scope's reference is the only one. The tag becomes that of the next life; the slot
 * is the caller's. */
static inline __attribute__((always_inline)) bool tlc_end_entry(tl_record* r, uint64_t* tag, uint32_t loc, uint32_t sh)
{
	uint64_t life = *tag & ~(uint64_t)UINT32_MAX;
	if (TLC_UNLIKELY(!tlc_is_plain(r, life, loc, sh) || !tlc_next_life(life, &life))) return false;
	tlc_clear_counts(r);
	tlc_set_life(r, life);
	*tag += (uint64_t)TL_GEN_ONE << 32;
	return true;
}

_Static_assert(sizeof(tl_magazine) == 32, "shifts below count on it");
static inline tl_magazine* tlc_magazine_of(tl_context* c, uint64_t tag)
{
	return (tl_magazine*)((char*)c->magazines + (tag >> (32 - 5) & 0xFF << 5));
}

/* An object that tl_ptr_dec_ref brought to zero is not live. */
static inline bool tlc_is_live_object(const tl_record* r)
{
	uint32_t sh = TLC_LOAD(r->sh);
	return (sh & TL_SH_ALIVE) && sh != (TL_SH_ALIVE | TL_SH_MERGED);
}

/* Adds a reference to an object that counts in its shared word; false: ask Go. It acquires, so that
 * the caller can look afterwards whether the record still is of the life that was meant. */
static inline bool tlc_retain_shared(tl_record* r)
{
	uint32_t sh = TLC_LOAD(r->sh);
	for (;;) {
		if (TLC_UNLIKELY(!(sh & TL_SH_ALIVE) || (sh & TL_SH_IMMORTAL))) return false;
		int32_t count = tlc_sh_count(sh);
		if (TLC_UNLIKELY(count >= TL_SH_COUNT_MAX || ((sh & TL_SH_MERGED) && count <= 0))) return false;
		if (TLC_LIKELY(atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_ONE, memory_order_acquire,
		                                                     memory_order_relaxed)))
			return true;
	}
}

/* Adds a reference to any object of the heap; false: ask Go. */
static inline bool tlc_acquire_record(tl_record* r)
{
	tl_context* c = tlc_tls;
	uint32_t loc = TLC_LOAD(r->loc), own = tlc_own(c, loc);
	if (own >= TLC_OWNED) return tlc_is_fast(c) && tlc_retain_shared(r);
	if ((own & TL_LOC_COUNT) - 1 >= TL_LOC_COUNT - 1) return false;
	TLC_STORE(r->loc, loc + 1);
	return true;
}

/* Makes one reference of the object floating; false: ask Go, nothing changed. */
static inline bool tlc_float_record(tl_context* c, tl_record* r)
{
	uint32_t loc = TLC_LOAD(r->loc), own = tlc_own(c, loc), sh = TLC_LOAD(r->sh);
	if (TLC_LIKELY(own < TLC_OWNED && sh == TL_SH_ALIVE)) {
		if (TLC_UNLIKELY(tlc_loc_floats(loc) >= TL_SH_CLAIM_MAX)) return false; /* no more than claims can count */
		if (TLC_LIKELY(tlc_loc_floats(loc) < (loc & TL_LOC_COUNT))) TLC_STORE(r->loc, loc + TL_LOC_FLOAT);
		return true; /* every reference may float already */
	}
	while ((sh & (TL_SH_ALIVE | TL_SH_MERGED | TL_SH_IMMORTAL)) == (TL_SH_ALIVE | TL_SH_MERGED) &&
	       tlc_sh_floats(sh) < 15 && tlc_sh_floats(sh) < tlc_sh_count(sh))
		if (atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_FLOAT, memory_order_relaxed,
		                                          memory_order_relaxed))
			return true;
	return false;
}

/* Drops a reference that is certainly not the last one, a float or claimed; false: ask Go. A
 * scope's reference has a generation. The counts are read before the generation, so that counts of
 * the record's next life are not taken for those of this one. */
static inline __attribute__((always_inline)) bool tlc_drop_life(tl_record* r, const uint32_t* gen)
{
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	for (;;) {
		if (gen != NULL && TLC_UNLIKELY(TLC_LOAD(r->gen) != *gen)) return false;
		if (TLC_UNLIKELY((sh & (TL_SH_ALIVE | TL_SH_IMMORTAL)) != TL_SH_ALIVE)) return false;
		if (TLC_UNLIKELY((sh & (TL_SH_FLOAT_MASK | TL_SH_CLAIM_MASK)) != 0)) return false;
		if (TLC_UNLIKELY(tlc_sh_count(sh) < ((sh & TL_SH_MERGED) ? 2 : 1))) return false;
		if (TLC_LIKELY(atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh - TL_SH_ONE, memory_order_acq_rel,
		                                                     memory_order_acquire)))
			return true;
	}
}

static inline bool tlc_drop_shared(tl_record* r) { return tlc_drop_life(r, NULL); }

/* ---- samples (report_tracking.c) ---------------------------------------------------------- */

/* Counts bytes of an allocation that does not come from a magazine; true: the allocation is a
 * sample, for one of the functions below. Budget: one load, one subtraction, one store. */
static inline bool tlc_spend(tl_context* c, uint64_t bytes)
{
	return TLC_UNLIKELY(__builtin_sub_overflow(c->sample_left, bytes, &c->sample_left));
}

/* Records an allocation that was just made, and returns its address. */
void* tlc_sampled_object(tl_context* c, void* object, uint64_t bytes) __attribute__((cold));
void* tlc_sampled_foreign(tl_context* c, void* pointer, uint64_t bytes) __attribute__((cold));
void* tlc_sampled_block(tl_context* c, void* block, uint64_t bytes) __attribute__((cold));

/* Whether tracking may need the line at which pointer was allocated. */
bool tlc_may_name(const void* pointer);

/* Drops the allocation record of a pool's block, before the block can be given out again. */
void tlc_forget_block(const void* block);

/* ---- magazines ------------------------------------------------------------------- */

/* The size class of 1..64 KiB; see layout.ClassOf. */
static inline uint32_t tlc_class_of(size_t n)
{
	if (TLC_LIKELY(n <= 512)) return (uint32_t)((n + 31) >> 5);
	uint32_t e = 63 - (uint32_t)__builtin_clzll(n - 1);
	return 17 + (e - 9) * 8 + ((uint32_t)((n - 1) >> (e - 3)) & 7);
}

enum { TLC_MAX_SMALL = 64 << 10 };

/* The magazine for n bytes; for a size that is not small that of class 0, which is always empty. */
static inline tl_magazine* tlc_magazine(tl_context* c, size_t n)
{
	/* Up to 512 bytes the classes are 32 bytes apart, as magazines are. */
	if (TLC_LIKELY(n - 1 < 512)) return (tl_magazine*)((char*)c->magazines + ((n + 31) & ~(size_t)31));
	return &c->magazines[n - 1 < TLC_MAX_SMALL ? tlc_class_of(n) : 0];
}

/* A free slot for n bytes, which leaves its magazine; NULL: ask Go. The result may be read until
 * the next call. While sampling is off it costs only the jump on the sum. */
static inline const tl_entry* tlc_take_slot(tl_context* c, size_t n)
{
	tl_magazine* m = tlc_magazine(c, n);
	tl_entry* top = m->top;
	if (TLC_UNLIKELY(top == m->base)) return NULL;
	if (TLC_UNLIKELY(++m->allocs == 0)) return NULL; /* a sample, which the slow path makes and records */
	return m->top = top - 1;
}

/* The same by value; object 0: ask Go. */
static inline tl_entry tlc_take(tl_context* c, size_t n)
{
	const tl_entry* slot = tlc_take_slot(c, n);
	return TLC_LIKELY(slot != NULL) ? *slot : (tl_entry){0, 0, 0};
}

/* ---- scope entries ---------------------------------------------------------------- */

/* Where the stack ends when no place of it is warm. */
static inline tl_entry* tlc_end_of_stack(const tl_context* c)
{
	return (tl_entry*)((char*)c->entries + tlc_g.arena_capacity);
}

/* The part of the stack that nothing uses. */
static inline tl_entry* tlc_unused_stack(const tl_context* c) { return c->warm != NULL ? c->warm : c->top; }

/* Makes room for an entry where a warm place is; false: the stack is full, ask Go. */
bool tlc_displace(tl_context* c);

/* The size class of an entry's slot. */
static inline uint32_t tlc_class_at(const tl_entry* e) { return (uint8_t)e->gen; }

/* The top of a stack with warm places above it. Two stores: the compiler would rather assemble a vector
 * for one store, and the next call waits for it. */
static inline void tlc_set_warm_top(tl_context* c, tl_entry* top)
{
	__atomic_store_n(&c->top, top, __ATOMIC_RELAXED);
	__atomic_store_n(&c->end, top, __ATOMIC_RELAXED);
}

static inline bool tlc_has_room(tl_context* c) { return TLC_LIKELY(c->top != c->end) || tlc_displace(c); }
static inline void tlc_push(tl_context* c, tl_entry e) { *c->top++ = e; }

/* Results of a search for the newest entry of p at or above the function's floor, instead of an
 * index. */
enum { TLC_LINEAR = 32, TLC_NOT_FOUND = -1, TLC_ASK_GO = -2 };
int64_t tlc_find_entry(tl_context* c, uintptr_t p);

/* Whether there are so many holes that Go has to close them; see runtime/object/index.go. */
static inline bool tlc_needs_compaction(const tl_context* c)
{
	return c->holes > 4096 && 4 * c->holes > 3 * (uint64_t)(c->top - c->entries);
}

/* Leaves a hole in the scope stack. */
static inline void tlc_leave_hole(tl_context* c, uint64_t at)
{
	c->entries[at] = (tl_entry){0, TL_FOREIGN, 0};
	c->holes++;
}

/* Takes an entry out of the scope stack: from its top, or by leaving a hole. */
void tlc_take_out(tl_context* c, uint64_t at);

/* Registers a pointer that is known already; false: ask Go, nothing changed. */
bool tlc_register_known(uintptr_t p);

/* Makes the reference of the entry at `at` floating and takes it out; false: ask Go,
 * nothing changed. */
bool tlc_unregister_at(tl_context* c, uint64_t at);

/* A slot's buffer of the newest function; NULL: ask Go, nothing changed. */
void* tlc_get_buffer(tl_context* c, int64_t slot, int64_t min_bytes);

/* Releases what a scope held; may run destructors. */
void tlc_release_entry(tl_context* c, tl_entry e);

/* Calls operator delete or delete[] (registry_foreign.c). */
void tlc_free_new(uintptr_t p, uint32_t kind);

/* Frees a foreign block without references that has no deleter, in the way of its kind. It has to
 * be the last step of its caller, because the function that it calls may call the library. */
static inline void tlc_free_foreign(tl_context* c, uintptr_t p, uint32_t kind)
{
	c->foreign_freed++;
	if (TLC_LIKELY(kind == TL_FOREIGN_MALLOC || kind == TL_FOREIGN_ALIGNED)) free((void*)p);
	else tlc_free_new(p, kind);
}

/* Calls the deleter of a block that has ended, or has it wait (object_deleters.c). */
void tlc_call_deleter(tl_context* c, const tlc_ended* ended);

/* Frees what a drop has ended; nothing, if that was one address of several. The last step of its
 * caller, likewise. */
static inline void tlc_free_ended(tl_context* c, const tlc_ended* ended)
{
	if (ended->kind != TL_FOREIGN_CUSTOM) {
		if (ended->pointer != 0) tlc_free_foreign(c, ended->pointer, ended->kind);
		return;
	}
	if (TLC_UNLIKELY(ended->pointer == 0)) return;
	c->foreign_freed++;
	tlc_call_deleter(c, ended);
}

/* Drops the last reference of a typed object that c owns; false: the object has a destructor, or
 * its type is not a user's (object_typed.c). */
bool tlc_kill_typed(tl_context* c, tl_record* r, uintptr_t object);

/* Drops a reference that a dead object held, through Go. */
void tlc_drop_slowly(uintptr_t p);

/* Drops a tensor's last reference, without Go when the pool takes the tensor (tensor_pool.c). */
bool tlc_tensor_drop(tl_context* c, tl_record* r, tl_entry e);

#pragma GCC visibility pop

#endif
