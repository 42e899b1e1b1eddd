/* Memory pools: exact best fit, written down as a list of all blocks by address, and every
 * question answered by looking at each of them. What a pool obtains and gives back is told
 * by its allocator, whose addresses have no memory behind them: a pool touches none. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model.h"

enum { POOLS = 3, MOST_BLOCKS = 400, MOST_CHUNKS = 64, MOST_MOVES = 64, SPARE = 256 };
enum { MOST_LOOKS = 10000 }; /* a millisecond apart */

static const size_t most_bytes = ((size_t)1 << 47) - 1;

typedef struct part {
	uintptr_t at, bytes, chunk;
	bool live;
} part;

/* The allocator obtained (or gave back) a chunk. */
typedef struct move {
	uintptr_t at, bytes;
	bool back;
} move;

typedef struct pool {
	tl_memory_pool* handle; /* NULL: there is none */
	tl_memory_pool* last;   /* the handle of one that was destroyed */
	size_t granule, growth, limit;
	uintptr_t next; /* address of its next chunk */
	bool refuses;   /* its allocator has no more */
	part parts[MOST_BLOCKS];
	size_t len;
	pthread_mutex_t lock; /* guards moves: memory is sought on any thread */
	move moves[MOST_MOVES];
	size_t moves_len;
	uint64_t allocated, freed, allocations, frees, chunks;
} pool;

typedef struct state {
	pool of[POOLS];
} state;

static state states[2];

/* ---- the allocator -------------------------------------------------------------------------------- */

static void moved(pool* p, uintptr_t at, size_t bytes, bool back)
{
	pthread_mutex_lock(&p->lock);
	if (p->moves_len == MOST_MOVES) abort();
	p->moves[p->moves_len++] = (move){at, bytes, back};
	pthread_mutex_unlock(&p->lock);
}

static void* obtain(void* ctx, size_t bytes)
{
	pool* p = ctx;
	uintptr_t at = p->next;
	if (p->refuses) return NULL;
	p->next += (bytes + p->granule - 1) / p->granule * p->granule + p->granule * 16;
	moved(p, at, bytes, false);
	return (void*)at;
}

static void give_back(void* ctx, void* at, size_t bytes) { moved(ctx, (uintptr_t)at, bytes, true); }

/* ---- the list of parts ---------------------------------------------------------------------------------- */

static void insert(world* w, pool* p, size_t i, part new)
{
	want_true(w, p->len < MOST_BLOCKS, "room in the model");
	memmove(p->parts + i + 1, p->parts + i, (p->len - i) * sizeof *p->parts);
	p->parts[i] = new;
	p->len++;
}

static void erase(pool* p, size_t i)
{
	memmove(p->parts + i, p->parts + i + 1, (p->len - i - 1) * sizeof *p->parts);
	p->len--;
}

static void join(pool* p)
{
	for (size_t i = 0; i + 1 < p->len;) {
		part *a = &p->parts[i], *b = a + 1;
		if (a->live || b->live || a->chunk != b->chunk) {
			i++;
			continue;
		}
		a->bytes += b->bytes;
		erase(p, i + 1);
	}
}

static uintptr_t reserved(const pool* p)
{
	uintptr_t n = 0;
	for (size_t i = 0; i < p->len; i++) n += p->parts[i].bytes;
	return n;
}

/* The smallest free part of at least n bytes, the lowest of several; -1: none. */
static int64_t best(const pool* p, uintptr_t n)
{
	int64_t found = -1;
	for (size_t i = 0; i < p->len; i++)
		if (!p->parts[i].live && p->parts[i].bytes >= n && (found < 0 || p->parts[i].bytes < p->parts[found].bytes))
			found = (int64_t)i;
	return found;
}

/* Takes in what the allocator has told: only whole chunks go back, and none that is in use. */
static void follow(world* w, pool* p)
{
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; k < p->moves_len; k++) {
		const move* m = &p->moves[k];
		size_t i = 0;
		if (!m->back) {
			while (i < p->len && p->parts[i].at < m->at) i++;
			insert(w, p, i, (part){m->at, m->bytes, m->at, false});
			p->chunks++;
			continue;
		}
		while (i < p->len && p->parts[i].at != m->at) i++;
		if (i == p->len || p->parts[i].live || p->parts[i].bytes != m->bytes || p->parts[i].chunk != m->at)
			fail(w, "a chunk at %#zx of %zu bytes went back that is not idle", (size_t)m->at, (size_t)m->bytes);
		erase(p, i);
	}
	p->moves_len = 0;
	pthread_mutex_unlock(&p->lock);
}

/* ---- pools ---------------------------------------------------------------------------------------------------- */

static pool* draw_pool(world* w) { return &states[w->number].of[draw(w, POOLS)]; }

/* A handle that is none: a number, one of a pool that has ended, or an address. */
static tl_memory_pool* no_pool(world* w)
{
	static const uintptr_t numbers[] = {1, 7, 0x1000, (uintptr_t)-1, (uintptr_t)1 << 40};
	tl_memory_pool* last = draw_pool(w)->last;
	return last != NULL && chance(w, 60) ? last : (tl_memory_pool*)ONE_OF(w, numbers);
}

static void create(world* w)
{
	static const size_t sizes[] = {4096, 100000, 1 << 20, 1 << 16};
	pool* p = draw_pool(w);
	size_t bytes = ONE_OF(w, sizes);
	tl_memory_pool* got = NULL;
	tl_device_allocator a = {sizeof a, "the model's", (size_t)64 << draw(w, 3), p, obtain, give_back};
	bool odd = chance(w, 5);
	if (p->handle != NULL) return;
	if (p->next == 0) {
		pthread_mutex_init(&p->lock, NULL);
		p->next = ((uintptr_t)0x60 + (uintptr_t)w->number) << 40 | (uintptr_t)(p - states[w->number].of) << 38;
	}
	p->granule = a.alignment;
	p->next = (p->next + p->granule - 1) & ~(uintptr_t)(p->granule - 1);
	p->growth = (bytes + p->granule - 1) / p->granule * p->granule;
	p->limit = 0;
	p->refuses = false;
	p->len = 0;
	p->allocated = p->freed = p->allocations = p->frees = p->chunks = 0;
	if (odd) a.alignment = 96;
	note(w, "tl_memory_pool_create(%zu)", bytes);
	if (want_memory(w, tl_memory_pool_create(&a, bytes, &got), odd ? BAD_SIZE : GOOD) == TL_OK) {
		p->handle = got;
		follow(w, p);
		want_int(w, (int64_t)p->chunks, 1, "chunks"); /* which the other thread may have had returned already */
	} else {
		follow(w, p);
		want_int(w, (int64_t)p->len, 0, "chunks");
	}
}

static const size_t sizes[] = {64, 1, 256, 1000, 4096, 10000, 65, 320, 100000, 512, 0};

/* Whether the model may run into its own bounds. */
static bool is_full(const pool* p) { return p->len > MOST_BLOCKS - 8; }

/* What has to be obtained for n bytes when no part fits: as much as always, or twice the
 * request; refused that, the request alone. */
static bool right_size(const pool* p, uintptr_t bytes, uintptr_t n)
{
	uintptr_t most = p->growth > 2 * n ? p->growth : 2 * n;
	return bytes == most || bytes == n;
}

/* The other thread may have had what fitted returned: what is idle, at a limit of all. */
static bool may_be_trimmed(void) { return !model.turns && model.may_be_short != 0; }

/* A chunk that the other thread's request takes leaves the pool first; the allocator is told of it a
 * moment later. Looks until pool and model agree, and returns the pool's figures. */
static tl_memory_pool_stats settle(world* w, pool* p)
{
	tl_memory_pool_stats now = {.struct_size = sizeof now};
	note(w, "tl_memory_pool_stats_get()");
	for (int looks = 0;; looks++) {
		if (p->handle != NULL) want(w, tl_memory_pool_stats_get(p->handle, &now), GOOD);
		follow(w, p);
		if (now.reserved == reserved(p) || !may_be_trimmed() || looks == MOST_LOOKS) return now;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

/* Threads that have met at the pool's lock keep blocks: the other one need only have asked for figures of all pools.
 * tl_memory_pool_stats_get recalls them, and only then is the best fit known. */
static void settle_if_kept(world* w, pool* p)
{
	if (model.turns) follow(w, p);
	else settle(w, p);
}

static void check_obtained(world* w, pool* p, uintptr_t n, bool fitted)
{
	fitted = fitted && !may_be_trimmed();
	pthread_mutex_lock(&p->lock);
	for (size_t k = 0; k < p->moves_len; k++)
		if (!p->moves[k].back && (fitted || !right_size(p, p->moves[k].bytes, n)))
			fail(w, "a chunk of %zu bytes was obtained for %zu", (size_t)p->moves[k].bytes, (size_t)n);
	pthread_mutex_unlock(&p->lock);
}

static void take_part(world* w, pool* p, uintptr_t n, uintptr_t at)
{
	int64_t i = best(p, n);
	want_true(w, i >= 0, "a part that fits");
	part* b = &p->parts[i];
	want_pointer(w, (void*)at, (void*)b->at, "the best fit");
	b->live = true;
	if (b->bytes - n > SPARE) {
		part rest = {b->at + n, b->bytes - n, b->chunk, false};
		b->bytes = n;
		insert(w, p, (size_t)i + 1, rest);
	}
	p->allocations++;
	p->allocated += p->parts[i].bytes;
}

static void allocate(world* w)
{
	pool* p = draw_pool(w);
	size_t bytes = ONE_OF(w, sizes);
	uintptr_t n = (bytes + p->granule - 1) & ~(uintptr_t)(p->granule - 1);
	bool async = chance(w, 20), huge = chance(w, 2), fitted;
	unsigned set = huge ? S(TL_E_OVERFLOW) : GOOD;
	if (p->handle == NULL || is_full(p)) return;
	if (huge) bytes = most_bytes + 1 + (size_t)draw(w, 1000);
	settle_if_kept(w, p);
	fitted = best(p, n) >= 0;
	if (!huge && bytes > 0 && !fitted && p->refuses) set = S(TL_E_OUT_OF_MEMORY);
	if (!huge && bytes > 0 && !fitted && p->limit != 0) set |= S(TL_E_LIMIT);
	note(w, "tl_memory_pool_allocate%s(%zu)", async ? "_async" : "", bytes);
	void* at =
		async ? tl_memory_pool_allocate_async(p->handle, bytes, NULL) : tl_memory_pool_allocate(p->handle, bytes);
	if (want_memory_last(w, set) != TL_OK || bytes == 0) {
		want_pointer(w, at, NULL, "the result");
		follow(w, p);
		return;
	}
	check_obtained(w, p, n, fitted);
	settle_if_kept(w, p);
	take_part(w, p, n, (uintptr_t)at);
	want_true(w, p->limit == 0 || fitted || reserved(p) <= p->limit, "no more than the limit");
}

static void* draw_block(world* w, pool* p, part** of)
{
	*of = NULL;
	for (int tries = 0; tries < 6 && p->len > 0; tries++) {
		part* b = &p->parts[draw(w, p->len)];
		if (b->live) {
			*of = b;
			return (void*)b->at;
		}
	}
	return NULL;
}

static void deallocate(world* w)
{
	pool* p = draw_pool(w);
	part* b;
	bool async = chance(w, 20), wrong = chance(w, 10);
	if (p->handle == NULL) return;
	follow(w, p);
	char* at = draw_block(w, p, &b);
	if (wrong) {
		operand o = draw_operand(w, COUNTED);
		at = b != NULL && chance(w, 50) ? at + 1 + draw(w, b->bytes - 1) : o.at;
		b = NULL;
	}
	note(w, "tl_memory_pool_deallocate%s(%p)", async ? "_async" : "", (void*)at);
	if (want(w, async ? tl_memory_pool_deallocate_async(p->handle, at, NULL) : tl_memory_pool_deallocate(p->handle, at),
	         at == NULL || b != NULL ? GOOD : S(TL_E_UNKNOWN_POINTER)) != TL_OK ||
	    b == NULL)
		return;
	b->live = false;
	p->frees++;
	p->freed += b->bytes;
	join(p);
}

static void no_such_pool(world* w)
{
	tl_memory_pool* none = no_pool(w);
	tl_memory_pool_stats stats = {.struct_size = sizeof stats};
	note(w, "no such pool: %p", (void*)none);
	switch (draw(w, 6)) {
	case 0:
		want_pointer(w, tl_memory_pool_allocate(none, 64), NULL, "the result");
		want_last(w, BAD_SIZE);
		break;
	case 1: want(w, tl_memory_pool_deallocate(none, (void*)64), BAD_SIZE); break;
	case 2: want(w, tl_memory_pool_reset(none), BAD_SIZE); break;
	case 3: want(w, tl_memory_pool_destroy(none), BAD_SIZE); break;
	case 4: want(w, tl_memory_pool_stats_get(none, &stats), BAD_SIZE); break;
	default: want(w, tl_memory_pool_trim(none), BAD_SIZE);
	}
}

static void compare(world* w, pool* p)
{
	uint64_t largest = 0, parts = 0;
	if (p->handle == NULL) return;
	const tl_memory_pool_stats now = settle(w, p);
	for (size_t i = 0; i < p->len; i++)
		if (!p->parts[i].live) {
			parts++;
			largest = p->parts[i].bytes > largest ? p->parts[i].bytes : largest;
		}
	want_int(w, (int64_t)now.total_allocated, (int64_t)p->allocated, "total_allocated");
	want_int(w, (int64_t)now.total_freed, (int64_t)p->freed, "total_freed");
	want_int(w, (int64_t)now.current_usage, (int64_t)(p->allocated - p->freed), "current_usage");
	want_int(w, (int64_t)now.num_allocations, (int64_t)p->allocations, "num_allocations");
	want_int(w, (int64_t)now.num_deallocations, (int64_t)p->frees, "num_deallocations");
	want_int(w, (int64_t)now.num_device_allocations, (int64_t)p->chunks, "num_device_allocations");
	want_int(w, (int64_t)now.reserved, (int64_t)reserved(p), "reserved");
	want_int(w, (int64_t)now.largest_free_block, (int64_t)largest, "largest_free_block");
	want_int(w, (int64_t)now.num_free_blocks, (int64_t)parts, "num_free_blocks");
	want_int(w, (int64_t)now.waiting_bytes, 0, "waiting_bytes");
}

static void ask(world* w) { compare(w, draw_pool(w)); }

static void free_all(pool* p)
{
	for (size_t i = 0; i < p->len; i++) p->parts[i].live = false;
	join(p);
	p->freed = p->allocated;
	p->frees = p->allocations;
}

static void reset(world* w)
{
	pool* p = draw_pool(w);
	if (p->handle == NULL || !chance(w, 30)) return;
	follow(w, p);
	note(w, "tl_memory_pool_reset()");
	want(w, tl_memory_pool_reset(p->handle), GOOD);
	free_all(p);
}

static bool is_idle(const pool* p, uintptr_t chunk)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->parts[i].chunk == chunk && p->parts[i].live) return false;
	return true;
}

static void trim(world* w)
{
	pool* p = draw_pool(w);
	if (p->handle == NULL) return;
	note(w, "tl_memory_pool_trim()");
	want(w, tl_memory_pool_trim(p->handle), GOOD);
	settle_if_kept(w, p);
	for (size_t i = 0; i < p->len; i++) want_true(w, !is_idle(p, p->parts[i].chunk), "no idle chunk is left");
}

static void set_limit(world* w)
{
	pool* p = draw_pool(w);
	if (p->handle == NULL || !chance(w, 40)) return;
	follow(w, p);
	p->limit = chance(w, 50) ? 0 : reserved(p) + draw(w, 200000);
	note(w, "tl_memory_pool_set_limit(%zu)", p->limit);
	want(w, tl_memory_pool_set_limit(p->handle, p->limit), GOOD);
	follow(w, p);
}

static void refuse(world* w) { draw_pool(w)->refuses = chance(w, 30); }

static bool has_live(const pool* p)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->parts[i].live) return true;
	return false;
}

static void destroy_pool(world* w, pool* p)
{
	if (p->handle == NULL) return;
	follow(w, p);
	unsigned set = has_live(p) ? S(TL_E_BUSY) : GOOD;
	note(w, "tl_memory_pool_destroy()");
	if (want(w, tl_memory_pool_destroy(p->handle), set) != TL_OK) return;
	p->last = p->handle;
	p->handle = NULL;
	settle_if_kept(w, p);
	want_int(w, (int64_t)p->len, 0, "chunks that are left");
}

static void destroy(world* w)
{
	if (chance(w, 30)) destroy_pool(w, draw_pool(w));
}

uint64_t pool_blocks(void)
{
	uint64_t n = 0;
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < POOLS; i++) n += states[k].of[i].allocations - states[k].of[i].frees;
	return n;
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {create,     allocate,   allocate,   allocate,   allocate,    allocate,
	                                        deallocate, deallocate, deallocate, deallocate, ask,         reset,
	                                        trim,       set_limit,  refuse,     destroy,    no_such_pool};
	ONE_OF(w, steps)(w);
}

static void check(world* w)
{
	for (int i = 0; i < POOLS; i++) compare(w, &states[w->number].of[i]);
}

static void finish(world* w)
{
	for (int i = 0; i < POOLS; i++) {
		pool* p = &states[w->number].of[i];
		if (p->handle == NULL) continue;
		note(w, "tl_memory_pool_reset(), the end");
		want(w, tl_memory_pool_reset(p->handle), GOOD);
		free_all(p);
		destroy_pool(w, p);
	}
}

const family pools_family = {"pools", 10, step, check, finish};
