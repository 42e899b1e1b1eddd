/* Drivers of scopes, objects, references, Vecs, frames and the arena. */
#include "kinds.h"

/* ---- scopes */

static void fill(kinds_world* w)
{
	int64_t count = kinds_length(w);
	for (int64_t i = 0; i < count; i++) {
		if (one_in(w, 64)) (void)kinds_any(w);
		else CHECK(tl_mem_new(16 + below(w, 200)) != NULL);
	}
}

DRIVE(tl_mem_enter_scope)
{
	CALL(CHECK_OK(tl_mem_enter_scope()));
	CHECK_OK(tl_mem_exit_scope());
}

DRIVE(tl_mem_exit_scope)
{
	CHECK_OK(tl_mem_enter_scope());
	fill(w);
	CALL(CHECK_OK(tl_mem_exit_scope()));
}

DRIVE(tl_mem_exit_scopes_to)
{
	int64_t depth = tl_get_scope_depth();
	for (uint64_t scopes = below(w, 8); scopes > 0; scopes--) {
		CHECK_OK(tl_mem_enter_scope());
		(void)kinds_any(w);
	}
	CALL(CHECK_OK(tl_mem_exit_scopes_to(depth)));
}

DRIVE(tl_get_scope_depth) { CALL((void)tl_get_scope_depth()); }

/* ---- objects */

DRIVE(tl_mem_alloc)
{
	size_t bytes = kinds_bytes(w);
	void* object;
	CALL(object = tl_mem_alloc(bytes));
	kinds_let_go(w, object);
}

DRIVE(tl_mem_aligned_alloc)
{
	size_t bytes = kinds_bytes(w);
	void* object;
	CALL(object = tl_mem_aligned_alloc(bytes, (size_t)1 << below(w, 17)));
	kinds_let_go(w, object);
}

DRIVE(tl_mem_usable_size)
{
	size_t bytes = 0;
	void* object = kinds_loose(w, kinds_plain);
	CALL(bytes = tl_mem_usable_size(object));
	CHECK(bytes != 0);
	kinds_let_go(w, object);
}

DRIVE(tl_alloc_tmp)
{
	int64_t bytes = (int64_t)kinds_bytes(w);
	void* object;
	CALL(object = tl_alloc_tmp(bytes));
	kinds_let_go(w, object);
}

DRIVE(tl_mem_new)
{
	size_t bytes = kinds_bytes(w);
	void* object;
	CALL(object = tl_mem_new(bytes));
	kinds_drop(w, object);
}

DRIVE(tl_mem_new_zeroed)
{
	size_t bytes = kinds_bytes(w);
	void* object;
	CALL(object = tl_mem_new_zeroed(bytes));
	kinds_drop(w, object);
	w->touched += bytes;
}

/* One of those that the scope has had for long, some of them several times; one that a container holds stays. */
static void realloc_entry(kinds_world* w)
{
	void **entry = &w->entries[below(w, (uint64_t)w->entry_count)], *moved;
	size_t bytes = kinds_bytes(w);
	if (w->entry_count >= 1000 && one_in(w, 50)) CHECK_OK(tl_mem_register_struct(*entry));
	CALL(moved = tl_mem_realloc(*entry, bytes));
	if (moved != NULL) *entry = moved;
}

/* Grows by little, by twice or to anything, and shrinks now and then. */
DRIVE(tl_mem_realloc)
{
	if (one_in(w, 4)) {
		realloc_entry(w);
		return;
	}
	if (w->object == NULL) w->object = tl_mem_new(w->object_bytes = 1);
	size_t bytes = w->object_bytes, old = bytes;
	switch (below(w, 4)) {
	case 0: bytes *= 2; break;
	case 1: bytes = kinds_bytes(w); break;
	default: bytes += 1 + below(w, 32);
	}
	if (bytes > w->largest) bytes = 1;
	(void)kinds_noted(w, bytes);
	CALL(w->object = tl_mem_realloc(w->object, bytes));
	w->object_bytes = bytes;
	w->touched += old < bytes ? old : bytes;
}

/* Of the same size or of any other, and of nothing. */
DRIVE(tl_ptr_reuse)
{
	size_t bytes = kinds_bytes(w);
	void* object = one_in(w, 10) ? NULL : one_in(w, 4) ? kinds_loose(w, kinds_plain) : tl_mem_alloc(bytes);
	CALL(object = tl_ptr_reuse(object, one_in(w, 4) ? kinds_bytes(w) : bytes));
	kinds_let_go(w, object);
}

#define ENDS_PLAIN(name)                                         \
	DRIVE(name)                                                  \
	{                                                            \
		void* object = kinds_loose(w, kinds_plain);              \
		if (one_in(w, 2) && tl_ptr_dec_ref(object) == 0) return; \
		CALL(CHECK_OK(name(object)));                            \
	}
ENDS_PLAIN(tl_mem_free)
ENDS_PLAIN(tl_mem_dealloc)
ENDS_PLAIN(tl_free_tmp)

DRIVE(tl_object_new)
{
	const tl_type types[] = {kinds_fields, kinds_leaf, kinds_destroyed};
	tl_type type = types[below(w, 3)];
	void* object;
	CALL(object = tl_object_new(type));
	kinds_drop(w, object);
}

/* ---- references */

#define REGISTERS(name, of)                \
	DRIVE(name)                            \
	{                                      \
		void* object = kinds_loose(w, of); \
		CALL(CHECK_OK(name(object)));      \
		kinds_drop(w, object);             \
	}

static void* with_elements(kinds_world* w) { return kinds_vec(w, one_in(w, 2) ? 4 : 0); }

REGISTERS(tl_mem_register_ptr, kinds_any)
REGISTERS(tl_mem_register_tensor, kinds_one_tensor)
REGISTERS(tl_mem_register_vec_ptr, with_elements)

#define ADOPTS(name, call)                                                                    \
	DRIVE(name)                                                                               \
	{                                                                                         \
		void* object = one_in(w, 2) ? malloc(kinds_bytes(w) + 8) : kinds_loose(w, kinds_any); \
		CALL(CHECK_OK(call));                                                                 \
		kinds_drop(w, object);                                                                \
	}
ADOPTS(tl_mem_register_struct, tl_mem_register_struct(object))
ADOPTS(tl_mem_register_struct_named, tl_mem_register_struct_named(object, "named"))
ADOPTS(tl_mem_register, tl_mem_register(object))

DRIVE(tl_mem_register_struct_typed)
{
	void* object = calloc(1, 80);
	tl_type type = one_in(w, 2) ? kinds_fields : kinds_destroyed;
	CALL(CHECK_OK(tl_mem_register_struct_typed(object, type)));
	kinds_drop(w, object);
}

/* The newest, or any. */
DRIVE(tl_mem_unregister)
{
	void* object = one_in(w, 2) ? kinds_any(w) : kinds_entry(w);
	CALL(CHECK_OK(tl_mem_unregister(object)));
	CHECK_OK(tl_mem_register_ptr(object));
}

/* Of an object, or of what is nobody's: a program that counts addresses of its stack does not slow down. */
#define COUNTS_UP(name, call)               \
	DRIVE(name)                             \
	{                                       \
		if (one_in(w, 3)) {                 \
			void* object = kinds_nobody(w); \
			CALL(call);                     \
			return;                         \
		}                                   \
		void* object = kinds_any(w);        \
		CALL(call);                         \
		CHECK_OK(tl_ptr_release(object));   \
		kinds_drop(w, object);              \
	}
COUNTS_UP(tl_ptr_acquire, tl_ptr_acquire(object))
COUNTS_UP(tl_ptr_inc_ref, tl_ptr_inc_ref(object))

#define COUNTS_DOWN(name, call)                                                    \
	DRIVE(name)                                                                    \
	{                                                                              \
		void* object = one_in(w, 3) ? kinds_nobody(w) : kinds_loose(w, kinds_any); \
		CALL(call);                                                                \
	}
COUNTS_DOWN(tl_ptr_release, (void)tl_ptr_release(object))
COUNTS_DOWN(tl_ptr_release_bool, (void)tl_ptr_release_bool(object))

DRIVE(tl_ptr_dec_ref)
{
	void* object = one_in(w, 3) ? kinds_nobody(w) : kinds_loose(w, kinds_plain);
	int32_t last;
	CALL(last = tl_ptr_dec_ref(object));
	if (last == 1) CHECK_OK(tl_mem_free(object));
}

#define LOOKS_AT(name, of)                              \
	DRIVE(name)                                         \
	{                                                   \
		bool known = !one_in(w, 3);                     \
		void* object = known ? of(w) : kinds_nobody(w); \
		CALL((void)name(object));                       \
		if (known) kinds_drop(w, object);               \
	}
LOOKS_AT(tl_ptr_refcount, kinds_any)
LOOKS_AT(tl_ptr_is_unique, kinds_any)
LOOKS_AT(tl_ptr_check, kinds_any)
LOOKS_AT(tl_ref_of, kinds_object)
LOOKS_AT(tl_weak_of, kinds_object)

DRIVE(tl_ptr_share)
{
	void* object = kinds_any(w);
	CALL(CHECK_OK(tl_ptr_share(object)));
	kinds_drop(w, object);
}

DRIVE(tl_weak_share)
{
	void* object = kinds_object(w);
	CALL(CHECK(tl_weak_share(object) != 0));
	kinds_drop(w, object);
}

DRIVE(tl_ref_acquire)
{
	void* object = kinds_object(w);
	tl_ref ref = tl_ref_of(object);
	CALL(CHECK(tl_ref_acquire(ref) != 0));
	CHECK_OK(tl_ptr_release(object));
	kinds_drop(w, object);
}

DRIVE(tl_ref_release)
{
	tl_ref ref = tl_ref_of(kinds_loose(w, kinds_object));
	CALL(CHECK_OK(tl_ref_release(ref)));
}

DRIVE(tl_ref_get)
{
	void* object = kinds_object(w);
	tl_ref ref = tl_ref_of(object);
	CALL(CHECK_PTR(tl_ref_get(ref), object));
	kinds_drop(w, object);
}

/* Of one that lives, and of one that does not. */
DRIVE(tl_ref_check)
{
	void* object = kinds_object(w);
	tl_ref ref = tl_ref_of(object);
	bool lives = one_in(w, 2);
	if (!lives) kinds_drop(w, object);
	CALL((void)tl_ref_check(ref));
	if (lives) kinds_drop(w, object);
}

DRIVE(tl_weak_get)
{
	void* object = kinds_object(w);
	tl_ref ref = tl_weak_of(object);
	bool lives = one_in(w, 2);
	if (!lives) {
		CHECK_OK(tl_mem_unregister(object));
		CHECK_OK(tl_ptr_release(object));
	}
	void* found;
	CALL(found = tl_weak_get(ref));
	CHECK_PTR(found, lives ? object : NULL);
	if (!lives) return;
	CHECK_OK(tl_ptr_release(object));
	kinds_drop(w, object);
}

/* ---- Vecs */
DRIVE(tl_vec_new)
{
	size_t capacity = (size_t)kinds_length(w);
	void* vec;
	CALL(vec = tl_vec_new(capacity));
	kinds_drop(w, vec);
}

DRIVE(tl_vec_push)
{
	if (w->vec == NULL || one_in(w, 200)) {
		kinds_drop(w, w->vec);
		w->vec = kinds_vec(w, 0);
	}
	for (int64_t i = kinds_length(w); i > 0; i--) CALL(CHECK_OK(tl_vec_push(w->vec, kinds_entry(w))));
}

static void* any_vec(kinds_world* w, int64_t* out_index)
{
	int64_t length = 1 + kinds_length(w);
	if (w->vec == NULL || one_in(w, 20)) {
		kinds_drop(w, w->vec);
		w->vec = kinds_vec(w, length);
	}
	while (tl_vec_len(w->vec) == 0) CHECK_OK(tl_vec_push(w->vec, kinds_entry(w)));
	*out_index = (int64_t)below(w, (uint64_t)tl_vec_len(w->vec));
	return w->vec;
}

DRIVE(tl_vec_get)
{
	int64_t i;
	void* vec = any_vec(w, &i);
	CALL((void)tl_vec_get(vec, i));
}

DRIVE(tl_vec_set)
{
	int64_t i;
	void* vec = any_vec(w, &i);
	void* element = one_in(w, 2) ? kinds_loose(w, kinds_object) : NULL;
	if (element == NULL) {
		CALL(CHECK_OK(tl_vec_set(vec, i, kinds_entry(w))));
		return;
	}
	CALL(CHECK_OK(tl_vec_set(vec, i, element))); /* the next one that is set here ends it */
	CHECK_OK(tl_ptr_release(element));
}

DRIVE(tl_vec_pop)
{
	int64_t i;
	void *vec = any_vec(w, &i), *element;
	CHECK_OK(tl_mem_enter_scope());
	CALL(element = tl_vec_pop(vec));
	CHECK_OK(tl_mem_register_ptr(element)); /* sinks what floats; no more than fifteen references may */
	CHECK_OK(tl_mem_exit_scope());
}

DRIVE(tl_vec_len)
{
	int64_t i;
	void* vec = any_vec(w, &i);
	CALL((void)tl_vec_len(vec));
}

DRIVE(tl_vec_reserve)
{
	void* vec = kinds_vec(w, (int64_t)below(w, 100));
	size_t capacity = (size_t)kinds_length(w);
	CALL(CHECK_OK(tl_vec_reserve(vec, capacity)));
	kinds_drop(w, vec);
}

DRIVE(tl_vec_clear)
{
	void* vec = kinds_vec(w, kinds_length(w));
	for (uint64_t i = below(w, 4); i > 0; i--) {
		void* element = kinds_object(w);
		CHECK_OK(tl_vec_push(vec, element));
		kinds_drop(w, element);
	}
	CALL(CHECK_OK(tl_vec_clear(vec)));
	kinds_drop(w, vec);
}

/* ---- frames and the arena */
enum { STACK_PART = 8 << 20 }; /* of the gigabyte that a thread's stacks of this kind have */

DRIVE(tl_mem_function_enter)
{
	int64_t slots = (int64_t)kinds_log_uniform(w, 1000) - 1;
	CALL(CHECK_OK(tl_mem_function_enter(slots)));
	CHECK_OK(tl_mem_function_exit());
}

DRIVE(tl_mem_function_exit)
{
	CHECK_OK(tl_mem_function_enter(4));
	CHECK(tl_mem_get_buffer((int64_t)below(w, 4), (int64_t)kinds_bytes_to(w, STACK_PART)) != NULL);
	fill(w);
	CALL(CHECK_OK(tl_mem_function_exit()));
}

DRIVE(tl_mem_get_buffer)
{
	CHECK_OK(tl_mem_function_enter(4));
	for (int i = 0; i < 40; i++) {
		int64_t bytes = (int64_t)kinds_bytes_to(w, STACK_PART), slot = (int64_t)below(w, 4);
		CALL(CHECK(tl_mem_get_buffer(slot, bytes) != NULL));
	}
	CHECK_OK(tl_mem_function_exit());
}

DRIVE(tl_mem_frame_enter)
{
	size_t bytes = kinds_bytes_to(w, STACK_PART);
	CALL(CHECK(tl_mem_frame_enter(bytes) != NULL));
	CHECK_OK(tl_mem_frame_exit());
}

DRIVE(tl_mem_frame_exit)
{
	CHECK(tl_mem_frame_enter(kinds_bytes_to(w, STACK_PART)) != NULL);
	fill(w);
	CALL(CHECK_OK(tl_mem_frame_exit()));
}

#define IN_ARENA(name, call)                                    \
	DRIVE(name)                                                 \
	{                                                           \
		CHECK_OK(tl_arena_init(0));                             \
		CHECK_OK(tl_mem_enter_scope());                         \
		int64_t bytes = (int64_t)kinds_bytes_to(w, STACK_PART); \
		int64_t before = tl_arena_get_offset();                 \
		void* memory = tl_arena_alloc(bytes);                   \
		CALL(call);                                             \
		(void)memory;                                           \
		(void)before;                                           \
		CHECK_OK(tl_mem_exit_scope());                          \
	}
IN_ARENA(tl_arena_alloc, CHECK(tl_arena_alloc(bytes) != NULL))
IN_ARENA(tl_arena_is_active, CHECK(tl_arena_is_active()))
IN_ARENA(tl_arena_contains, CHECK(tl_arena_contains(memory)))
IN_ARENA(tl_arena_get_offset, CHECK(tl_arena_get_offset() >= before))
IN_ARENA(tl_arena_set_offset, CHECK_OK(tl_arena_set_offset(before)))

/* In the arena, and on the heap where the arena is too small. */
DRIVE(tl_arena_malloc)
{
	int64_t bytes = (int64_t)kinds_bytes(w);
	CHECK_OK(tl_arena_init(1 << 20));
	CHECK_OK(tl_mem_enter_scope());
	void* memory;
	CALL(memory = tl_arena_malloc(bytes));
	if (!tl_arena_contains(memory)) kinds_let_go(w, memory);
	CHECK_OK(tl_mem_exit_scope());
}
