/* Steps that several fast functions share; hot ones state their budget. "Ask Go" in a comment means
 * that the caller has to take the slow path. */
#pragma once

#include <stdlib.h>

#include "../base/go.h"
#include "../guard/guard.h"
#include "../heap/heap.h"
#include "../inline/counts.h"

#pragma GCC visibility push(hidden)

/* ---- records ------------------------------------------------------------------- */

static inline int32_t tlc_sh_floats(uint32_t sh) { return (int32_t)(sh & TL_SH_FLOAT_MASK) >> TL_SH_FLOAT_SHIFT; }
static inline tl_entry tlc_entry_of(const tl_record* r, uintptr_t object)
{
	return (tl_entry){object, (uint32_t)(r - tlc_g.records), TLC_LOAD(r->gen)};
}

/* Was this the last life of the slot? */
static inline bool tlc_is_last_life(uint32_t gen) { return gen >= TL_GEN_LAST; }

_Static_assert((uint32_t)(TL_GEN_LAST + TL_GEN_ONE) == 0, "the generation after the last one overflows");
_Static_assert(TL_TYPE_PLAIN == 0, "the life of a plain object is its generation alone");

/* Gives a record whose life was not its last the next one; the entry shows it. */
static inline tl_entry tlc_renew(tl_record* r, tl_entry e)
{
	e.gen += TL_GEN_ONE;
	TLC_STORE(r->gen, e.gen);
	return e;
}

_Static_assert(sizeof(tl_magazine) == 32, "shifts below count on it");
static inline tl_magazine* tlc_magazine_of(tl_context* c, uint64_t tag)
{
	return (tl_magazine*)((char*)c->magazines + (tag >> (32 - 5) & 0xFF << 5));
}

/* Has the record's cache line come for writing. Where other threads count the object, it comes once and not twice, to be
 * read and then to be written. A count that is refused takes the line for nothing; refusals are rare. */
static inline void tlc_will_write(const tl_record* r)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" ::"m"(*r)); /* what the compiler makes of the builtin only reads */
#else
	__builtin_prefetch(r, 1);
#endif
}

/* Adds a reference to an object that counts in its shared word; false: ask Go. It acquires, so that
 * the caller can look afterwards whether the record still is of the life that was meant. */
static inline bool tlc_retain_shared(tl_record* r)
{
	tlc_will_write(r);
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
	if (TLC_LIKELY(own == 1 && sh == TL_SH_ALIVE)) {
		TLC_STORE(r->loc, loc + TL_LOC_FLOAT);
		return true;
	}
	if (own < TLC_OWNED && sh == TL_SH_ALIVE) {
		if (TLC_UNLIKELY(tlc_loc_floats(loc) >= TL_SH_CLAIM_MAX)) return false; /* no more than claims can count */
		if (TLC_LIKELY(tlc_loc_floats(loc) < (loc & TL_LOC_COUNT))) TLC_STORE(r->loc, loc + TL_LOC_FLOAT);
		return true; /* every reference may float already */
	}
	while ((sh & TL_SH_FLAGS) == (TL_SH_ALIVE | TL_SH_MERGED) && tlc_sh_floats(sh) < 15 &&
	       tlc_sh_floats(sh) < tlc_sh_count(sh))
		if (atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh + TL_SH_FLOAT, memory_order_relaxed,
		                                          memory_order_relaxed))
			return true;
	return false;
}

/* The shared word of an object without references that tl_ptr_dec_ref has left to tl_mem_free. */
#define TLC_AT_ZERO (TL_SH_ALIVE | TL_SH_MERGED)

/* tlc_refuse for an address outside of the runtime's ranges of which the registry has said TLC_MISS just now; false: it
 * has said something else, or ask Go. */
bool tlc_refuse_missed(int result, uint32_t function, const void* pointer, tl_status* why) __attribute__((cold));

/* Whether a merged word, which has no claims, shows more references than floats, and the queue has none of them. */
static inline bool tlc_has_counted(uint32_t sh)
{
	return (sh & (TL_SH_MERGED | TL_SH_QUEUED)) == TL_SH_MERGED && tlc_sh_count(sh) > tlc_sh_floats(sh);
}

/* Drops a reference that is certainly not the last one, a float or claimed; false: ask Go. A
 * scope's reference has a generation. The counts are read before the generation, so that counts of
 * the record's next life are not taken for those of this one. */
static inline __attribute__((always_inline)) bool tlc_drop_life(tl_record* r, const uint32_t* gen)
{
	tlc_will_write(r);
	uint32_t sh = atomic_load_explicit(&r->sh, memory_order_acquire);
	for (;;) {
		if (gen != NULL && TLC_UNLIKELY(TLC_LOAD(r->gen) != *gen)) return false;
		if (TLC_UNLIKELY((sh & (TL_SH_ALIVE | TL_SH_IMMORTAL)) != TL_SH_ALIVE)) return false;
		if (TLC_UNLIKELY((sh & (TL_SH_FLOAT_MASK | TL_SH_CLAIM_MASK)) != 0) && !tlc_has_counted(sh)) return false;
		if (TLC_UNLIKELY(tlc_sh_count(sh) < ((sh & TL_SH_MERGED) ? 2 : 1))) return false;
		if (TLC_LIKELY(atomic_compare_exchange_weak_explicit(&r->sh, &sh, sh - TL_SH_ONE, memory_order_acq_rel,
		                                                     memory_order_acquire)))
			return true;
	}
}

static inline bool tlc_drop_shared(tl_record* r) { return tlc_drop_life(r, NULL); }

/* ---- samples (report/tracking.c) ---------------------------------------------------------- */

/* Counts bytes of an allocation that does not come from a magazine; true: the allocation is a
 * sample, for one of the functions below. Budget: one load, one subtraction, one store. */
static inline bool tlc_spend(tl_context* c, uint64_t bytes)
{
	return TLC_UNLIKELY(__builtin_sub_overflow(c->tracking.left, bytes, &c->tracking.left));
}

/* Records an allocation that was just made, and returns its address. */
void* tlc_sampled_foreign(tl_context* c, void* pointer, uint64_t bytes) __attribute__((cold));
void* tlc_sampled_block(tl_context* c, void* block, uint64_t bytes) __attribute__((cold));

/* Whether tracking may need the line at which pointer was allocated. */
bool tlc_may_name(const void* pointer);

/* Drops the allocation record of a pool's block, before the block can be given out again. */
void tlc_forget_block(const void* block);

/* ---- magazines ------------------------------------------------------------------- */

/* What tlc_take_slot returns, by value; object 0: ask Go. */
static inline tl_entry tlc_take(tl_context* c, size_t n)
{
	const tl_entry* slot = tlc_take_slot(c, n);
	return TLC_LIKELY(slot != NULL) ? *slot : (tl_entry){0, 0, 0};
}

/* Fills an empty magazine from its depot; false: it was not empty, or ask Go (heap.c). */
bool tlc_refill_magazine(tl_context* c, uint32_t class);

/* Whether a magazine has a place, or has got one; large objects have none. */
bool tlc_make_room(tl_context* c, uint32_t class);
static inline bool tlc_has_place(tl_context* c, const tl_magazine* m, uint32_t class)
{
	return TLC_LIKELY(m->top < m->limit) || tlc_make_room(c, class);
}

/* Does what tlc_recycle could not do, because the magazine is full or the object is large; false: ask Go, nothing changed. */
bool tlc_recycle_elsewhere(tl_context* c, tl_record* r, uintptr_t object, uint64_t tag);

/* Makes the slot of a dead object available again, in the magazine or elsewhere; false: ask Go, nothing changed. */
static inline bool tlc_free_slot(tl_context* c, tl_record* r, uintptr_t object, uint64_t tag)
{
	return TLC_LIKELY(tlc_recycle(tlc_magazine_of(c, tag), r, object, tag)) || tlc_recycle_elsewhere(c, r, object, tag);
}

/* Whether an object is plain bytes that no other thread counts: with the local word it may be ended. */
static inline bool tlc_is_plain_alone(tl_record* r)
{
	return TLC_LOAD(r->type_flags) == TL_TYPE_PLAIN &&
	       atomic_load_explicit(&r->sh, memory_order_acquire) == TL_SH_ALIVE;
}
static inline bool tlc_end_elsewhere(tl_context* c, tl_record* r, uintptr_t p)
{
	return tlc_recycle_elsewhere(c, r, p, (uint32_t)(r - tlc_g.records) | (uint64_t)TLC_LOAD(r->gen) << 32);
}

/* A large object of so many bytes, dead, that is counted as handed out; object 0: ask Go. *zero: it reads as zero. */
tl_entry tlc_take_large(tl_context* c, size_t bytes, bool* zero);

/* The same of one that begins at a multiple of so many spans, a power of two. */
tl_entry tlc_take_aligned(tl_context* c, size_t bytes, uint32_t spans, bool* zero);

/* Changes the size of a large object of this thread's where it is; TL_HEAP_FULL: what is behind it is not free. */
int tlc_resize_large(tl_context* c, uintptr_t object, size_t bytes);

/* Usable bytes of the object in a slot of a class. */
static inline uint64_t tlc_slot_bytes(uintptr_t object, uint32_t class) { return tlc_bytes_of(&tlc_g, object, class); }

/* What tl_mem_alloc does without Go (alloc.c). */
bool tlc_alloc(size_t bytes, void** p);

/* ---- scope entries ---------------------------------------------------------------- */

/* Where the stack ends when no place of it is warm. */
static inline tl_entry* tlc_end_of_stack(const tl_context* c)
{
	return (tl_entry*)((char*)c->entries + tlc_g.arena_capacity);
}

/* The part of the stack that nothing uses. */
static inline tl_entry* tlc_unused_stack(const tl_context* c) { return c->warm != NULL ? c->warm : c->top; }

/* Where the entries of what was opened last begin. */
static inline const tl_entry* tlc_scope_bottom(const tl_context* c)
{
	return c->mark_top != c->marks ? c->mark_top[-1].top : c->entries;
}

/* Whether the newest entry may leave the stack at once: it is not in the index, and no hole lies below it. */
static inline bool tlc_is_top_free(const tl_context* c)
{
	return c->holes == 0 && (uint64_t)(c->top - c->entries) > c->index.below;
}

/* Makes room for an entry where a warm place is; false: the stack is full, ask Go. */
bool tlc_displace(tl_context* c);

static inline bool tlc_has_room(tl_context* c) { return TLC_LIKELY(c->top < c->end) || tlc_displace(c); }
static inline void tlc_push(tl_context* c, tl_entry e) { *c->top++ = e; }

/* Results of a search for the newest entry of p at or above the floor, which is that of the newest function or 0, instead
 * of an index. */
enum { TLC_LINEAR = 32, TLC_NOT_FOUND = -1, TLC_ASK_GO = -2 };
int64_t tlc_find_entry(tl_context* c, uintptr_t p, uint64_t floor);

/* Gives the entry at `at`, which such a search has found, another object. */
void tlc_move_entry(tl_context* c, uint64_t at, tl_entry to);

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

/* Calls operator delete or delete[] (foreign.c). */
void tlc_free_new(uintptr_t p, uint32_t kind);

/* Frees a foreign block without references that has no deleter, in the way of its kind. It has to
 * be the last step of its caller, because the function that it calls may call the library. */
static inline void tlc_free_foreign(tl_context* c, uintptr_t p, uint32_t kind)
{
	c->foreign_freed++;
	if (TLC_LIKELY(kind == TL_FOREIGN_MALLOC)) tlc_host.free((void*)p);
	else if (TLC_LIKELY(kind == TL_FOREIGN_ALIGNED)) tlc_host.free_aligned((void*)p);
	else tlc_free_new(p, kind);
}

/* Calls the deleter of a block that has ended, releases what one with a type refers to, or has either wait
 * (deleters.c). */
void tlc_call_deleter(tl_context* c, const tlc_ended* ended);

/* Makes the call alone. What has ended is gone, and no lock is held: the function may do anything, throw and longjmp
 * included. */
void tlc_call_ended(tl_context* c, const tlc_ended* ended);

/* Ends what waits, oldest first, dead objects before blocks. May run destructors and deleters. Nobody else works on the
 * list. */
void tlc_finish(tl_context* c);

/* Appends a block that has ended, by the number of its record, to those that wait. */
void tlc_append_ended(tl_context* c, uint32_t number);

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

/* Drops the last reference of an object that c owns and that is not plain; false: Go ends it (typed.c). May run
 * destructors and deleters. */
bool tlc_kill_typed(tl_context* c, tl_record* r, uintptr_t object);

/* Frees an object at zero whose type is a user's; false: ask Go, nothing changed. What its fields refer to is the
 * caller's. */
bool tlc_free_typed(tl_context* c, tl_record* r, uintptr_t object);

/* Makes progress with the first object of the queue: calls its destructor, or takes it apart; false: ask Go. */
bool tlc_end_first(tl_context* c);

/* Whether C ends objects of a type, and appends one to the queue. Its counts are the caller's to change: it has ended. */
bool tlc_may_enqueue(uint32_t type);
void tlc_enqueue(tl_context* c, tl_record* r, uintptr_t object);

/* tlc_end_held for an object that is not plain. May run destructors and deleters. */
bool tlc_end_held_typed(tl_context* c, tl_record* r, tl_entry e, uint32_t sh);

/* The description of a type; NULL: there is none, or contexts do not count it (typed.c). */
const tl_type_info* tlc_type_info(uint32_t type);

/* Releases what a block of such a type refers to, and frees it: tlc_ends_at_once has allowed that. */
void tlc_end_block(tl_context* c, uintptr_t p, uint32_t type);

/* The same of the first block that waits, which has a type; false: ask Go, nothing changed. */
bool tlc_end_waiting_block(tl_context* c);

/* Whether data is an element table, with room for so many elements. */
static inline __attribute__((always_inline)) bool tlc_is_table(const tl_entry* data, uint64_t capacity)
{
	tl_record* r;
	uint32_t class;
	return TLC_LIKELY(tlc_find_slot(data->object, &r, &class)) &&
	       TLC_LIKELY((uint32_t)(r - tlc_g.records) == data->record) &&
	       TLC_LIKELY(tlc_life(r) == ((uint64_t)data->gen << 32 | TL_TYPE_VEC_DATA)) &&
	       TLC_LIKELY(capacity <= tlc_g.classes[class].size / sizeof(uintptr_t));
}

/* The same of one that is a large object (vec.c). */
bool tlc_is_large_table(const tl_entry* data, uint64_t capacity);

/* Whether the element table is the one that was made for the header. */
static inline bool tlc_has_table(const tl_vec_payload* v)
{
	if (v->len > v->cap) return false;
	return TLC_LIKELY(tlc_is_table(&v->data, v->cap)) || tlc_is_large_table(&v->data, v->cap);
}

/* Whether header and element table agree; see vec.sound. */
static inline bool tlc_is_sound_vec(const tl_vec_payload* v)
{
	return TLC_LIKELY(v->data.object != 0) ? tlc_has_table(v) : (v->len | v->cap) == 0;
}

/* Drops a reference to an object of this thread's that has others, of which one floats at most; false: it is another one. */
static inline bool tlc_drop_one_of_many(const tl_context* c, uintptr_t p)
{
	tl_record* r;
	if (TLC_UNLIKELY(!tlc_find_record(p, &r))) return false;
	const uint32_t loc = TLC_LOAD(r->loc);
	return TLC_LIKELY(tlc_release_one_of(c, r, loc)) || tlc_release_floating(r, loc, tlc_beside_one(c, loc));
}

/* Gives the slot of a dead object back that contexts count by its kind (typed.c). */
void tlc_free_kind(tl_context* c, tl_record* r, uintptr_t object, uint32_t kind);

/* What the header of a compiler's own Vec says, and whose its data is. */
enum { TLC_DATA_NONE, TLC_DATA_MALLOC, TLC_DATA_OBJECT };
typedef struct tlc_contents {
	uintptr_t data;
	uint64_t length, capacity;
	int kind;
} tlc_contents;

/* Reads the header at p, of so many bytes and of a type that is a Vec's; false: it is not sound, or Go has to look
 * (foreign_typed.c). */
bool tlc_look_at_vec(const tl_type_info* info, uintptr_t p, uint64_t bytes, tlc_contents* has);

/* Releases the object at p, whose record and class were found, as tl_ptr_release does; false: ask Go
 * (counts.c). */
bool tlc_release_found(uintptr_t p, tl_record* r, uint32_t class);

/* Makes every thread count the object in its shared word, as tl_ptr_share does; false: ask Go, nothing changed
 * (counts.c). */
bool tlc_share(const tl_context* c, tl_record* r);

/* Drops a reference that was counted through a stale pointer or word, of whatever lives in the slot now: it
 * may be the last one by now, and the object may lie elsewhere in the slab (refs.c). */
void tlc_give_back(tl_record* r);

/* Takes back what was counted for a tl_ref that turned out stale. A function of its own for its test. */
void tlc_take_back(tl_record* r);

/* Counts a reference for a container, to an object, a registered block, NULL, or live memory of the stacks; false: ask Go,
 * nothing changed. */
bool tlc_acquire_reference(uintptr_t p);

/* Drops a reference that a container held; what does not refer to a live object is passed over. May run
 * destructors and deleters. */
void tlc_drop_reference(uintptr_t p);

/* Drops a reference that a dead object held, through Go. */
void tlc_drop_slowly(uintptr_t p);

/* Drops a tensor's last reference; may call the deleter of borrowed memory. False: ask Go, nothing changed
 * (tensor/free.c). */
bool tlc_tensor_drop(tl_context* c, tl_record* r, tl_entry e);

/* Ends a tensor over borrowed memory that is the first of the queue; next is what follows it. False: it is another tensor,
 * which Go ends (tensor/borrowed.c). */
bool tlc_borrowed_end(tl_context* c, tl_record* r, uintptr_t object, uint32_t next);

/* Releases tensors and views whose only reference is the scope's, from top down to low, as far as that takes no lock and
 * as a rule no Go. Returns where it met something else; c->top may be behind (tensor/free.c). */
tl_entry* tlc_tensor_release_run(tl_context* c, tl_entry* top, const tl_entry* low);

#pragma GCC visibility pop
