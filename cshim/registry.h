/* What the fast path does with foreign pointers. How they are kept: registry_cells.h.
 *
 * Every function takes any address; what is not in the table is TLC_MISS. None calls
 * back, allocates or enters Go: what needs memory is TLC_SLOW, and the slow path does
 * the whole operation. Threads: any.
 *
 * Budget of the common case, a block inside one unit: one compare-and-swap (half of the
 * time spent), three multiplications to find the cell, the cell's line and the entry's.
 * One that ends in the next unit: some 300 instructions more for coming and going, and no other lock.
 */
#ifndef TL_REGISTRY_H
#define TL_REGISTRY_H

#include <malloc.h>

#include "registry_cells.h"

/* Results; the numbers are those of registry.Result. All but OK, GONE and ZERO: nothing changed. */
enum tlc_foreign_result {
	TLC_OK = 0,
	TLC_MISS = 1,      /* never registered, or gone */
	TLC_SLOW = 2,      /* the Go twin must do it */
	TLC_GONE = 3,      /* that was the last reference: the entry is gone, the caller frees by kind */
	TLC_STALE = 4,     /* not the generation meant, or held at zero */
	TLC_REFUSED = 5,   /* inside a registered block, misaligned, or still held */
	TLC_OVERFLOW = 6,  /* 15 references float already */
	TLC_RETURNED = 7,  /* known, but back with the host: measure it and adopt it again */
	TLC_ZERO = 8,      /* count is 0; the entry stays until it is forgotten */
	TLC_NO_MEMORY = 9, /* never from C, nor are those that follow it in Go */
};

/* ---- cold edges, registry.c and registry_wide.c ----------------------------------------------------- */

bool tlc_covered_above(uintptr_t p);
uint32_t tlc_adopt_known(tl_shard* s, tl_foreign_entry* e, uint64_t bytes);
int tlc_enter_wide(uintptr_t p, uint64_t bytes, uint64_t as, uint32_t* gen);
tl_region* tlc_uncover_wide(tl_shard* s, tl_region* cell, tl_unit* u, uintptr_t p, uint64_t bytes);
int tlc_drop_wide(uintptr_t p, uint64_t bytes, int drop, uint32_t gen, uint8_t* kind);
int tlc_foreign_make_immortal(uintptr_t p);
int64_t tlc_foreign_count(uintptr_t p); /* -1 = unknown; 0 = held at zero; sticky counts are 2^32 - 1 */
bool tlc_foreign_known(uintptr_t p);    /* registered and held by somebody; takes no lock */
uint32_t tlc_foreign_type(uintptr_t p); /* 0 = none, or nobody holds it */
bool tlc_foreign_covered(uintptr_t p);  /* inside a registered block, its start included; takes no lock */
void tlc_foreign_lock_all(void);        /* before fork */
void tlc_foreign_unlock_all(void);      /* after it, in the parent and in the child */

/* ---- taking references ------------------------------------------------------------ */

/* Takes a malloc'ed block into the table: count 1, not floating. A block that was
 * handed back or is held at zero comes back to life; one that somebody else has
 * registered in the meantime gets one more reference. */
static inline int tlc_foreign_adopt(uintptr_t p, size_t usable, uint32_t* gen)
{
	if (TLC_UNLIKELY((p & 15) || !tlc_possible(p) || usable - 1 >= TL_FOREIGN_BYTES)) return TLC_REFUSED;
	if (TLC_UNLIKELY(tlc_wide(p, usable))) return tlc_enter_wide(p, usable, TLC_FOREIGN_AS_ADOPTED, gen);
	bool above = tlc_units_up(0) != 0 && tlc_covered_above(p);
	tlc_place at = tlc_place_of(TL_UNIT_LEVEL_0, p >> 4);
	uint64_t bits = tlc_range(at.bit, tlc_last(p, usable) & 63);
	tl_shard* s = &tlc_shards[tlc_shard_of(p)];
	int result = TLC_SLOW;
	tlc_shard_lock(s);
	tl_region* cell = tlc_cell(s, at.region);
	tl_unit* u = tlc_find_in(cell, at);
	tl_foreign_entry* e = u != NULL && TLC_UNLIKELY(tlc_has(&u->starts, at.bit)) ? tlc_entry(u, at.bit) : NULL;
	if (TLC_UNLIKELY(e != NULL && tlc_is_live(e))) {
		*gen = tlc_adopt_known(s, e, usable);
		result = TLC_OK;
		goto out;
	}
	if (TLC_UNLIKELY(e != NULL && !tlc_is_revivable(e))) {
		result = TLC_STALE;
		goto out;
	}
	if (TLC_UNLIKELY(above || (u != NULL && (tlc_get(&u->covers) & bits)))) {
		result = TLC_REFUSED;
		goto out;
	}
	if (u == NULL && (u = tlc_open_unit(s, cell, at)) == NULL) goto out;
	if (TLC_UNLIKELY(e != NULL)) *gen = tlc_adopt_known(s, e, usable);
	else if (TLC_LIKELY((e = tlc_insert(s, u, at.bit)) != NULL)) *gen = tlc_fill(s, e, usable, TLC_FOREIGN_AS_ADOPTED);
	else goto out;
	tlc_set(&u->covers, bits);
	result = TLC_OK;
out:
	tlc_shard_unlock(s);
	return result;
}

/* The entry and the granules bit .. last of a new block. NULL, nothing changed: some are
 * taken, or no memory is at hand; neither is so of a unit that was opened for it. */
static inline tl_foreign_entry* tlc_insert_new(tl_shard* s, tl_unit* u, unsigned bit, unsigned last)
{
	uint64_t bits = tlc_range(bit, last);
	if (TLC_UNLIKELY((tlc_get(&u->covers) & bits) || tlc_has(&u->starts, bit))) return NULL;
	tl_foreign_entry* e = tlc_insert(s, u, bit);
	if (TLC_LIKELY(e != NULL)) tlc_set(&u->covers, bits);
	return e;
}

/* Registers a block of another owner than a scope: count 1, held by the owner. false:
 * anything but a new block that touches no other; the slow path says what it is.
 * Budget: one compare-and-swap, about 90 instructions. */
static inline bool tlc_foreign_insert(uintptr_t p, uint64_t bytes, uint32_t kind)
{
	uint64_t as = (uint64_t)kind << TL_FOREIGN_KIND_SHIFT;
	uint32_t gen;
	if (TLC_UNLIKELY((p & 15) || !tlc_possible(p) || bytes - 1 >= TL_FOREIGN_BYTES)) return false;
	if (TLC_UNLIKELY(tlc_wide(p, bytes))) return tlc_enter_wide(p, bytes, as, &gen) == TLC_OK;
	if (TLC_UNLIKELY(tlc_units_up(0) != 0) && tlc_covered_above(p)) return false;
	tl_shard* s = &tlc_shards[tlc_shard_of(p)];
	tlc_place at = tlc_place_of(TL_UNIT_LEVEL_0, p >> 4);
	tlc_shard_lock(s);
	tl_region* cell = tlc_cell(s, at.region);
	tl_unit* u = tlc_find_in(cell, at);
	if (u == NULL) u = tlc_open_unit(s, cell, at);
	tl_foreign_entry* e = TLC_LIKELY(u != NULL) ? tlc_insert_new(s, u, at.bit, tlc_last(p, bytes) & 63) : NULL;
	if (TLC_LIKELY(e != NULL)) tlc_fill(s, e, bytes, as);
	tlc_shard_unlock(s);
	return e != NULL;
}

/* A reference to a known pointer for the caller's scope: sinks a float, else counts. */
static inline int tlc_foreign_register(uintptr_t p, uint32_t* gen)
{
	tlc_spot x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	int result = tlc_is_revivable(x.entry) ? TLC_RETURNED : TLC_STALE;
	if (TLC_LIKELY(tlc_is_live(x.entry))) {
		if (tlc_floats(x.entry) != 0) x.entry->type_floats -= TL_FOREIGN_FLOAT;
		else if (x.entry->count != TL_FOREIGN_STICKY) x.entry->count++;
		*gen = x.entry->gen;
		result = TLC_OK;
	}
	tlc_shard_unlock(x.shard);
	return result;
}

static inline int tlc_foreign_acquire(uintptr_t p)
{
	tlc_spot x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	int result = x.entry->count != 0 ? TLC_OK : TLC_STALE;
	if (TLC_LIKELY(x.entry->count - 1 < TL_FOREIGN_STICKY - 1)) x.entry->count++;
	tlc_shard_unlock(x.shard);
	return result;
}

/* ---- losing references -------------------------------------------------------------- */

enum tlc_drop { TLC_DROP_RELEASE, TLC_DROP_ENTRY, TLC_DROP_FLOAT, TLC_DROP_DECREF, TLC_DROP_FORGET };

/* What a drop does to an entry. */
typedef struct tlc_effect {
	int result;
	uint32_t count, floats;
	bool hand_back;
} tlc_effect;

/* What would `drop` do? Changes nothing. */
static inline tlc_effect tlc_effect_of(const tl_foreign_entry* e, int drop, uint32_t gen)
{
	tlc_effect f = {TLC_OK, e->count, tlc_floats(e), false};
	bool held = f.count > f.floats;
	if ((drop == TLC_DROP_ENTRY || drop == TLC_DROP_FLOAT) && TLC_UNLIKELY(e->gen != gen || f.count == 0))
		f.result = TLC_STALE;
	else if (drop == TLC_DROP_FORGET) f.result = held ? TLC_REFUSED : TLC_GONE;
	else if (TLC_UNLIKELY(f.count == 0)) f.result = TLC_STALE;
	else if (TLC_UNLIKELY(f.count == TL_FOREIGN_STICKY)) return f;
	else if (drop == TLC_DROP_FLOAT && held && f.floats == TL_MAX_FLOATS) f.result = TLC_OVERFLOW;
	else if (drop == TLC_DROP_FLOAT) f.floats += held;
	else if (--f.count == 0) f.result = drop == TLC_DROP_DECREF ? TLC_ZERO : TLC_GONE;
	if (f.floats > f.count) f.floats = f.count;                    /* counted references go before floats */
	if (f.result == TLC_GONE && e->link != 0) f.result = TLC_SLOW; /* more than a block ends */
	f.hand_back = f.result == TLC_OK && f.count == f.floats && (e->block & TL_FOREIGN_ADOPTED);
	return f;
}

/* Does the block stop owning its granules? */
static inline bool tlc_ends_cover(const tl_foreign_entry* e, tlc_effect f)
{
	return (f.hand_back || f.result == TLC_GONE || f.result == TLC_ZERO) && tlc_is_covered(e);
}

/* Takes a block's granules from it; its entry is still there, so that its unit stays. false,
 * nothing changed: a lock that this needs is somebody's. The cell may move. */
static inline __attribute__((always_inline)) bool tlc_uncover(tlc_spot* x, uintptr_t p, uint64_t bytes)
{
	if (TLC_LIKELY(!tlc_wide(p, bytes))) {
		tlc_clear(&x->unit->covers, tlc_range(x->at.bit, tlc_last(p, bytes) & 63));
		return true;
	}
	tl_region* cell = tlc_uncover_wide(x->shard, x->cell, x->unit, p, bytes);
	if (TLC_LIKELY(cell != NULL)) x->cell = cell;
	return cell != NULL;
}

/* Carries an effect out on everything but covers. An entry that is gone is erased. */
static inline void tlc_apply(tlc_spot x, tlc_effect f, uint8_t* kind)
{
	tl_shard* s = x.shard;
	tl_foreign_entry* e = x.entry;
	bool back = (e->block & TL_FOREIGN_HANDED_BACK) != 0;
	if (f.result == TLC_GONE) {
		*kind = (uint8_t)(e->block >> TL_FOREIGN_KIND_SHIFT);
		s->handed_back -= back;
		s->zeros -= e->count == 0;
		s->entries--;
		if (tlc_is_live(e)) s->bytes -= tlc_bytes(e);
		tlc_erase(s, x.unit, x.at.bit);
		return;
	}
	if (f.result == TLC_ZERO) {
		s->handed_back -= back;
		if (!back) s->bytes -= tlc_bytes(e);
		s->zeros++;
		e->block &= ~TL_FOREIGN_HANDED_BACK;
	} else if (f.result != TLC_OK) {
		return;
	} else if (f.hand_back) {
		s->handed_back += !back;
		if (!back) s->bytes -= tlc_bytes(e);
		e->block |= TL_FOREIGN_HANDED_BACK;
	}
	e->count = f.count;
	e->type_floats = (e->type_floats & (TL_FOREIGN_FLOAT - 1)) | f.floats * TL_FOREIGN_FLOAT;
}

/* The result of dropping what is not there; a scope need not know why its entry is gone. */
static inline int tlc_unknown(int drop) { return drop == TLC_DROP_ENTRY ? TLC_STALE : TLC_MISS; }

/* All drops. `drop` is a constant after inlining. */
static inline int tlc_drop(uintptr_t p, int drop, uint32_t gen, uint8_t* kind)
{
	tlc_spot x = tlc_lock_entry(p);
	if (x.entry == NULL) return tlc_unknown(drop);
	tlc_effect f = tlc_effect_of(x.entry, drop, gen);
	if (tlc_ends_cover(x.entry, f)) {
		uint64_t bytes = tlc_bytes(x.entry);
		if (TLC_UNLIKELY(!tlc_uncover(&x, p, bytes))) {
			tlc_shard_unlock(x.shard);
			return tlc_drop_wide(p, bytes, drop, gen, kind);
		}
	}
	tlc_apply(x, f, kind);
	if (tlc_vacant(x.unit)) tlc_close_unit(x.shard, x.cell);
	tlc_shard_unlock(x.shard);
	return f.result;
}

/* Drops a counted reference, or a floating one when no other is left. */
static inline int tlc_foreign_release(uintptr_t p, uint8_t* kind) { return tlc_drop(p, TLC_DROP_RELEASE, 0, kind); }

/* The same for a scope's entry: TLC_STALE when it meant an earlier block at p. */
static inline int tlc_foreign_release_entry(uintptr_t p, uint32_t gen, uint8_t* kind)
{
	return tlc_drop(p, TLC_DROP_ENTRY, gen, kind);
}

/* Unregister: the reference of a scope's entry floats. The block is handed back when no other is held. */
static inline int tlc_foreign_float(uintptr_t p, uint32_t gen) { return tlc_drop(p, TLC_DROP_FLOAT, gen, NULL); }

/* Like release, but what comes to TLC_ZERO stays, dead and uncovered, until it is forgotten or adopted again. */
static inline int tlc_foreign_decref(uintptr_t p) { return tlc_drop(p, TLC_DROP_DECREF, 0, NULL); }

/* Removes an entry of which no counted reference is left: TLC_GONE, else TLC_REFUSED. */
static inline int tlc_foreign_forget(uintptr_t p, uint8_t* kind) { return tlc_drop(p, TLC_DROP_FORGET, 0, kind); }

/* ---- the common block -----------------------------------------------------------------
 *
 * A new block of malloc's comes; it goes with its only reference.
 * false: it is anything else, nothing changed, and the operations above do it.
 */

enum { TLC_PROBES = 8 };

/* Finds the unit of a place, or NULL, without the lock at version v. false: ask again under it. */
static inline bool tlc_peek_unit(tl_shard* s, uint32_t v, tlc_place at, tl_unit** u)
{
	const tl_region* table = tlc_table(s);
	uint64_t n = tlc_capacity(s), k = 0;
	atomic_thread_fence(memory_order_acquire);
	if (TLC_UNLIKELY((v & 1) || atomic_load_explicit(&s->lock, memory_order_relaxed) != v)) return false;
	uint64_t i = tlc_home(at.region, n);
	for (int probe = 0; (k = tlc_get(&table[i].key)) != at.region && k != 0; probe++) {
		if (probe == TLC_PROBES) return false;
		if (++i == n) i = 0;
	}
	uint64_t present = tlc_get(&table[i].present), list = tlc_get(&table[i].list);
	atomic_thread_fence(memory_order_acquire);
	if (TLC_UNLIKELY(atomic_load_explicit(&s->lock, memory_order_relaxed) != v)) return false;
	*u = k != 0 && (present >> at.unit & 1) ? tlc_units(list) + tlc_rank(present, at.unit) : NULL;
	if (*u != NULL && tlc_vacant(*u)) *u = NULL;
	return true;
}

/* p is a multiple of 16. What was seen before the block is measured, which no lock should
 * wait for, holds under the lock if that is taken at the same version.
 * Budget: one compare-and-swap, about 110 instructions. */
static inline bool tlc_foreign_adopt_new(uintptr_t p, uint32_t* gen, uint64_t* size)
{
	tl_shard* s = &tlc_shards[tlc_shard_of(p)];
	tlc_place at = tlc_place_of(TL_UNIT_LEVEL_0, p >> 4);
	tl_unit* u;
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_acquire);
	if (TLC_UNLIKELY(!tlc_peek_unit(s, v, at, &u))) return false;
	if (TLC_UNLIKELY(tlc_units_up(0) != 0) && tlc_covered_above(p)) return false;
	if (TLC_UNLIKELY(u != NULL && ((tlc_get(&u->covers) | tlc_get(&u->starts)) & tlc_bit(at.bit)))) return false;
	size_t usable = malloc_usable_size((void*)p);
	*size = usable;
	if (TLC_UNLIKELY(usable - 1 >= TL_FOREIGN_BYTES)) return false;
	if (TLC_UNLIKELY(tlc_wide(p, usable))) return tlc_enter_wide(p, usable, TLC_FOREIGN_AS_ADOPTED, gen) == TLC_OK;
	if (TLC_UNLIKELY(!tlc_shard_lock_at(s, v))) return false;
	if (u == NULL) u = tlc_open_unit(s, tlc_cell(s, at.region), at);
	tl_foreign_entry* e = u != NULL ? tlc_insert_new(s, u, at.bit, tlc_last(p, usable) & 63) : NULL;
	if (TLC_LIKELY(e != NULL)) *gen = tlc_fill(s, e, usable, TLC_FOREIGN_AS_ADOPTED);
	tlc_shard_unlock(s);
	return e != NULL;
}

/* Is this reference of that generation all there is of a block that free() takes? */
static inline bool tlc_is_sole(const tl_foreign_entry* e, uint32_t gen)
{
	return e->gen == gen && e->count == 1 && tlc_floats(e) == 0 && e->link == 0 &&
	       e->block >> TL_FOREIGN_KIND_SHIFT == (TL_FOREIGN_MALLOC | TL_FOREIGN_ADOPTED >> TL_FOREIGN_KIND_SHIFT);
}

/* Takes the granules and the entry of a block. false: as tlc_uncover. */
static inline __attribute__((always_inline)) bool tlc_end(tlc_spot x, uintptr_t p, uint64_t bytes)
{
	if (TLC_UNLIKELY(!tlc_uncover(&x, p, bytes))) return false;
	x.shard->entries--;
	x.shard->bytes -= bytes;
	tlc_erase(x.shard, x.unit, x.at.bit);
	if (TLC_UNLIKELY(tlc_vacant(x.unit))) tlc_close_unit(x.shard, x.cell);
	return true;
}

/* Ends a block of one owner with its only reference; the caller frees it by kind. What
 * floats was handed back, or is somebody's to take: not this. */
static inline bool tlc_foreign_end_owned(uintptr_t p, uint32_t* kind)
{
	tlc_spot x = tlc_lock_entry(p);
	if (TLC_UNLIKELY(x.entry == NULL)) return false;
	uint64_t bytes = tlc_bytes(x.entry);
	bool ends = x.entry->count == 1 && tlc_floats(x.entry) == 0 && x.entry->link == 0 && bytes != 0;
	if (TLC_LIKELY(ends)) {
		*kind = tlc_kind(x.entry);
		ends = tlc_end(x, p, bytes);
	}
	tlc_shard_unlock(x.shard);
	return ends;
}

/* Ends a block of that kind which is held at zero; the caller frees it. It owns no granules. */
static inline bool tlc_foreign_end_zero(uintptr_t p, uint32_t kind)
{
	tlc_spot x = tlc_lock_entry(p);
	if (TLC_UNLIKELY(x.entry == NULL)) return false;
	bool ends = x.entry->count == 0 && tlc_kind(x.entry) == kind && x.entry->link == 0;
	if (TLC_LIKELY(ends)) {
		x.shard->entries--;
		x.shard->zeros--;
		tlc_erase(x.shard, x.unit, x.at.bit);
		if (tlc_vacant(x.unit)) tlc_close_unit(x.shard, x.cell);
	}
	tlc_shard_unlock(x.shard);
	return ends;
}

/* Ends a block with the reference of a scope's entry; the caller frees it. p was registered.
 * Budget: one compare-and-swap, about 110 instructions. */
static inline bool tlc_foreign_end(uintptr_t p, uint32_t gen)
{
	tlc_spot x = tlc_lock_entry(p);
	if (TLC_UNLIKELY(x.entry == NULL)) return false;
	uint64_t bytes = tlc_bytes(x.entry);
	bool ends = tlc_is_sole(x.entry, gen) && tlc_end(x, p, bytes);
	tlc_shard_unlock(x.shard);
	return ends;
}

#endif
