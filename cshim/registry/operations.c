/* The operations as Go calls them, and one that both paths call: nothing is noted of the calling thread, and what a
 * function of the program frees waits. */
#include "operations.h"

static void note_nothing(const tl_foreign_entry* e) { (void)e; }

/* Blocks with a record end in end_linked. */
static int end_nothing(tl_shard* s, tl_region* bucket, tl_unit* u, tl_foreign_entry* e, uintptr_t p, tlc_ended* ended)
{
	(void)bucket, (void)u, (void)e, (void)p, (void)ended;
	tlc_shard_unlock(s);
	return TLC_SLOW;
}

static const tlc_caller go = {note_nothing, end_nothing};

static bool yes(void) { return true; }
static bool later(uint32_t type)
{
	(void)type;
	return false;
}

static bool at_once(uint32_t type)
{
	(void)type;
	return true;
}

/* What a block at zero refers to is its holder's. */
static const tlc_endings waiting = {.wait = yes, .at_once = later};
static const tlc_endings at_zero = {.wait = yes, .at_once = at_once, .from_zero = true};

tl_shard* tlc_registry_lock_entry(uintptr_t p, tl_foreign_entry** entry)
{
	if (!tlc_possible(p)) return NULL;
	tlc_lookup x = tlc_lock_entry(p);
	*entry = x.entry;
	return x.entry != NULL ? x.shard : NULL;
}

/* ---- registering, and taking references --------------------------------------------------- */

int tlc_registry_register(uintptr_t p, uint32_t* gen) { return tlc_register(p, go, gen); }

int tlc_registry_acquire(uintptr_t p) { return tlc_acquire(p, go); }

int tlc_registry_immortal(uintptr_t p)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return TLC_MISS;
	const int result = tlc_is_live(x.entry) ? TLC_OK : TLC_STALE;
	if (result == TLC_OK) {
		tlc_count_at_alias(x.entry, (uint64_t)TL_FOREIGN_STICKY - x.entry->count);
		x.entry->count = TL_FOREIGN_STICKY;
	}
	tlc_shard_unlock(x.shard);
	return result;
}

void tlc_registry_touch(uintptr_t p, uint32_t owner, uint32_t gen)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return;
	if (x.entry->link != 0 && tlc_bytes(x.entry) != 0 && (gen == 0 || x.entry->gen == gen))
		tlc_note_owner(x.entry, owner);
	tlc_shard_unlock(x.shard);
}

/* The common cases come first, as on the fast path. */

int tlc_registry_adopt(uintptr_t p, uint64_t bytes, uint32_t* gen)
{
	tlc_opening place;
	if ((p & 15) == 0 && tlc_possible(p) && bytes - 1 < TL_FOREIGN_BYTES && tlc_find_opening(p, &place) &&
	    tlc_enter_at(&place, p, bytes, TLC_FOREIGN_AS_ADOPTED, NULL, gen))
		return TLC_OK;
	return tlc_adopt(p, bytes, go, gen);
}

int tlc_registry_insert(uintptr_t p, uint64_t bytes, uint32_t kind, const tlc_owner* own, uint32_t* gen,
                        tl_foreign_entry* was)
{
	if (!tlc_possible(p) || bytes - 1 >= TL_FOREIGN_BYTES) return TLC_REFUSED;
	const uint64_t as = (uint64_t)kind << TL_FOREIGN_KIND_SHIFT;
	return tlc_insert_new(p, bytes, as, own, gen, was) ? TLC_OK : tlc_enter(p, bytes, as, own, gen, was);
}

int tlc_registry_insert_at_zero(uintptr_t p, uint64_t bytes, uint32_t kind)
{
	if (TLC_UNLIKELY((p & 15) || !tlc_possible(p) || bytes - 1 >= TL_FOREIGN_BYTES)) return TLC_REFUSED;
	int result = tlc_covered_above(p) ? TLC_REFUSED : TLC_OK;
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	tlc_lookup x = tlc_look_up(s, tlc_granule_of(TL_UNIT_LEVEL_0, p >> 4));
	if (TLC_UNLIKELY(tlc_is_owned(x))) result = TLC_REFUSED;
	if (x.entry != NULL && TLC_UNLIKELY(tlc_is_occupied(x.entry))) result = TLC_PRESENT;
	tl_foreign_entry* e = TLC_LIKELY(result == TLC_OK) ? tlc_clear_entry(&x, NULL) : NULL;
	if (TLC_LIKELY(e != NULL)) {
		tlc_fill(s, e, bytes, (uint64_t)kind << TL_FOREIGN_KIND_SHIFT);
		s->bytes -= bytes;
		s->zeros++;
		e->count = 0;
	} else if (result == TLC_OK) {
		result = TLC_SLOW;
	}
	tlc_shard_unlock(s);
	return result;
}

/* ---- dropping references --------------------------------------------------------------------- */

static void note_ended(tlc_dropped* out, uint32_t kind, uint64_t block)
{
	out->ended.kind = kind;
	out->bytes = block & TL_FOREIGN_BYTES;
	out->returned = (block & TL_FOREIGN_HANDED_BACK) != 0;
}

/* Ends a shared block without aliases. */
static void end_shared(uint32_t number, tlc_dropped* out)
{
	const uint64_t block = atomic_load_explicit(&tlc_record_of(number)->block, memory_order_relaxed);
	tlc_end_shared(number, true, &out->ended);
	if (out->ended.pointer != 0) note_ended(out, out->ended.kind, block);
}

/* An entry with a record goes, with all of its references. */
static int end_linked(tlc_lookup x, uintptr_t p, tlc_dropped* out)
{
	tl_foreign_entry* e = x.entry;
	const tl_block_record* b = tlc_record_of(e->link);
	const uint64_t block = e->block;
	if (tlc_is_alias(e)) {
		const uint64_t of_all = atomic_load_explicit(&b->block, memory_order_relaxed);
		tlc_count_at_alias(e, 1 - (uint64_t)e->count);
		x.shard->zeros -= e->count == 0;
		const int result = tlc_end_registered(x, p, waiting, &out->ended);
		if (out->ended.pointer != 0) note_ended(out, out->ended.kind, of_all);
		return result;
	}
	const uint32_t state = atomic_load_explicit(&b->state, memory_order_relaxed);
	if (state == TL_BLOCK_PENDING) { /* waits already */
		tlc_shard_unlock(x.shard);
		return TLC_STALE;
	}
	const uint32_t kind = tlc_kind(e);
	const int result =
		e->count == 0 ? tlc_end_registered(x, p, at_zero, &out->ended) : tlc_end_registered(x, p, waiting, &out->ended);
	if (result != TLC_GONE) return result;
	if (state == TL_BLOCK_TYPED) out->ended.deleter = out->ended.ctx = 0;
	note_ended(out, kind, block);
	return result;
}

/* The last reference at an entry with a record goes, and the entry stays. */
static int keep_linked(tlc_lookup x)
{
	tl_foreign_entry* e = x.entry;
	const tl_block_record* b = tlc_record_of(e->link);
	const bool typed = atomic_load_explicit(&b->state, memory_order_relaxed) == TL_BLOCK_TYPED;
	const bool read = typed && (b->ctx & TL_TYPED_READ) != 0;
	if (!read) {
		tlc_count_at_alias(e, -(uint64_t)e->count);
		x.shard->zeros++;
		e->count = 0;
		e->type_floats &= TL_FOREIGN_FLOAT - 1;
	}
	tlc_shard_unlock(x.shard);
	return read ? TLC_SLOW : TLC_ZERO;
}

int tlc_registry_drop(uintptr_t p, int drop, uint32_t gen, tlc_dropped* out)
{
	for (;;) {
		tlc_lookup x = tlc_lock_entry(p);
		if (x.entry == NULL) return drop == TLC_DROP_ENTRY ? TLC_STALE : TLC_MISS;
		const tl_foreign_entry e = *x.entry;
		const tlc_effect f = tlc_effect_of(&e, drop, gen);
		int result = f.result;
		if (drop == TLC_DROP_RELEASE && tlc_end_at(&x, p, 0, 0) != TLC_NO_KIND) {
			out->ended.pointer = p;
			note_ended(out, tlc_kind(&e), e.block);
			return TLC_GONE;
		}
		if (x.entry == NULL) continue; /* another thread was in the way */
		if (e.link != 0 && result == TLC_GONE) result = end_linked(x, p, out);
		else if (e.link != 0 && result == TLC_ZERO) result = keep_linked(x);
		else if (e.link != 0 && result != TLC_OK) tlc_shard_unlock(x.shard);
		else result = tlc_drop_at(x, p, drop, f, go, &out->ended);
		if (result == TLC_AGAIN) continue;
		if (e.link != 0) return result;
		if (result == TLC_GONE) note_ended(out, tlc_kind(&e), e.block);
		if (result != TLC_OK || !f.hand_back || (e.block & TL_FOREIGN_HANDED_BACK)) return result;
		out->ended.pointer = p;
		note_ended(out, tlc_kind(&e), e.block | TL_FOREIGN_HANDED_BACK);
		return result;
	}
}

/* ---- taking registrations back ---------------------------------------------------------------- */

/* Takes an entry out, or puts back the dead one that it had replaced. Its block owns nothing any more. */
static void put_back(tlc_lookup x, const tl_foreign_entry* was)
{
	if (x.entry->count == 0) x.shard->zeros--;
	else if (!tlc_is_live(x.entry)) x.shard->handed_back--;
	if (was->gen == 0) {
		tlc_erase_entry(x);
		return;
	}
	*x.entry = *was;
	if (was->count == 0) x.shard->zeros++;
	else x.shard->handed_back++;
}

void tlc_registry_retract(uintptr_t p, uint32_t gen, const tl_foreign_entry* was)
{
	for (;;) {
		tlc_lookup x = tlc_lock_entry(p);
		if (x.entry == NULL) return;
		if (x.entry->gen == gen && x.entry->link == 0) {
			const uint64_t bytes = tlc_is_live(x.entry) ? tlc_bytes(x.entry) : 0;
			if (bytes != 0 && !tlc_uncover(&x, p, bytes)) continue;
			x.shard->bytes -= bytes;
			put_back(x, was);
		}
		tlc_shard_unlock(x.shard);
		return;
	}
}

/* ---- shared blocks ------------------------------------------------------------------------------- */

/* Counts one more alias of a live shared block; false: it has ended. */
static bool count_alias(tl_block_record* b, uint64_t id)
{
	uint64_t life = atomic_load_explicit(&b->life, memory_order_relaxed);
	do {
		if (TLC_UNLIKELY(!tlc_is_named(life, id) || tlc_names(life) == TL_BLOCK_MOST_NAMES)) return false;
	} while (
		!atomic_compare_exchange_weak_explicit(&b->life, &life, life + 1, memory_order_acquire, memory_order_relaxed));
	return true;
}

/* One more reference at an alias that is there, which may be at zero since dec_ref. As long as its shard is locked its
 * block lives, if that is the block of the id. */
static int count_another(tl_shard* s, tl_foreign_entry* e, const tl_block_record* b, uint64_t id)
{
	if (!tlc_is_named(atomic_load_explicit(&b->life, memory_order_relaxed), id)) return TLC_NO_SHARED;
	if (TLC_UNLIKELY(e->count == 0)) {
		s->zeros--;
		e->type_floats = 0;
	}
	tlc_count_one(e);
	return TLC_OK;
}

/* The alias is made before it is counted, because it may lack memory, and nobody sees it before the shard is unlocked. */
static int add_alias(tlc_lookup x, tl_block_record* b, uint64_t id, uint64_t as, bool* fresh, tl_foreign_entry* was)
{
	if (x.entry != NULL && x.entry->link == (uint32_t)id && tlc_is_alias(x.entry))
		return count_another(x.shard, x.entry, b, id);
	if (x.entry != NULL && tlc_is_occupied(x.entry)) return TLC_PRESENT;
	tl_foreign_entry dead = {0};
	x.entry = tlc_clear_entry(&x, &dead);
	if (TLC_UNLIKELY(x.entry == NULL)) return TLC_SLOW;
	tlc_fill(x.shard, x.entry, 0, as);
	if (TLC_UNLIKELY(!count_alias(b, id))) {
		put_back(x, &dead);
		return TLC_NO_SHARED;
	}
	x.entry->link = (uint32_t)id;
	*fresh = true;
	if (was != NULL) *was = dead;
	return TLC_OK;
}

int tlc_add_alias(uint64_t id, uintptr_t p, bool* fresh, tl_foreign_entry* was)
{
	tl_block_record* b = tlc_shared_block(id);
	if (TLC_UNLIKELY(b == NULL)) return TLC_NO_SHARED;
	const uint64_t block = atomic_load_explicit(&b->block, memory_order_relaxed);
	/* What was read holds when the generation is still the same later. */
	if (TLC_UNLIKELY(p - atomic_load_explicit(&b->real, memory_order_relaxed) >= (block & TL_FOREIGN_BYTES)))
		return tlc_shared_block(id) != NULL ? TLC_OUTSIDE : TLC_NO_SHARED;
	tl_shard* s = tlc_shard_at(p);
	tlc_shard_lock(s);
	const int result = add_alias(tlc_look_up(s, tlc_start(p)), b, id, block & ~TL_FOREIGN_BYTES, fresh, was);
	tlc_shard_unlock(s);
	return result;
}

/* Takes out the alias that counts for the caller; whoever takes the last one ends the block. */
static bool drop_name(uint32_t number)
{
	return tlc_names(atomic_fetch_sub_explicit(&tlc_record_of(number)->life, 1, memory_order_acq_rel)) == 1;
}

void tlc_registry_owned(uint32_t number, tlc_dropped* out)
{
	if (drop_name(number)) end_shared(number, out);
}

void tlc_registry_abandon(uint32_t number)
{
	atomic_store_explicit(&tlc_record_of(number)->state, TL_BLOCK_ABANDONED, memory_order_relaxed);
}

void tlc_registry_remove_alias(uint32_t number, uintptr_t p, const tl_foreign_entry* was)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return;
	if (x.entry->link == number) {
		tlc_count_at_alias(x.entry, 1 - (uint64_t)x.entry->count);
		put_back(x, was);
		drop_name(number); /* the caller counts as one */
	}
	tlc_shard_unlock(x.shard);
}

/* ---- blocks that wait -------------------------------------------------------------------------------- */

uint32_t tlc_registry_wait(const tlc_dropped* d)
{
	const tlc_owner own = {TL_BLOCK_PENDING, d->ended.deleter, d->ended.ctx};
	tl_shard* s = tlc_shard_at(d->ended.pointer);
	tlc_shard_lock(s);
	const uint32_t number = s->free_record;
	if (number != 0) {
		tl_block_record* b = tlc_take_free(s, &own);
		atomic_store_explicit(&b->real, d->ended.pointer, memory_order_relaxed);
		atomic_store_explicit(&b->block, (uint64_t)d->ended.kind << TL_FOREIGN_KIND_SHIFT | d->bytes,
		                      memory_order_relaxed);
	}
	tlc_shard_unlock(s);
	return number;
}

void tlc_registry_settle(uint32_t number, tlc_dropped* out)
{
	const uint64_t block = atomic_load_explicit(&tlc_record_of(number)->block, memory_order_relaxed);
	tlc_settle_pending(number, &out->ended);
	note_ended(out, out->ended.kind, block);
}
