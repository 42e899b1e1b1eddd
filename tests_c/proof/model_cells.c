/* Cells: their counts, their ends, and the fields of those with a type, by calls and by inlined operations. */
#include "model.h"
#include "tl_inline.h"

/* What a type without a destructor is the number of; its cells are the only ones that have fields. */
static const int cell_types[] = {0, 6};
static const size_t impossible = (size_t)1 << 47;

static uint32_t* tag(const item* it) { return (uint32_t*)(it->at - 4); }

static bool inlines(world* w) { return chance(w, 50); }

static void take_thread(tl_inl_thread* thread) { tl_inl_begin(thread); }

/* ---- new --------------------------------------------------------------------------------- */

static item* new_cell(world* w, void* at, size_t bytes, unsigned set)
{
	if (want_memory_last(w, set) != TL_OK) {
		want_pointer(w, at, NULL, "the result");
		return NULL;
	}
	want_true(w, at != NULL && (uintptr_t)at % 16 == 0, "a cell at a multiple of 16");
	item* it = item_new(w, CELL, at, bytes);
	it->shared = true; /* any thread ends it at once */
	want_int(w, *tag(it), 0, "the tag");
	return it;
}

static void begin(item* it)
{
	*tag(it) = (uint32_t)it->id;
	fill(it);
}

static void make(world* w)
{
	static const size_t sizes[] = {0, 8, 16, 24, 48, 100, 496, 1000, 5000, 65536, 70000, 300000};
	const bool possible = chance(w, 97);
	const size_t bytes = possible ? ONE_OF(w, sizes) : chance(w, 50) ? impossible : (size_t)-1 - (size_t)draw(w, 100);
	void* at;
	if (crowded(w)) return;
	note(w, "tl_cell_new(%zu)", bytes);
	if (inlines(w)) {
		tl_inl_thread thread;
		take_thread(&thread);
		at = tl_inl_cell_new(&thread, bytes);
	} else {
		at = tl_cell_new(bytes);
	}
	item* it = new_cell(w, at, bytes, possible ? GOOD : S(TL_E_OUT_OF_MEMORY) | (model.limits ? S(TL_E_LIMIT) : 0));
	if (it != NULL) begin(it);
}

static void make_typed(world* w)
{
	const int type = chance(w, 95) ? ONE_OF(w, cell_types) : (int)draw(w, TYPES);
	const bool possible = types[type].destroy == NOTHING;
	if (crowded(w)) return;
	note(w, "tl_cell_new_typed(%d)", type);
	item* it =
		new_cell(w, tl_cell_new_typed(types[type].number), types[type].bytes, possible ? GOOD : S(TL_E_UNSUPPORTED));
	if (it == NULL) return;
	verify_zero(w, it);
	it->type = type;
	it->typed = true;
	for (size_t i = 0; i < types[type].fields; i++) add_ref(it, NULL);
	begin(it);
}

/* ---- counts ------------------------------------------------------------------------------- */

static void dup(world* w, item* it)
{
	note(w, "tl_cell_dup(%s)", name(it));
	want_pointer(w, inlines(w) ? tl_inl_cell_dup(it->at) : tl_cell_dup(it->at), it->at, "the result");
	want_last(w, GOOD);
	it->count++;
}

static void ask(world* w, item* it)
{
	note(w, "tl_cell_is_unique(%s)", name(it));
	want_int(w, inlines(w) ? tl_inl_cell_is_unique(it->at) : tl_cell_is_unique(it->at), it->count == 1,
	         "whether it is");
	want_last(w, GOOD);
}

/* In which order destructors run of what cells held is not said. */
static void free_cell(world* w, item* it)
{
	verify(w, it);
	want_int(w, *tag(it), (uint32_t)it->id, "the tag");
	note(w, "tl_cell_free(%s)", name(it));
	tl_status got;
	if (inlines(w)) {
		tl_inl_thread thread;
		take_thread(&thread);
		got = tl_inl_cell_free(&thread, it->at);
	} else {
		got = tl_cell_free(it->at);
	}
	want(w, got, GOOD);
	it->count = 0;
	w->any_order = true;
	die(w, it);
	drain(w);
	w->any_order = false;
}

/* A reference fewer, and the cell's end if it was the last. */
static void drop_cell(world* w, item* it)
{
	const bool last = it->count == 1;
	note(w, "tl_cell_drop(%s)", name(it));
	want_int(w, inlines(w) ? tl_inl_cell_drop(it->at) : tl_cell_drop(it->at), last, "whether it was the last");
	want_last(w, GOOD);
	if (last) free_cell(w, it);
	else it->count--;
}

static void drop(world* w, item* it)
{
	if (may_drop(it)) drop_cell(w, it);
}

static void free_held(world* w, item* it)
{
	if (it->count == 1) return;
	note(w, "tl_cell_free(%s), held", name(it));
	want(w, tl_cell_free(it->at), S(TL_E_BUSY));
}

static void share(world* w, item* it)
{
	note(w, "tl_cell_share(%s)", name(it));
	want(w, tl_cell_share(it->at), GOOD);
}

/* ---- fields ------------------------------------------------------------------------------- */

static void put(world* w, item* holder, size_t i, item* it)
{
	item* old = holder->refs[i];
	*(void* volatile*)(holder->at + types[holder->type].offsets[i]) = it == NULL ? NULL : it->at;
	holder->refs[i] = it;
	if (it != NULL) it->inside++;
	if (old == NULL) return;
	if (old->kind == CELL) {
		old->inside--;
		drop_cell(w, old);
	} else {
		release_held(w, holder, old);
	}
}

/* A cell refers to older ones, so that no ring is left. */
static void set_field(world* w, item* holder)
{
	item* it = chance(w, 80) ? pick(w, chance(w, 70) ? K(CELL) : COUNTED) : NULL;
	if (!holder->typed || (it != NULL && it->kind == CELL && it->id >= holder->id)) return;
	if (it != NULL && it->kind != CELL && !may_hold(it)) return;
	note(w, "a field of %s = %s", name(holder), it == NULL ? "NULL" : name(it));
	if (it != NULL && it->kind == CELL) {
		dup(w, it);
	} else if (it != NULL) {
		want_pointer(w, tl_ptr_acquire(it->at), it->at, "the result");
		want_last(w, GOOD);
		retain(w, it);
	}
	put(w, holder, (size_t)draw(w, holder->refs_len), it);
}

static void look(world* w, item* it)
{
	note(w, "contents of %s", name(it));
	verify(w, it);
	want_int(w, *tag(it), (uint32_t)it->id, "the tag");
	for (size_t i = 0; i < it->refs_len; i++)
		want_pointer(w, *(void* volatile*)(it->at + types[it->type].offsets[i]),
		             it->refs[i] == NULL ? NULL : it->refs[i]->at, "a field");
}

/* ---- what is no cell ------------------------------------------------------------------------ */

static bool is_cell(const world* w, const void* at)
{
	for (size_t i = 0; i < w->items_len; i++)
		if (w->items[i]->kind == CELL && w->items[i]->life == LIVE && w->items[i]->at == at) return true;
	return false;
}

static void misuse(world* w)
{
	const operand o = chance(w, 70) ? draw_bad(w) : operand_of(chance(w, 80) ? pick(w, COUNTED) : NULL);
	const unsigned set = o.at == NULL ? GOOD : S(TL_E_UNKNOWN_POINTER) | S(TL_E_INTERIOR_POINTER) | S(TL_E_NOT_LIVE);
	if (is_cell(w, o.at) || (model.turns && is_cell(&model.worlds[1 - w->number], o.at))) return;
	switch (draw(w, 5)) {
	case 0:
		note(w, "tl_cell_dup(%s)", o.name);
		want_pointer(w, tl_cell_dup(o.at), o.at, "the result");
		break;
	case 1:
		note(w, "tl_cell_is_unique(%s)", o.name);
		want_int(w, tl_cell_is_unique(o.at), false, "the result");
		break;
	case 2:
		note(w, "tl_cell_drop(%s)", o.name);
		want_int(w, tl_cell_drop(o.at), false, "the result");
		break;
	case 3:
		note(w, "tl_cell_free(%s)", o.name);
		want(w, tl_cell_free(o.at), set);
		return;
	default:
		note(w, "tl_cell_share(%s)", o.name);
		want(w, tl_cell_share(o.at), set);
		return;
	}
	want_last(w, set);
}

/* With TL_DEBUG inlined operations on a dead cell make calls, which refuse it. */
static void inline_on_dead(world* w)
{
	const item* it = w->graves[draw(w, GRAVES)];
	if (!model.debug || !model.turns || it == NULL || it->kind != CELL) return;
	note(w, "inlined operation on %s", name(it));
	switch (draw(w, 3)) {
	case 0: want_pointer(w, tl_inl_cell_dup(it->at), it->at, "the result"); break;
	case 1: want_int(w, tl_inl_cell_is_unique(it->at), false, "the result"); break;
	default: want_int(w, tl_inl_cell_drop(it->at), false, "the result");
	}
	want_last(w, S(TL_E_NOT_LIVE) | S(TL_E_UNKNOWN_POINTER) | S(TL_E_INTERIOR_POINTER));
}

static void step(world* w)
{
	static void (*const on_cells[])(world*, item*) = {dup,       dup,   drop,      drop,      drop,      ask,
	                                                  free_held, share, set_field, set_field, set_field, look};
	item* it = pick(w, K(CELL));
	if (chance(w, 10)) misuse(w);
	else if (chance(w, 5)) inline_on_dead(w);
	else if (it == NULL || chance(w, 25)) (chance(w, 50) ? make : make_typed)(w);
	else ONE_OF(w, on_cells)(w, it);
}

/* The newest first, to which no other cell refers. */
static void finish(world* w)
{
	for (;;) {
		item* newest = NULL;
		for (size_t i = 0; i < w->items_len; i++)
			if (w->items[i]->kind == CELL && (newest == NULL || w->items[i]->id > newest->id)) newest = w->items[i];
		if (newest == NULL) return;
		drop_cell(w, newest);
		events_end(w);
	}
}

const family cells_family = {"cells", 15, step, NULL, finish};
