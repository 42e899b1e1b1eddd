/* Section References: acquire and release, floating, sinking, unregister, sharing. */
#include "check.h"
#include "thread.h"

TEST(acquire_and_release)
{
	void* object = tl_mem_alloc(64);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_COUNT(object, 3);
	CHECK_OK(tl_ptr_release(object));
	CHECK(tl_ptr_release_bool(object));
	CHECK_COUNT(object, 1);
	CHECK(tl_ptr_release_bool(object));
	CHECK_DEAD(object);
	CHECK(!tl_ptr_release_bool(object));
	CHECK_FAILS(tl_ptr_release(object), TL_E_NOT_LIVE);
}

TEST(dec_ref_leaves_the_end_to_the_caller)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_INT(tl_ptr_dec_ref(object), 0);
	CHECK_INT(tl_ptr_dec_ref(object), 1);
	CHECK_DEAD(object);
	CHECK_FAILS(tl_ptr_release(object), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_inc_ref(object), TL_E_NOT_LIVE);
	CHECK_INT(tl_ptr_dec_ref(object), 0);
	CHECK_OK(tl_mem_free(object));
	CHECK_FAILS(tl_mem_free(object), TL_E_NOT_LIVE);
}

TEST(register_sinks_then_acquires)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_register(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_register_struct_named(object, "Twice"));
	CHECK_COUNT(object, 3);
	CHECK_OK(tl_mem_register_ptr(object));
	CHECK_COUNT(object, 4);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(a_counted_reference_goes_before_a_float)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_OK(tl_ptr_release(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_enter_scope());
	/* Still floating: sinks, the count stays. */
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(unregister_takes_the_newest_entry)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_unregister(object));
	CHECK_FAILS(tl_mem_unregister(object), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(unregister_stops_at_the_function)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_mem_function_enter(0));
	CHECK_OK(tl_mem_enter_scope());
	CHECK_FAILS(tl_mem_unregister(object), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_FAILS(tl_mem_unregister(object), TL_E_NOT_REGISTERED);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_ptr_release(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(unregister_searches_outer_scopes_of_the_function)
{
	CHECK_OK(tl_mem_function_enter(0));
	void* object = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 100; i++) tl_mem_new(32);
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_function_exit());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
}

TEST(unregister_is_shallow)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	void* element = tl_mem_new(32);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_COUNT(element, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(element, 1);
	CHECK_OK(tl_ptr_release(vec));
	CHECK_DEAD(element);
}

TEST(fifteen_references_may_float)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	for (int i = 1; i < 16; i++) CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 16);
	for (int i = 0; i < 15; i++) CHECK_OK(tl_mem_unregister(object));
	CHECK_FAILS(tl_mem_unregister(object), TL_E_OVERFLOW);
	CHECK_COUNT(object, 16);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 15);
	for (int i = 0; i < 15; i++) CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
}

/* Five float, four are released: one floats, and only one can be sunk. More than three
 * floats of the owner's stand in another word than its count. */
TEST(a_float_that_was_released_is_not_sunk)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 5; i++) CHECK_OK(tl_mem_register(object));
	for (int i = 0; i < 5; i++) CHECK_OK(tl_mem_unregister(object));
	for (int i = 0; i < 4; i++) CHECK_OK(tl_ptr_release(object));
	CHECK_COUNT(object, 1);
	tl_ptr_acquire(object); /* ours */
	CHECK_OK(tl_mem_register(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_register(object));
	CHECK_COUNT(object, 3);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
}

THREAD(float_in_another_thread, object)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 16; i++) CHECK_OK(tl_mem_register_struct(object));
	for (int i = 0; i < 15; i++) CHECK_OK(tl_mem_unregister(object));
	CHECK_FAILS(tl_mem_unregister(object), TL_E_OVERFLOW);
	for (int i = 0; i < 15; i++) CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_mem_exit_scope());
}

TEST(fifteen_references_may_float_elsewhere)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	run_thread(float_in_another_thread, object);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_share(object));
	run_thread(float_in_another_thread, object);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

static bool is_shared;

/* What the owner wrote is seen here after tl_ptr_share alone. */
THREAD(acquire_here, object)
{
	CHECK(tl_ptr_is_unique(object) == is_shared);
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK(!tl_ptr_is_unique(object));
}

static void* release_alone(void* object)
{
	CHECK(tl_ptr_is_unique(object));
	return check_release(object);
}

TEST(one_reference_is_unique)
{
	static int64_t outside[8];
	void *object = tl_mem_alloc(64), *block = malloc(64);
	for (int shared = 0; shared < 2; shared++) {
		CHECK(tl_ptr_is_unique(object));
		for (int i = 0; i < 20; i++) CHECK_PTR(tl_ptr_acquire(object), object); /* more than may float */
		CHECK(!tl_ptr_is_unique(object));
		for (int i = 0; i < 19; i++) CHECK_OK(tl_ptr_release(object));
		CHECK(!tl_ptr_is_unique(object));
		CHECK_OK(tl_ptr_release(object));
		run_thread(acquire_here, object);
		CHECK(!tl_ptr_is_unique(object));
		run_thread(check_release, object);
		CHECK(tl_ptr_is_unique(object));
		CHECK_OK(tl_ptr_share(object));
		is_shared = true;
	}
	run_thread(acquire_here, object);
	CHECK_OK(tl_ptr_release(object));
	run_thread(release_alone, object);
	CHECK_DEAD(object);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(block));
	CHECK(tl_ptr_is_unique(block));
	CHECK_PTR(tl_ptr_acquire(block), block);
	CHECK(!tl_ptr_is_unique(block));
	CHECK_OK(tl_ptr_release(block));
	CHECK_REFUSED(tl_ptr_is_unique(NULL), false, TL_OK);
	CHECK_REFUSED(tl_ptr_is_unique(outside), false, TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_ptr_is_unique(object), false, TL_E_NOT_LIVE);
	object = tl_mem_new(64);
	CHECK_REFUSED(tl_ptr_is_unique((char*)object + 8), false, TL_E_INTERIOR_POINTER);
	CHECK_OK(tl_mem_exit_scope());
}

/* The memory of a function ends with it: nobody has it alone. */
TEST(memory_of_a_stack_is_never_unique)
{
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_REFUSED(tl_ptr_is_unique(tl_mem_get_buffer(0, 64)), false, TL_OK);
	CHECK_OK(tl_mem_function_exit());
}

THREAD(sink_here, object)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK(tl_ptr_refcount(object) >= 1); /* 2 until the owner has read that its float is taken */
	CHECK_OK(tl_mem_unregister(object));
	CHECK_OK(tl_mem_exit_scope());
}

TEST(a_float_moves_between_threads)
{
	void* object = tl_mem_alloc(64);
	run_thread(sink_here, object);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

THREAD(share_not_mine, object) { CHECK_FAILS(tl_ptr_share(object), TL_E_BUSY); }

TEST(a_shared_object_ends_at_once_on_any_thread)
{
	void* object = tl_mem_alloc(64);
	run_thread(share_not_mine, object);
	CHECK_OK(tl_ptr_share(object));
	CHECK_OK(tl_ptr_share(object));
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	run_thread(check_release, object);
	CHECK_DEAD(object);
}

TEST(a_biased_object_ends_at_its_owners_next_exit)
{
	void* object = tl_mem_alloc(64);
	run_thread(check_release, object);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
	object = tl_mem_alloc(64);
	run_thread(check_release, object);
	CHECK_OK(tl_mem_function_enter(0));
	CHECK_OK(tl_mem_function_exit());
	CHECK_DEAD(object);
}

THREAD(dec_ref_here, object) { CHECK_INT(tl_ptr_dec_ref(object), 0); }

TEST(dec_ref_of_another_threads_object_ends_by_descriptor)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1);
	void* element = tl_mem_new(32);
	CHECK_OK(tl_vec_push(vec, element));
	CHECK_OK(tl_mem_unregister(vec));
	run_thread(dec_ref_here, vec);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(vec);
	CHECK_DEAD(element);
}

static void immortal_objects_stay(void)
{
	CHECK_OK(tl_mem_enter_scope());
	int* object = tl_mem_new(64);
	*object = 99;
	CHECK_OK(tl_ptr_make_immortal(object));
	CHECK_OK(tl_ptr_make_immortal(object));
	for (int i = 0; i < 10; i++) CHECK_OK(tl_ptr_release(object));
	CHECK_PTR(tl_ptr_acquire(object), object);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_ptr_check(object));
	CHECK_INT(*object, 99);
	check_immortals = 1;
}

int main(void)
{
	check_run();
	immortal_objects_stay();
	return check_finish();
}
