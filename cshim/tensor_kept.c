/* Tensors that a thread keeps for itself, in places of the pool that are lent to it: the parts that
 * take the lock of a shard. Those that take none stand in tensor.h, tensor.c and tensor_pool.c. */
#include "tensor.h"

_Static_assert(sizeof(tl_tensor_cell[TL_TENSOR_CELLS]) == TL_TENSOR_CELLS_BYTES, "a context has room for its cells");
_Static_assert((TL_TENSOR_CELLS - 1) >> 6 == 0, "tlc_tensor_cell_home makes numbers of six bits");

/* ---- places ---------------------------------------------------------------------------- */

/* Whether a thread may have another place of a key. A quarter of the tensors of a key, and half of a
 * shard's bytes, stay in the hands of all. */
static inline bool may_lend(const tl_tensor_pool_shard* s, const tl_tensor_pool_key* key)
{
	return key->lent < UINT8_MAX && 4u * (key->lent + 1u) <= 3 * s->limit &&
	       2 * (s->lent_bytes + key->bytes) <= s->share;
}

/* The cell of a key, else an empty one of its set, else NULL. */
static inline tl_tensor_cell* cell_for(const tl_context* c, uint64_t elements, uint32_t dtype)
{
	const size_t home = tlc_tensor_cell_home(elements, dtype);
	const uint64_t kind = tlc_tensor_kind(dtype, 0);
	tl_tensor_cell* empty = NULL;
	for (size_t i = TL_TENSOR_CELL_SET; i-- > 0;) {
		tl_tensor_cell* k = tlc_tensor_cell(c, home ^ i);
		if (tlc_tensor_is_cell_of(k, elements, kind)) return k;
		if (k->room == 0) empty = k;
	}
	return empty;
}

/* Gives a place that was just got to an empty cell. */
static void open_cell(tl_tensor_cell* k, uint64_t elements, uint32_t dtype, uint64_t bytes, tl_entry e)
{
	const uint64_t nbytes = elements * tlc_dtype_bytes[dtype];
	*k = (tl_tensor_cell){
		.numel = elements,
		.nbytes = nbytes,
		.kind = tlc_tensor_kind(dtype, 1),
		.bytes = bytes,
		.asked = TLC_TENSOR_HEADER + TLC_ALIGNED64(nbytes),
		.class = e.gen & 0xFF,
		.used = 1,
		.shape = {(int64_t)elements},
		.strides = {1},
	};
}

/* Gives the places of a cell back, and its tensors to the pool; false: the thread was asked for them, nothing changed.
 * Limits may have fallen then, and Go looks what still fits. Whoever asks does so before it takes the lock. */
static bool close_cell(tl_context* c, tl_tensor_cell* k)
{
	uint32_t kind = TL_TENSOR_POOL_KIND((uint8_t)k->kind, 0);
	uint64_t hash = tlc_tensor_pool_hash(k->numel, kind);
	tl_tensor_pool_shard* s = tlc_tensor_pool_shard(hash);
	tl_tensor_pool_key* home = tlc_tensor_pool_home(s, hash);
	tlc_lock(&s->lock);
	if (TLC_UNLIKELY(tlc_tensors_are_recalled(c))) {
		tlc_unlock(&s->lock);
		return false;
	}
	tl_tensor_pool_key* key = tlc_tensor_pool_find(s, home, k->numel, kind);
	for (uint64_t i = 0; i < k->count; i++) ((tl_entry*)key->stack)[key->count++] = k->entries[i];
	key->lent -= (uint8_t)k->room;
	s->lent_bytes -= k->room * k->bytes;
	s->puts += k->count;
	s->grant += (k->room - k->count) * k->bytes;
	tlc_unlock(&s->lock);
	c->kept_puts -= k->count;
	c->tensors_gone += k->count;
	c->kept_put_bytes -= k->count * k->bytes;
	c->places -= (uint16_t)k->room;
	*k = (tl_tensor_cell){0};
	return true;
}

void tlc_tensor_hand_over(tl_context* c)
{
	for (size_t i = 0; i < TL_TENSOR_CELLS && c->places != 0; i++)
		if (tlc_tensor_cell(c, i)->room != 0 && !close_cell(c, tlc_tensor_cell(c, i))) return;
}

/* After a hit that found no cell: closes one of the set that had none for a while. More often would
 * cost programs with very many shapes more than cells gain them. */
static __attribute__((noinline)) void make_room(tl_context* c, uint64_t elements, uint32_t dtype)
{
	enum { HITS = 16 };
	if (++c->cell_turn % HITS != 0) return;
	size_t home = tlc_tensor_cell_home(elements, dtype);
	tl_tensor_cell* k = tlc_tensor_cell(c, home ^ (c->cell_turn / HITS % TL_TENSOR_CELL_SET));
	if (k->used == 0) close_cell(c, k);
	else k->used = 0;
}

/* ---- taking ---------------------------------------------------------------------------- */

/* Takes the newest tensor of a key out of the pool; k, unless it is NULL, gets its place.
 * Budget: one lock, one probe, 11 loads, 6 stores. */
static tl_entry take(tl_context* c, tl_tensor_cell* k, uint64_t elements, uint32_t dtype)
{
	const uint32_t kind = TL_TENSOR_POOL_KIND(dtype, 0);
	uint64_t hash = tlc_tensor_pool_hash(elements, kind), bytes = 0;
	tl_tensor_pool_shard* s = tlc_tensor_pool_shard(hash);
	tl_tensor_pool_key* home = tlc_tensor_pool_home(s, hash);
	tl_entry e = {0, 0, 0};
	bool lent = false;
	if (TLC_UNLIKELY(home == NULL)) return e;
	tlc_lock(&s->lock);
	tl_tensor_pool_key* key = tlc_tensor_pool_find(s, home, elements, kind);
	if (TLC_LIKELY(key->count != 0)) {
		e = ((const tl_entry*)key->stack)[--key->count];
		if (TLC_UNLIKELY(key->referenced == 0)) key->referenced = 1;
		bytes = key->bytes;
		s->hits++;
		s->hit_bytes += bytes;
		lent = k != NULL && may_lend(s, key) && !tlc_tensors_are_recalled(c);
		if (lent) {
			key->lent++;
			s->lent_bytes += bytes;
		} else {
			s->grant += bytes;
		}
	}
	tlc_unlock(&s->lock);
	if (lent) {
		if (k->room == 0) open_cell(k, elements, dtype, bytes, e);
		k->room++;
		c->places++;
	}
	return e;
}

tl_entry tlc_tensor_take(tl_context* c, uint64_t elements, uint32_t dtype, tl_tensor_cell** cell)
{
	tl_tensor_cell* k = cell_for(c, elements, dtype);
	tl_entry e;
	if (k != NULL && k->count != 0) {
		e = tlc_tensor_cell_pop(c, k);
		c->tensors_made--; /* the caller counts it, too */
	} else {
		e = take(c, k != NULL && k->room < TL_TENSOR_CELL_ROOM ? k : NULL, elements, dtype);
		if (k == NULL && e.object != 0) make_room(c, elements, dtype);
	}
	*cell = k != NULL && k->room != 0 ? k : NULL;
	return e;
}
