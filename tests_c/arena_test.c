/* Section Arena: bump allocation, offsets, scopes, and what is live in it. */
#include "check.h"
#include "thread.h"

TEST(off_until_it_is_wanted)
{
	CHECK(!tl_arena_is_active());
	CHECK_INT(tl_arena_get_capacity(), 0);
	CHECK_INT(tl_arena_get_offset(), 0);
	CHECK(!tl_arena_contains(&check_count));
	CHECK_REFUSED(tl_arena_alloc(64), 0, TL_E_NO_FRAME);
	CHECK_FAILS(tl_arena_set_offset(0), TL_E_NO_FRAME);
	CHECK_OK(tl_arena_reset());
	CHECK_OK(tl_arena_free());
	CHECK(!tl_arena_is_active());
}

TEST(bump)
{
	CHECK_OK(tl_arena_init(1 << 20));
	CHECK(tl_arena_is_active());
	CHECK_INT(tl_arena_get_capacity(), 1 << 20);
	char* first = tl_arena_alloc(100);
	char* second = tl_arena_alloc(1);
	CHECK_INT((uintptr_t)first % 64, 0);
	CHECK_INT((uintptr_t)second % 64, 0);
	CHECK_INT(second - first, 128);
	CHECK(tl_arena_contains(first) && tl_arena_contains(first + 99) && tl_arena_contains(second));
	CHECK(!tl_arena_contains(NULL));
	CHECK(!tl_arena_contains(second + 64));
	CHECK_REFUSED(tl_arena_alloc(0), 0, TL_OK);
	CHECK_REFUSED(tl_arena_alloc(-1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_arena_reset());
	CHECK_INT(tl_arena_get_offset(), 0);
	CHECK_PTR(tl_arena_alloc(8), first);
	CHECK_OK(tl_arena_free());
	CHECK(!tl_arena_is_active());
}

TEST(a_full_arena_is_an_answer)
{
	CHECK_OK(tl_arena_init(65536));
	while (tl_arena_alloc(4096) != NULL) {}
	CHECK_STATUS(tl_last_status(), TL_E_ARENA_EXHAUSTED);
	int64_t offset = tl_arena_get_offset();
	CHECK_INT(offset, 65536);
	CHECK_REFUSED(tl_arena_alloc(INT64_MAX), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_arena_alloc(INT64_MAX - 63), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_INT(tl_arena_get_offset(), offset);
	CHECK_OK(tl_arena_set_offset(4096));
	CHECK(tl_arena_alloc(4096) != NULL);
	CHECK_OK(tl_arena_free());
}

TEST(malloc_falls_back_to_the_heap)
{
	CHECK_OK(tl_arena_init(4096));
	void* inside = tl_arena_malloc(4096);
	CHECK(tl_arena_contains(inside));
	void* outside = tl_arena_malloc(64);
	CHECK(outside != NULL && !tl_arena_contains(outside));
	CHECK_COUNT(outside, 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(inside));
	CHECK_OK(tl_mem_register_struct(outside));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(outside);
	CHECK_OK(tl_arena_free());
	outside = tl_arena_malloc(64);
	CHECK_COUNT(outside, 1);
	CHECK_OK(tl_mem_free(outside));
	CHECK_REFUSED(tl_arena_malloc(0), 0, TL_OK);
	CHECK_REFUSED(tl_arena_malloc(-1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_arena_malloc(INT64_C(1) << 47), 0, TL_E_OUT_OF_MEMORY);
}

TEST(init_again)
{
	CHECK_OK(tl_arena_init(65536));
	char* content = tl_arena_alloc(4096);
	memset(content, 1, 4096);
	CHECK_OK(tl_arena_init(1 << 20));
	CHECK_INT(tl_arena_get_capacity(), 1 << 20);
	CHECK_INT(tl_arena_get_offset(), 4096);
	CHECK_INT(content[4095], 1);
	CHECK_OK(tl_arena_init(8192));
	CHECK_FAILS(tl_arena_init(64), TL_E_BUSY);
	CHECK_FAILS(tl_arena_init(-1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_arena_init(INT64_MAX), TL_E_LIMIT);
	CHECK_FAILS(tl_arena_init(INT64_C(1) << 45), TL_E_LIMIT);
	CHECK_INT(tl_arena_get_capacity(), 8192);
	CHECK_OK(tl_arena_free());
	CHECK_OK(tl_arena_init(0));
	CHECK(tl_arena_get_capacity() >= (1 << 20));
	CHECK_OK(tl_arena_free());
}

TEST(offsets)
{
	CHECK_OK(tl_arena_init(65536));
	CHECK(tl_arena_alloc(256) != NULL);
	int64_t middle = tl_arena_get_offset();
	char* later = tl_arena_alloc(256);
	CHECK_OK(tl_arena_set_offset(middle));
	CHECK(!tl_arena_contains(later));
	CHECK_FAILS(tl_arena_set_offset(-1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_arena_set_offset(middle + 64), TL_E_INVALID_ARGUMENT);
	CHECK_INT(tl_arena_get_offset(), middle);
	CHECK_PTR(tl_arena_alloc(256), later);
	CHECK_OK(tl_arena_set_offset(0));
	CHECK_OK(tl_arena_free());
}

TEST(loops_cost_no_memory)
{
	char* first = NULL;
	CHECK_OK(tl_arena_init(65536));
	for (int i = 0; i < 10000; i++) {
		CHECK_OK(tl_mem_enter_scope());
		char* now = tl_arena_alloc(4096);
		CHECK(tl_arena_malloc(4096) != NULL);
		if (i == 0) first = now;
		CHECK_PTR(now, first);
		memset(now, i & 0xFF, 4096);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_arena_free());
}

/* A mark keeps the arena's top only when the arena changes above it. */
TEST(a_scope_ends_where_it_began_whatever_was_set_in_it)
{
	CHECK_OK(tl_arena_init(65536));
	CHECK(tl_arena_alloc(128) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_arena_set_offset(0)); /* below both scopes */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 0);
	CHECK(tl_arena_alloc(256) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 128); /* of what was taken, the scope ends what lies above its beginning */

	CHECK_OK(tl_mem_function_enter(0));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_arena_alloc(64) != NULL);
	CHECK_OK(tl_arena_set_offset(128));
	CHECK(tl_arena_alloc(320) != NULL);
	CHECK(tl_mem_frame_enter(64) != NULL);
	CHECK(tl_arena_alloc(64) != NULL);
	CHECK_OK(tl_mem_frame_exit());
	CHECK_INT(tl_arena_get_offset(), 448);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 128);
	CHECK(tl_arena_alloc(64) != NULL);
	CHECK_OK(tl_mem_function_exit());
	CHECK_INT(tl_arena_get_offset(), 128);
	CHECK_OK(tl_arena_free());
}

TEST(a_scope_keeps_its_beginning_through_reset_and_another_arena)
{
	CHECK_OK(tl_arena_init(65536));
	CHECK(tl_arena_alloc(128) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_arena_reset());
	CHECK(tl_arena_alloc(1024) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 128);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_arena_free());
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_arena_init(65536));
	CHECK(tl_arena_alloc(1024) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 0); /* no arena was there when the scope began */
	CHECK(tl_arena_alloc(1024) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 128);
	CHECK_OK(tl_arena_free());
}

/* What a recursive function does at each level: it takes what it needs, and gives it back. The last level gives back
 * what was taken before all but one scope. */
static void take_and_give_back(int levels)
{
	int64_t before = tl_arena_get_offset(), inside;
	CHECK_OK(tl_mem_enter_scope());
	if (levels % 2 == 0) CHECK(tl_arena_alloc(64) != NULL);
	inside = tl_arena_get_offset();
	if (levels > 1) take_and_give_back(levels - 1);
	CHECK_OK(tl_arena_set_offset(levels > 1 ? inside : 64));
	CHECK(tl_arena_alloc(4096) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), before);
	CHECK_OK(tl_arena_set_offset(before));
}

/* No call may enter Go, which a thread of a forked child cannot, and which costs a hundred times as much. */
TEST(setting_an_offset_stays_in_c_in_any_scope)
{
	bool is_slow = getenv("TL_FASTPATH") != NULL || getenv("TL_DEBUG") != NULL;
	CHECK_OK(tl_arena_init(65536));
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_arena_alloc(64) != NULL);
	uint64_t before = check_slow_calls();
	take_and_give_back(100);
	if (!is_slow) CHECK_INT(check_slow_calls(), before + 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_arena_get_offset(), 0);
	CHECK_OK(tl_arena_free());
}

TEST(counting_arena_memory_does_nothing)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_arena_init(65536));
	char* live = tl_arena_alloc(128);
	memset(live, 4, 128);
	CHECK_OK(tl_mem_register_struct(live));
	CHECK_OK(tl_mem_register_ptr(live));
	CHECK_OK(tl_ptr_inc_ref(live));
	for (int i = 0; i < 100; i++) CHECK_OK(tl_ptr_release(live));
	CHECK_OK(tl_ptr_check(live));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_STATUS(tl_ptr_check(live), TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ptr_release(live), TL_E_NOT_LIVE);
	CHECK_OK(tl_arena_free());
}

THREAD(own_arena, other)
{
	CHECK(!tl_arena_is_active());
	CHECK(!tl_arena_contains(other));
	CHECK_OK(tl_arena_init(4096));
	CHECK(tl_arena_alloc(64) != other);
}

/* The thread ends with its arena active; the next owner of its context has none. */
TEST(arenas_belong_to_their_thread)
{
	CHECK_OK(tl_arena_init(4096));
	void* mine = tl_arena_alloc(64);
	for (int i = 0; i < 10; i++) run_thread(own_arena, mine);
	CHECK(tl_arena_contains(mine));
	CHECK_OK(tl_arena_free());
}

int main(void) { return check_tests(); }
