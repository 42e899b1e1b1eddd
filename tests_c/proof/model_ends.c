/* What ends when: counts that came to 0, destructors and deleters, and objects that another
 * thread finishes. */
#include <stdio.h>
#include <stdlib.h>

#include "model.h"

/* ---- what the library calls --------------------------------------------------------------------------- */

void event_add(calling what, uint64_t id, void* born)
{
	world* w = here;
	w->events = grow(w->events, &w->events_room, w->events_len + 1, sizeof *w->events);
	w->events[w->events_len++] = (event){what, id, born, false};
}

static item* waiting(uint64_t id)
{
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < model.worlds[k].items_len; i++)
			if (model.worlds[k].items[i]->life == WAITING && model.worlds[k].items[i]->id == id)
				return model.worlds[k].items[i];
	return NULL;
}

static void fail_with_events(world* w, uint64_t first, uint64_t second)
{
	for (size_t i = 0; i < w->events_len; i++)
		fprintf(stderr, "%s %" PRIu64 "%s\n", w->events[i].what == DESTROYED ? "destroyed" : "deleted", w->events[i].id,
		        w->events[i].used ? ", as foreseen" : "");
	fail(w, "the destructor of item %" PRIu64 " ran before that of %" PRIu64, first, second);
}

/* Destructors run in the order in which the last references went; deleters have none. What
 * another thread has to end is not in that order. */
static bool take(world* w, calling what, uint64_t id, void** born, bool in_order)
{
	for (size_t i = w->events_seen; i < w->events_len; i++) {
		event* e = &w->events[i];
		if (e->used || e->what != what) continue;
		if (e->id == id) {
			e->used = true;
			if (born != NULL) *born = e->born;
			return true;
		}
		if (what == DESTROYED && in_order && !w->any_order && model.turns && waiting(e->id) == NULL)
			fail_with_events(w, e->id, id);
	}
	return false;
}

bool event_take(world* w, calling what, uint64_t id, void** born) { return take(w, what, id, born, true); }

/* ---- ends ------------------------------------------------------------------------------------------ */

/* Memory that was lent goes back once. */
static void give_back(world* w, item* it)
{
	lease* l = it->shape != NULL ? it->shape->lease : NULL;
	if (l == NULL) return;
	if (l->id != 0 && !event_take(w, DELETED, l->id, NULL))
		fail(w, "%s has ended, and its deleter did not run", name(it));
	it->shape->lease = NULL;
	free(l->memory);
	free(l);
}

static void destroy(world* w, item* it)
{
	const object_type* t = &types[it->type];
	void* born = NULL;
	if (it->kind == TENSOR) {
		imported_ended(it);
		give_back(w, it);
	}
	if (it->kind == FOREIGN) block_leave(w, it);
	if (layout_of(it) == NULL || t->destroy == NOTHING) return;
	if (!take(w, DESTROYED, it->id, &born, ends_here(w, it))) {
		if (ends_here(w, it)) fail(w, "%s has ended, and its destructor did not run", name(it));
		it->life = WAITING;
		return;
	}
	if (t->destroy == SCOPES || t->destroy == REGISTERS) memory_unknown(w);
	if (born == NULL) return;
	item* child = item_new(w, PLAIN, born, 32);
	w->born++;
	enlist_new(w, child); /* and not filled: the same call may have released it again */
}

void end_stack(item* it)
{
	it->life = GONE;
	item_leave(it);
	forget_if_unmentioned(it);
}

static void end_now(world* w, item* it)
{
	it->life = GONE;
	ref_ended(w, it);
	it->buried++; /* it may refer to itself */
	item_leave(it);
	if (it->kind == PLAIN || it->kind == TYPED || it->kind == VEC || it->kind == CELL) bury(w, it);
	for (size_t i = 0; i < it->refs_len; i++) {
		item* held = it->refs[it->kind == VEC || it->own_vec ? it->refs_len - 1 - i : i];
		if (held != NULL) drop_ref(w, it, held);
	}
	it->refs_len = 0;
	it->buried--;
	forget_if_unmentioned(it);
}

/* Of an object the fields were the program's part; other memory ends as it always does. */
void end_by_hand(world* w, item* it)
{
	if (it->kind == TYPED || it->kind == VEC || it->kind == PLAIN) {
		it->refs_len = 0;
		end_now(w, it);
		return;
	}
	if (it->typed || it->own_vec) { /* its destructor does not run */
		it->refs_len = 0;
		block_leave(w, it);
		end_now(w, it);
		return;
	}
	it->life = LIVE;
	die(w, it);
	drain(w);
}

void drop_ref(world* w, item* holder, item* held)
{
	(void)holder;
	held->inside--;
	if (held->life == LIVE && held->kind != STACK && !held->doomed) {
		touch(w, held);
		if (drop_one(held)) die(w, held);
	} else {
		forget_if_unmentioned(held);
	}
}

void die(world* w, item* it)
{
	w->dying = grow(w->dying, &w->dying_room, w->dying_len + 1, sizeof *w->dying);
	w->dying[w->dying_len++] = it;
}

/* Objects come before blocks with a type, and what they refer to likewise. */
static item* next_dying(world* w)
{
	size_t i = w->dying_first;
	while (i < w->dying_len && (w->dying[i]->typed || w->dying[i]->own_vec)) i++;
	if (i == w->dying_len) i = w->dying_first;
	item* it = w->dying[i];
	for (; i > w->dying_first; i--) w->dying[i] = w->dying[i - 1];
	w->dying_first++;
	return it;
}

/* Ends what has no reference left, in the order in which the last ones went. */
void drain(world* w)
{
	while (w->dying_first < w->dying_len) {
		item* it = next_dying(w);
		if (!ends_here(w, it)) __atomic_add_fetch(&model.pending, 1, __ATOMIC_RELAXED);
		destroy(w, it);
		if (it->life != WAITING) end_now(w, it);
	}
	w->dying_first = w->dying_len = 0;
}

void release(world* w, item* it)
{
	touch(w, it);
	if (drop_one(it)) die(w, it);
	drain(w);
}

/* ---- ends that another thread has left ---------------------------------------------------------- */

/* An owner has ended what another thread dropped. */
static void end_waiting(world* w, uint64_t id)
{
	item* it = waiting(id);
	if (it == NULL) fail(w, "item %" PRIu64 " was destroyed or deleted, and has not ended", id);
	it->life = LIVE;
	end_now(w, it);
	drain(w);
	memory_unknown(w);
}

void events_end(world* w)
{
	for (size_t i = 0; i < w->events_len; i++) {
		const event* e = &w->events[i];
		if (e->used) continue;
		if (model.turns) {
			end_waiting(w, e->id);
			continue;
		}
		w->unknown = grow(w->unknown, &w->unknown_room, w->unknown_len + 1, sizeof *w->unknown);
		w->unknown[w->unknown_len++] = e->id;
	}
	w->events_len = w->events_seen = 0;
	w->born = 0;
}

void events_settle(world* w)
{
	while (w->unknown_len > 0) end_waiting(w, w->unknown[--w->unknown_len]);
}
