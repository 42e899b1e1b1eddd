/* Calls that the runtime of the TL compiler answers differently: what docs/start-tl-compiler.md says of this library. */
#include "check.h"

/* That runtime counts any address. Here an address that nobody registered has no count. */
TEST(an_unknown_pointer_is_not_counted)
{
	void* block = malloc(64);
	CHECK_REFUSED(tl_ptr_dec_ref(block), 0, TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_ptr_acquire(block), block, TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_ptr_inc_ref(block), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_ptr_release(block), TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_ptr_release_bool(block), false, TL_E_UNKNOWN_POINTER);
	CHECK_DEAD(block);

	CHECK_OK(tl_mem_enter_scope()); /* registered, it is counted: one for the scope and one for the caller */
	CHECK_OK(tl_mem_register_struct(block));
	CHECK_PTR(tl_ptr_acquire(block), block);
	CHECK_INT(tl_ptr_dec_ref(block), 0);
	CHECK_COUNT(block, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(block);
}

/* tl_mem_register_struct adopts an address that nobody registered; these two calls refuse it. */
TEST(register_ptr_does_not_adopt)
{
	void* block = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_FAILS(tl_mem_register_ptr(block), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_register_vec_ptr(block), TL_E_UNKNOWN_POINTER);
	CHECK_DEAD(block);
	CHECK_OK(tl_mem_register_struct(block));
	CHECK_OK(tl_mem_register_ptr(block));
	CHECK_COUNT(block, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(block);
}

/* Memory of malloc goes back to free, memory of tl_alloc_tmp to tl_free_tmp. */
TEST(free_takes_what_the_library_allocated)
{
	void* block = malloc(64);
	void* temporary = tl_alloc_tmp(64);
	CHECK_FAILS(tl_free_tmp(block), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_free(block), TL_E_UNKNOWN_POINTER);
	CHECK_FAILS(tl_mem_dealloc(block), TL_E_UNKNOWN_POINTER);
	memset(block, 1, 64); /* still there */
	free(block);
	CHECK_OK(tl_free_tmp(temporary));
	CHECK_FAILS(tl_free_tmp(temporary), TL_E_NOT_LIVE);
}

/* That runtime has a scope around the whole program, which counts as depth 1. */
TEST(depth_is_0_at_rest)
{
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_INT(tl_get_scope_depth(), 1);
	CHECK_OK(tl_mem_function_enter(2));
	CHECK_INT(tl_get_scope_depth(), 2);
	CHECK_OK(tl_mem_function_exit());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_FAILS(tl_mem_exit_scope(), TL_E_SCOPE_UNDERFLOW);
	CHECK_FAILS(tl_mem_function_exit(), TL_E_NO_FRAME);
	CHECK_INT(tl_get_scope_depth(), 0);
}

/* What the compiler emits at the end of each function that returns an object. */
static void* returned(void* value)
{
	tl_mem_unregister(value);
	tl_mem_function_exit();
	return value;
}

TEST(unregister_stops_at_the_functions_frame)
{
	CHECK_OK(tl_mem_enter_scope());
	void* callers = tl_mem_new(64);

	CHECK_OK(tl_mem_function_enter(0)); /* a function that returns its parameter */
	CHECK_FAILS(tl_mem_unregister(callers), TL_E_NOT_REGISTERED);
	CHECK_PTR(returned(callers), callers);
	CHECK_COUNT(callers, 1);

	CHECK_OK(tl_mem_function_enter(0)); /* a function that returns what it made */
	void* made = tl_mem_new(64);
	CHECK_PTR(returned(made), made);
	CHECK_COUNT(made, 1);
	CHECK_OK(tl_mem_register_struct(made));
	CHECK_COUNT(made, 1);

	CHECK_OK(tl_mem_enter_scope()); /* a block of the function that registered it */
	CHECK_OK(tl_mem_unregister(made));
	CHECK_OK(tl_mem_register_struct(made));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(made);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(callers);
}

static uint64_t skipped(void)
{
	tl_stats stats;
	memset(&stats, 0, sizeof stats);
	stats.struct_size = sizeof stats;
	tl_stats_get(&stats);
	return stats.scope_entries_skipped;
}

/* In state 3 scopes hold nothing, so its code releases by itself. */
TEST(a_release_by_hand_comes_before_the_scopes)
{
	uint64_t before = skipped();
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(skipped() - before, 1);

	CHECK_OK(tl_mem_enter_scope());
	void* block = malloc(64);
	CHECK_OK(tl_mem_register_struct(block));
	CHECK_OK(tl_mem_register_struct(block)); /* counts again; does not set the count back to 1 */
	CHECK_COUNT(block, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(block);
}

int main(void) { return check_tests(); }
