/* Scopes, functions and planned frames: what is open, and what leaving it ends. */
#include "model.h"

bool crowded(const world* w) { return w->items_len > PLENTY; }

mark* current_function(world* w)
{
	for (int i = w->marks_len - 1; i >= 0; i--)
		if (w->marks[i].kind == FUNCTION) return &w->marks[i];
	return NULL;
}

/* How many scopes are open: planned frames are none. */
static int64_t depth(const world* w)
{
	int64_t n = 0;
	for (int i = 0; i < w->marks_len; i++) n += w->marks[i].kind != PLANNED;
	return n;
}

static mark* open_mark(world* w, mark_kind kind)
{
	mark* m = &w->marks[w->marks_len++];
	*m = (mark){.kind = kind, .entries = w->entries_len, .arena = w->arena_top, .tags = w->tags_len};
	return m;
}

/* ---- leaving ----------------------------------------------------------------------------- */

/* Releases entries, newest first. Destructors may add some meanwhile. */
void unwind(world* w, size_t entries)
{
	while (w->entries_len > entries) {
		item* it = w->entries[--w->entries_len];
		if (it == NULL) continue;
		it->listed--;
		if (it->life == LIVE) release(w, it);
		else forget_if_unmentioned(it);
	}
}

void arena_back(world* w, int64_t top)
{
	w->arena_top = top;
	for (size_t i = 0; i < w->items_len;) {
		item* it = w->items[i];
		if (it->kind == STACK && it->offset >= top) {
			end_stack(it);
			continue;
		}
		if (it->kind == STACK && it->offset >= 0 && it->offset + (int64_t)it->bytes > top)
			it->bytes = (size_t)(top - it->offset); /* the offset was set back into it */
		i++;
	}
}

static void frames_end(world* w, int marks)
{
	for (size_t i = 0; i < w->items_len;) {
		item* it = w->items[i];
		if (it->kind == STACK && it->offset < 0 && it->type >= marks) end_stack(it);
		else i++;
	}
}

void close_to(world* w, int marks)
{
	while (w->marks_len > marks) {
		mark* m = &w->marks[w->marks_len - 1];
		unwind(w, m->entries);
		w->marks_len--;
		if (w->arena_top > m->arena) arena_back(w, m->arena);
		if (w->tags_len > m->tags) w->tags_len = m->tags;
		frames_end(w, w->marks_len);
	}
}

/* ---- scopes -------------------------------------------------------------------------------- */

static void enter_scope(world* w)
{
	if (w->marks_len == MAX_MARKS) return;
	note(w, "tl_mem_enter_scope()");
	if (want_memory(w, tl_mem_enter_scope(), GOOD) == TL_OK) open_mark(w, SCOPE);
}

static void exit_scope(world* w)
{
	bool open = w->marks_len > 0 && w->marks[w->marks_len - 1].kind == SCOPE;
	note(w, "tl_mem_exit_scope()");
	if (want(w, tl_mem_exit_scope(), open ? GOOD : S(TL_E_SCOPE_UNDERFLOW)) == TL_OK) close_to(w, w->marks_len - 1);
}

static int marks_at_depth(const world* w, int64_t wanted)
{
	int marks = w->marks_len;
	for (int64_t have = depth(w); have > wanted; marks--) have -= w->marks[marks - 1].kind != PLANNED;
	return marks;
}

static void exit_scopes_to(world* w)
{
	int64_t have = depth(w), to = (int64_t)draw(w, (uint64_t)have + 3) - 1;
	unsigned set = to < 0 ? BAD_SIZE : to > have ? S(TL_E_SCOPE_UNDERFLOW) : GOOD;
	if (to >= 0 && to < have - 3 && chance(w, 80)) to = have - 1;
	note(w, "tl_mem_exit_scopes_to(%" PRId64 ")", to);
	if (want(w, tl_mem_exit_scopes_to(to), set) == TL_OK) close_to(w, marks_at_depth(w, to));
}

static void check_depth(world* w)
{
	note(w, "tl_get_scope_depth()");
	want_int(w, tl_get_scope_depth(), depth(w), "the depth");
}

/* What it releases in the root scope may register there again: the second call ends that. */
static void shutdown(world* w)
{
	bool busy = model.worlds[1 - w->number].marks_len > 0;
	if (!model.turns || !chance(w, 2)) return;
	note(w, "tl_shutdown()");
	if (want(w, tl_shutdown(), busy ? S(TL_E_BUSY) : GOOD) != TL_OK) return;
	note(w, "tl_shutdown(), again");
	want(w, tl_shutdown(), GOOD);
	w->any_order = true;
	close_to(w, 0);
	unwind(w, 0);
	w->any_order = false;
	memory_unknown(w);
}

/* ---- functions and planned frames ------------------------------------------------------------ */

static item* stack_item(world* w, void* at, size_t bytes, int64_t offset, int mark)
{
	want_true(w, (uintptr_t)at % 64 == 0, "64-byte alignment");
	item* it = item_new(w, STACK, at, bytes);
	it->offset = offset;
	it->type = mark;
	fill(it);
	return it;
}

static void function_enter(world* w)
{
	static const int64_t counts[] = {1, 3, 0, 2, 1, -1, INT64_C(1) << 30};
	int64_t n = ONE_OF(w, counts);
	unsigned set = n < 0 ? BAD_SIZE : n > MAX_SLOTS ? S(TL_E_LIMIT) : GOOD;
	if (w->marks_len == MAX_MARKS) return;
	note(w, "tl_mem_function_enter(%" PRId64 ")", n);
	if (want_memory(w, tl_mem_function_enter(n), set) == TL_OK) open_mark(w, FUNCTION)->slots = n;
}

static void verify_stack(world* w)
{
	for (size_t i = 0; i < w->items_len; i++)
		if (w->items[i]->kind == STACK) verify(w, w->items[i]);
}

static void function_exit(world* w)
{
	mark* f = current_function(w);
	verify_stack(w);
	note(w, "tl_mem_function_exit()");
	if (want(w, tl_mem_function_exit(), f == NULL ? S(TL_E_NO_FRAME) : GOOD) == TL_OK) close_to(w, (int)(f - w->marks));
}

static void get_buffer(world* w)
{
	static const int64_t sizes[] = {64, 256, 300, 100, 4096, 1, 0, -1, INT64_C(1) << 40};
	mark* f = current_function(w);
	int64_t bytes = ONE_OF(w, sizes), slot = f == NULL ? 0 : (int64_t)draw(w, (uint64_t)f->slots + 2) - 1;
	bool in_range = f != NULL && slot >= 0 && slot < f->slots;
	unsigned set = !in_range || bytes <= 0 ? GOOD : bytes > 4096 ? S(TL_E_ARENA_EXHAUSTED) : GOOD;
	if (slot == MAX_SLOTS - 1) return; /* for tensors */
	item* have = in_range ? f->buffers[slot] : NULL;
	if (f == NULL) set = S(TL_E_NO_FRAME) | (bytes < 0 ? BAD_SIZE : 0);
	else if (!in_range) set = S(TL_E_SLOT_OUT_OF_RANGE) | (bytes < 0 ? BAD_SIZE : 0);
	else if (bytes < 0) set = BAD_SIZE;
	note(w, "tl_mem_get_buffer(%" PRId64 ", %" PRId64 ")", slot, bytes);
	void* at = tl_mem_get_buffer(slot, bytes);
	if (want_memory_last(w, set) != TL_OK || bytes == 0) {
		want_pointer(w, at, NULL, "the result");
		return;
	}
	if (have != NULL && have->bytes >= (size_t)bytes) {
		want_pointer(w, at, have->at, "the result");
	} else if (have != NULL && at == have->at) {
		verify(w, have);
		have->bytes = (size_t)bytes;
		fill(have);
	} else {
		f->buffers[slot] = stack_item(w, at, (size_t)bytes, -1, (int)(f - w->marks));
	}
}

static void frame_enter(world* w)
{
	static const size_t sizes[] = {64, 1000, 8, 0, (size_t)1 << 40};
	size_t bytes = ONE_OF(w, sizes);
	if (w->marks_len == MAX_MARKS) return;
	note(w, "tl_mem_frame_enter(%zu)", bytes);
	void* at = tl_mem_frame_enter(bytes);
	if (want_memory_last(w, bytes > 1000 ? S(TL_E_ARENA_EXHAUSTED) : GOOD) != TL_OK) {
		want_pointer(w, at, NULL, "the result");
		return;
	}
	want_true(w, at != NULL, "a block");
	open_mark(w, PLANNED);
	if (bytes > 0) stack_item(w, at, bytes, -1, w->marks_len - 1);
}

static void frame_exit(world* w)
{
	int m = w->marks_len - 1;
	while (m >= 0 && w->marks[m].kind == SCOPE) m--;
	verify_stack(w);
	note(w, "tl_mem_frame_exit()");
	if (want(w, tl_mem_frame_exit(), m < 0 || w->marks[m].kind != PLANNED ? S(TL_E_NO_FRAME) : GOOD) == TL_OK)
		close_to(w, m);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {enter_scope, enter_scope, exit_scope,     exit_scope,    exit_scopes_to,
	                                        check_depth, shutdown,    function_enter, function_exit, get_buffer,
	                                        get_buffer,  frame_enter, frame_exit};
	if (w->marks_len > MAX_MARKS * 3 / 4 && chance(w, 50)) exit_scopes_to(w);
	else ONE_OF(w, steps)(w);
}

static void finish(world* w)
{
	while (w->marks_len > 0) {
		int last = w->marks_len - 1;
		note(w, "leaving mark %d", last);
		want(w,
		     w->marks[last].kind == PLANNED ? tl_mem_frame_exit()
		     : w->marks[last].kind == SCOPE ? tl_mem_exit_scope()
		                                    : tl_mem_function_exit(),
		     GOOD);
		close_to(w, last);
		events_end(w);
	}
	for (int round = 0; round < 2 && model.worlds[1 - w->number].marks_len == 0; round++) {
		note(w, "tl_shutdown()");
		want(w, tl_shutdown(), GOOD);
		w->any_order = true;
		unwind(w, 0);
		w->any_order = false;
		events_end(w);
	}
}

const family scopes_family = {"scopes", 20, step, check_depth, finish};
