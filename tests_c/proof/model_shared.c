/* What two threads have to do with one object: it is handed over for good, with its owner
 * still biased or not, or both count it at the same time. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* ---- handing over --------------------------------------------------------------------------- */

enum { IN_TRANSIT = 8 };

static struct {
	pthread_mutex_t lock;
	item* of[IN_TRANSIT];
	size_t len;
} post = {PTHREAD_MUTEX_INITIALIZER, {NULL}, 0};

/* Nothing of it is this thread's any more when it goes: no entry, no container on either side. */
static bool is_alone(const item* it)
{
	if (it->listed > 0 || it->inside > 0 || it->immortal || it->adopted) return false;
	if (it->kind == FOREIGN && (it->block->names_len > 1 || it->block->buffer != 0)) return false;
	for (size_t i = 0; i < it->refs_len; i++)
		if (it->refs[i] != NULL) return false;
	return true;
}

/* Whose destructor registers has to end on the thread whose scope that is. */
static bool needs_sharing(const item* it) { return it->kind == TYPED && types[it->type].destroy == REGISTERS; }

static void hand_over(world* w)
{
	item* it = pick_where(w, COUNTED | K(CELL), is_alone);
	if (it == NULL || post.len == IN_TRANSIT) return;
	if (it->owner == w && !it->shared && (needs_sharing(it) || chance(w, 50))) {
		note(w, "tl_ptr_share(%s), to hand it over", name(it));
		want(w, tl_ptr_share(it->at), GOOD);
		it->shared = it->touched = true;
	}
	if (needs_sharing(it) && !it->shared) return;
	note(w, "%s is handed over", name(it));
	pthread_mutex_lock(&post.lock);
	if (post.len < IN_TRANSIT) {
		item_leave(it);
		post.of[post.len++] = it;
	}
	pthread_mutex_unlock(&post.lock);
}

uint64_t posted(kind kind)
{
	uint64_t n = 0;
	for (size_t i = 0; i < post.len; i++) n += counted_as(post.of[i]) == kind;
	return n;
}

static void take_over(world* w)
{
	item* it = NULL;
	pthread_mutex_lock(&post.lock);
	if (post.len > 0) it = post.of[--post.len];
	pthread_mutex_unlock(&post.lock);
	if (it == NULL) return;
	item_enter(w, it);
	note(w, "%s is taken over", name(it));
	if (it->kind != CELL) want_int(w, tl_ptr_refcount(it->at), it->count, "the count");
	if (it->kind == PLAIN || it->kind == TYPED || it->kind == CELL) verify(w, it);
	if (it->kind == TENSOR) tensor_check(w, it);
}

/* ---- counted by both -------------------------------------------------------------------------- */

enum { COMMONS = 5 };

/* Each world counts its own references by an item of its own, one of which it always has. */
static item commons[COMMONS][2];

static void common_of(int i, kind kind, void* at)
{
	for (int k = 0; k < 2; k++)
		commons[i][k] = (item){
			.id = (uint64_t)i + 1, .kind = kind, .at = at, .count = 1, .shared = true, .touched = true, .buried = 1};
}

static void common_deleted(void* memory, void* ctx)
{
	(void)ctx;
	event_add(DELETED, 0, NULL);
	free(memory);
}

/* Made by the thread that checks: neither world owns one. */
void begin_commons(world* w)
{
	static const int64_t extents[] = {10, 10};
	void* made[COMMONS];
	note(w, "what both threads count");
	made[0] = tl_mem_alloc(64);
	made[1] = tl_mem_alloc(100000);
	want(w, tl_mem_enter_scope(), GOOD);
	made[2] = tl_vec_new(4);
	made[3] = tl_tensor_new_zeroed(TL_DTYPE_F32, 0, 2, extents);
	want(w, tl_mem_unregister(made[2]), GOOD);
	want(w, tl_mem_unregister(made[3]), GOOD);
	want(w, tl_mem_exit_scope(), GOOD);
	made[4] = malloc(COMMON_BYTES);
	want(w, tl_registry_register_custom(made[4], COMMON_BYTES, common_deleted, NULL), GOOD);
	for (int i = 0; i < COMMONS; i++) {
		static const kind kinds[COMMONS] = {PLAIN, PLAIN, VEC, TENSOR, FOREIGN};
		if (i < 4) { /* what floats is given to a holder, before others see it */
			want(w, tl_ptr_inc_ref(made[i]), GOOD);
			want(w, tl_ptr_inc_ref(made[i]), GOOD);
			want(w, tl_mem_enter_scope(), GOOD);
			want(w, tl_mem_register(made[i]), GOOD);
			want(w, tl_mem_exit_scope(), GOOD);
		} else {
			want(w, tl_ptr_inc_ref(made[i]), GOOD);
		}
		want_int(w, tl_ptr_refcount(made[i]), 2, "one reference for each world");
		common_of(i, kinds[i], made[i]);
	}
}

uint64_t commons_live(kind kind)
{
	uint64_t n = 0;
	for (int i = 0; i < COMMONS; i++) n += commons[i][0].kind == kind && commons[i][0].count + commons[i][1].count > 0;
	return n;
}

static item* draw_common(world* w) { return &commons[draw(w, COMMONS)][w->number]; }

static void count_common(world* w)
{
	item* it = draw_common(w);
	const item* other = &commons[it->id - 1][1 - w->number];
	int64_t count;
	switch (draw(w, 5)) {
	case 0:
		note(w, "tl_ptr_acquire(common %" PRIu64 ")", it->id);
		want_pointer(w, tl_ptr_acquire(it->at), it->at, "the result");
		want_last(w, GOOD);
		it->count++;
		break;
	case 1:
		if (it->count == 1 + it->listed) break;
		note(w, "tl_ptr_release(common %" PRIu64 ")", it->id);
		want(w, tl_ptr_release(it->at), GOOD);
		it->count--;
		break;
	case 2:
		note(w, "tl_mem_register_ptr(common %" PRIu64 ")", it->id);
		if (want_memory(w, tl_mem_register_ptr(it->at), GOOD) == TL_OK) {
			it->count++;
			enlist_new(w, it);
		}
		break;
	case 3:
		note(w, "tl_ptr_check(common %" PRIu64 ")", it->id);
		want(w, tl_ptr_check(it->at), GOOD);
		break;
	default:
		note(w, "tl_ptr_refcount(common %" PRIu64 ")", it->id);
		count = tl_ptr_refcount(it->at);
		want_true(w, model.turns ? count == it->count + other->count : count > it->count, "the count of both");
	}
}

static void check_commons(world* w)
{
	for (int i = 0; i < COMMONS; i++) {
		note(w, "tl_ptr_refcount(common %d)", i + 1);
		want_int(w, tl_ptr_refcount(commons[i][0].at), commons[i][0].count + commons[i][1].count, "the count of both");
	}
}

/* ---- a thread that is done with the runtime for a while ------------------------------------------ */

static void detach(world* w)
{
	if (w->marks_len > 0 || w->entries_len > 0 || w->tags_len > 0 || w->arena_active) return;
	note(w, "tl_thread_detach()");
	want(w, tl_thread_detach(), GOOD);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {hand_over, take_over, take_over, count_common, count_common, detach};
	ONE_OF(w, steps)(w);
}

/* The last references go: who has made them ends them. */
static void finish(world* w)
{
	while (post.len > 0) take_over(w);
	for (int i = 0; i < COMMONS; i++)
		for (item* it = &commons[i][w->number]; it->count > 0; it->count--) {
			note(w, "tl_ptr_release(common %d), the end", i + 1);
			want(w, tl_ptr_release(it->at), GOOD);
		}
	for (size_t i = 0; i < w->events_len; i++)
		w->events[i].used |= w->events[i].what == DELETED && w->events[i].id == 0;
}

const family shared_family = {"both threads", 8, step, check_commons, finish};
