/* Blocks of malloc's with a type, and Vecs that the program lays out itself. */
#include <stdlib.h>

#include "model.h"

static tl_type vec_number;

void define_shapes(world* w)
{
	const tl_vec_desc desc = {.struct_size = sizeof desc,
	                          .name = "own vec",
	                          .size = sizeof(own_vec),
	                          .data_offset = offsetof(own_vec, data),
	                          .length_offset = offsetof(own_vec, length),
	                          .capacity_offset = offsetof(own_vec, capacity),
	                          .number_bytes = 8,
	                          .elements = TL_VEC_POINTERS};
	note(w, "tl_type_define_vec()");
	want(w, tl_type_define_vec(&desc, &vec_number), GOOD);
}

/* ---- structs ------------------------------------------------------------------------------------ */

static void new_struct(world* w)
{
	int type = (int)draw(w, TYPES);
	char* memory = calloc(1, types[type].bytes);
	if (memory == NULL) abort();
	note(w, "tl_mem_register_struct_typed(%zu bytes of malloc, %d)", types[type].bytes, type);
	if (want_memory(w, tl_mem_register_struct_typed(memory, types[type].number), GOOD) != TL_OK) {
		free(memory);
		return;
	}
	item* it = block_made(w, memory, types[type].bytes);
	it->type = type;
	it->typed = true;
	enlist_new(w, it);
	for (size_t i = 0; i < types[type].fields; i++) add_ref(it, NULL);
	fill(it);
}

/* What tl_mem_register_struct_typed says of an operand and a type. */
static unsigned typed_set(const operand* o, int type)
{
	const item* it = o->it;
	if (it == NULL) return o->at == NULL ? GOOD : o->unknown ? BAD_SIZE : o->refusal;
	if (o->refusal != GOOD || it->kind == STACK) return o->refusal == GOOD ? S(TL_E_UNSUPPORTED) : o->refusal;
	if (it->kind == FOREIGN) return it->typed && it->type == type ? GOOD : S(TL_E_ALREADY_REGISTERED) | BAD_SIZE;
	return it->kind == TYPED && it->type == type ? GOOD : S(TL_E_UNSUPPORTED);
}

static void register_again(world* w)
{
	operand o = draw_operand(w, COUNTED | K(STACK));
	item* it = o.it;
	int type = it != NULL && layout_of(it) != NULL && chance(w, 70) ? it->type : (int)draw(w, TYPES);
	bool live = it != NULL && it->life == LIVE;
	if (o.host || (live && it->kind != STACK && !may_sink(it))) return;
	if (it != NULL && it->kind == FOREIGN && (it->life == ZERO || it->returned)) return;
	unsigned set = typed_set(&o, type);
	note(w, "tl_mem_register_struct_typed(%s, %d)", o.name, type);
	if (want_memory(w, tl_mem_register_struct_typed(o.at, types[type].number), set) == TL_OK && live) enlist(w, it);
}

/* ---- Vecs ------------------------------------------------------------------------------------------ */

/* Room for so many, which the Vec will free, or nobody. */
static void** room(size_t n)
{
	void** data = n == 0 ? NULL : malloc(n * sizeof(void*));
	if (n != 0 && data == NULL) abort();
	return data;
}

/* As the TL compiler does it, where no other thread registers Vecs meanwhile. */
static tl_status register_by_setting(world* w, void* vec)
{
	note(w, "tl_vec_set_type()");
	want(w, tl_vec_set_type(vec_number), GOOD);
	note(w, "tl_mem_register_vec_ptr(a Vec)");
	tl_status got = want_memory(w, tl_mem_register_vec_ptr(vec), GOOD);
	note(w, "tl_vec_set_type(0)");
	want(w, tl_vec_set_type(0), GOOD);
	return got;
}

static void new_vec(world* w)
{
	static const size_t capacities[] = {0, 1, 2, 7, 100};
	own_vec* v = calloc(1, sizeof *v);
	tl_status got;
	if (v == NULL) abort();
	v->capacity = (int64_t)ONE_OF(w, capacities);
	v->data = room((size_t)v->capacity);
	if (model.turns && chance(w, 50)) {
		got = register_by_setting(w, v);
	} else {
		note(w, "tl_mem_register_struct_typed(a Vec)");
		got = want_memory(w, tl_mem_register_struct_typed(v, vec_number), GOOD);
	}
	if (got != TL_OK) {
		free(v->data);
		free(v);
		return;
	}
	item* it = block_made(w, (char*)v, sizeof *v);
	it->own_vec = true;
	enlist_new(w, it);
}

/* A header that cannot be a Vec's stays the program's. */
static void vec_refused(world* w)
{
	own_vec* v = calloc(1, sizeof *v);
	void** data = room(4);
	if (v == NULL) abort();
	switch (draw(w, 4)) {
	case 0: v->length = 1; break;
	case 1: v->capacity = 1, v->length = 1; break;
	case 2: v->capacity = 1, v->data = (void**)v; break;
	default: v->capacity = INT64_MAX, v->data = data; break;
	}
	note(w, "tl_mem_register_struct_typed(no Vec)");
	want(w, tl_mem_register_struct_typed(v, vec_number), BAD_SIZE);
	free(data);
	free(v);
}

static bool is_own_vec(const item* it) { return it->own_vec; }

static void push(world* w)
{
	item* it = pick_where(w, K(FOREIGN), is_own_vec);
	operand e = operand_of(chance(w, 90) ? pick(w, COUNTED) : NULL);
	if (it == NULL || it->refs_len > 40 || (e.it != NULL && !may_hold(e.it))) return;
	own_vec* v = (own_vec*)it->at;
	note(w, "push(%s, %s)", name(it), e.name);
	want_pointer(w, tl_ptr_acquire(e.at), e.at, "the result");
	want_last(w, GOOD);
	if (e.it != NULL) retain(w, e.it);
	if (v->length == v->capacity) {
		v->capacity = v->capacity * 2 + 1;
		v->data = realloc(v->data, (size_t)v->capacity * sizeof(void*));
		if (v->data == NULL) abort();
	}
	v->data[v->length++] = e.at;
	add_ref(it, e.it);
}

/* Takes the last element out and releases it. */
static void drop_element(world* w, item* it)
{
	own_vec* v = (own_vec*)it->at;
	item* e = it->refs[--it->refs_len];
	v->length--;
	want_pointer(w, v->data[v->length], e == NULL ? NULL : e->at, "an element");
	if (e != NULL) release_held(w, it, e);
}

static bool has_elements(const item* it) { return it->own_vec && it->refs_len > 0; }

static void pop(world* w)
{
	item* it = pick_where(w, K(FOREIGN), has_elements);
	if (it != NULL) drop_element(w, it);
}

static void compare(world* w)
{
	const item* it = pick_where(w, K(FOREIGN), is_own_vec);
	if (it == NULL) return;
	const own_vec* v = (const own_vec*)it->at;
	note(w, "all of %s", name(it));
	want_int(w, v->length, (int64_t)it->refs_len, "the length");
	for (size_t i = 0; i < it->refs_len; i++)
		want_pointer(w, v->data[i], it->refs[i] == NULL ? NULL : it->refs[i]->at, "an element");
}

static void step(world* w)
{
	static void (*const steps[])(world*) = {new_struct, new_struct, new_vec, register_again, register_again, push,
	                                        push,       push,       pop,     compare,        vec_refused};
	size_t i = (size_t)draw(w, sizeof steps / sizeof *steps);
	if (i > 2 || !crowded(w)) steps[i](w);
}

/* Elements first, so that no cycle is left. */
static void finish(world* w)
{
	for (size_t i = 0; i < w->items_len; i++) {
		item* it = w->items[i];
		if (it->life != LIVE || !has_elements(it)) continue;
		drop_element(w, it);
		events_end(w);
		i = (size_t)-1; /* what ended has changed the list */
	}
}

const family shapes_family = {"shapes", 10, step, NULL, finish};
