/* What is done with foreign pointers. table.h has the table.
 *
 * Every function takes any address and answers TLC_MISS for one that is not in the table. None
 * calls back, allocates or enters Go. TLC_SLOW says that the table needs memory, or that somebody has to
 * wait: Go sees to it, and does the operation again. Threads: any.
 *
 * There is one function that registers any block (tlc_enter) and one that drops any reference
 * (tlc_drop). The common case, a new block inside its unit that goes with its only reference,
 * is inlined where the public function is: tlc_enter_new and tlc_end.
 *
 * Budget of the common case: one compare-and-swap each (half of the time), three
 * multiplications to find the bucket, the bucket's cache line and the entry's.
 */
#pragma once

#include "blocks.h"

#pragma GCC visibility push(hidden)

/* Results, which registry.Result has from here. All but OK, GONE and ZERO: nothing changed. */
enum tlc_foreign_result {
	TLC_OK = 0,
	TLC_MISS = 1,       /* never registered, or gone */
	TLC_SLOW = 2,       /* memory is needed, or the block is being read */
	TLC_GONE = 3,       /* that was the last reference: the entry is gone, the caller frees by kind */
	TLC_STALE = 4,      /* not the generation meant, or held at zero */
	TLC_REFUSED = 5,    /* inside a registered block, no address of a block, or still held */
	TLC_OVERFLOW = 6,   /* 15 references float already */
	TLC_RETURNED = 7,   /* known, but back with the host: measure it and adopt it again */
	TLC_ZERO = 8,       /* count is 0; the entry stays until the block is freed or registered again */
	TLC_NO_MEMORY = 9,  /* from Go alone, which obtains memory */
	TLC_PRESENT = 10,   /* a live entry is there */
	TLC_OUTSIDE = 11,   /* not inside the shared block that it should be an alias of */
	TLC_NO_SHARED = 12, /* no live shared block has this number */
};

enum { TLC_AGAIN = -1 };  /* another thread was in the way: nothing changed, the shard is unlocked, look again */
enum { TLC_NO_KIND = 0 }; /* of a block: tlc_end did not end it */

/* ---- out of line ------------------------------------------------------------------------ */

/* Registers [p, p+bytes), with `as` for its kind and flags. An owner is NULL where the block gets no record. *was is the
 * dead entry that it replaces; NULL: nobody asks. */
int tlc_enter(uintptr_t p, uint64_t bytes, uint64_t as, const tlc_owner* own, uint32_t* gen, tl_foreign_entry* was);
tl_region* tlc_uncover_wide(tl_shard* s, tl_region* bucket, tl_unit* u, uintptr_t p, uint64_t bytes);
bool tlc_covered_at_regions(uintptr_t p); /* registry.c */

/* Registers new memory that nobody holds: at zero, where a block owns nothing. So what others own behind p is looked at
 * when somebody registers it. p is a multiple of 16. Both paths call it. operations.c */
int tlc_registry_insert_at_zero(uintptr_t p, uint64_t bytes, uint32_t kind);
int64_t tlc_foreign_count(uintptr_t p); /* -1 = unknown; 0 = held at zero; sticky counts are 2^32 - 1 */
bool tlc_foreign_known(uintptr_t p);    /* registered and held by somebody; at multiples of 16 it takes no lock */
uint32_t tlc_foreign_type(uintptr_t p); /* 0 = none, or nobody holds it */
bool tlc_foreign_covered(uintptr_t p);  /* the granule of p is a registered block's; takes no lock */
bool tlc_foreign_starts(uintptr_t p);   /* an entry is there, whatever became of its block; takes no lock */
bool tlc_foreign_seen(uintptr_t p);     /* one of both */
void tlc_foreign_lock_all(void);        /* before fork */
void tlc_foreign_unlock_all(void);      /* after it, in the parent and in the child */

/* Is p inside a block that owns the whole region of p? The bucket of the region does not tell. Takes no lock. */
static inline bool tlc_covered_above(uintptr_t p)
{
	return TLC_UNLIKELY(tlc_buckets_up(0) != 0) && tlc_covered_at_regions(p);
}

/* ---- searching under the lock ----------------------------------------------------------- */

/* What a search for the start of a block found. The shard is locked. */
typedef struct tlc_lookup {
	tl_shard* shard;
	tl_region* bucket;
	tl_unit* listed;         /* NULL: not in the list */
	tl_unit* unit;           /* NULL: not in use */
	tl_foreign_entry* entry; /* NULL: nothing starts there */
	tlc_granule at;
} tlc_lookup;

/* Searches for a granule in a shard that is locked. */
static inline __attribute__((always_inline)) tlc_lookup tlc_look_up(tl_shard* s, tlc_granule at)
{
	tlc_lookup x = {.shard = s, .bucket = tlc_bucket(s, at.region), .at = at};
	x.unit = x.listed = tlc_listed_unit(x.bucket, at);
	if (x.unit != NULL && tlc_has(&x.unit->starts, at.bit)) {
		x.entry = tlc_entry(x.unit, at.bit);
		if (x.entry == NULL) __builtin_unreachable();
	} else {
		x.unit = tlc_in_use(x.unit);
	}
	return x;
}

/* Does a block own the granule, or its unit as a whole? */
static inline bool tlc_is_owned(tlc_lookup x)
{
	return tlc_is_whole(x.bucket, x.at) || (x.unit != NULL && tlc_has(&x.unit->covers, x.at.bit));
}

/* Makes an entry where none was found. NULL, nothing changed: no memory is at hand; a unit that is opened here needs none
 * for its first entry. Units may move. */
static inline __attribute__((always_inline)) tl_foreign_entry* tlc_make_entry(tlc_lookup* x)
{
	if (x->unit == NULL) x->unit = tlc_open_unit(x->shard, x->bucket, x->listed, x->at);
	return TLC_LIKELY(x->unit != NULL) ? tlc_insert(x->shard, x->unit, x->at.bit) : NULL;
}

/* Locks the shard of p and searches for its entry. Without an entry the shard is unlocked again. */
static inline __attribute__((always_inline)) tlc_lookup tlc_lock_entry(uintptr_t p)
{
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	const tlc_lookup x = tlc_look_up(s, tlc_start(p));
	if (TLC_UNLIKELY(x.entry == NULL)) tlc_shard_unlock(s);
	return x;
}

/* ---- searching without the lock -------------------------------------------------------- */

/* What is seen of a granule without the lock. `bucket` and `unit` are what tlc_bucket and the list
 * of the bucket would give under it; the unit may be vacant. */
typedef struct tlc_glimpse {
	tl_region* bucket; /* NULL: a writer was in the way, or the search took too long */
	tl_unit* unit;     /* NULL: not in the list */
} tlc_glimpse;

/* Searches for a granule without the lock, at version v and with so many probes. Whatever is
 * read is void unless the version is still v: table and capacity are compared before either is
 * used, and so is what the bucket says of its list. None of that memory is ever unmapped. */
static inline __attribute__((always_inline)) tlc_glimpse tlc_peek(const tl_shard* s, uint32_t v, tlc_granule at,
                                                                  uint64_t probes)
{
	const tlc_glimpse nothing = {NULL, NULL};
	tl_region* table = tlc_table(s);
	uint64_t n = tlc_capacity(s), k;
	atomic_thread_fence(memory_order_acquire);
	if (TLC_UNLIKELY((v & 1) || atomic_load_explicit(&s->lock, memory_order_relaxed) != v)) return nothing;
	tl_region* r = table + tlc_home(at.region, n);
	while ((k = tlc_get(&r->key)) != at.region && k != 0) {
		if (TLC_UNLIKELY(probes-- == 0)) return nothing;
		if (++r == table + n) r = table;
	}
	uint64_t present = tlc_get(&r->present), list = tlc_get(&r->list);
	atomic_thread_fence(memory_order_acquire);
	if (TLC_UNLIKELY(atomic_load_explicit(&s->lock, memory_order_relaxed) != v)) return nothing;
	if (r == NULL) __builtin_unreachable();
	if (k == 0 || !(present >> at.unit & 1)) return (tlc_glimpse){r, NULL};
	tl_unit* u = tlc_units(list) + tlc_rank(present, at.unit);
	if (u == NULL) __builtin_unreachable();
	return (tlc_glimpse){r, u};
}

/* ---- registering a block ------------------------------------------------------------ */

/* Registers a new block inside its unit, in a locked shard, which is unlocked. Without an owner the block gets no record.
 * false, nothing changed: an entry or granules are there, or no memory or record is at hand. */
static inline __attribute__((always_inline)) bool tlc_enter_new(tlc_lookup x, uintptr_t p, uint64_t bytes, uint64_t as,
                                                                const tlc_owner* own, uint32_t* gen)
{
	uint64_t bits = tlc_range(x.at.bit, tlc_last(p, bytes) & 63);
	bool able = x.entry == NULL && !tlc_is_whole(x.bucket, x.at) && tlc_has_record_for(x.shard, own);
	if (x.unit != NULL && (tlc_get(&x.unit->covers) & bits) != 0) able = false;
	tl_foreign_entry* e = TLC_LIKELY(able) ? tlc_make_entry(&x) : NULL;
	if (TLC_LIKELY(e != NULL)) {
		tlc_set(&x.unit->covers, bits);
		*gen = tlc_fill(x.shard, e, bytes, as);
		tlc_set_owner(x.shard, e, p, own);
	}
	tlc_shard_unlock(x.shard);
	return e != NULL;
}

/* Registers a block of another owner than a scope: count 1, held by the owner. false: this is
 * not a new block that touches no other, and the slow path says what it is.
 * Budget: one compare-and-swap, about 90 instructions, and 20 for a record. */
static inline __attribute__((always_inline)) bool tlc_insert_new(uintptr_t p, uint64_t bytes, uint64_t as,
                                                                 const tlc_owner* own, uint32_t* gen,
                                                                 tl_foreign_entry* was)
{
	if (TLC_UNLIKELY((p & 15) || !tlc_possible(p) || bytes - 1 >= TL_FOREIGN_BYTES)) return false;
	if (TLC_UNLIKELY(!tlc_inside(p, bytes))) return tlc_enter(p, bytes, as, own, gen, was) == TLC_OK;
	if (tlc_covered_above(p)) return false;
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	return tlc_enter_new(tlc_look_up(s, tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4)), p, bytes, as, own, gen);
}

/* Where a block would be registered, as it was seen without the lock at version v. */
typedef struct tlc_opening {
	tlc_lookup x;
	uint32_t v;
} tlc_opening;

/* Looks whether a new block may begin at p, a multiple of 16, before it is measured: that must not read the inside of
 * a registered block. false: it may not, or writers were in the way. */
static inline __attribute__((always_inline)) bool tlc_find_opening(uintptr_t p, tlc_opening* place)
{
	enum { PROBES = 8 };
	tl_shard* s = tlc_shard_at(p);
	tlc_granule at = tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4);
	uint32_t v = atomic_load_explicit(&s->lock, memory_order_acquire);
	tlc_glimpse seen = tlc_peek(s, v, at, PROBES);
	if (TLC_UNLIKELY(seen.bucket == NULL)) return false;
	if (tlc_is_whole(seen.bucket, at) || tlc_covered_above(p)) return false;
	tl_unit* u = tlc_in_use(seen.unit);
	*place = (tlc_opening){{.shard = s, .bucket = seen.bucket, .listed = seen.unit, .unit = u, .at = at}, v};
	if (TLC_UNLIKELY(u != NULL && ((tlc_get(&u->covers) | tlc_get(&u->starts)) & tlc_bit(at.bit)))) return false;
	atomic_thread_fence(memory_order_acquire);
	return TLC_LIKELY(atomic_load_explicit(&s->lock, memory_order_relaxed) == v); /* or what was read means nothing */
}

/* Registers a new block at its place. The lock comes after the measuring, which may take long, and is taken at the
 * version of the search, so that what was found still holds. Without an owner the block gets no record. false: the
 * block is not new, or memory is needed. */
static inline __attribute__((always_inline)) bool tlc_enter_at(const tlc_opening* place, uintptr_t p, uint64_t bytes,
                                                               uint64_t as, const tlc_owner* own, uint32_t* gen)
{
	if (TLC_UNLIKELY(!tlc_inside(p, bytes))) return tlc_enter(p, bytes, as, own, gen, NULL) == TLC_OK;
	if (TLC_UNLIKELY(!tlc_shard_lock_at(place->x.shard, place->v))) return false;
	return tlc_enter_new(place->x, p, bytes, as, own, gen);
}

/* ---- taking references ------------------------------------------------------------ */

/* Counts one more reference of a live entry, or of one whose references float. */
static inline void tlc_count_one(tl_foreign_entry* e)
{
	if (TLC_UNLIKELY(e->count == TL_FOREIGN_STICKY)) return;
	e->count++;
	tlc_count_at_alias(e, 1);
}

/* A reference for the caller's scope: a floating one if there is one, else a new one. */
static inline __attribute__((always_inline)) int tlc_register(uintptr_t p, tlc_caller who, uint32_t* gen)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	int result = tlc_is_revivable(x.entry) ? TLC_RETURNED : TLC_STALE;
	if (TLC_LIKELY(tlc_is_live(x.entry))) {
		tlc_touch(x.entry, who);
		if (tlc_floats(x.entry) != 0) x.entry->type_floats -= TL_FOREIGN_FLOAT;
		else tlc_count_one(x.entry);
		*gen = x.entry->gen;
		result = TLC_OK;
	}
	tlc_shard_unlock(x.shard);
	return result;
}

static inline __attribute__((always_inline)) int tlc_acquire(uintptr_t p, tlc_caller who)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	int result = x.entry->count != 0 ? TLC_OK : TLC_STALE;
	if (TLC_LIKELY(x.entry->count - 1 < TL_FOREIGN_STICKY - 1)) {
		tlc_touch(x.entry, who);
		x.entry->count++;
		tlc_count_at_alias(x.entry, 1);
	}
	tlc_shard_unlock(x.shard);
	return result;
}

/* Registers a block of malloc's for a scope: count 1, not floating. A block that was handed
 * back or is held at zero comes back to life. One that another thread has registered in the
 * meantime gets one more reference; TLC_MISS when that is gone again, and two threads use one block without a
 * reference. */
static inline __attribute__((always_inline)) int tlc_adopt(uintptr_t p, size_t usable, tlc_caller who, uint32_t* gen)
{
	if (TLC_UNLIKELY(!tlc_possible(p) || usable - 1 >= TL_FOREIGN_BYTES)) return TLC_REFUSED;
	int result = tlc_enter(p, usable, TLC_FOREIGN_AS_ADOPTED, NULL, gen, NULL);
	return TLC_UNLIKELY(result == TLC_PRESENT) ? tlc_register(p, who, gen) : result;
}

/* ---- dropping references ------------------------------------------------------------ */

enum tlc_drop {
	TLC_DROP_RELEASE,
	TLC_DROP_ENTRY,
	TLC_DROP_FLOAT,
	TLC_DROP_DECREF,
	TLC_DROP_ALIGNED,
	TLC_DROP_FORGET,
	TLC_DROP_END, /* all references of that generation; Go alone */
};

/* What a drop does to an entry. */
typedef struct tlc_effect {
	int result;
	uint32_t count, floats;
	bool hand_back;
} tlc_effect;

/* Tells what `drop` would do, and changes nothing. gen 0 stands for any. */
static inline tlc_effect tlc_effect_of(const tl_foreign_entry* e, int drop, uint32_t gen)
{
	tlc_effect f = {TLC_OK, e->count, tlc_floats(e), false};
	bool held = f.count > f.floats;
	if (gen != 0 && TLC_UNLIKELY(e->gen != gen)) f.result = TLC_STALE;
	else if (drop == TLC_DROP_ALIGNED)
		f.result = f.count == 0 && tlc_kind(e) == TL_FOREIGN_ALIGNED && e->link == 0 ? TLC_GONE : TLC_REFUSED;
	else if (drop == TLC_DROP_FORGET) f.result = held ? TLC_REFUSED : TLC_GONE;
	else if (TLC_UNLIKELY(f.count == 0)) f.result = TLC_STALE;
	else if (drop == TLC_DROP_END) f.result = TLC_GONE;
	else if (TLC_UNLIKELY(f.count == TL_FOREIGN_STICKY)) return f;
	else if (drop == TLC_DROP_FLOAT && held && f.floats == TL_MAX_FLOATS) f.result = TLC_OVERFLOW;
	else if (drop == TLC_DROP_FLOAT) f.floats += held;
	else if (--f.count == 0) f.result = drop == TLC_DROP_DECREF ? TLC_ZERO : TLC_GONE;
	if (f.floats > f.count) f.floats = f.count; /* counted references go before floats */
	f.hand_back = f.result == TLC_OK && f.count == f.floats && (e->block & TL_FOREIGN_ADOPTED);
	return f;
}

/* Takes the granules of a block from it. Its entry stays, and so does the unit of the entry;
 * the bucket may move. false, nothing changed: another thread had a lock that the block needs.
 * The shard is unlocked, and that thread is done. */
static inline __attribute__((always_inline)) bool tlc_uncover(tlc_lookup* x, uintptr_t p, uint64_t bytes)
{
	if (TLC_LIKELY(tlc_inside(p, bytes))) {
		tlc_clear(&x->unit->covers, tlc_range(x->at.bit, tlc_last(p, bytes) & 63));
		return true;
	}
	tl_region* bucket = tlc_uncover_wide(x->shard, x->bucket, x->unit, p, bytes);
	if (TLC_LIKELY(bucket != NULL)) x->bucket = bucket;
	return bucket != NULL;
}

/* Erases an entry whose block the shard counts no more. */
static inline __attribute__((always_inline)) void tlc_erase_entry(tlc_lookup x)
{
	x.shard->entries--;
	tlc_erase(x.shard, x.unit, x.at.bit);
	if (TLC_UNLIKELY(tlc_close_unit(x.shard, x.bucket, x.unit))) tlc_keep_idle(x.shard, x.bucket);
}

/* Takes a block off the counts of its shard and its granules from it: it is gone, at zero, or
 * back with the host. false: tlc_uncover said so. */
static inline __attribute__((always_inline)) bool tlc_leave(tlc_lookup* x, tlc_effect f, uintptr_t p)
{
	tl_shard* s = x->shard;
	tl_foreign_entry* e = x->entry;
	bool back = (e->block & TL_FOREIGN_HANDED_BACK) != 0;
	if (tlc_is_live(e)) {
		uint64_t bytes = tlc_bytes(e);
		if (bytes != 0 && TLC_UNLIKELY(!tlc_uncover(x, p, bytes))) return false;
		s->bytes -= bytes;
	}
	s->handed_back += (uint32_t)f.hand_back - (uint32_t)back;
	if (f.hand_back != back) e->block ^= TL_FOREIGN_HANDED_BACK;
	return true;
}

/* Drops a reference at an entry that was found, as tlc_effect_of has told; `drop` is a constant after inlining. The
 * shard is unlocked. With TLC_GONE *ended is what the caller frees. */
static inline __attribute__((always_inline)) int tlc_drop_at(tlc_lookup x, uintptr_t p, int drop, tlc_effect f,
                                                             tlc_caller who, tlc_ended* ended)
{
	tl_foreign_entry* e = x.entry;
	bool ends = f.result == TLC_GONE || f.result == TLC_ZERO;
	if (TLC_UNLIKELY(e->link != 0)) {
		if (drop == TLC_DROP_FORGET || (drop == TLC_DROP_DECREF && ends)) f.result = TLC_SLOW;
		if (f.result == TLC_SLOW) {
			tlc_shard_unlock(x.shard);
			return TLC_SLOW;
		}
		if (f.result != TLC_STALE) tlc_touch(e, who); /* else the caller means an earlier block */
		if (f.result == TLC_GONE) return who.end(x.shard, x.bucket, x.unit, e, p, ended);
		if (f.result == TLC_OK || ends) tlc_count_at_alias(e, (uint64_t)f.count - e->count);
	}
	bool leaves = (ends && e->link == 0) || f.hand_back; /* at zero too, a block keeps what a deleter frees */
	if (leaves && TLC_UNLIKELY(!tlc_leave(&x, f, p))) return TLC_AGAIN;
	if (f.result == TLC_GONE) {
		*ended = (tlc_ended){.pointer = p, .kind = tlc_kind(e)};
		x.shard->zeros -= e->count == 0;
		tlc_erase_entry(x);
	} else if (f.result == TLC_OK || ends) {
		x.shard->zeros += ends;
		e->count = f.count;
		e->type_floats = (e->type_floats & (TL_FOREIGN_FLOAT - 1)) | f.floats * TL_FOREIGN_FLOAT;
	}
	tlc_shard_unlock(x.shard);
	return f.result;
}

/* The same at an address. A scope's entry is TLC_STALE also where nothing is: the scope need not
 * know why. */
static inline __attribute__((always_inline)) int tlc_drop(uintptr_t p, int drop, uint32_t gen, tlc_caller who,
                                                          tlc_ended* ended)
{
	for (;;) {
		tlc_lookup x = tlc_lock_entry(p);
		if (x.entry == NULL) return drop == TLC_DROP_ENTRY ? TLC_STALE : TLC_MISS;
		int result = tlc_drop_at(x, p, drop, tlc_effect_of(x.entry, drop, gen), who, ended);
		if (TLC_LIKELY(result != TLC_AGAIN)) return result;
	}
}

/* Ends a block with its only reference, which was found, and returns its kind; the caller frees
 * the block, and the shard is unlocked. TLC_NO_KIND, nothing changed: another reference is left,
 * or the only one floats, or the entry has a record; then the shard is locked still. Or another
 * thread was in the way: x->entry is NULL then. gen 0 stands for any generation, and `only` 0 for
 * any kind. */
static inline __attribute__((always_inline)) uint32_t tlc_end_at(tlc_lookup* x, uintptr_t p, uint32_t gen,
                                                                 uint32_t only)
{
	const tl_foreign_entry* e = x->entry;
	uint64_t bytes = tlc_bytes(e);
	uint32_t kind = tlc_kind(e);
	bool sole = e->count == 1 && tlc_floats(e) == 0 && e->link == 0 && bytes != 0;
	if (TLC_UNLIKELY(!sole || (gen != 0 && e->gen != gen) || (only != 0 && kind != only))) return TLC_NO_KIND;
	if (TLC_UNLIKELY(!tlc_uncover(x, p, bytes))) {
		x->entry = NULL;
		return TLC_NO_KIND;
	}
	x->shard->bytes -= bytes;
	tlc_erase_entry(*x);
	tlc_shard_unlock(x->shard);
	return kind;
}

/* The same at an address, which ends unlocked in any case.
 * Budget: one compare-and-swap, about 110 instructions. */
static inline uint32_t tlc_end(uintptr_t p, uint32_t gen, uint32_t only)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (TLC_UNLIKELY(x.entry == NULL)) return TLC_NO_KIND;
	uint32_t kind = tlc_end_at(&x, p, gen, only);
	if (TLC_UNLIKELY(kind == TLC_NO_KIND) && x.entry != NULL) tlc_shard_unlock(x.shard);
	return kind;
}

/* The exit of a scope: the generation of its entry, and a block that free() takes. */
static inline bool tlc_foreign_end(uintptr_t p, uint32_t gen)
{
	return tlc_end(p, gen, TL_FOREIGN_MALLOC) != TLC_NO_KIND;
}

#pragma GCC visibility pop
