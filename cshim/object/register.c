/* Registering in scopes and unregistering: heap objects and memory of malloc. */
#include <malloc.h>

#include "fast.h"
#include "../guard/host_memory.h"

/* ---- register ------------------------------------------------------------------------ */

/* The same of an object that another thread owns, or nobody: a float of the shared word first, else a new reference, which
 * claims a float where the owner's word shows one (docs/model). The shared word is read before the owner's. */
static __attribute__((noinline)) bool sink_shared(const tl_context* c, tl_record* r)
{
	uint32_t sh = TLC_LOAD_ACQUIRE(r->sh), next;
	do {
		const uint32_t loc = TLC_LOAD_ACQUIRE(r->loc);
		const bool merged = (sh & TL_SH_MERGED) != 0;
		if ((sh & (TL_SH_ALIVE | TL_SH_IMMORTAL)) != TL_SH_ALIVE || tlc_own(c, loc) < TLC_OWNED) return false;
		if (tlc_sh_count(sh) >= TL_SH_COUNT_MAX || (merged && tlc_sh_count(sh) <= 0)) return false;
		if (!merged && loc >> TL_LOC_OWNER_SHIFT == 0) return false; /* its owner merges: Go waits */
		next = tlc_sh_floats(sh) > 0 ? sh - TL_SH_FLOAT : sh + TL_SH_ONE;
		const bool claims = !merged && tlc_sh_floats(sh) == 0 && (loc & TL_LOC_FLOATS) != 0;
		if (claims && (sh & TL_SH_CLAIM_MASK) != TL_SH_CLAIM_MASK) next += 1u << TL_SH_CLAIM_SHIFT;
	} while (!atomic_compare_exchange_weak_explicit(&r->sh, &sh, next, memory_order_acq_rel, memory_order_acquire));
	return true;
}

/* A reference for the scope: a float if there is one, else a new reference. */
static inline bool sink_or_retain(tl_context* c, tl_record* r)
{
	uint32_t loc = TLC_LOAD(r->loc), own = tlc_own(c, loc);
	if (TLC_UNLIKELY(own >= TLC_OWNED)) return sink_shared(c, r);
	if (TLC_UNLIKELY(TLC_LOAD(r->sh) != TL_SH_ALIVE)) return false;
	if (TLC_LIKELY(own >= TL_LOC_FLOAT)) TLC_STORE(r->loc, loc - TL_LOC_FLOAT);
	else if (TLC_LIKELY(own - 1 < TL_LOC_COUNT - 1)) TLC_STORE(r->loc, loc + 1);
	else return false;
	return true;
}

static int adopt_measured(tl_context* c, uintptr_t p, uint32_t* gen, uint64_t* size)
{
	size_t usable = tlc_host.usable((void*)p);
	int result = tlc_foreign_adopt(p, usable, gen);
	c->foreign_adopted += result == TLC_OK;
	*size = usable;
	return result;
}

/* Only an address outside of all registered blocks may be taken for malloc's and measured: inside a
 * block, malloc's size would be read from the block's contents. Go adopts what is aligned to 8 only. */
static __attribute__((noinline)) bool is_malloced(uintptr_t p)
{
	return (p & 15) == 0 && !tlc_foreign_covered(p) && tlc_may_be_malloced(p);
}

/* Registers a known block, or adopts one in the cases that take longer. */
static __attribute__((noinline)) bool register_foreign_rest(tl_context* c, uintptr_t p, bool adopt)
{
	uint32_t gen;
	uint64_t size = 0;
	int result;
	if (adopt && is_malloced(p)) {
		result = adopt_measured(c, p, &gen, &size);
	} else {
		result = tlc_foreign_register(p, &gen);
		if (result == TLC_RETURNED && is_malloced(p)) result = adopt_measured(c, p, &gen, &size);
	}
	if (TLC_UNLIKELY(result != TLC_OK)) return false;
	tlc_push(c, (tl_entry){p, TL_FOREIGN, gen});
	if (tlc_spend(c, size)) tlc_sampled_foreign(c, (void*)p, size);
	return true;
}

/* Completes the registration of a new block. */
static inline bool adopted(tl_context* c, uintptr_t p, uint32_t gen, uint64_t size)
{
	c->foreign_adopted++;
	tlc_push(c, (tl_entry){p, TL_FOREIGN, gen});
	if (tlc_spend(c, size)) tlc_sampled_foreign(c, (void*)p, size);
	return true;
}

static inline bool register_foreign(tl_context* c, uintptr_t p, bool adopt)
{
	uint32_t gen;
	uint64_t size;
	if (tlc_in_slices(p) || TLC_UNLIKELY(tlc_in_ranges(p))) return p != 0 && tlc_in_live_stack(c, p);
	bool is_new = adopt && (tlc_is_known(p) || is_malloced(p));
	if (TLC_UNLIKELY(!is_new || !tlc_foreign_adopt_new(p, &gen, &size))) return register_foreign_rest(c, p, adopt);
	return adopted(c, p, gen, size);
}

static inline bool register_in_scope(uintptr_t p, bool adopt)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c))) return false;
	tl_record* r = tlc_record_at(p);
	if (r != NULL) {
		if (TLC_UNLIKELY(!sink_or_retain(c, r))) return false;
		tlc_push(c, tlc_entry_of(r, p));
		return true;
	}
	if (TLC_UNLIKELY(p == 0)) return true;
	return !tlc_in_heap(p) && register_foreign(c, p, adopt);
}

/* Why a block of malloc's cannot start at an address that no block of the registry starts at; false: one may, or Go has
 * to look. runtime/object/register.go has the same order. */
static bool find_no_block(uintptr_t p, tlc_finding* f)
{
	*f = (tlc_finding){.status = TL_E_INVALID_ARGUMENT};
	if ((p & tlc_host.misaligned) != 0) {
		f->kind = TL_TEXT_MISALIGNED;
		f->details[0] = tlc_host.misaligned + 1;
	} else if (p < TL_LOWEST_ADDRESS || p >> TLC_PROGRAM_BITS != 0) {
		f->kind = TL_TEXT_NOT_MALLOC;
	} else if ((p & 15) != 0) {
		return false;
	} else if (tlc_foreign_covered(p)) {
		f->kind = TL_TEXT_INSIDE_BLOCK;
		f->status = TL_E_ALREADY_REGISTERED;
	} else if (!tlc_may_be_malloced(p)) {
		f->kind = TL_TEXT_UNREADABLE;
	} else if (tlc_host.tells && tlc_host.usable((void*)p) == 0) {
		f->kind = TL_TEXT_NOT_A_BLOCK;
	}
	return f->kind != TL_TEXT_STATUS;
}

/* Refuses to register what is not there. Go looks for room in the scope stack first, so room there has to be. */
static __attribute__((noinline, cold)) bool refuse(uintptr_t p, bool adopt, uint32_t function, tl_status* why)
{
	tlc_finding f;
	if (!tlc_is_fast(tlc_tls) || !tlc_has_room(tlc_tls)) return false;
	if (!adopt || tlc_in_heap(p)) return tlc_refuse(function, (void*)p, why);
	if (tlc_is_kept(p) || tlc_g.debug != 0 || tlc_foreign_starts(p) || !find_no_block(p, &f)) return false;
	*why = tlc_fail_with(&f, function, (void*)p);
	return true;
}

bool tlc_register_known(uintptr_t p) { return register_in_scope(p, false); }

tl_status tl_mem_register_struct(void* object)
{
	tl_status why;
	if (TLC_LIKELY(register_in_scope((uintptr_t)object, true))) return TL_OK;
	return refuse((uintptr_t)object, true, TL_FN_tl_mem_register_struct, &why) ? why : slow_mem_register_struct(object);
}

tl_status tl_mem_register_struct_named(void* object, const char* name)
{
	tl_status why;
	if (TLC_LIKELY(register_in_scope((uintptr_t)object, true))) return TL_OK;
	return refuse((uintptr_t)object, true, TL_FN_tl_mem_register_struct_named, &why)
	           ? why
	           : slow_mem_register_struct_named(object, name);
}

tl_status tl_mem_register(void* object)
{
	tl_status why;
	if (TLC_LIKELY(register_in_scope((uintptr_t)object, true))) return TL_OK;
	return refuse((uintptr_t)object, true, TL_FN_tl_mem_register, &why) ? why : slow_mem_register(object);
}

tl_status tl_mem_register_ptr(void* object)
{
	tl_status why;
	if (TLC_LIKELY(register_in_scope((uintptr_t)object, false))) return TL_OK;
	return refuse((uintptr_t)object, false, TL_FN_tl_mem_register_ptr, &why) ? why : slow_mem_register_ptr(object);
}

tl_status tl_mem_register_tensor(void* tensor)
{
	tl_status why;
	if (TLC_LIKELY(register_in_scope((uintptr_t)tensor, false))) return TL_OK;
	return refuse((uintptr_t)tensor, false, TL_FN_tl_mem_register_tensor, &why) ? why
	                                                                            : slow_mem_register_tensor(tensor);
}

/* ---- blocks with a type ------------------------------------------------------------------ */

/* Whether a block that is not registered has the header of a Vec. */
static bool is_new_vec(const tl_type_info* info, uintptr_t p)
{
	tlc_contents has;
	if (tlc_foreign_seen(p)) return false;
	size_t usable = tlc_host.usable((void*)p);
	return usable >= info->size && tlc_look_at_vec(info, p, usable, &has);
}

/* Registers a new block of malloc's that is laid out as a type says; there is room for the entry. A Vec's header
 * is looked at first, and is nobody else's to change. The first block of a process is Go's to register.
 * Budget: one compare-and-swap, about 150 instructions. */
static bool adopt_typed(tl_context* c, uintptr_t p, uint32_t type)
{
	uint32_t gen;
	uint64_t size;
	const tl_type_info* info = tlc_type_info(type);
	if (TLC_UNLIKELY(info == NULL || tlc_is_kept(p) || tlc_forked())) return false;
	if (TLC_UNLIKELY(!tlc_has_typed() || (!tlc_is_known(p) && !is_malloced(p)))) return false;
	if (info->vec != NULL && !is_new_vec(info, p)) return false;
	const tlc_owner own = {TL_BLOCK_TYPED, type, c->owner};
	const uint64_t as = (uint64_t)TL_FOREIGN_MALLOC << TL_FOREIGN_KIND_SHIFT;
	if (TLC_UNLIKELY(!tlc_adopt_new(p, info->size, as, &own, &gen, &size))) return false;
	return adopted(c, p, gen, size);
}

/* What has the type already, or gets it; NULL is left to Go, as is every failure. */
static inline bool register_typed(uintptr_t p, uint32_t type)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(!tlc_has_room(c))) return false;
	const tl_record* r = tlc_record_at(p);
	if (TLC_LIKELY(r == NULL && p != 0 && adopt_typed(c, p, type))) return true;
	if (tlc_type_info(type) == NULL) return false;
	bool has_it = r != NULL ? TLC_LOAD(r->type_flags) == type : !tlc_in_heap(p) && tlc_foreign_type(p) == type;
	return has_it && register_in_scope(p, false);
}

tl_status tl_mem_register_struct_typed(void* object, tl_type type)
{
	return TLC_LIKELY(register_typed((uintptr_t)object, type)) ? TL_OK : slow_mem_register_struct_typed(object, type);
}

/* An address that the runtime does not know becomes a Vec of the type that was set; so does a block that was
 * handed back, which Go sees to. */
static __attribute__((noinline)) bool register_vec(uintptr_t p, uint32_t type)
{
	tl_context* c = tlc_tls;
	uint32_t gen;
	if (p == 0 || tlc_in_heap(p) || tlc_in_slices(p)) return register_in_scope(p, false);
	if (!tlc_has_room(c)) return false;
	if (tlc_foreign_register(p, &gen) != TLC_OK) return adopt_typed(c, p, type);
	tlc_push(c, (tl_entry){p, TL_FOREIGN, gen});
	return true;
}

tl_status tl_mem_register_vec_ptr(void* vec)
{
	const uintptr_t p = (uintptr_t)vec;
	const uint32_t type = TLC_LOAD(tlc_shared->vec_type);
	const bool done = TLC_LIKELY(type == 0) ? register_in_scope(p, false) : register_vec(p, type);
	tl_status why;
	if (TLC_LIKELY(done)) return TL_OK;
	return type == 0 && refuse(p, false, TL_FN_tl_mem_register_vec_ptr, &why) ? why : slow_mem_register_vec_ptr(vec);
}

/* ---- the scope index (runtime/object/index.go) ------------------------------------------ */

typedef struct index_slot {
	uintptr_t pointer; /* 0 = free */
	uint32_t position; /* OLDER | passed 4, of a bucket's first slot | 1 + position 27 */
	uint32_t gen;      /* of the newest entry */
} index_slot;

enum { BUCKET_SLOTS = 4 };
#define POSITION_MASK 0x7FFFFFFu
#define PASSED_ONE 0x8000000u
#define PASSED_MASK 0x78000000u
#define OLDER 0x80000000u

static inline uint64_t newest(const index_slot* s) { return (uint64_t)(s->position & POSITION_MASK) - 1; }

static inline index_slot* bucket(const tl_context* c, uint64_t i) { return (index_slot*)c->index.slots + i; }

/* The record of the newest entry; they stand behind all slots. */
static inline uint32_t* records_of(const tl_context* c, uint64_t i)
{
	return (uint32_t*)bucket(c, c->index.mask + 1) + i;
}

static inline uint32_t* record_of(const tl_context* c, const index_slot* s)
{
	return records_of(c, (uint64_t)(s - bucket(c, 0)));
}

static inline uint64_t home_bucket(const tl_context* c, uintptr_t p)
{
	uint64_t h = (p >> 10) * TL_HASH_FACTOR;
	return ((h >> 32 & ~31ull) | ((p >> 5 ^ h >> 59) & 31)) & c->index.mask & ~(uint64_t)(BUCKET_SLOTS - 1);
}

static inline uint64_t next_bucket(const tl_context* c, uint64_t i) { return (i + BUCKET_SLOTS) & c->index.mask; }

/* The slot of p, NULL when it has none. The search among the four slots has no branch. */
static inline index_slot* probe(const tl_context* c, uintptr_t p)
{
	for (uint64_t i = home_bucket(c, p);; i = next_bucket(c, i)) {
		index_slot* b = bucket(c, i);
		size_t k = (size_t)(b[1].pointer == p) + 2 * (size_t)(b[2].pointer == p) + 3 * (size_t)(b[3].pointer == p);
		if (TLC_LIKELY(b[k].pointer == p)) return &b[k];
		if ((b->position & PASSED_MASK) == 0) return NULL;
	}
}

/* Removes the newest position of p's chain from the index. */
static void unindex(const tl_context* c, index_slot* s, uintptr_t p)
{
	if (TLC_UNLIKELY(s->position & OLDER)) {
		uint32_t older = ((const uint32_t*)c->index.older)[newest(s)];
		s->position = (s->position & PASSED_MASK) | older;
		s->gen = c->entries[newest(s)].gen;
		*record_of(c, s) = c->entries[newest(s)].record;
		return;
	}
	for (uint64_t i = home_bucket(c, p); s < bucket(c, i) || s >= bucket(c, i + BUCKET_SLOTS); i = next_bucket(c, i))
		if ((bucket(c, i)->position & PASSED_MASK) != PASSED_MASK) bucket(c, i)->position -= PASSED_ONE;
	*s = (index_slot){0, s->position & PASSED_MASK, 0};
}

/* Names an entry of a slot. */
static void set_slot(const tl_context* c, index_slot* s, uint32_t position, const tl_entry* e)
{
	*s = (index_slot){e->object, (s->position & PASSED_MASK) | position, e->gen};
	*record_of(c, s) = e->record;
}

/* A free slot for p, which has none. */
static index_slot* new_slot(const tl_context* c, uintptr_t p)
{
	for (uint64_t i = home_bucket(c, p);; i = next_bucket(c, i)) {
		index_slot* b = bucket(c, i);
		for (int k = 0; k < BUCKET_SLOTS; k++)
			if (b[k].pointer == 0) return &b[k];
		if ((b->position & PASSED_MASK) != PASSED_MASK) b->position += PASSED_ONE;
	}
}

/* Enters the entry at a position below c->indexed into the index. An earlier object at its address may have left entries
 * that are newer. */
static void enter_index(const tl_context* c, uint64_t at)
{
	const tl_entry* e = &c->entries[at];
	uint32_t position = (uint32_t)at + 1, *links = (uint32_t*)c->index.older;
	index_slot* s = probe(c, e->object);
	if (s == NULL) {
		set_slot(c, new_slot(c, e->object), position, e);
	} else if (newest(s) < at) {
		links[at] = s->position & ~PASSED_MASK;
		set_slot(c, s, position | OLDER, e);
	} else {
		uint32_t* link = &s->position;
		while ((*link & OLDER) && (links[(*link & POSITION_MASK) - 1] & POSITION_MASK) > position)
			link = &links[(*link & POSITION_MASK) - 1];
		uint32_t* next = &links[(*link & POSITION_MASK) - 1];
		if (*link & OLDER) {
			links[at] = *next;
			position |= OLDER;
		}
		*link |= OLDER;
		*next = position;
	}
}

/* ---- unregister --------------------------------------------------------------------------- */

/* The position of the newest of the last entries that is p's, or TLC_NOT_FOUND. */
static inline int64_t find_linear(const tl_context* c, uintptr_t p, uint64_t low)
{
	for (uint64_t i = (uint64_t)(c->top - c->entries); i > low; i--)
		if (c->entries[i - 1].object == p) return (int64_t)i - 1;
	return TLC_NOT_FOUND;
}

/* Where that search ends: entries below are indexed, are below the floor, or are too far down. */
static inline uint64_t linear_from(const tl_context* c, uint64_t floor)
{
	uint64_t n = (uint64_t)(c->top - c->entries), low = n > TLC_LINEAR ? n - TLC_LINEAR : 0;
	if (low < c->index.below) low = c->index.below;
	return low > floor ? low : floor;
}

/* The slot of an older entry above the floor; NULL: there is none, or *ask Go. */
static inline index_slot* find_slot(const tl_context* c, uintptr_t p, uint64_t low, uint64_t floor, bool* ask)
{
	*ask = low != floor && c->index.below < low;
	if (low == floor || *ask) return NULL;
	index_slot* s = probe(c, p);
	return s != NULL && newest(s) >= floor ? s : NULL;
}

int64_t tlc_find_entry(tl_context* c, uintptr_t p, uint64_t floor)
{
	bool ask;
	uint64_t low = linear_from(c, floor);
	int64_t at = find_linear(c, p, low);
	if (at != TLC_NOT_FOUND) return at;
	const index_slot* s = find_slot(c, p, low, floor, &ask);
	return s != NULL ? (int64_t)newest(s) : ask ? TLC_ASK_GO : TLC_NOT_FOUND;
}

void tlc_move_entry(tl_context* c, uint64_t at, tl_entry to)
{
	const uintptr_t p = c->entries[at].object;
	const bool is_indexed = at < c->index.below;
	if (is_indexed) unindex(c, probe(c, p), p);
	c->entries[at] = to;
	if (is_indexed) enter_index(c, at);
}

/* Leaves a hole, and closes those at the top. */
static inline void make_hole(tl_context* c, uint64_t at)
{
	tlc_leave_hole(c, at);
	const tl_entry* low = tlc_scope_bottom(c);
	while (c->top > low && c->top[-1].object == 0) {
		tlc_lower_top(c, c->top - 1);
		c->holes--;
	}
	uint64_t n = (uint64_t)(c->top - c->entries);
	if (TLC_UNLIKELY(c->index.below > n)) c->index.below = n;
}

void tlc_take_out(tl_context* c, uint64_t at)
{
	if (TLC_UNLIKELY(at < c->index.below)) {
		index_slot* s = probe(c, c->entries[at].object);
		if (s != NULL && newest(s) == at) unindex(c, s, c->entries[at].object);
	}
	make_hole(c, at);
}

/* Makes the entry's reference floating; false: ask Go, nothing changed. */
static inline bool float_entry(tl_context* c, tl_entry e)
{
	if (e.record == TL_FOREIGN) return tlc_foreign_float(e.object, e.gen) == TLC_OK;
	tl_record* r = tlc_g.records + e.record;
	return TLC_LIKELY(TLC_LOAD(r->gen) == e.gen) && tlc_float_record(c, r);
}

bool tlc_unregister_at(tl_context* c, uint64_t at)
{
	if (TLC_UNLIKELY(tlc_needs_compaction(c) || !float_entry(c, c->entries[at]))) return false;
	tlc_take_out(c, at);
	return true;
}

/* The result for a pointer that no scope of this function holds: as cheap as a hit. */
static tl_status not_registered(uintptr_t p)
{
	tl_status why;
	const tl_record* r = tlc_record_at(p);
	const bool is_live = r != NULL ? tlc_is_live_object(r) : !tlc_in_slices(p) && tlc_foreign_count(p) > 0;
	if (is_live) return tlc_fail(TL_E_NOT_REGISTERED, TL_FN_tl_mem_unregister, (void*)p);
	return tlc_refuse(TL_FN_tl_mem_unregister, (void*)p, &why) ? why : slow_mem_unregister((void*)p);
}

/* Unregisters an entry among the older ones of a large scope. Slot, record number and record are
 * each a likely cache miss, so all are loaded together, and the entry is written and never read.
 * The record that p has now is a guess: the entry may refer to an earlier one. */
static __attribute__((noinline)) tl_status unregister_older(tl_context* c, void* object, uint64_t low)
{
	uintptr_t p = (uintptr_t)object;
	bool ask;
	tl_record* r = tlc_record_at(p);
	if (r != NULL) __builtin_prefetch(r, 1);
	__builtin_prefetch(records_of(c, home_bucket(c, p)), 1);
	index_slot* s = find_slot(c, p, low, c->floor, &ask);
	if (TLC_UNLIKELY(ask)) return slow_mem_unregister(object);
	if (s == NULL) return not_registered(p);
	tl_entry e = {p, *record_of(c, s), s->gen};
	uint64_t at = newest(s);
	if (TLC_UNLIKELY(tlc_needs_compaction(c) || !float_entry(c, e))) return slow_mem_unregister(object);
	unindex(c, s, p);
	make_hole(c, at);
	return TL_OK;
}

static __attribute__((noinline)) tl_status unregister_rest(tl_context* c, void* object)
{
	uint64_t low = linear_from(c, c->floor);
	int64_t at = find_linear(c, (uintptr_t)object, low);
	if (at == TLC_NOT_FOUND) return unregister_older(c, object, low);
	return TLC_LIKELY(tlc_unregister_at(c, (uint64_t)at)) ? TL_OK : slow_mem_unregister(object);
}

/* The same of the newest entry, which may leave the stack. */
static inline __attribute__((always_inline)) tl_status unregister_newest(tl_context* c, void* object)
{
	if (TLC_UNLIKELY(!float_entry(c, c->top[-1]))) return unregister_rest(c, object);
	tlc_lower_top(c, c->top - 1);
	return TL_OK;
}

static __attribute__((noinline)) tl_status unregister_newest_block(tl_context* c, void* object)
{
	return unregister_newest(c, object);
}

tl_status tl_mem_unregister(void* object)
{
	tl_context* c = tlc_tls;
	if (TLC_UNLIKELY(object == NULL)) return TL_OK;
	if (TLC_UNLIKELY(!tlc_is_fast(c))) return slow_mem_unregister(object);
	const tl_entry* e = c->top - 1;
	if (TLC_UNLIKELY(e < tlc_scope_bottom(c) || e->object != (uintptr_t)object || !tlc_is_top_free(c)))
		return unregister_rest(c, object);
	return TLC_UNLIKELY(e->record == TL_FOREIGN) ? unregister_newest_block(c, object) : unregister_newest(c, object);
}
