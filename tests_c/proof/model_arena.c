/* The arena of a thread. Sizes are multiples of 64, so that every offset is foreseen. */
#include "model.h"

enum { ALL = -1 };

static const int64_t huge = INT64_C(1) << 50;

static bool fits(const world* w, int64_t bytes)
{
	return w->arena_active && bytes < huge && (w->arena_capacity == ALL || w->arena_top + bytes <= w->arena_capacity);
}

static item* bump(world* w, void* at, int64_t bytes)
{
	want_true(w, (uintptr_t)at % 64 == 0, "64-byte alignment");
	if (w->arena_base == NULL) w->arena_base = (char*)at - w->arena_top;
	want_pointer(w, at, w->arena_base + w->arena_top, "the result");
	item* it = item_new(w, STACK, at, (size_t)bytes);
	it->offset = w->arena_top;
	w->arena_top += bytes;
	fill(it);
	return it;
}

static void init(world* w)
{
	static const int64_t capacities[] = {4096, 65536, 0, 0, -1, INT64_C(1) << 45};
	int64_t capacity = ONE_OF(w, capacities);
	unsigned set = capacity < 0 ? BAD_SIZE : capacity > 65536 ? S(TL_E_LIMIT) : GOOD;
	if (capacity > 0 && capacity <= 65536 && w->arena_top > capacity) set = S(TL_E_BUSY);
	note(w, "tl_arena_init(%" PRId64 ")", capacity);
	if (want_memory(w, tl_arena_init(capacity), set) != TL_OK) return;
	w->arena_active = true;
	w->arena_capacity = capacity == 0 ? ALL : capacity;
}

static const int64_t sizes[] = {64, 256, 1024, 4096, 64, 128, 0, -1, INT64_C(1) << 50};

static void alloc(world* w)
{
	int64_t bytes = ONE_OF(w, sizes);
	unsigned set = bytes < 0 ? BAD_SIZE : !w->arena_active ? S(TL_E_NO_FRAME) : GOOD;
	if (!w->arena_active && bytes <= 0) return;
	if (w->arena_active && bytes > 0 && !fits(w, bytes)) set = S(TL_E_ARENA_EXHAUSTED);
	note(w, "tl_arena_alloc(%" PRId64 ")", bytes);
	void* at = tl_arena_alloc(bytes);
	if (want_memory_last(w, set) == TL_OK && bytes > 0) bump(w, at, bytes);
	else want_pointer(w, at, NULL, "the result");
}

/* From the arena while it has room, else a floating object. */
static void alloc_anywhere(world* w)
{
	int64_t bytes = ONE_OF(w, sizes);
	unsigned set = bytes < 0       ? BAD_SIZE
	               : bytes == huge ? S(TL_E_OUT_OF_MEMORY) | (model.limits ? S(TL_E_LIMIT) : 0)
	                               : GOOD;
	if (crowded(w)) return;
	note(w, "tl_arena_malloc(%" PRId64 ")", bytes);
	void* at = tl_arena_malloc(bytes);
	if (want_memory_last(w, set) != TL_OK || bytes == 0) {
		want_pointer(w, at, NULL, "the result");
		return;
	}
	if (fits(w, bytes) && (!model.limits || tl_arena_contains(at))) {
		bump(w, at, bytes);
		return;
	}
	item* it = item_new(w, PLAIN, at, (size_t)bytes);
	it->floats = 1;
	fill(it);
}

static void set_offset(world* w)
{
	static const int64_t by[] = {-64, 0, -256, 64, -1024};
	int64_t to = w->arena_top + ONE_OF(w, by);
	unsigned set = !w->arena_active ? S(TL_E_NO_FRAME) : to < 0 || to > w->arena_top ? BAD_SIZE : GOOD;
	if (!w->arena_active && to < 0) return;
	note(w, "tl_arena_set_offset(%" PRId64 ")", to);
	if (want(w, tl_arena_set_offset(to), set) == TL_OK) arena_back(w, to);
}

static void forget(world* w)
{
	bool whole = chance(w, 30);
	if (!chance(w, 20)) return;
	if (whole) {
		note(w, "tl_arena_free()");
		want(w, tl_arena_free(), GOOD);
		w->arena_active = false;
		w->arena_base = NULL;
	} else {
		note(w, "tl_arena_reset()");
		want(w, tl_arena_reset(), GOOD);
	}
	arena_back(w, 0);
}

static void contains(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	note(w, "tl_arena_contains(%s)", o.name);
	want_int(w, tl_arena_contains(o.at), o.it != NULL && o.it->kind == STACK && o.it->offset >= 0, "the result");
	want_last(w, GOOD);
}

static void check(world* w)
{
	note(w, "tl_arena_is_active(), offset %" PRId64, w->arena_top);
	want_int(w, tl_arena_is_active(), w->arena_active, "the result");
	want_int(w, tl_arena_get_offset(), w->arena_top, "tl_arena_get_offset()");
	if (w->arena_capacity != ALL || !w->arena_active)
		want_int(w, tl_arena_get_capacity(), w->arena_active ? w->arena_capacity : 0, "tl_arena_get_capacity()");
	want_last(w, GOOD);
	for (size_t i = 0; i < w->items_len; i++)
		if (w->items[i]->kind == STACK) verify(w, w->items[i]);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {init,           alloc,      alloc,  alloc,    alloc_anywhere,
	                                        alloc_anywhere, set_offset, forget, contains, check};
	ONE_OF(w, steps)(w);
}

static void finish(world* w)
{
	note(w, "tl_arena_free(), the end");
	want(w, tl_arena_free(), GOOD);
	w->arena_active = false;
	w->arena_base = NULL;
	arena_back(w, 0);
}

const family arena_family = {"arena", 8, step, check, finish};
