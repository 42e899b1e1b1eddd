/* Section Scopes: order of release, depth, early exits, and what may not be closed. */
#include "check.h"
#include "thread.h"

static int released[16];
static int released_count;

static void note_release(void* object)
{
	if (released_count < 16) released[released_count++] = *(int*)object;
}

static tl_type numbered;

static void* new_numbered(int number)
{
	int* object = tl_object_new(numbered);
	*object = number;
	return object;
}

TEST(newest_is_released_first)
{
	released_count = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 5; i++) new_numbered(i);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(released_count, 5);
	for (int i = 0; i < 5; i++) CHECK_INT(released[i], 4 - i);
}

TEST(scopes_nest)
{
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_OK(tl_mem_enter_scope());
	void* outer = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	void* inner = tl_mem_new(64);
	CHECK_INT(tl_get_scope_depth(), 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(inner);
	CHECK_COUNT(outer, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(outer);
}

TEST(an_exit_too_many_changes_nothing)
{
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_INT(tl_get_scope_depth(), 0);
}

TEST(a_scope_keeps_what_was_acquired)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
}

TEST(exit_leaves_a_functions_scope_alone)
{
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_OK(tl_mem_function_exit());
}

TEST_IN_SCOPE(exit_leaves_a_scope_below_a_planned_frame)
{
	CHECK(tl_mem_frame_enter(256) != NULL);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_frame_exit());
}

TEST(exit_scopes_to)
{
	void* objects[4];
	for (int i = 0; i < 4; i++) {
		CHECK_OK(tl_mem_enter_scope());
		objects[i] = tl_mem_new(64);
	}
	CHECK_OK(tl_mem_exit_scopes_to(4));
	CHECK_COUNT(objects[3], 1);
	CHECK_OK(tl_mem_exit_scopes_to(2));
	CHECK_INT(tl_get_scope_depth(), 2);
	CHECK_DEAD(objects[3]);
	CHECK_DEAD(objects[2]);
	CHECK_COUNT(objects[1], 1);
	CHECK_FAILS(tl_mem_exit_scopes_to(-1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_exit_scopes_to(3), TL_E_SCOPE_UNDERFLOW);
	CHECK_FAILS(tl_mem_exit_scopes_to(INT64_MAX), TL_E_SCOPE_UNDERFLOW);
	CHECK_COUNT(objects[1], 1);
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_DEAD(objects[0]);
}

TEST_IN_SCOPE(exit_scopes_to_closes_frames_too)
{
	CHECK_OK(tl_mem_function_enter(2));
	CHECK(tl_mem_get_buffer(1, 100) != NULL);
	CHECK(tl_mem_frame_enter(1000) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK(tl_mem_frame_enter(1000) != NULL);
	CHECK_INT(tl_get_scope_depth(), 3);
	CHECK_OK(tl_mem_exit_scopes_to(1));
	CHECK_DEAD(object);
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_FAILS(tl_mem_frame_exit(), TL_E_NO_FRAME);
	CHECK_FAILS(tl_mem_function_exit(), TL_E_NO_FRAME);
}

THREAD(count_scopes, unused)
{
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_OK(tl_mem_exit_scope());
}

TEST(scopes_belong_to_their_thread)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	run_thread(count_scopes, NULL);
	CHECK_INT(tl_get_scope_depth(), 2);
	CHECK_OK(tl_mem_exit_scopes_to(0));
}

TEST(many_scopes_and_many_entries)
{
	const int64_t depth = check_fitting(20000, CHECK_SCOPE_BYTES), entries = check_fitting(200000, CHECK_ENTRY_BYTES);
	for (int64_t i = 0; i < depth; i++) CHECK_OK(tl_mem_enter_scope());
	CHECK_INT(tl_get_scope_depth(), depth);
	for (int64_t i = 0; i < entries; i++) tl_mem_new(32);
	CHECK_INT(check_take_balance().objects, entries);
	CHECK_OK(tl_mem_exit_scopes_to(0));
}

TEST(a_scope_restores_the_arena)
{
	CHECK_OK(tl_arena_init(1 << 20));
	CHECK(tl_arena_alloc(100) != NULL);
	int64_t before = tl_arena_get_offset();
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_arena_alloc(1000) != NULL);
	CHECK(tl_arena_get_offset() > before);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), before);
	CHECK_OK(tl_arena_free());
}

static tl_tensor* new_matrix(int64_t rows)
{
	const int64_t shape[2] = {rows, 3};
	tl_tensor* made = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape);
	CHECK(made != NULL);
	return made;
}

enum { MIXED = 24 };

/* One more entry of a scope; returns a tensor that lives on after it, or NULL. */
static tl_tensor* add_mixed(unsigned what, tl_tensor** tensors, int n)
{
	tl_tensor* of = n > 0 ? tensors[what / 8 % (unsigned)n] : NULL;
	tensors[n] = new_matrix(1 + what / 8 % 4);
	switch (what % 8) {
	case 0: tl_mem_new(64); break;
	case 1: CHECK_OK(tl_mem_register_struct(malloc(64))); break;
	case 2: tl_view_transpose(tensors[n], 0, 1); break;
	case 3: /* the view holds the last reference */
		tl_view_transpose(tensors[n], 0, 1);
		CHECK_OK(tl_tensor_free(tensors[n]));
		tensors[n] = new_matrix(2);
		break;
	case 4: return tl_tensor_acquire(tensors[n]);
	case 5: return tl_tensor_acquire(tl_view_slice(tensors[n], 0, 0, 1, 1));
	case 6:
		if (of != NULL) tl_view_squeeze(tl_view_expand_dims(of, 0), 0);
		break;
	default: break;
	}
	return NULL;
}

/* Tensors, views, objects and blocks of malloc in any order: each scope releases all that nothing else holds. */
TEST(a_scope_of_everything)
{
	unsigned random = 1;
	const tl_stats before = check_stats();
	for (int round = 0; round < 2000; round++) {
		tl_tensor *tensors[MIXED], *kept[MIXED];
		int n = 0;
		CHECK_OK(tl_mem_enter_scope());
		for (; n < round % MIXED; n++) {
			random = random * 1664525 + 1013904223;
			kept[n] = add_mixed(random >> 16, tensors, n);
		}
		CHECK_OK(tl_mem_exit_scope());
		for (int i = 0; i < n; i++) {
			if (kept[i] == NULL) continue;
			CHECK_COUNT(kept[i], 1);
			CHECK_OK(tl_tensor_release(kept[i]));
			CHECK_DEAD(kept[i]);
		}
	}
	const tl_stats after = check_stats();
	CHECK_INT(after.tensors_live, before.tensors_live);
	CHECK_INT(after.live_objects, before.live_objects);
	CHECK_INT(after.foreign_live, before.foreign_live);
}

int main(void)
{
	tl_type_desc type = {.name = "numbered", .size = sizeof(int), .destructor = note_release};
	CHECK_OK(tl_type_define(&type, &numbered));
	return check_tests();
}
