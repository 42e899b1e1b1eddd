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

static void newest_is_released_first(void)
{
	released_count = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 5; i++) new_numbered(i);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(released_count, 5);
	for (int i = 0; i < 5; i++) CHECK_INT(released[i], 4 - i);
}

static void scopes_nest(void)
{
	void *outer, *inner;
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_OK(tl_mem_enter_scope());
	outer = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	inner = tl_mem_new(64);
	CHECK_INT(tl_get_scope_depth(), 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(inner);
	CHECK_COUNT(outer, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(outer);
}

static void an_exit_too_many_changes_nothing(void)
{
	/* covers: tl_mem_exit_scope TL_E_SCOPE_UNDERFLOW */
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_INT(tl_get_scope_depth(), 0);
}

static void a_scope_keeps_what_was_acquired(void)
{
	void* object;
	CHECK_OK(tl_mem_enter_scope());
	object = tl_mem_new(64);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
}

static void exit_leaves_a_functions_scope_alone(void)
{
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_OK(tl_mem_function_exit());
}

static void exit_leaves_a_scope_below_a_planned_frame(void)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_frame_enter(256) != NULL);
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_frame_exit());
	CHECK_OK(tl_mem_exit_scope());
}

static void exit_scopes_to(void)
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
	/* covers: tl_mem_exit_scopes_to TL_E_INVALID_ARGUMENT */
	CHECK_FAILS(tl_mem_exit_scopes_to(-1), TL_E_INVALID_ARGUMENT);
	/* covers: tl_mem_exit_scopes_to TL_E_SCOPE_UNDERFLOW */
	CHECK_FAILS(tl_mem_exit_scopes_to(3), TL_E_SCOPE_UNDERFLOW);
	CHECK_FAILS(tl_mem_exit_scopes_to(INT64_MAX), TL_E_SCOPE_UNDERFLOW);
	CHECK_COUNT(objects[1], 1);
	CHECK_OK(tl_mem_exit_scopes_to(0));
	CHECK_DEAD(objects[0]);
}

static void exit_scopes_to_closes_frames_too(void)
{
	void* object;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_function_enter(2));
	CHECK(tl_mem_get_buffer(1, 100) != NULL);
	CHECK(tl_mem_frame_enter(1000) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	object = tl_mem_new(64);
	CHECK(tl_mem_frame_enter(1000) != NULL);
	CHECK_INT(tl_get_scope_depth(), 3);
	CHECK_OK(tl_mem_exit_scopes_to(1));
	CHECK_DEAD(object);
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_FAILS(tl_mem_frame_exit(), TL_E_NO_FRAME);
	CHECK_FAILS(tl_mem_function_exit(), TL_E_NO_FRAME);
	CHECK_OK(tl_mem_exit_scope());
}

static void* count_scopes(void* unused)
{
	(void)unused;
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_OK(tl_mem_exit_scope());
	return NULL;
}

static void scopes_belong_to_their_thread(void)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	run_thread(count_scopes, NULL);
	CHECK_INT(tl_get_scope_depth(), 2);
	CHECK_OK(tl_mem_exit_scopes_to(0));
}

static void many_scopes_and_many_entries(void)
{
	const int64_t depth = check_fitting(20000, CHECK_SCOPE_BYTES), entries = check_fitting(200000, CHECK_ENTRY_BYTES);
	for (int64_t i = 0; i < depth; i++) CHECK_OK(tl_mem_enter_scope());
	CHECK_INT(tl_get_scope_depth(), depth);
	for (int64_t i = 0; i < entries; i++) tl_mem_new(32);
	CHECK_INT(check_take_balance().objects, entries);
	CHECK_OK(tl_mem_exit_scopes_to(0));
}

static void a_scope_restores_the_arena(void)
{
	int64_t before;
	CHECK_OK(tl_arena_init(1 << 20));
	CHECK(tl_arena_alloc(100) != NULL);
	before = tl_arena_get_offset();
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_arena_alloc(1000) != NULL);
	CHECK(tl_arena_get_offset() > before);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), before);
	CHECK_OK(tl_arena_free());
}

int main(void)
{
	tl_type_desc type = {.name = "numbered", .size = sizeof(int), .destructor = note_release};
	CHECK_OK(tl_type_define(&type, &numbered));
	RUN(newest_is_released_first);
	RUN(scopes_nest);
	RUN(an_exit_too_many_changes_nothing);
	RUN(a_scope_keeps_what_was_acquired);
	RUN(exit_leaves_a_functions_scope_alone);
	RUN(exit_leaves_a_scope_below_a_planned_frame);
	RUN(exit_scopes_to);
	RUN(exit_scopes_to_closes_frames_too);
	RUN(scopes_belong_to_their_thread);
	RUN(many_scopes_and_many_entries);
	RUN(a_scope_restores_the_arena);
	return check_finish();
}
