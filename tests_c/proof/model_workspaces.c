/* Workspaces: a registered pointer with a block for each worker. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

static void create(world* w)
{
	size_t threads = (size_t)draw(w, 5), bytes = 1 + (size_t)draw(w, 300), alignment = (size_t)1 << draw(w, 13);
	bool odd = chance(w, 5);
	unsigned set = threads == 0 || odd ? BAD_SIZE : GOOD;
	tl_workspace* got = NULL;
	tl_alloc_info all = {.struct_size = sizeof all};
	block* b;
	item* it;
	note(w, "tl_workspace_create(%zu, %zu, %zu)", threads, bytes, odd ? (size_t)96 : alignment);
	if (want_memory(w, tl_workspace_create(threads, bytes, odd ? 96 : alignment, &got), set) != TL_OK) return;
	want_int(w, (int64_t)got->count, (int64_t)threads, "count");
	want_int(w, (int64_t)got->bytes_each, (int64_t)bytes, "bytes_each");
	want_true(w, got->stride >= bytes && got->stride >= 128 && (uintptr_t)got->base % alignment == 0,
	          "stride and base");
	for (size_t i = 0; i < threads; i++) memset((char*)got->base + i * got->stride, (int)i + 1, bytes);
	b = calloc(1, sizeof *b);
	if (b == NULL) abort();
	note(w, "tl_registry_info() of it");
	want(w, tl_registry_info(got, &all), GOOD);
	it = item_new(w, FOREIGN, got, 0);
	*b = (block){
		.id = it->id, .memory = (char*)got, .measured = all.bytes, .workspace = true, .names = {it}, .names_len = 1};
	it->block = b;
}

static bool is_workspace(const item* it) { return it->block->workspace; }

static operand draw_workspace(world* w)
{
	item* it = chance(w, 80) ? pick_where(w, K(FOREIGN), is_workspace) : NULL;
	return it != NULL ? operand_of(it) : draw_operand(w, COUNTED);
}

static bool usable(const operand* o)
{
	return o->it != NULL && o->it->life == LIVE && o->it->kind == FOREIGN && o->it->block->workspace;
}

static void get(world* w)
{
	operand o = draw_workspace(w);
	size_t rank = (size_t)draw(w, 6);
	const tl_workspace* of = (tl_workspace*)o.at;
	bool in_range = usable(&o) && rank < of->count;
	unsigned set = o.at == NULL || in_range ? GOOD : usable(&o) ? BAD_SIZE : S(TL_E_UNKNOWN_POINTER);
	note(w, "tl_workspace_get(%s, %zu)", o.name, rank);
	char* at = tl_workspace_get(of, rank);
	want_last(w, set);
	want_pointer(w, at, in_range ? (char*)of->base + rank * of->stride : NULL, "the block");
	if (in_range)
		want_true(w, at[0] == (char)(rank + 1) && at[of->bytes_each - 1] == (char)(rank + 1), "contents of the block");
}

static void bytes(world* w)
{
	operand o = draw_workspace(w);
	note(w, "tl_workspace_bytes(%s)", o.name);
	want_int(w, (int64_t)tl_workspace_bytes((tl_workspace*)o.at),
	         usable(&o) ? (int64_t)((tl_workspace*)o.at)->bytes_each : 0, "the bytes");
	want_last(w, o.at == NULL || usable(&o) ? GOOD : S(TL_E_UNKNOWN_POINTER));
}

static void destroy(world* w)
{
	operand o = draw_workspace(w);
	if (usable(&o) && !may_drop(o.it)) return;
	note(w, "tl_workspace_destroy(%s)", o.name);
	if (want(w, tl_workspace_destroy((tl_workspace*)o.at),
	         o.at == NULL || usable(&o) ? GOOD : S(TL_E_UNKNOWN_POINTER)) == TL_OK &&
	    usable(&o))
		release(w, o.it);
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {create, get, get, bytes, destroy};
	ONE_OF(w, steps)(w);
}

const family workspaces_family = {"workspaces", 3, step, NULL, NULL};
