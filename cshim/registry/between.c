/* Addresses between two granules. A malloc that aligns small blocks to 8 has two of them in one granule, and the first
 * owns it: bits do not tell whether the other address is inside the first block. The sizes of the entries do. */
#include "operations.h"

/* How many regions are searched downwards for the start of a block. The granule in which a longer block ends counts
 * as its own as a whole. */
enum { FARTHEST = 256 };

static bool is_covered(const tl_foreign_entry* e) { return tlc_bytes(e) != 0 && tlc_is_occupied(e); }

/* The last address in [low, p) at which something starts, low when there is none, for the granules of one level, of
 * 1 << shift bytes. */
static uintptr_t last_of(const tl_shard* s, int level, unsigned shift, uintptr_t low, uintptr_t p)
{
	const uint64_t first = low >> shift;
	for (uint64_t end = (p + (1ull << shift) - 1) >> shift; end > first;) {
		const tlc_granule at = tlc_granule_of(level, end - 1);
		const tl_region* bucket = tlc_bucket(s, at.region);
		if (tlc_get(&bucket->key) == 0) {
			end = (end - 1) & ~((1ull << TL_REGION_GRANULES_SHIFT) - 1);
			continue;
		}
		const tl_unit* u = tlc_listed_unit(bucket, at);
		const uint64_t starts = u != NULL ? tlc_get(&u->starts) & tlc_range(0, at.bit) : 0;
		end -= at.bit + 1;
		if (starts == 0) continue;
		const uintptr_t last = (end + 63 - (unsigned)__builtin_clzll(starts)) << shift;
		return last > low ? last : low;
	}
	return low;
}

/* The end of the last block that starts in [low, p) and owns memory, 0 when there is none; low begins a region, and p
 * is in it or where it ends. */
static uintptr_t last_end(uintptr_t low, uintptr_t p)
{
	tl_shard* s = tlc_shard_at(low);
	uintptr_t end = 0;
	tlc_shard_lock(s);
	while (p > low && end == 0) {
		const uintptr_t from = last_of(s, TL_UNIT_LEVEL_0, 4, low, p);
		p = last_of(s, TL_UNIT_FINE, 0, from, p);
		const tl_foreign_entry* e = tlc_look_up(s, tlc_start(p)).entry;
		if (e == NULL) break;
		if (is_covered(e)) {
			end = p + tlc_bytes(e);
		} else if (tlc_is_alias(e)) {
			const tl_block_record* b = tlc_record_of(e->link);
			end = atomic_load_explicit(&b->real, memory_order_relaxed) +
			      (atomic_load_explicit(&b->block, memory_order_relaxed) & TL_FOREIGN_BYTES);
		}
	}
	tlc_shard_unlock(s);
	return end;
}

static bool starts_at(uintptr_t p)
{
	tlc_lookup x = tlc_lock_entry(p);
	if (x.entry == NULL) return false;
	const bool starts = is_covered(x.entry) || tlc_is_alias(x.entry);
	tlc_shard_unlock(x.shard);
	return starts;
}

bool tlc_inside_between(uintptr_t p)
{
	const int up = tlc_level_at(p);
	if (up < 0) return false;
	const uintptr_t last =
		(p | ((16ull << (6 * up)) - 1)) & ~15ull; /* of the granules that the owner is known to have */
	const uintptr_t region = (uintptr_t)1 << TL_REGION_SHIFT;
	uintptr_t low = p & -region, below = p;
	for (int turn = 0; turn < FARTHEST && below > 0; turn++) {
		const uintptr_t end = last_end(low, below);
		if (end != 0) return end <= last || end > p; /* what ends below is not the owner, which has no entry here */
		below = low;
		low = (low - 1) & -region;
	}
	return true;
}

bool tlc_registry_covered(uintptr_t p)
{
	if ((p & 15) == 0 || !tlc_possible(p)) return tlc_foreign_covered(p);
	return starts_at(p) || tlc_inside_between(p);
}
