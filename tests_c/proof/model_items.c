/* Items: what is counted, and what holds what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

/* Reads and writes of memory that the runtime has given out, perhaps before to another
 * thread: how it came from there to here is the runtime's business, which a sanitizer of
 * this program alone does not see. */
#define UNWATCHED __attribute__((no_sanitize("thread")))

/* ---- contents ----------------------------------------------------------------------------- */

enum { WHOLE = 4096, PART = 1024 };

static unsigned char byte_at(uint64_t pattern, size_t i)
{
	return (unsigned char)((pattern + i / 8) * UINT64_C(0x9E3779B97F4A7C15) >> (i % 8 * 8));
}

const object_type* layout_of(const item* it) { return it->kind == TYPED || it->typed ? &types[it->type] : NULL; }

/* Bytes of a typed object that are fields, or its id, are not filled; nor are headers of Vecs. */
static bool is_own(const item* it, size_t i)
{
	const object_type* t = layout_of(it);
	if (t == NULL) return !it->own_vec;
	if (t->id_offset != NO_ID && i / 8 == (size_t)t->id_offset / 8) return false;
	for (size_t k = 0; k < t->fields; k++)
		if (i / 8 == t->offsets[k] / 8) return false;
	return true;
}

/* Of much memory the ends are looked at. */
static size_t next_byte(const item* it, size_t i) { return it->bytes > WHOLE && i == PART ? it->bytes - PART : i; }

UNWATCHED void fill(item* it)
{
	it->pattern = it->id;
	for (size_t i = 0; i < it->bytes; i++) {
		i = next_byte(it, i);
		if (is_own(it, i)) ((volatile char*)it->at)[i] = (char)byte_at(it->pattern, i);
	}
	const object_type* t = layout_of(it);
	if (t != NULL && t->id_offset != NO_ID) *(volatile uint64_t*)(it->at + t->id_offset) = it->id;
}

UNWATCHED void verify_range(world* w, const item* it, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		i = next_byte(it, i);
		if (i < to && is_own(it, i) && ((volatile unsigned char*)it->at)[i] != byte_at(it->pattern, i))
			fail(w, "byte %zu of %s at %p is %#x, must be %#x", i, name(it), (void*)it->at, ((unsigned char*)it->at)[i],
			     byte_at(it->pattern, i));
	}
}

UNWATCHED void verify_zero(world* w, const item* it)
{
	for (size_t i = 0; i < it->bytes; i++) {
		i = next_byte(it, i);
		if (((volatile char*)it->at)[i] != 0) fail(w, "byte %zu of %s is not 0", i, name(it));
	}
}

void verify_prefix(world* w, const item* it, size_t bytes)
{
	if (it->pattern != 0) verify_range(w, it, 0, bytes > PART ? PART : bytes);
}

void verify(world* w, const item* it)
{
	if (it->pattern != 0) verify_range(w, it, 0, it->bytes);
}

/* ---- the list of a world's items ------------------------------------------------------------ */

static const char* const kind_names[KINDS] = {"plain", "typed", "vec", "tensor", "sparse", "foreign", "stack", "cell"};

const char* name(const item* it)
{
	static _Thread_local char text[4][32];
	static _Thread_local unsigned next;
	char* t = text[next++ % 4];
	snprintf(t, sizeof text[0], "%s#%" PRIu64 "%s", kind_names[it->kind], it->id, it->life == LIVE ? "" : "(dead)");
	return t;
}

void item_enter(world* w, item* it)
{
	w->items = grow(w->items, &w->items_room, w->items_len + 1, sizeof *w->items);
	it->home = w;
	it->place = w->items_len;
	w->items[w->items_len++] = it;
}

void item_leave(item* it)
{
	world* w = it->home;
	w->items[it->place] = w->items[--w->items_len];
	w->items[it->place]->place = it->place;
}

item* item_new(world* w, kind kind, void* at, size_t bytes)
{
	item* it = calloc(1, sizeof *it);
	if (it == NULL) abort();
	it->id = __atomic_add_fetch(&model.next_id, 1, __ATOMIC_RELAXED);
	it->kind = kind;
	it->at = at;
	it->bytes = bytes;
	it->count = 1;
	it->owner = w;
	it->shared = kind == TENSOR || kind == SPARSE || kind == FOREIGN || kind == STACK;
	item_enter(w, it);
	if (kind != FOREIGN) claim(w, it);
	return it;
}

kind counted_as(const item* it) { return it->kind != CELL ? it->kind : it->typed ? TYPED : PLAIN; }

/* The struct stays while scopes, containers or graveyards mention it. */
void forget_if_unmentioned(item* it)
{
	if (it->life != GONE || it->listed != 0 || it->inside != 0 || it->buried != 0) return;
	free(it->shape);
	matrix_free(it->matrix);
	free(it->refs);
	free(it);
}

void add_ref(item* holder, item* held)
{
	holder->refs = grow(holder->refs, &holder->refs_room, holder->refs_len + 1, sizeof *holder->refs);
	holder->refs[holder->refs_len++] = held;
	if (held != NULL) held->inside++;
}

/* ---- graveyards: addresses of dead objects ---------------------------------------------------- */

static void dig_up(world* w, int i)
{
	item* it = w->graves[i];
	w->graves[i] = NULL;
	it->buried--;
	forget_if_unmentioned(it);
}

void bury(world* w, item* it)
{
	if (w->born > 0 || !ends_here(w, it))
		return; /* a destructor of this step may have got its memory; or its owner has not ended it */
	int i = (int)draw(w, GRAVES);
	if (w->graves[i] != NULL) dig_up(w, i);
	w->graves[i] = it;
	it->buried++;
}

/* Of what has no bytes of the program's own the first ones are known to be its; of a cell those of its head, in front. */
static size_t span(const item* it)
{
	if (it->kind == CELL) return it->bytes > 16 ? it->bytes : 16;
	return it->bytes > 32 || it->kind == STACK ? it->bytes : 32;
}

static bool overlap(const item* a, const item* b) { return a->at < b->at + span(b) && b->at < a->at + span(a); }

static void claim_in(world* w, world* other, const item* it)
{
	for (int i = 0; i < GRAVES; i++)
		if (other->graves[i] != NULL && overlap(other->graves[i], it)) dig_up(other, i);
	if (w->dying_len > 0) return; /* born in a destructor, perhaps where something lay that the same call has ended */
	for (size_t i = 0; i < other->items_len; i++) {
		const item* o = other->items[i];
		bool dying = o->life == WAITING || (o->life == LIVE && o->count == 0);
		if (o != it && !dying && o->kind != FOREIGN && (o->kind == STACK) == (it->kind == STACK) && overlap(o, it))
			fail(w, "%s at %p with %zu bytes overlaps %s at %p with %zu", name(it), (void*)it->at, it->bytes, name(o),
			     (void*)o->at, o->bytes);
	}
}

void claim(world* w, const item* it)
{
	claim_in(w, w, it);
	if (model.turns) claim_in(w, &model.worlds[1 - w->number], it);
}

static void empty_graves(world* w)
{
	for (int i = 0; i < GRAVES; i++)
		if (w->graves[i] != NULL) dig_up(w, i);
}

void memory_unknown(world* w)
{
	for (int k = 0; k < 2; k++)
		if (model.turns || w == &model.worlds[k]) empty_graves(&model.worlds[k]);
}

/* ---- counting ----------------------------------------------------------------------------------- */

enum { MOST_FLOATS = 15 };

/* The interface trusts programs in one thing: what they put into a container stays alive
 * while it is there. These three tell whether a step keeps to that. */

bool may_drop(const item* it)
{
	return it->immortal || it->inside == 0 || it->count - 1 >= (int64_t)it->inside + it->listed;
}

bool may_hold(const item* it) { return it->immortal || it->count >= (int64_t)it->inside + it->listed; }

bool may_sink(const item* it)
{
	if (it->kind == FOREIGN && it->returned && it->listed > 0)
		return false; /* handed back while a scope lists it: not promised */
	return it->immortal || it->floats == 0 || it->inside == 0 || it->count >= (int64_t)it->inside + it->listed + 1;
}

bool ends_here(const world* w, const item* it) { return it->owner == w || it->shared; }

void touch(world* w, item* it)
{
	if (it->owner != w) it->touched = true;
}

void retain(world* w, item* it)
{
	touch(w, it);
	if (!it->immortal) it->count++;
}

/* What was adopted is the host's again when no reference is held. */
static void hand_back(item* it) { it->returned |= it->adopted && it->count == it->floats; }

/* Whether no other reference may float. Where all float already, one more that a container relied on changes nothing. */
bool floats_enough(const item* it) { return !it->immortal && it->floats == MOST_FLOATS && it->count > it->floats; }

bool float_one(item* it)
{
	if (it->immortal) {
		it->frozen++;
		return true;
	}
	if (it->floats == MOST_FLOATS) return false;
	if (it->floats < it->count) it->floats++;
	hand_back(it);
	return true;
}

bool drop_one(item* it)
{
	if (it->immortal) return false;
	if (it->count == it->floats) it->floats--;
	it->count--;
	hand_back(it);
	return it->count == 0;
}

void enlist_new(world* w, item* it)
{
	w->entries = grow(w->entries, &w->entries_room, w->entries_len + 1, sizeof *w->entries);
	w->entries[w->entries_len++] = it;
	it->listed++;
}

void enlist(world* w, item* it)
{
	touch(w, it);
	if (it->kind == STACK) return;
	it->returned = false;
	if (!it->immortal) {
		if (it->floats > 0) it->floats--;
		else it->count++;
	}
	enlist_new(w, it);
}

/* ---- all counts ------------------------------------------------------------------------------------------ */

void check_counts(world* w)
{
	for (size_t i = 0; i < w->items_len; i++) {
		const item* it = w->items[i];
		if (it->life != LIVE || it->kind == STACK || it->kind == CELL || it->immortal) continue;
		if (tl_ptr_refcount(it->at) != it->count)
			fail(w, "%s at %p has %" PRId64 " references, must have %" PRId64, name(it), (void*)it->at,
			     tl_ptr_refcount(it->at), it->count);
	}
}
