/* Objects, scopes, frames, the arena and Vecs. */
#include "faults.h"

static void *made, *other;

static bool is(void* p)
{
	made = p;
	return p != NULL;
}

static void release_made(void) { CHECK_OK(tl_ptr_release(made)); }
static void free_cell(void) { CHECK_OK(tl_cell_free(made)); }

/* ---- objects --------------------------------------------------------------------------- */

static bool alloc_small(void) { return is(tl_mem_alloc(48)); }
static bool alloc_page(void) { return is(tl_mem_alloc(5000)); }
static bool alloc_large(void) { return is(tl_mem_alloc(300000)); }
static bool alloc_aligned(void) { return is(tl_mem_aligned_alloc(3000, 1 << 20)); }
static bool cell_small(void) { return is(tl_cell_new(200)); }
static bool cell_large(void) { return is(tl_cell_new(70000)); }
static bool cell_typed(void) { return is(tl_cell_new_typed(w.pair)); }
static bool new_small(void) { return is(tl_mem_new(200)); }
static bool new_large(void) { return is(tl_mem_new(70000)); }
static bool new_zeroed(void) { return is(tl_mem_new_zeroed(3000)); }
static bool alloc_tmp(void) { return is(tl_alloc_tmp(700)); }
static bool object_new(void) { return is(tl_object_new(w.pair)); }
static bool object_new_fragile(void) { return is(tl_object_new(w.fragile)); }

static void make_grown(void)
{
	other = tl_mem_new(100);
	memset(other, 0x77, 100);
}

static bool grow(size_t bytes)
{
	char* grown = tl_mem_realloc(other, bytes);
	if (grown == NULL) return false;
	for (int i = 0; i < 100; i++) CHECK_INT(grown[i], 0x77);
	return true;
}

static bool realloc_a_little(void) { return grow(900); }
static bool realloc_much(void) { return grow(200000); }

static void* token; /* stays the caller's where it is not taken */
static void make_token(void) { token = token != NULL ? token : tl_mem_alloc(48); }
static bool reuse(size_t bytes)
{
	if (!is(tl_ptr_reuse(token, bytes))) return false;
	token = NULL;
	return true;
}
static bool reuse_in_place(void) { return reuse(40); }
static bool reuse_elsewhere(void) { return reuse(900); }
static bool reuse_much(void) { return reuse(200000); }
static void drop_token(void)
{
	CHECK_OK(tl_ptr_release(token));
	token = NULL;
}

static bool clone(void) { return is(tl_mem_deep_clone(w.root)); }
static bool clone_a_vec(void) { return is(tl_mem_deep_clone(w.vec)); }
static bool clone_an_end(void) { return is(tl_mem_deep_clone(w.leaf)); }

/* More objects than the list of a clone has room for at first. */
static void make_long_vec(void)
{
	other = tl_vec_new(3000);
	for (int i = 0; i < 3000; i++) {
		void** node = tl_object_new(w.pair);
		CHECK_OK(tl_vec_push(other, node));
		CHECK_OK(tl_mem_unregister(node));
		CHECK_OK(tl_ptr_release(node));
	}
}

static bool clone_much(void)
{
	void* copy = tl_mem_deep_clone(other);
	if (copy == NULL) return false;
	CHECK_INT(tl_vec_len(copy), 3000);
	return true;
}

static void make_garbage(void)
{
	void **a = tl_object_new(w.pair), **b = tl_object_new(w.fragile);
	a[0] = b;
	b[1] = tl_ptr_acquire(a);
	CHECK_OK(tl_mem_unregister(b));
	CHECK_OK(tl_mem_unregister(a));
	CHECK_OK(tl_ptr_release(a));
}

static bool collect(void) { return tl_mem_collect_cycles() >= 2; }

static tl_type_desc one_more(void)
{
	static size_t many[300];
	for (size_t i = 0; i < 300; i++) many[i] = i * 8;
	return (tl_type_desc){.name = "one more", .size = 2400, .pointer_offsets = many, .num_pointers = 300};
}

static tl_type defined;

static bool define(void)
{
	tl_type_desc desc = one_more();
	return ok(tl_type_define(&desc, &defined));
}

static bool define_deferred(void)
{
	static tl_deferred_dead dead = {.bytes = 16};
	tl_type_desc desc = one_more();
	return ok(tl_type_define_deferred(&desc, &dead, &defined));
}

static bool define_vec(void)
{
	const tl_vec_desc desc = {.struct_size = sizeof desc,
	                          .name = "one more",
	                          .size = 24,
	                          .length_offset = 8,
	                          .capacity_offset = 16,
	                          .number_bytes = 8,
	                          .elements = TL_VEC_STRUCTS,
	                          .element_type = w.pair};
	return ok(tl_type_define_vec(&desc, &defined));
}

/* Without references in it. */
static void lend_zeroed(void)
{
	lend();
	memset(lent, 0, 64);
}

static bool register_struct(void) { return taken_if(ok(tl_mem_register_struct(lent))); }
static bool register_named(void) { return taken_if(ok(tl_mem_register_struct_named(lent, "other"))); }
static bool register_typed(void) { return taken_if(ok(tl_mem_register_struct_typed(lent, w.pair))); }
static bool register_any(void) { return taken_if(ok(tl_mem_register(lent))); }
static bool register_known(void) { return ok(tl_mem_register_ptr(w.plain[1])); }
static bool register_vec(void) { return ok(tl_mem_register_vec_ptr(w.vec)); }

/* Behind so many newer entries that the scope wants an index. */
static void register_long_ago(void)
{
	CHECK_OK(tl_mem_register(w.plain[1]));
	for (int i = 0; i < 200; i++) CHECK(tl_mem_new(40) != NULL);
}

static bool unregister(void) { return ok(tl_mem_unregister(w.plain[1])); }
static void sink_again(void) { CHECK_OK(tl_mem_register(w.plain[1])); }
static void collect_rest(void) { tl_mem_collect_cycles(); }

static const step objects[] = {
	{.name = "tl_mem_alloc", .call = alloc_small, .undo = release_made},
	{.name = "tl_mem_alloc", .call = alloc_page, .undo = release_made},
	{.name = "tl_mem_alloc", .call = alloc_large, .undo = release_made},
	{.name = "tl_mem_aligned_alloc", .call = alloc_aligned, .undo = release_made},
	{.name = "tl_cell_new", .call = cell_small, .undo = free_cell},
	{.name = "tl_cell_new", .call = cell_large, .undo = free_cell},
	{.name = "tl_cell_new_typed", .call = cell_typed, .undo = free_cell},
	{.name = "tl_mem_new", .call = new_small},
	{.name = "tl_mem_new", .call = new_large},
	{.name = "tl_mem_new_zeroed", .call = new_zeroed},
	{.name = "tl_alloc_tmp", .call = alloc_tmp, .undo = release_made},
	{.name = "tl_object_new", .call = object_new},
	{.name = "tl_object_new", .call = object_new_fragile},
	{.name = "tl_mem_realloc", .call = realloc_a_little, .before = make_grown},
	{.name = "tl_mem_realloc", .call = realloc_much, .before = make_grown},
	{.name = "tl_ptr_reuse", .call = reuse_in_place, .undo = release_made, .before = make_token, .finally = drop_token},
	{.name = "tl_ptr_reuse",
     .call = reuse_elsewhere,
     .undo = release_made,
     .before = make_token,
     .finally = drop_token},
	{.name = "tl_ptr_reuse", .call = reuse_much, .undo = release_made, .before = make_token, .finally = drop_token},
	{.name = "tl_mem_deep_clone", .call = clone, .finally = collect_rest}, /* its copy is a cycle, too */
	{.name = "tl_mem_deep_clone", .call = clone_a_vec},
	{.name = "tl_mem_deep_clone", .call = clone_an_end, .finally = collect_rest},
	{.name = "tl_mem_deep_clone", .call = clone_much, .before = make_long_vec},
	{.name = "tl_mem_collect_cycles",
     .call = collect,
     .before = make_garbage,
     .finally = collect_rest,
     .not_in = "system"},
	{.name = "tl_type_define", .call = define},
	{.name = "tl_type_define_deferred", .call = define_deferred},
	{.name = "tl_type_define_vec", .call = define_vec},
	{.name = "tl_mem_register_struct", .call = register_struct, .before = lend, .finally = take_back},
	{.name = "tl_mem_register_struct_named", .call = register_named, .before = lend, .finally = take_back},
	{.name = "tl_mem_register_struct_typed", .call = register_typed, .before = lend_zeroed, .finally = take_back},
	{.name = "tl_mem_register", .call = register_any, .before = lend, .finally = take_back},
	{.name = "tl_mem_register_ptr", .call = register_known},
	{.name = "tl_mem_register_vec_ptr", .call = register_vec},
	{.name = "tl_mem_unregister", .call = unregister, .before = register_long_ago, .undo = sink_again},
};
const steps object_steps = {objects, sizeof objects / sizeof *objects};

/* ---- scopes, frames, the arena ----------------------------------------------------------- */

static int64_t offset;

static bool enter_scope(void) { return ok(tl_mem_enter_scope()); }
static bool enter_function(void) { return ok(tl_mem_function_enter(40)); }
static void in_a_function(void) { CHECK_OK(tl_mem_function_enter(2)); }
static bool get_buffer(void) { return is(tl_mem_get_buffer(0, 3000)); }
static bool enter_frame(void) { return is(tl_mem_frame_enter(5000)); }
static void note_offset(void) { offset = tl_arena_get_offset(); }
static void back_to_offset(void) { CHECK_OK(tl_arena_set_offset(offset)); }
static bool arena_alloc(void) { return is(tl_arena_alloc(1000)); }
static bool arena_malloc(void) { return is(tl_arena_malloc(1000)); }
static bool arena_malloc_much(void) { return is(tl_arena_malloc(20000)); }
static bool arena_init(void) { return ok(tl_arena_init(8192)); }
static void arena_as_before(void) { CHECK_OK(tl_arena_init(4096)); }

static const step scopes[] = {
	{.name = "tl_mem_enter_scope", .call = enter_scope},
	{.name = "tl_mem_function_enter", .call = enter_function},
	{.name = "tl_mem_get_buffer", .call = get_buffer, .before = in_a_function},
	{.name = "tl_mem_frame_enter", .call = enter_frame},
	{.name = "tl_arena_alloc", .call = arena_alloc, .before = note_offset, .undo = back_to_offset},
	{.name = "tl_arena_malloc", .call = arena_malloc, .before = note_offset, .undo = back_to_offset},
	{.name = "tl_arena_malloc", .call = arena_malloc_much, .undo = release_made},
	{.name = "tl_arena_init", .call = arena_init, .undo = arena_as_before},
};
const steps scope_steps = {scopes, sizeof scopes / sizeof *scopes};

/* ---- Vecs -------------------------------------------------------------------------------- */

/* As many elements as there is room for. */
static void make_full_vec(void)
{
	other = tl_vec_new(0);
	for (int i = 0; i < 4; i++) CHECK_OK(tl_vec_push(other, w.plain[i]));
}

static bool vec_new(void) { return is(tl_vec_new(0)); }
static bool vec_new_with_room(void) { return is(tl_vec_new(20000)); }
static bool vec_push(void) { return ok(tl_vec_push(other, w.plain[4])); }
static bool vec_push_foreign(void) { return ok(tl_vec_push(other, w.block)); }
static bool vec_reserve(void) { return ok(tl_vec_reserve(other, 500)); }
static bool vec_set(void) { return ok(tl_vec_set(other, 1, w.plain[5])); }
static bool vec_clear(void) { return ok(tl_vec_clear(other)); }

static const step vecs[] = {
	{.name = "tl_vec_new", .call = vec_new},
	{.name = "tl_vec_new", .call = vec_new_with_room},
	{.name = "tl_vec_push", .call = vec_push, .before = make_full_vec},
	{.name = "tl_vec_push", .call = vec_push_foreign, .before = make_full_vec},
	{.name = "tl_vec_reserve", .call = vec_reserve, .before = make_full_vec},
	{.name = "tl_vec_set", .call = vec_set, .before = make_full_vec},
	{.name = "tl_vec_clear", .call = vec_clear, .before = make_full_vec},
};
const steps vec_steps = {vecs, sizeof vecs / sizeof *vecs};
