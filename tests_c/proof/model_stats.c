/* What the library counts, beside what the model knows. */
#include <string.h>

#include "model.h"

typedef struct sums {
	uint64_t live[KINDS], handed_back, zeros, blocks, buffers;
	uint64_t bytes, bytes_at_zero; /* of blocks that the registry has */
	uint64_t held, stale;          /* entries that hold something, and such as may be taken out yet */
} sums;

static void add_world(sums* s, const world* w)
{
	for (size_t i = 0; i < w->items_len; i++) {
		const item* it = w->items[i];
		s->live[counted_as(it)]++;
		if (it->kind != FOREIGN) continue;
		s->handed_back += it->returned && it->life == LIVE;
		s->zeros += it->life == ZERO;
		if (it->block->names[0] != it) continue;
		s->buffers += it->block->buffer != 0;
		if (it->life == ZERO && it->block->buffer == 0) s->bytes_at_zero += it->block->measured;
		else if (!it->returned) s->bytes += it->block->measured;
	}
	for (size_t i = 0; i < w->entries_len; i++)
		if (w->entries[i] != NULL) *(w->entries[i]->life == LIVE ? &s->held : &s->stale) += 1;
}

/* What ended on a thread that does not own it may be live until the owner has looked. */
static void between(world* w, uint64_t got, uint64_t least, uint64_t more, const char* what)
{
	if (got < least || got > least + more)
		fail(w, "%s is %" PRIu64 ", must be %" PRIu64 " to %" PRIu64, what, got, least, least + more);
}

void check_stats(world* w)
{
	tl_stats now;
	sums s;
	memset(&now, 0, sizeof now);
	memset(&s, 0, sizeof s);
	now.struct_size = sizeof now;
	add_world(&s, &model.worlds[0]);
	add_world(&s, &model.worlds[1]);
	s.bytes += commons_live(FOREIGN) * COMMON_BYTES;
	for (int k = 0; k < KINDS; k++) s.live[k] += commons_live(k) + posted(k) + (uint64_t)model.hidden[k];
	note(w, "tl_stats_get()");
	want(w, tl_stats_get(&now), GOOD);
	between(w, now.plain_live, s.live[PLAIN], model.pending, "plain_live");
	between(w, now.typed_live, s.live[TYPED], model.pending, "typed_live");
	between(w, now.tensors_live, s.live[TENSOR], 0, "tensors_live");
	between(w, now.sparse_live, s.live[SPARSE], 0, "sparse_live");
	between(w, now.vecs_live, s.live[VEC], model.pending, "vecs_live");
	between(w, now.foreign_live, s.live[FOREIGN] - s.handed_back - s.zeros, s.zeros, "foreign_live");
	if (posted(FOREIGN) == 0) between(w, now.foreign_bytes, s.bytes, s.bytes_at_zero, "foreign_bytes");
	between(w, now.registry_buffers, s.buffers, 0, "registry_buffers");
	between(w, now.pool_blocks_live, pool_blocks(), 0, "pool_blocks_live");
	between(w, now.scope_entries, s.held, s.stale, "scope_entries");
}
