/* The steps that driver.c executes: handles, contents, and the calls by name. */
#ifndef TL_TESTS_DRIVER_STEPS_H
#define TL_TESTS_DRIVER_STEPS_H

#include "check.h"

enum { MAX_HANDLES = 4096, MAX_WORDS = 8, MAX_LINE = 256, FRONT = 1000, BACK = 64, TYPES = 5 };

typedef struct handle {
	uintptr_t p, bytes;
	bool arena, dead, reused;
} handle;

static handle handles[MAX_HANDLES];
static int64_t destroyed;
static char reply[MAX_LINE];

/* One step, taken apart. */
typedef struct step {
	const char* name;
	int64_t a[MAX_WORDS];
} step;

static void* pointer(const step* s, int i) { return (void*)(uintptr_t)s->a[i]; }

/* Types, as in tests_go/model/objects.go. */

static void counts(void* object)
{
	(void)object;
	destroyed++;
}

static void uses_scope(void* object)
{
	counts(object);
	tl_mem_enter_scope();
	tl_mem_new(64);
	tl_mem_exit_scope();
}

static void registers(void* object)
{
	counts(object);
	tl_mem_new(32);
}

static const size_t offsets[TYPES][2] = {{0, 8}, {8, 24}, {0}, {40}, {0, 69992}};
static const tl_type_desc descriptions[TYPES] = {
	{.name = "pair", .size = 24, .pointer_offsets = offsets[0], .num_pointers = 2},
	{.name = "counted", .size = 32, .pointer_offsets = offsets[1], .num_pointers = 2, .destructor = counts},
	{.name = "scoped", .size = 40, .destructor = uses_scope},
	{.name = "registering", .size = 48, .pointer_offsets = offsets[3], .num_pointers = 1, .destructor = registers},
	{.name = "large", .size = 70000, .pointer_offsets = offsets[4], .num_pointers = 2, .destructor = counts},
};
static tl_type types[TYPES];

static tl_type type_number(int64_t i) { return i < TYPES ? types[i] : 1u << 23; }

static size_t own_bytes(int64_t type)
{
	const tl_type_desc* d = &descriptions[type];
	return d->num_pointers == 0 ? 0 : d->pointer_offsets[d->num_pointers - 1] + 8;
}

/* Contents: small objects are filled and looked at, of large ones both ends. */

static size_t back_from(size_t from, size_t bytes)
{
	size_t start = bytes < BACK ? 0 : bytes - BACK;
	start = start < FRONT ? FRONT : start;
	return start < from ? from : start;
}

static void fill(uintptr_t p, size_t from, size_t bytes, int value)
{
	char* memory = (char*)p;
	for (size_t i = from; i < bytes && i < FRONT; i++) memory[i] = (char)value;
	for (size_t i = back_from(from, bytes); i < bytes; i++) memory[i] = (char)value;
}

/* The value that all bytes looked at have, -1 when they differ. */
static int uniform(uintptr_t p, size_t from, size_t bytes)
{
	const unsigned char* memory = (const unsigned char*)p;
	for (size_t i = from; i < bytes && i < FRONT; i++)
		if (memory[i] != memory[from]) return -1;
	for (size_t i = back_from(from, bytes); i < bytes; i++)
		if (memory[i] != memory[from]) return -1;
	return memory[from];
}

static int filling(int64_t k) { return (int)(1 + k % 255); }

/* Notes what a handle stands for and replies with the lowest handle that has the
 * address. New memory may cover dead handles, never living ones. */
static void claim(int64_t k, handle new, char* out)
{
	sprintf(out, "=%" PRId64, k);
	for (int i = 0; i < k; i++) {
		handle* old = &handles[i];
		if (old->p == new.p && !old->dead && !old->reused) {
			handles[k] = new;
			sprintf(out, "=%d", i);
			return;
		}
	}
	for (int i = 0; i < k; i++) {
		handle* old = &handles[i];
		if (old->p == 0 || old->arena || old->reused) continue;
		if (old->dead) old->reused = old->p - new.p < new.bytes;
		else if (old->p - new.p < new.bytes || new.p - old->p < old->bytes) sprintf(out, "overlaps=%d", i);
	}
	handles[k] = new;
}

/* Calls that return an address: handle, then their arguments. */

typedef enum content { NONE, PLAIN, ZEROED, TYPED } content;

typedef struct maker {
	const char* name;
	void* (*of_size)(size_t);
	void* (*of_int)(int64_t);
	void* (*of_pointer)(void*);
	content content;
} maker;

static void* object_new(int64_t type) { return tl_object_new(type_number(type)); }

static const maker makers[] = {
	{"alloc", tl_mem_alloc, NULL, NULL, PLAIN},
	{"alloc_tmp", NULL, tl_alloc_tmp, NULL, PLAIN},
	{"new", tl_mem_new, NULL, NULL, PLAIN},
	{"new_zeroed", tl_mem_new_zeroed, NULL, NULL, ZEROED},
	{"arena_malloc", NULL, tl_arena_malloc, NULL, PLAIN},
	{"arena_alloc", NULL, tl_arena_alloc, NULL, PLAIN},
	{"frame_enter", tl_mem_frame_enter, NULL, NULL, PLAIN},
	{"vec_new", tl_vec_new, NULL, NULL, NONE},
	{"object_new", NULL, object_new, NULL, TYPED},
	{"deep_clone", NULL, NULL, tl_mem_deep_clone, NONE},
	{"vec_pop", NULL, NULL, tl_vec_pop, NONE},
};

static void* make(const maker* m, const step* s)
{
	if (m->of_size != NULL) return m->of_size((size_t)s->a[1]);
	return m->of_int != NULL ? m->of_int(s->a[1]) : m->of_pointer(pointer(s, 1));
}

static void replied_address(const maker* m, const step* s)
{
	handle new = {.p = (uintptr_t)make(m, s), .bytes = 1};
	tl_status status = tl_last_status();
	bool zeroed = false;
	char claimed[32];
	if (new.p == 0 || (m->content == PLAIN && s->a[1] == 0)) {
		sprintf(reply, "%d %d", new.p != 0, status);
		return;
	}
	if (m->content != NONE) new.bytes = m->content == TYPED ? descriptions[s->a[1]].size : (size_t)s->a[1];
	if (m->content >= ZEROED) zeroed = uniform(new.p, 0, new.bytes) == 0;
	new.arena = tl_arena_contains((void*)new.p);
	claim(s->a[0], new, claimed);
	if (m->content != NONE) fill(new.p, m->content == TYPED ? own_bytes(s->a[1]) : 0, new.bytes, filling(s->a[0]));
	sprintf(reply, m->content >= ZEROED ? "%s %d %d" : "%s %d", claimed, status, zeroed);
}

static void found_address(int64_t k, const void* p, size_t bytes)
{
	tl_status status = tl_last_status();
	char claimed[32] = "0";
	if (p != NULL) claim(k, (handle){.p = (uintptr_t)p, .bytes = bytes}, claimed);
	sprintf(reply, "%s %d", claimed, status);
}

/* Calls that return a status or a number. */

typedef struct caller {
	const char* name;
	tl_status (*plain)(void);
	tl_status (*of_pointer)(void*);
	tl_status (*of_int)(int64_t);
	int64_t (*other)(const step*);
} caller;

static int64_t call_release_bool(const step* s) { return tl_ptr_release_bool(pointer(s, 0)); }
static int64_t call_dec_ref(const step* s) { return tl_ptr_dec_ref(pointer(s, 0)); }
static int64_t call_refcount(const step* s) { return tl_ptr_refcount(pointer(s, 0)); }
static int64_t call_check(const step* s) { return tl_ptr_check(pointer(s, 0)); }
static int64_t call_acquire(const step* s) { return tl_ptr_acquire(pointer(s, 0)) == pointer(s, 0); }
static int64_t call_named(const step* s) { return tl_mem_register_struct_named(pointer(s, 0), "Named"); }
static int64_t call_vec_len(const step* s) { return tl_vec_len(pointer(s, 0)); }
static int64_t call_vec_push(const step* s) { return tl_vec_push(pointer(s, 0), pointer(s, 1)); }
static int64_t call_vec_set(const step* s) { return tl_vec_set(pointer(s, 0), s->a[1], pointer(s, 2)); }
static int64_t call_vec_reserve(const step* s) { return tl_vec_reserve(pointer(s, 0), (size_t)s->a[1]); }
static int64_t call_contains(const step* s) { return tl_arena_contains(pointer(s, 0)); }
static int64_t call_collect(const step* s) { return (void)s, tl_mem_collect_cycles(); }
static int64_t call_depth(const step* s) { return (void)s, tl_get_scope_depth(); }

static int64_t call_type_define(const step* s)
{
	static const size_t misaligned[] = {4}, outside[] = {16}, twice[] = {8, 8}, first[] = {0};
	static const tl_type_desc bad[] = {
		{.size = 0},
		{.size = 16, .pointer_offsets = misaligned, .num_pointers = 1},
		{.size = 16, .pointer_offsets = outside, .num_pointers = 1},
		{.size = 24, .pointer_offsets = twice, .num_pointers = 2},
		{.size = 4, .pointer_offsets = first, .num_pointers = 1},
	};
	tl_type none;
	return tl_type_define(&bad[s->a[0]], &none);
}

static const caller callers[] = {
	{.name = "acquire", .other = call_acquire},
	{.name = "inc_ref", .of_pointer = tl_ptr_inc_ref},
	{.name = "release", .of_pointer = tl_ptr_release},
	{.name = "release_bool", .other = call_release_bool},
	{.name = "dec_ref", .other = call_dec_ref},
	{.name = "refcount", .other = call_refcount},
	{.name = "check", .other = call_check},
	{.name = "register_struct", .of_pointer = tl_mem_register_struct},
	{.name = "register_named", .other = call_named},
	{.name = "register", .of_pointer = tl_mem_register},
	{.name = "register_ptr", .of_pointer = tl_mem_register_ptr},
	{.name = "register_tensor", .of_pointer = tl_mem_register_tensor},
	{.name = "register_vec_ptr", .of_pointer = tl_mem_register_vec_ptr},
	{.name = "unregister", .of_pointer = tl_mem_unregister},
	{.name = "share", .of_pointer = tl_ptr_share},
	{.name = "immortal", .of_pointer = tl_ptr_make_immortal},
	{.name = "free", .of_pointer = tl_mem_free},
	{.name = "dealloc", .of_pointer = tl_mem_dealloc},
	{.name = "free_tmp", .of_pointer = tl_free_tmp},
	{.name = "type_define", .other = call_type_define},
	{.name = "collect", .other = call_collect},
	{.name = "purge", .plain = tl_mem_purge},
	{.name = "shutdown", .plain = tl_shutdown},
	{.name = "vec_len", .other = call_vec_len},
	{.name = "vec_push", .other = call_vec_push},
	{.name = "vec_set", .other = call_vec_set},
	{.name = "vec_reserve", .other = call_vec_reserve},
	{.name = "vec_clear", .of_pointer = tl_vec_clear},
	{.name = "enter_scope", .plain = tl_mem_enter_scope},
	{.name = "exit_scope", .plain = tl_mem_exit_scope},
	{.name = "exit_scopes_to", .of_int = tl_mem_exit_scopes_to},
	{.name = "depth", .other = call_depth},
	{.name = "function_enter", .of_int = tl_mem_function_enter},
	{.name = "function_exit", .plain = tl_mem_function_exit},
	{.name = "frame_exit", .plain = tl_mem_frame_exit},
	{.name = "arena_init", .of_int = tl_arena_init},
	{.name = "arena_free", .plain = tl_arena_free},
	{.name = "arena_reset", .plain = tl_arena_reset},
	{.name = "arena_set_offset", .of_int = tl_arena_set_offset},
	{.name = "arena_contains", .other = call_contains},
};

static int64_t call(const caller* c, const step* s)
{
	if (c->plain != NULL) return c->plain();
	if (c->of_pointer != NULL) return c->of_pointer(pointer(s, 0));
	return c->of_int != NULL ? c->of_int(s->a[0]) : c->other(s);
}

/* Steps that are more than one call. */

/* handle, object, old size, new size; what has to be kept is looked at */
static void step_realloc(const step* s)
{
	size_t bytes = (size_t)s->a[3], same = (size_t)(s->a[2] < s->a[3] ? s->a[2] : s->a[3]);
	void* moved = tl_mem_realloc(pointer(s, 1), bytes);
	tl_status status = tl_last_status();
	int kept = 0;
	char claimed[32] = "0";
	if (moved != NULL) {
		if (same > 0) kept = uniform((uintptr_t)moved, 0, same < FRONT ? same : FRONT);
		claim(s->a[0], (handle){.p = (uintptr_t)moved, .bytes = bytes}, claimed);
		fill((uintptr_t)moved, 0, bytes, same > 0 ? kept : filling(s->a[0]));
	}
	sprintf(reply, "%s %d %d", claimed, status, kept);
}

static void step_malloc(const step* s)
{
	void* p = malloc((size_t)s->a[1]);
	fill((uintptr_t)p, 0, (size_t)s->a[1], filling(s->a[0]));
	found_address(s->a[0], p, (size_t)s->a[1]);
}

static void step_vec_get(const step* s) { found_address(s->a[0], tl_vec_get(pointer(s, 1), s->a[2]), 1); }

static void step_get_buffer(const step* s)
{
	found_address(s->a[0], tl_mem_get_buffer(s->a[1], s->a[2]), (size_t)s->a[2]);
}

static void** field(void* object, int64_t offset) { return (void**)((char*)object + offset); }

/* Steps that touch memory themselves leave out what is not live: wild programs have such handles. */
static bool untouchable(void* object)
{
	if (object != NULL && tl_ptr_check(object) == TL_OK) return false;
	strcpy(reply, "reused");
	return true;
}

static void step_get_field(const step* s)
{
	if (untouchable(pointer(s, 1))) return;
	found_address(s->a[0], *field(pointer(s, 1), s->a[2]), 1);
}

/* what a compiler emits: acquire what goes in, release what was there */
static void step_set_field(const step* s)
{
	void **slot = field(pointer(s, 0), s->a[1]), *old;
	if (untouchable(pointer(s, 0))) return;
	old = *slot;
	tl_ptr_acquire(pointer(s, 2));
	sprintf(reply, "%d ", tl_last_status());
	*slot = pointer(s, 2);
	sprintf(reply + strlen(reply), "%d", tl_ptr_release(old));
}

/* the caller's part after dec_ref returned 1 */
static void step_finish(const step* s)
{
	const tl_type_desc* d = s->a[1] < 0 ? NULL : &descriptions[s->a[1]];
	tl_status freed;
	for (size_t i = 0; d != NULL && i < d->num_pointers; i++) {
		void** slot = field(pointer(s, 0), (int64_t)d->pointer_offsets[i]);
		tl_ptr_release(*slot);
		*slot = NULL;
	}
	freed = tl_mem_free(pointer(s, 0));
	sprintf(reply, "%d %d", freed, tl_last_status());
}

static void step_verify(const step* s)
{
	if (!untouchable(pointer(s, 0)))
		sprintf(reply, "%d", uniform((uintptr_t)s->a[0], (size_t)s->a[2], (size_t)s->a[1]));
}

static void step_arena_state(const step* s)
{
	(void)s;
	sprintf(reply, "%d %" PRId64 " %" PRId64, tl_arena_is_active(), tl_arena_get_offset(), tl_arena_get_capacity());
}

#endif
