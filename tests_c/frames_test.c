/* Section Frames: slots, planned frames, nesting, and what stays valid how long. */
#include "check.h"
#include "thread.h"

TEST(a_slot_keeps_its_buffer)
{
	CHECK_OK(tl_mem_function_enter(3));
	CHECK_INT(tl_get_scope_depth(), 1);
	char* buffer = tl_mem_get_buffer(1, 200);
	CHECK_INT((uintptr_t)buffer % 64, 0);
	memset(buffer, 5, 200);
	CHECK_PTR(tl_mem_get_buffer(1, 200), buffer);
	CHECK_PTR(tl_mem_get_buffer(1, 10), buffer);
	CHECK(tl_mem_get_buffer(0, 200) != buffer);
	CHECK_INT(buffer[199], 5);
	CHECK_OK(tl_ptr_check(buffer));
	CHECK_OK(tl_mem_function_exit());
	CHECK_INT(tl_get_scope_depth(), 0);
}

TEST(an_outgrown_buffer_stays_valid)
{
	CHECK_OK(tl_mem_function_enter(2));
	char* small = tl_mem_get_buffer(0, 64);
	memset(small, 1, 64);
	CHECK(tl_mem_get_buffer(1, 64) != NULL);
	char* large = tl_mem_get_buffer(0, 100000);
	CHECK(large != small);
	memset(large, 2, 100000);
	CHECK_INT(small[0], 1);
	CHECK_INT(small[63], 1);
	CHECK_PTR(tl_mem_get_buffer(0, 64), large);
	CHECK_OK(tl_mem_function_exit());
}

TEST(a_buffer_at_the_top_grows_where_it_stands)
{
	CHECK_OK(tl_mem_function_enter(2));
	char* buffer = tl_mem_get_buffer(0, 100);
	memset(buffer, 1, 100);
	CHECK_PTR(tl_mem_get_buffer(0, 10000), buffer);
	for (int i = 0; i < 100; i++) CHECK_INT(buffer[i], 1);
	memset(buffer, 2, 10000);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_PTR(tl_mem_get_buffer(0, 20000), buffer);
	CHECK_OK(tl_mem_exit_scope());
	memset(buffer, 2, 20000);
	char* next = tl_mem_get_buffer(1, 64);
	CHECK(next >= buffer + 20000);
	memset(next, 3, 64);
	CHECK_INT(buffer[19999], 2);
	CHECK_OK(tl_mem_function_exit());
}

/* Growing past the empty planned frame above it pins that frame. */
TEST(a_buffer_grows_past_an_empty_planned_frame)
{
	CHECK_OK(tl_mem_function_enter(2));
	char* buffer = tl_mem_get_buffer(0, 128);
	CHECK(tl_mem_frame_enter(0) != NULL);
	CHECK_PTR(tl_mem_get_buffer(0, 4096), buffer);
	memset(buffer, 4, 4096);
	CHECK_OK(tl_mem_frame_exit());
	char* next = tl_mem_get_buffer(1, 4096);
	CHECK(next >= buffer + 4096);
	memset(next, 5, 4096);
	CHECK_INT(buffer[4095], 4);
	CHECK_OK(tl_mem_function_exit());
}

enum { STEPS = 400, STEP = 128 }; /* three slots fit into the smallest frame stack of these tests, 1 MiB */

static uint64_t frame_bytes(void)
{
	const tl_stats stats = check_stats();
	return stats.frame_bytes;
}

TEST(a_growing_slot_takes_linear_memory)
{
	CHECK_OK(tl_mem_function_enter(1));
	for (int64_t i = 1; i <= STEPS; i++) CHECK(tl_mem_get_buffer(0, i * STEP) != NULL);
	CHECK(frame_bytes() <= STEPS * STEP + 4096);
	CHECK_OK(tl_mem_function_exit());
}

/* The buffers of a slot that moves form a geometric series: the last is at most half larger than asked for, and the
 * others together at most twice as large as the last. */
TEST(slots_that_grow_in_turn_take_linear_memory)
{
	char* buffers[3] = {NULL, NULL, NULL};
	CHECK_OK(tl_mem_function_enter(3));
	for (int64_t i = 1; i <= STEPS; i++)
		for (int slot = 0; slot < 3; slot++) {
			char* now = tl_mem_get_buffer(slot, i * STEP);
			CHECK(now != NULL);
			if (now == NULL) break;
			if (now == buffers[slot]) CHECK_INT(*now, slot + 1);
			buffers[slot] = now;
			*now = (char)(slot + 1);
		}
	for (int slot = 0; slot < 3; slot++) CHECK_INT(*buffers[slot], slot + 1);
	CHECK(frame_bytes() <= 3 * (UINT64_C(9) * STEPS * STEP / 2) + 4096);
	CHECK_OK(tl_mem_function_exit());
}

/* A planned frame that a slot outlives keeps its bytes until the function exits, so a slot must not move often. */
TEST(a_slot_that_grows_inside_planned_frames_takes_linear_memory)
{
	CHECK_OK(tl_mem_function_enter(2));
	for (int64_t i = 1; i <= STEPS; i++) {
		CHECK(tl_mem_frame_enter(STEP) != NULL);
		CHECK(tl_mem_get_buffer(0, i * STEP) != NULL);
		CHECK_OK(tl_mem_frame_exit());
	}
	CHECK(frame_bytes() <= UINT64_C(9) * STEPS * STEP / 2 + UINT64_C(100) * STEP);
	CHECK_OK(tl_mem_function_exit());
}

TEST(a_slot_first_taken_in_a_loops_scope_keeps_its_memory)
{
	int* buffer = NULL;
	CHECK_OK(tl_mem_function_enter(2));
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(64) != NULL);
		int* now = tl_mem_get_buffer(0, 256);
		if (i == 0) *now = 0;
		else CHECK_PTR(now, buffer);
		buffer = now;
		CHECK_INT((*buffer)++, i);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_OK(tl_mem_enter_scope());
	memset(tl_mem_get_buffer(1, 4096), 0xFF, 4096);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(*buffer, 1000);
	CHECK_OK(tl_mem_function_exit());
}

TEST(slots_are_checked)
{
	CHECK_REFUSED(tl_mem_get_buffer(0, 64), 0, TL_E_NO_FRAME);
	CHECK_OK(tl_mem_function_enter(2));
	CHECK_REFUSED(tl_mem_get_buffer(2, 64), 0, TL_E_SLOT_OUT_OF_RANGE);
	CHECK_REFUSED(tl_mem_get_buffer(-1, 64), 0, TL_E_SLOT_OUT_OF_RANGE);
	CHECK_REFUSED(tl_mem_get_buffer(INT64_MAX, 64), 0, TL_E_SLOT_OUT_OF_RANGE);
	CHECK_REFUSED(tl_mem_get_buffer(0, -1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_mem_get_buffer(0, 0), 0, TL_OK);
	CHECK_REFUSED(tl_mem_get_buffer(0, INT64_MAX), 0, TL_E_ARENA_EXHAUSTED);
	CHECK(tl_mem_get_buffer(0, 64) != NULL);
	CHECK_OK(tl_mem_function_exit());
	CHECK_FAILS(tl_mem_function_exit(), TL_E_NO_FRAME);
}

TEST(slot_numbers_are_checked)
{
	CHECK_FAILS(tl_mem_function_enter(-1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_function_enter(INT64_MIN), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_mem_function_enter(INT64_C(1) << 30), TL_E_LIMIT);
	CHECK(strstr(tl_last_error(), "at most 268435455 slots, not 1073741824") != NULL);
	CHECK_FAILS(tl_mem_function_enter(INT64_C(1) << 28), TL_E_LIMIT);
	CHECK_FAILS(tl_mem_function_enter((INT64_C(1) << 28) - 1), TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_function_enter(INT64_MAX), TL_E_LIMIT);
	CHECK_INT(tl_get_scope_depth(), 0);
}

TEST(a_function_of_no_slots)
{
	CHECK_OK(tl_mem_function_enter(0));
	CHECK_REFUSED(tl_mem_get_buffer(0, 64), 0, TL_E_SLOT_OUT_OF_RANGE);
	CHECK_OK(tl_mem_function_exit());
}

TEST(frames_nest)
{
	CHECK_OK(tl_mem_function_enter(1));
	char* outer = tl_mem_get_buffer(0, 64);
	memset(outer, 3, 64);
	CHECK_OK(tl_mem_function_enter(4));
	char* inner = tl_mem_get_buffer(3, 64);
	CHECK(inner != outer);
	CHECK_OK(tl_mem_function_exit());
	CHECK_STATUS(tl_ptr_check(inner), TL_E_NOT_LIVE);
	CHECK_PTR(tl_mem_get_buffer(0, 64), outer);
	CHECK_INT(outer[63], 3);
	CHECK_OK(tl_mem_function_exit());
	CHECK_STATUS(tl_ptr_check(outer), TL_E_NOT_LIVE);
}

TEST(function_exit_closes_what_is_inside)
{
	CHECK_OK(tl_mem_function_enter(1));
	void* first = tl_mem_new(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	void* second = tl_mem_new(64);
	CHECK(tl_mem_frame_enter(512) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_function_exit());
	CHECK_INT(tl_get_scope_depth(), 0);
	CHECK_DEAD(first);
	CHECK_DEAD(second);
}

TEST(a_planned_frame)
{
	char* block = tl_mem_frame_enter(1000);
	CHECK_INT((uintptr_t)block % 64, 0);
	memset(block, 9, 1000);
	char* inner = tl_mem_frame_enter(64);
	CHECK_INT((uintptr_t)inner % 64, 0);
	CHECK(inner >= block + 1000);
	CHECK_OK(tl_ptr_check(inner));
	CHECK_OK(tl_mem_frame_exit());
	CHECK_STATUS(tl_ptr_check(inner), TL_E_NOT_LIVE);
	CHECK_INT(block[999], 9);
	CHECK_OK(tl_mem_frame_exit());
	CHECK_FAILS(tl_mem_frame_exit(), TL_E_NO_FRAME);
}

TEST(a_planned_frame_of_nothing)
{
	CHECK(tl_mem_frame_enter(0) != NULL);
	CHECK_OK(tl_mem_frame_exit());
	CHECK_FAILS(tl_mem_frame_exit(), TL_E_NO_FRAME);
}

TEST_IN_SCOPE(a_planned_frame_closes_its_scopes)
{
	void* before = tl_mem_new(64);
	CHECK(tl_mem_frame_enter(64) != NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_enter_scope());
	void* inside = tl_mem_new(64);
	CHECK_OK(tl_mem_frame_exit());
	CHECK_DEAD(inside);
	CHECK_COUNT(before, 1);
	CHECK_INT(tl_get_scope_depth(), 1);
}

TEST(a_planned_frame_of_the_caller_stays)
{
	char* block = tl_mem_frame_enter(64);
	memset(block, 6, 64);
	CHECK_OK(tl_mem_function_enter(1));
	CHECK_FAILS(tl_mem_frame_exit(), TL_E_NO_FRAME);
	memset(tl_mem_get_buffer(0, 64), 1, 64);
	CHECK_OK(tl_mem_function_exit());
	CHECK_INT(block[63], 6);
	CHECK_OK(tl_mem_frame_exit());
}

/* A slot that is first taken inside a planned frame outlives it. */
TEST(a_slot_taken_inside_a_planned_frame)
{
	CHECK_OK(tl_mem_function_enter(2));
	CHECK(tl_mem_frame_enter(256) != NULL);
	char* slot = tl_mem_get_buffer(0, 128);
	memset(slot, 4, 128);
	CHECK_OK(tl_mem_frame_exit());
	char* block = tl_mem_frame_enter(4096);
	memset(block, 5, 4096);
	memset(tl_mem_get_buffer(1, 128), 7, 128);
	CHECK_PTR(tl_mem_get_buffer(0, 128), slot);
	CHECK_INT(slot[0], 4);
	CHECK_INT(slot[127], 4);
	CHECK_OK(tl_mem_frame_exit());
	CHECK_OK(tl_mem_function_exit());
}

TEST(a_planned_frame_too_large)
{
	CHECK_REFUSED(tl_mem_frame_enter(SIZE_MAX), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_mem_frame_enter(SIZE_MAX - 4096), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_REFUSED(tl_mem_frame_enter((size_t)1 << 40), 0, TL_E_ARENA_EXHAUSTED);
	CHECK_FAILS(tl_mem_frame_exit(), TL_E_NO_FRAME);
}

static void recurse(int depth)
{
	CHECK_OK(tl_mem_function_enter(1));
	int* mine = tl_mem_get_buffer(0, 64);
	*mine = depth;
	if (depth > 0) recurse(depth - 1);
	CHECK_INT(*mine, depth);
	CHECK_OK(tl_mem_function_exit());
}

TEST(deep_recursion) { recurse(2000); }

TEST(a_hundred_thousand_nested_one_slot_frames)
{
	enum { MOST = 100000 };
	static int64_t* buffers[MOST];
	const int64_t depth = check_fitting(MOST, CHECK_SCOPE_BYTES);
	bool intact = true;
	for (int64_t i = 0; i < depth; i++) {
		CHECK_OK(tl_mem_function_enter(1));
		buffers[i] = tl_mem_get_buffer(0, 64);
		if (buffers[i] == NULL) break;
		*buffers[i] = i;
	}
	CHECK_INT(tl_get_scope_depth(), depth);
	for (int64_t i = depth - 1; i >= 0; i--) {
		intact = intact && *buffers[i] == i;
		CHECK_OK(tl_mem_function_exit());
	}
	CHECK(intact);
}

TEST(many_slots)
{
	enum { SLOTS = 5000 };
	CHECK_OK(tl_mem_function_enter(SLOTS));
	for (int i = 0; i < SLOTS; i++) *(int*)tl_mem_get_buffer(i, 64) = i;
	for (int i = 0; i < SLOTS; i++) CHECK_INT(*(int*)tl_mem_get_buffer(i, 64), i);
	CHECK_OK(tl_mem_function_exit());
}

THREAD(frames_of_a_thread, outer)
{
	CHECK_REFUSED(tl_mem_get_buffer(0, 64), 0, TL_E_NO_FRAME);
	CHECK_OK(tl_mem_function_enter(1));
	CHECK(tl_mem_get_buffer(0, 64) != outer);
	CHECK_OK(tl_mem_function_exit());
}

TEST(frames_belong_to_their_thread)
{
	CHECK_OK(tl_mem_function_enter(1));
	run_thread(frames_of_a_thread, tl_mem_get_buffer(0, 64));
	CHECK_OK(tl_mem_function_exit());
}

/* Random nesting of the three kinds; every block keeps what was written to it. */
TEST(a_random_walk)
{
	enum { STEPS = 20000, MAX = 200 };
	static struct {
		int kind;
		unsigned char* block;
		size_t bytes;
	} open[MAX];
	uint64_t random = 97;
	int depth = 0;
	for (int step = 0; step < STEPS; step++) {
		uint64_t draw = check_random(&random) >> 8;
		bool push = depth == 0 || (depth < MAX && draw % 2 == 0);
		if (push) {
			open[depth].kind = (int)(draw >> 1) % 3;
			open[depth].bytes = 1 + (draw >> 16) % 5000;
			if (open[depth].kind == 0) {
				CHECK_OK(tl_mem_enter_scope());
				open[depth].bytes = 0;
			} else if (open[depth].kind == 1) {
				CHECK_OK(tl_mem_function_enter(1));
				open[depth].block = tl_mem_get_buffer(0, (int64_t)open[depth].bytes);
			} else {
				open[depth].block = tl_mem_frame_enter(open[depth].bytes);
			}
			if (open[depth].bytes > 0) memset(open[depth].block, depth, open[depth].bytes);
			depth++;
			continue;
		}
		depth--;
		if (open[depth].bytes > 0) CHECK_INT(open[depth].block[open[depth].bytes - 1], depth & 0xFF);
		CHECK_OK(open[depth].kind == 0   ? tl_mem_exit_scope()
		         : open[depth].kind == 1 ? tl_mem_function_exit()
		                                 : tl_mem_frame_exit());
	}
	CHECK_OK(tl_mem_exit_scopes_to(0));
	while (tl_mem_frame_exit() == TL_OK) {}
}

int main(void) { return check_tests(); }
