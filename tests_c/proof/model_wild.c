/* Programs that break every promise: they release what others hold, free what is referred to, overwrite headers, and go on
 * with what is dead. What a call answers is nobody's to tell then. But each has to return, none may find a defect of the
 * library (TL_E_INTERNAL, TL_E_CORRUPTED), and the process has to live. */
#include <string.h>

#include "model.h"

enum { THINGS = 96, FAKES = 16, WORDS = 48 };

/* An address that a call has returned, whatever has its memory by now. */
typedef struct thing {
	char* at;
	tl_ref ref; /* 0: none, as for memory of a frame */
	int type;   /* of types[]; NO_TYPE */
	bool is_tensor, is_vec;
} thing;

enum { NO_TYPE = -1 };

/* Of both worlds, which work in turns. */
static thing things[THINGS];
static tl_ref words[WORDS];
static uint64_t buffers[FAKES];
static char lent[4096];

/* Tensors whose headers are overwritten: their elements may be nowhere, so that round copies none. */
static bool overwrites;

static thing* any(world* w) { return &things[draw(w, THINGS)]; }

static void* any_address(world* w)
{
	switch (draw(w, 24)) {
	case 0: return NULL;
	case 1: return draw_bad(w).at;
	case 2: return any(w)->at + draw(w, 64);
	default: return any(w)->at;
	}
}

/* What a call that adopts memory may be given: not the host's, which it would have to believe. */
static void* any_of_the_library(world* w) { return chance(w, 95) ? any(w)->at : NULL; }

static thing* take_in(world* w, void* at)
{
	thing* t = any(w);
	if (at == NULL) return NULL;
	*t = (thing){.at = at, .ref = tl_ref_of(at), .type = NO_TYPE};
	words[draw(w, WORDS)] = t->ref;
	return t;
}

/* Whether a thing is still the object that it was, so that its memory may be written to. */
static bool is_itself(const thing* t) { return t->ref != 0 && tl_ref_check(t->ref) == TL_OK; }

/* ---- the calls -------------------------------------------------------------------------------- */

static void make(world* w)
{
	static const size_t sizes[] = {24, 1, 64, 200, 1000, 5000, 70000};
	size_t bytes = ONE_OF(w, sizes);
	switch (draw(w, 8)) {
	case 0: take_in(w, tl_mem_alloc(bytes)); break;
	case 1: take_in(w, tl_mem_new(bytes)); break;
	case 2: take_in(w, tl_mem_new_zeroed(bytes)); break;
	case 3: take_in(w, tl_alloc_tmp((int64_t)bytes)); break;
	case 4: take_in(w, tl_mem_realloc(any_of_the_library(w), bytes)); break;
	case 5:
		if (!overwrites) take_in(w, tl_mem_deep_clone(any_address(w)));
		break;
	default: {
		int type = (int)draw(w, TYPES);
		thing* t = take_in(w, tl_object_new(types[type].number));
		if (t != NULL) t->type = type;
	}
	}
}

static void count(world* w)
{
	void* p = any_address(w);
	switch (draw(w, 12)) {
	case 0: tl_ptr_acquire(p); break;
	case 1: tl_ptr_inc_ref(p); break;
	case 2:
	case 3: tl_ptr_release(p); break;
	case 4: tl_ptr_release_bool(p); break;
	case 5: tl_ptr_dec_ref(p); break;
	case 6: tl_ptr_refcount(p); break;
	case 7: tl_ptr_check(p); break;
	case 8: tl_ptr_share(p); break;
	case 9:
		if (chance(w, 3)) tl_ptr_make_immortal(p);
		break;
	case 10: tl_mem_free(p); break;
	default: tl_free_tmp(p);
	}
}

static void cells(world* w)
{
	void* p = any_address(w);
	switch (draw(w, 8)) {
	case 0: take_in(w, tl_cell_new(draw(w, 200))); break;
	case 1: take_in(w, tl_cell_new_typed(types[draw(w, TYPES)].number)); break;
	case 2: tl_cell_dup(p); break;
	case 3: tl_cell_drop(p); break;
	case 4: tl_cell_is_unique(p); break;
	case 5: tl_cell_share(p); break;
	default: tl_cell_free(p);
	}
}

static void list(world* w)
{
	void* p = any_of_the_library(w);
	switch (draw(w, 6)) {
	case 0: tl_mem_register_struct(p); break;
	case 1: tl_mem_register(p); break;
	case 2: tl_mem_register_ptr(p); break;
	case 3: tl_mem_register_tensor(p); break;
	case 4: tl_mem_register_vec_ptr(p); break;
	default: tl_mem_unregister(any_address(w));
	}
}

static void* any_vec(world* w)
{
	for (int i = 0; i < 8; i++) {
		thing* t = any(w);
		if (t->is_vec) return t->at;
	}
	return any_address(w);
}

static void vecs(world* w)
{
	static const size_t capacities[] = {0, 1, 4, 100};
	void *v = any_vec(w), *element = any_address(w);
	int64_t i = (int64_t)draw(w, 6) - 1;
	thing* t;
	switch (draw(w, 10)) {
	case 0:
		if ((t = take_in(w, tl_vec_new(ONE_OF(w, capacities)))) != NULL) t->is_vec = true;
		break;
	case 1: tl_vec_get(v, i); break;
	case 2: tl_vec_set(v, i, element); break;
	case 3: tl_vec_pop(v); break;
	case 4: tl_vec_len(v); break;
	case 5: tl_vec_reserve(v, ONE_OF(w, capacities)); break;
	case 6:
		if (chance(w, 30)) tl_vec_clear(v);
		break;
	default: tl_vec_push(v, element);
	}
}

/* Any pointer in a field of a live object, counted or not. */
static void field(world* w)
{
	thing* t = any(w);
	void* p = any_address(w);
	if (t->type == NO_TYPE || types[t->type].fields == 0 || !is_itself(t)) return;
	if (chance(w, 70)) tl_ptr_acquire(p);
	*(void* volatile*)(t->at + types[t->type].offsets[draw(w, types[t->type].fields)]) = p;
}

static void scopes(world* w)
{
	switch (draw(w, 12)) {
	case 0:
	case 1:
	case 2: tl_mem_enter_scope(); break;
	case 3:
	case 4: tl_mem_exit_scope(); break;
	case 5: tl_mem_exit_scopes_to(tl_get_scope_depth() - (int64_t)draw(w, 3)); break;
	case 6: tl_mem_function_enter((int64_t)draw(w, 4)); break;
	case 7: tl_mem_function_exit(); break;
	case 8: take_in(w, tl_mem_get_buffer((int64_t)draw(w, 4) - 1, 64 * (int64_t)draw(w, 9))); break;
	case 9: take_in(w, tl_mem_frame_enter(64 * draw(w, 5))); break;
	case 10: tl_mem_frame_exit(); break;
	default:
		if (chance(w, 2)) tl_shutdown();
		if (chance(w, 10)) tl_mem_exit_scopes_to(0);
	}
}

static void arenas(world* w)
{
	switch (draw(w, 8)) {
	case 0: tl_arena_init(1 << 16); break;
	case 1: tl_arena_set_offset(64 * (int64_t)draw(w, 9)); break;
	case 2:
		if (chance(w, 20)) tl_arena_free();
		break;
	case 3: tl_arena_reset(); break;
	case 4: tl_arena_contains(any_address(w)); break;
	case 5: take_in(w, tl_arena_malloc(64 * (int64_t)draw(w, 9))); break;
	default: take_in(w, tl_arena_alloc(64 * (int64_t)draw(w, 9)));
	}
}

static void references(world* w)
{
	tl_ref* ref = &words[draw(w, WORDS)];
	void* p = any_address(w);
	switch (draw(w, 10)) {
	case 0: *ref = tl_ref_of(p); break;
	case 1: *ref = tl_weak_share(p); break;
	case 2: tl_ref_acquire(*ref); break;
	case 3:
	case 4: tl_ref_release(*ref); break;
	case 5: tl_ref_get(*ref); break;
	case 6: tl_ref_check(*ref); break;
	case 7: *ref ^= (tl_ref)1 << draw(w, 64); break;
	default: take_in(w, tl_weak_get(*ref));
	}
}

/* ---- tensors and views ------------------------------------------------------------------------- */

/* What stands in a header, as cshim/shapes/shapes.h has it. Programs can write there. */
typedef struct header {
	char* data;
	uint64_t numel, nbytes;
	uint8_t dtype, device;
	uint16_t rank;
	uint32_t flags;
	void* base;
	void* rest[3];
	int64_t shape[MAX_RANK], strides[MAX_RANK];
} header;

static thing* any_tensor(world* w)
{
	thing* t = any(w);
	for (int i = 0; i < 16 && !t->is_tensor; i++) t = any(w);
	return t;
}

static void overwrite(world* w)
{
	const thing* t = any_tensor(w);
	header* h = (header*)t->at;
	if (!overwrites || !t->is_tensor || !is_itself(t)) return;
	switch (draw(w, 8)) {
	case 0: h->strides[draw(w, MAX_RANK)] = (int64_t)draw(w, 99) - 49; break;
	case 1: h->shape[draw(w, MAX_RANK)] = (int64_t)draw(w, 9) - 4; break;
	case 2: h->dtype = (uint8_t)draw(w, 256); break;
	case 3: h->rank = (uint16_t)draw(w, 1 << 16); break;
	case 4: h->numel = draw(w, 1 << 20); break;
	case 5: h->flags ^= TL_TENSOR_FLAG_READ_ONLY; break;
	default: h->flags ^= TL_TENSOR_FLAG_VIEW; h->base = chance(w, 50) ? any_address(w) : any_tensor(w)->at;
	}
}

static int64_t number(world* w)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MAX, -100, 100, INT64_MIN + 1, (int64_t)1 << 62};
	return chance(w, 8) ? ONE_OF(w, odd) : (int64_t)draw(w, 8) - 3;
}

static void numbers(world* w, int64_t* list)
{
	for (int i = 0; i <= MAX_RANK; i++) list[i] = number(w);
}

static tl_tensor* view(world* w, tl_tensor* t)
{
	int64_t a[MAX_RANK + 1], b[MAX_RANK + 1], c[MAX_RANK + 1];
	int64_t rank = chance(w, 5) ? number(w) : (int64_t)draw(w, 5);
	numbers(w, a);
	numbers(w, b);
	numbers(w, c);
	switch (draw(w, 8)) {
	case 0: return tl_view_reshape(t, rank, a);
	case 1: return tl_view_slice(t, a[0], a[1], a[2], a[3]);
	case 2: return tl_view_transpose(t, a[0], a[1]);
	case 3: return tl_view_permute(t, rank, a);
	case 4: return tl_view_broadcast_to(t, rank, a);
	case 5: return tl_view_squeeze(t, a[0]);
	case 6: return tl_view_expand_dims(t, a[0]);
	default: return tl_view_slice_axes(t, rank, a, b, chance(w, 20) ? NULL : c);
	}
}

static void ends_nothing(void* data, void* ctx) { (void)data, (void)ctx; }

static tl_tensor* new_tensor(world* w)
{
	int64_t shape[4], strides[4], rank = (int64_t)draw(w, 5);
	for (int i = 0; i < 4; i++) shape[i] = (int64_t)draw(w, 5), strides[i] = (int64_t)draw(w, 9) - 4;
	if (chance(w, 60)) return tl_tensor_empty(chance(w, 50) ? TL_DTYPE_F32 : TL_DTYPE_U8, TL_DEVICE_CPU, rank, shape);
	tl_tensor_info info = {.struct_size = sizeof info, .data = lent + 2048, .shape = shape, .rank = (int32_t)rank};
	info.strides = chance(w, 70) ? strides : NULL;
	info.dtype = TL_DTYPE_F32;
	info.flags = chance(w, 50) ? TL_TENSOR_FLAG_READ_ONLY : 0;
	return tl_tensor_wrap(&info, ends_nothing, NULL);
}

static void tensors(world* w)
{
	tl_tensor* t = (tl_tensor*)(chance(w, 90) ? any_tensor(w)->at : any_address(w));
	tl_tensor_info info = {.struct_size = sizeof info};
	thing* made = NULL;
	switch (draw(w, 10)) {
	case 0:
	case 1: made = take_in(w, new_tensor(w)); break;
	case 2: tl_tensor_free(t); break;
	case 3: tl_tensor_info_get(t, &info); break;
	case 4: overwrite(w); break;
	default: made = take_in(w, view(w, t));
	}
	if (made != NULL) made->is_tensor = true;
}

/* ---- the registry -------------------------------------------------------------------------------- */

/* Blocks that are nowhere: the library looks into none of them. Large ones lie over small ones. */
static char* fake(world* w) { return (char*)((uintptr_t)1 << 44) + draw(w, FAKES) * 256 + (chance(w, 20) ? 8 : 0); }

static void blocks(world* w)
{
	static const size_t sizes[] = {64, 16, 256, 1024, 4096, 1 << 20};
	char* p = fake(w);
	size_t bytes = ONE_OF(w, sizes);
	void *aliases[2] = {p + draw(w, bytes), fake(w)}, *all[3] = {fake(w), p, any_address(w)};
	uint64_t* buffer = &buffers[draw(w, FAKES)];
	tl_alloc_info info = {.struct_size = sizeof info};
	switch (draw(w, 14)) {
	case 0:
	case 1: tl_registry_register_custom(p, bytes, ends_nothing, NULL); break;
	case 2: tl_registry_register_custom_buffer(p, bytes, aliases, draw(w, 3), ends_nothing, NULL, buffer); break;
	case 3: tl_registry_add_alias(*buffer, p); break;
	case 4: tl_registry_unregister(p); break;
	case 5: tl_registry_unregister_many(all, 3); break;
	case 6: tl_registry_info(p, &info); break;
	case 7: tl_registry_is_registered(p); break;
	case 8: tl_ptr_release(p); break;
	case 9: tl_ptr_dec_ref(p); break;
	case 10: tl_mem_unregister(p); break;
	case 11: tl_mem_free(p); break;
	case 12: tl_vec_push(any_vec(w), p); break;
	default: tl_ptr_acquire(p);
	}
}

static void rest(world* w)
{
	switch (draw(w, 3)) {
	case 0: tl_mem_collect_cycles(); break;
	case 1:
		if (chance(w, 20)) tl_mem_purge();
		break;
	default: faults_family.step(w);
	}
}

/* ---- a round ------------------------------------------------------------------------------------- */

typedef struct part {
	const char* name;
	unsigned weight;
	void (*calls)(world* w);
} part;

static const part parts[] = {
	{"makes", 16, make},          {"counts", 18, count},  {"lists", 10, list},      {"vecs", 14, vecs},
	{"writes a field", 8, field}, {"scopes", 10, scopes}, {"the arena", 4, arenas}, {"references", 8, references},
	{"tensors", 14, tensors},     {"blocks", 10, blocks}, {"cells", 6, cells},      {"the rest", 1, rest},
};

static const part* draw_part(world* w)
{
	unsigned sum = 0;
	const part* p = parts;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) sum += parts[i].weight;
	for (unsigned n = (unsigned)draw(w, sum); n >= p->weight; p++) n -= p->weight;
	return p;
}

void wild_step(world* w)
{
	const part* p = draw_part(w);
	note(w, "%s", p->name);
	p->calls(w);
	tl_status last = tl_last_status();
	if (last < 0 || last >= TL_E_CORRUPTED || last == TL_E_INTERNAL) fail(w, "%s: status %d", p->name, last);
	w->events_len = 0; /* its destructors are nobody's to foretell */
}

void wild_begin(world* w)
{
	note(w, "a program ends");
	tl_mem_exit_scopes_to(0);
	tl_arena_free();
	end_shortage(w);
	overwrites = chance(w, 50);
	for (int i = 0; i < THINGS; i++) things[i] = (thing){.type = NO_TYPE};
	memset(words, 0, sizeof words); /* of tensors whose headers were overwritten, too */
}
