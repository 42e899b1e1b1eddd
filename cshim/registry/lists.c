/* The lists of units and entries of a shard, and its buckets: what takes memory of the shard and
 * gives it back, under its lock. The memory is the shard's chunk and its free lists; Go obtains it. */
#include "operations.h"

/* ---- lists of entries, under the lock --------------------------------------------- */

/* Room for 2 << class entries, or NULL. */
static tl_foreign_entry* list_new(tl_shard* s, unsigned class)
{
	uintptr_t list = s->lists[class], bytes = sizeof(tl_foreign_entry) << (class + 1);
	if (list != 0) {
		s->lists[class] = ((tl_foreign_entry*)list)->block;
	} else if (s->chunk_end - s->chunk >= bytes) {
		list = s->chunk;
		s->chunk += bytes;
	}
	return (tl_foreign_entry*)list;
}

static void list_free(tl_shard* s, tl_foreign_entry* list, unsigned class)
{
	list->block = s->lists[class];
	s->lists[class] = (uintptr_t)list;
}

static unsigned class_of(uint32_t room) { return (unsigned)__builtin_ctz(room) - 1; }

/* Moves the entries of a unit that has some to a list, or from there to one with twice the room.
 * false, nothing changed: no memory. */
bool tlc_lengthen(tl_shard* s, tl_unit* u)
{
	bool listed = tlc_listed(u);
	tl_foreign_entry* list = listed ? tlc_list(u) : &u->only;
	uint32_t room = listed ? u->only.count : 1;
	tl_foreign_entry* more = list_new(s, class_of(2 * room));
	if (more == NULL) return false;
	memcpy(more, list, room * sizeof *list);
	if (listed) list_free(s, list, class_of(room));
	u->only = (tl_foreign_entry){.count = 2 * room, .block = (uintptr_t)more};
	return true;
}

void tlc_free_list(tl_shard* s, const tl_unit* u) { list_free(s, tlc_list(u), class_of(u->only.count)); }

/* ---- lists of units, under the lock ------------------------------------------------ */

static tl_unit* units_new(tl_shard* s, unsigned class)
{
	uintptr_t list = s->unit_lists[class], bytes = sizeof(tl_unit) * tl_region_rooms[class];
	if (list != 0) {
		s->unit_lists[class] = ((tl_unit*)list)->only.block;
	} else if (s->chunk_end - s->chunk >= bytes) {
		list = s->chunk;
		s->chunk += bytes;
	}
	return (tl_unit*)list;
}

static void units_free(tl_shard* s, uint64_t list)
{
	unsigned class = list >> TL_REGION_ROOM_SHIFT;
	tlc_units(list)->only.block = s->unit_lists[class];
	s->unit_lists[class] = (uintptr_t)tlc_units(list);
}

static inline void unit_move(tl_unit* to, const tl_unit* from)
{
	tlc_put(&to->starts, tlc_get(&from->starts));
	tlc_put(&to->covers, tlc_get(&from->covers));
	to->only = from->only;
}

/* Moves the n units of a bucket to the next longer list. false, nothing changed: no memory. */
static bool units_grow(tl_shard* s, tl_region* r, unsigned n)
{
	uint64_t list = tlc_get(&r->list);
	unsigned class = list == 0 ? 0 : (unsigned)(list >> TL_REGION_ROOM_SHIFT) + 1;
	tl_unit* more = units_new(s, class);
	if (more == NULL) return false;
	for (unsigned i = 0; i < n; i++) unit_move(&more[i], &tlc_units(list)[i]);
	uint64_t vacant = tlc_vacant_units(list) * TL_REGION_VACANT;
	if (list != 0) units_free(s, list);
	tlc_put(&r->list, (uint64_t)class << TL_REGION_ROOM_SHIFT | vacant | (uintptr_t)more);
	return true;
}

/* Takes the vacant units out of a list. */
static void units_compact(tl_region* r)
{
	uint64_t list = tlc_get(&r->list), present = tlc_get(&r->present);
	tl_unit *from = tlc_units(list), *to = from;
	for (uint64_t rest = present; rest != 0; rest &= rest - 1, from++) {
		if (tlc_vacant(from)) present ^= rest & -rest;
		else if (to++ != from) unit_move(to - 1, from);
	}
	tlc_put(&r->present, present);
	tlc_put(&r->list, list & ~(255 * TL_REGION_VACANT));
}

/* Makes room in a list that is full of n units. Until most of them are vacant, a longer list costs
 * less than moving units about each time. A short list may be vacant as a whole: blocks that come and go in turn find
 * their units again, for at most 640 bytes of a region. */
static bool units_room(tl_shard* s, tl_region* r, unsigned n)
{
	enum { SHORT = 16 };
	unsigned vacant = tlc_vacant_units(tlc_get(&r->list));
	if ((n < SHORT || vacant <= n / 2) && units_grow(s, r, n)) return true;
	if (vacant == 0) return false;
	units_compact(r);
	return true;
}

/* Counts a bucket that came (1) or went (-1), above level 0. */
static void count_bucket(uint64_t key, int change)
{
	tl_registry* r = (tl_registry*)tlc_shards - 1;
	const uint64_t level = key >> TL_UNIT_LEVEL_SHIFT;
	if (level <= TL_UNIT_LEVEL_0) return;
	atomic_fetch_add_explicit(&r->buckets[level - TL_UNIT_LEVEL_0], (uint32_t)change, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->buckets[0], (uint32_t)change, memory_order_relaxed);
}

/* Gives an empty bucket to a region. The caller has seen to it that used < limit, and uses something of the region at once. */
void tlc_add_bucket(tl_shard* s, tl_region* r, uint64_t key)
{
	tlc_put(&r->key, key);
	s->used++;
	count_bucket(key, 1);
}

/* tlc_open_unit of a unit that is not in the list. */
tl_unit* tlc_add_unit(tl_shard* s, tl_region* r, tlc_granule at)
{
	bool fresh = tlc_get(&r->key) == 0;
	if (fresh && s->used >= s->limit) return NULL;
	uint64_t present = tlc_get(&r->present), list = tlc_get(&r->list);
	unsigned n = tlc_ones(present);
	if (list == 0 || n == tl_region_rooms[list >> TL_REGION_ROOM_SHIFT]) {
		if (!units_room(s, r, n)) return NULL;
		present = tlc_get(&r->present);
		n = tlc_ones(present);
	}
	tl_unit* units = tlc_units(tlc_get(&r->list));
	unsigned rank = tlc_rank(present, at.unit);
	for (unsigned i = n; i > rank; i--) unit_move(&units[i], &units[i - 1]);
	tlc_put(&units[rank].starts, 0);
	tlc_put(&units[rank].covers, 0);
	tlc_put(&r->present, present | tlc_bit(at.unit));
	if (fresh) tlc_add_bucket(s, r, at.region);
	else if (s->idle == at.region) s->idle = 0;
	s->units++;
	return &units[rank];
}

static void bucket_move(tl_region* to, const tl_region* from)
{
	tlc_put(&to->present, tlc_get(&from->present));
	tlc_put(&to->whole, tlc_get(&from->whole));
	tlc_put(&to->list, tlc_get(&from->list));
	tlc_put(&to->key, tlc_get(&from->key));
}

/* Empties a bucket and moves those back that were searched past it: a mark in its place would be
 * passed over by every later search. */
static void bucket_remove(tl_shard* s, tl_region* hole)
{
	tl_region* table = tlc_table(s);
	uint64_t n = tlc_capacity(s), h = (uint64_t)(hole - table), i = h;
	for (;;) {
		if (++i == n) i = 0;
		uint64_t k = tlc_get(&table[i].key);
		if (k == 0) break;
		uint64_t home = tlc_home(k, n);
		uint64_t probed = i >= home ? i - home : i + n - home;
		uint64_t gap = i >= h ? i - h : i + n - h;
		if (probed < gap) continue; /* its search begins behind the hole */
		bucket_move(&table[h], &table[i]);
		h = i;
	}
	static const tl_region empty;
	bucket_move(&table[h], &empty);
	s->used--;
}

/* Removes the bucket that tlc_keep_idle has kept. The caller sets s->idle anew. */
void tlc_drop_idle(tl_shard* s)
{
	tl_region* r = tlc_bucket(s, s->idle);
	if (tlc_get(&r->list) != 0) units_free(s, tlc_get(&r->list));
	count_bucket(s->idle, -1);
	bucket_remove(s, r);
}

/* ---- memory that Go has obtained -------------------------------------------------- */

uintptr_t tlc_registry_rehash(tl_shard* s, uintptr_t table, uint32_t capacity, uint32_t limit, uint32_t* buckets)
{
	tlc_shard_lock(s);
	const tl_region* from = tlc_table(s);
	const uint32_t n = tlc_capacity(s);
	const bool larger = capacity > n;
	if (larger) {
		atomic_store_explicit(&s->table, table, memory_order_relaxed);
		atomic_store_explicit(&s->capacity, capacity, memory_order_relaxed);
		s->limit = limit;
		/* Homes have the same order in both, so that one pass in order fills the new table. */
		for (uint32_t i = 0; i < n; i++)
			if (tlc_get(&from[i].key) != 0) bucket_move(tlc_bucket(s, tlc_get(&from[i].key)), &from[i]);
	}
	tlc_shard_unlock(s);
	*buckets = larger ? n : capacity;
	return larger ? (uintptr_t)from : table;
}

void tlc_registry_give_chunk(tl_shard* s, uintptr_t at, uint64_t bytes)
{
	tlc_shard_lock(s);
	for (unsigned class = TL_ENTRY_LISTS; class --> 0;) {
		const uintptr_t list = sizeof(tl_foreign_entry) << (class + 1);
		for (; s->chunk_end - s->chunk >= list; s->chunk += list) list_free(s, (tl_foreign_entry*)s->chunk, class);
	}
	s->chunk = at;
	s->chunk_end = at + bytes;
	s->chunk_bytes += bytes;
	tlc_shard_unlock(s);
}
