/* Plans: buffers with lifetimes get offsets in one frame. */
#include "check.h"
#include "thread.h"

static tl_plan* new_plan(void)
{
	tl_plan* plan = NULL;
	CHECK_OK(tl_plan_create(&plan));
	CHECK(plan != NULL);
	return plan;
}

TEST(dead_buffers_give_their_place)
{
	tl_plan* plan = new_plan();
	int64_t a = tl_plan_add_buffer(plan, 4096, 64, 0, 2);
	int64_t b = tl_plan_add_buffer(plan, 4096, 64, 1, 3);
	int64_t c = tl_plan_add_buffer(plan, 4000, 64, 2, 4);
	CHECK_INT(a, 0);
	CHECK_INT(b, 1);
	CHECK_INT(c, 2);
	CHECK_INT(tl_plan_num_buffers(plan), 3);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_frame_bytes(plan), 8192);
	CHECK_INT(tl_plan_space_bytes(plan, 0), 8192);
	CHECK_INT(tl_plan_lower_bound(plan), 8192);
	CHECK(tl_plan_is_optimal(plan));
	CHECK_INT(tl_plan_offset(plan, a), tl_plan_offset(plan, c));
	CHECK(tl_plan_offset(plan, a) != tl_plan_offset(plan, b));
	CHECK_INT(tl_plan_space_of(plan, b), 0);
	CHECK_OK(tl_plan_validate(plan));
	/* A change drops the solution. */
	CHECK_INT(tl_plan_add_buffer(plan, 64, 64, 0, 4), 3);
	CHECK_REFUSED(tl_plan_frame_bytes(plan), 0, TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_frame_bytes(plan), 8256);
	CHECK_OK(tl_plan_destroy(plan));
	CHECK_OK(tl_plan_destroy(NULL));
}

TEST(an_empty_plan_is_a_plan)
{
	tl_plan* plan = new_plan();
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_frame_bytes(plan), 0);
	CHECK_INT(tl_plan_num_buffers(plan), 0);
	CHECK(tl_plan_is_optimal(plan));
	CHECK_OK(tl_plan_offsets(plan, NULL, NULL, 0));
	CHECK_INT(tl_plan_add_buffer(plan, 0, 0, 5, 6), 0);
	CHECK_OK(tl_plan_solve(plan, 1));
	CHECK_INT(tl_plan_frame_bytes(plan), 0);
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(aliases_pins_and_gaps)
{
	tl_plan* plan = new_plan();
	int64_t parent = tl_plan_add_buffer(plan, 1024, 64, 2, 3);
	int64_t part = tl_plan_add_buffer(plan, 256, 64, 0, 3);
	int64_t fixed = tl_plan_add_buffer(plan, 512, 64, 0, 9);
	int64_t sleeper = tl_plan_add_buffer(plan, 2048, 64, 3, 9);
	int64_t guest = tl_plan_add_buffer(plan, 2048, 64, 5, 6);
	CHECK_OK(tl_plan_alias(plan, part, parent, 512));
	CHECK_OK(tl_plan_pin(plan, fixed, 128));
	CHECK_OK(tl_plan_add_gap(plan, sleeper, 5, 6));
	CHECK_OK(tl_plan_set_name(plan, guest, "guest"));
	CHECK_OK(tl_plan_solve(plan, 50));
	CHECK_INT(tl_plan_offset(plan, part), tl_plan_offset(plan, parent) + 512);
	CHECK_INT(tl_plan_offset(plan, fixed), 128);
	CHECK_INT(tl_plan_offset(plan, sleeper), tl_plan_offset(plan, guest));
	CHECK_INT(tl_plan_offset(plan, guest), 640);
	CHECK_INT(tl_plan_frame_bytes(plan), 640 + 2048);
	CHECK_OK(tl_plan_validate(plan));
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(buffers_spill_into_the_next_space)
{
	tl_plan* plan = new_plan();
	int64_t fast = tl_plan_add_space(plan, 1000), slow = tl_plan_add_space(plan, 0);
	int64_t both[] = {fast, slow}, order[] = {slow, fast}, spaces[3];
	size_t offsets[3];
	CHECK_INT(fast, 0);
	CHECK_INT(slow, 1);
	for (int i = 0; i < 3; i++) CHECK_INT(tl_plan_add_buffer(plan, 600, 0, 0, 1), i);
	CHECK_OK(tl_plan_set_spaces(plan, 0, both, 2));
	CHECK_OK(tl_plan_set_spaces(plan, 1, both, 2));
	CHECK_OK(tl_plan_set_spaces(plan, 2, order, 2));
	CHECK_OK(tl_plan_solve(plan, 20));
	CHECK_OK(tl_plan_offsets(plan, offsets, spaces, 3));
	CHECK_INT(spaces[2], slow);
	CHECK_INT(spaces[0] + spaces[1], fast + slow);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(tl_plan_space_of(plan, i), spaces[i]);
		CHECK_INT(tl_plan_offset(plan, i), offsets[i]);
	}
	CHECK_INT(tl_plan_space_bytes(plan, fast), 600);
	CHECK_INT(tl_plan_space_bytes(plan, slow), 1200);
	CHECK_INT(tl_plan_frame_bytes(plan), 1800);
	CHECK_OK(tl_plan_validate(plan));
	CHECK_OK(tl_plan_destroy(plan));
}

/* The message names the buffer that found no place. */
TEST(what_fits_nowhere_is_named)
{
	tl_plan* plan = new_plan();
	tl_plan_options options = {.struct_size = sizeof options, .max_steps = 100};
	int64_t bank = tl_plan_add_space(plan, 1000);
	tl_plan_add_buffer(plan, 700, 0, 0, 2);
	tl_plan_add_buffer(plan, 700, 0, 2, 3);
	CHECK_OK(tl_plan_set_spaces(plan, 0, &bank, 1));
	CHECK_OK(tl_plan_solve(plan, 0));
	tl_plan_add_buffer(plan, 400, 0, 1, 2);
	CHECK_OK(tl_plan_set_name(plan, 2, "the weights"));
	CHECK_FAILS(tl_plan_solve(plan, 0), TL_E_LIMIT);
	CHECK(strstr(tl_last_error(), "buffer ") != NULL);
	CHECK_FAILS(tl_plan_solve_with(plan, &options), TL_E_LIMIT);
	CHECK_OK(tl_plan_destroy(plan));
}

static uint64_t solve_random(uint64_t seed, int64_t steps)
{
	enum { count = 200 };
	tl_plan_buffer buffers[count];
	size_t offsets[count];
	tl_plan_options options = {.struct_size = sizeof options, .seed = seed, .max_steps = steps};
	tl_plan* plan = new_plan();
	uint64_t random = 7, sum = 0;
	for (int i = 0; i < count; i++) {
		int64_t first = (int64_t)(check_random(&random) % 100);
		buffers[i] = (tl_plan_buffer){1 + check_random(&random) % 5000, 1 + 63 * (i % 2), first,
		                              first + 1 + (int64_t)(check_random(&random) % 30)};
	}
	CHECK_INT(tl_plan_add_buffers(plan, buffers, count), 0);
	CHECK_OK(tl_plan_solve_with(plan, &options));
	CHECK_OK(tl_plan_validate(plan));
	CHECK(tl_plan_frame_bytes(plan) >= tl_plan_lower_bound(plan));
	CHECK_OK(tl_plan_offsets(plan, offsets, NULL, count));
	for (int i = 0; i < count; i++) sum = sum * 31 + offsets[i];
	CHECK_OK(tl_plan_destroy(plan));
	return sum;
}

TEST(one_seed_gives_one_answer)
{
	CHECK_INT(solve_random(1, 5000), solve_random(1, 5000));
	CHECK_INT(solve_random(2, 0), solve_random(2, 0));
}

TEST(buffers_that_are_refused)
{
	tl_plan* plan = new_plan();
	tl_plan_buffer two[] = {{64, 64, 0, 1}, {64, 48, 0, 1}};
	CHECK_FAILS(tl_plan_create(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_add_buffer(plan, 64, 3, 0, 1), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_add_buffer(plan, 64, SIZE_MAX, 0, 1), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_add_buffer(plan, 64, 64, 1, 1), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_add_buffer(plan, 64, 64, 2, 1), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_add_buffer(plan, SIZE_MAX, 64, 0, 1), -1, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_plan_add_buffers(plan, two, 2), -1, TL_E_INVALID_ARGUMENT);
	CHECK_INT(tl_plan_num_buffers(plan), 0);
	CHECK_REFUSED(tl_plan_add_buffers(plan, NULL, 2), -1, TL_E_INVALID_ARGUMENT);
	CHECK_INT(tl_plan_add_buffers(plan, NULL, 0), 0);
	CHECK_OK(tl_plan_destroy(plan));
	CHECK_FAILS(tl_plan_destroy(plan), TL_E_INVALID_ARGUMENT);
}

TEST(limits_of_a_plan)
{
	tl_plan* plan = new_plan();
	tl_plan_buffer huge = {SIZE_MAX / 2, 1, 0, 1};
	CHECK_REFUSED(tl_plan_add_buffers(plan, &huge, 1), -1, TL_E_OVERFLOW);
	CHECK_REFUSED(tl_plan_add_buffers(plan, &huge, (1u << 24) + 1), -1, TL_E_LIMIT);
	CHECK_REFUSED(tl_plan_add_buffers(plan, &huge, SIZE_MAX), -1, TL_E_LIMIT);
	CHECK_INT(tl_plan_num_buffers(plan), 0);
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(limit_of_plans)
{
	enum { most = 65536 };
	static tl_plan* plans[most];
	tl_plan* one_more;
	for (int i = 0; i < most; i++) CHECK_OK(tl_plan_create(&plans[i]));
	CHECK_FAILS(tl_plan_create(&one_more), TL_E_LIMIT);
	for (int i = 0; i < most; i++) CHECK_OK(tl_plan_destroy(plans[i]));
}

TEST(changes_that_are_refused)
{
	tl_plan* plan = new_plan();
	for (int i = 0; i < 4; i++) tl_plan_add_buffer(plan, 64u << i, 64, 0, 4);
	CHECK_FAILS(tl_plan_alias(plan, 0, 4, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_alias(plan, -1, 0, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_alias(plan, 0, 0, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_alias(plan, 1, 0, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_alias(plan, 0, 1, 65), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_alias(plan, 0, 1, SIZE_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_alias(plan, 0, 1, 64));
	CHECK_OK(tl_plan_alias(plan, 1, 2, 64));
	CHECK_FAILS(tl_plan_pin(plan, 0, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_pin(plan, 3, 32), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_pin(plan, 3, SIZE_MAX), TL_E_OVERFLOW);
	CHECK_FAILS(tl_plan_pin(plan, 9, 0), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_pin(plan, 3, 64));
	CHECK_FAILS(tl_plan_alias(plan, 3, 2, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_add_gap(plan, 3, -1, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_add_gap(plan, 3, 1, 1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_add_gap(plan, 3, 1, 5), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_name(plan, 3, NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_name(plan, 4, "x"), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_OK(tl_plan_validate(plan));
	CHECK_OK(tl_plan_destroy(plan));
}

/* Equal plans, one of them with buffers that lie in each other by a longer way. */
TEST(aliases_make_no_circle)
{
	tl_plan* plan = new_plan();
	for (int i = 0; i < 3; i++) tl_plan_add_buffer(plan, 64, 0, i, i + 1);
	CHECK_OK(tl_plan_alias(plan, 0, 1, 0));
	CHECK_OK(tl_plan_alias(plan, 1, 2, 0));
	CHECK_FAILS(tl_plan_alias(plan, 2, 0, 0), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_frame_bytes(plan), 64);
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(spaces_that_are_refused)
{
	tl_plan* plan = new_plan();
	int64_t list[] = {0, 1024};
	tl_plan_add_buffer(plan, 64, 64, 0, 1);
	for (int i = 0; i < 1024; i++) CHECK_INT(tl_plan_add_space(plan, 100), i);
	CHECK_REFUSED(tl_plan_add_space(plan, 100), -1, TL_E_LIMIT);
	CHECK_FAILS(tl_plan_set_spaces(plan, 0, list, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_spaces(plan, 0, NULL, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_spaces(plan, 0, list, SIZE_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_spaces(plan, 1, list, 1), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_set_spaces(plan, 0, list, 1));
	CHECK_OK(tl_plan_destroy(plan));
	CHECK_REFUSED(tl_plan_add_space(plan, 100), -1, TL_E_INVALID_ARGUMENT);
}

TEST(questions_that_are_refused)
{
	tl_plan_options options = {.struct_size = sizeof options};
	tl_plan* solved = new_plan();
	size_t offset;
	tl_plan_add_buffer(solved, 64, 64, 0, 1);
	tl_plan* unsolved = new_plan(); /* a gap is its buffer's whole life */
	CHECK_OK(tl_plan_add_gap(unsolved, tl_plan_add_buffer(unsolved, 64, 64, 0, 1), 0, 1));
	CHECK_FAILS(tl_plan_solve(unsolved, 0), TL_E_INVALID_ARGUMENT);
	tl_plan* bad[] = {NULL, (tl_plan*)&options, (tl_plan*)SIZE_MAX, unsolved};
	for (size_t i = 0; i < 4; i++) {
		CHECK_FAILS(tl_plan_validate(bad[i]), TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_frame_bytes(bad[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_space_bytes(bad[i], 0), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_lower_bound(bad[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_is_optimal(bad[i]), false, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_offset(bad[i], 0), SIZE_MAX, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_space_of(bad[i], 0), -1, TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_plan_offsets(bad[i], &offset, NULL, 1), TL_E_INVALID_ARGUMENT);
		if (bad[i] == unsolved) continue;
		CHECK_REFUSED(tl_plan_num_buffers(bad[i]), -1, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_plan_is_infeasible(bad[i]), false, TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_plan_solve(bad[i], 0), TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_plan_solve_with(bad[i], &options), TL_E_INVALID_ARGUMENT);
	}
	CHECK_FAILS(tl_plan_solve(solved, -1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_solve_with(solved, NULL), TL_E_INVALID_ARGUMENT);
	options.struct_size = 8;
	CHECK_FAILS(tl_plan_solve_with(solved, &options), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_solve(solved, 0));
	CHECK_REFUSED(tl_plan_offset(solved, 1), SIZE_MAX, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_space_of(solved, -1), -1, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_plan_space_bytes(solved, 1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_offsets(solved, &offset, NULL, 2), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_offsets(solved, NULL, NULL, 1), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_destroy(solved));
	CHECK_OK(tl_plan_destroy(unsolved));
}

/* Two spaces, three buffers, and one assignment that holds them; with one buffer more there is none, which is proved.
 * covers: tl_plan_is_infeasible */
TEST(a_refusal_of_spaces_is_proved)
{
	const size_t bytes[] = {50, 60, 50};
	tl_plan* plan = new_plan();
	tl_plan_add_space(plan, 100);
	tl_plan_add_space(plan, 60);
	for (int i = 0; i < 3; i++) tl_plan_add_buffer(plan, bytes[i], 0, 0, 1);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_space_of(plan, 0), 0);
	CHECK_INT(tl_plan_space_of(plan, 1), 1);
	CHECK_INT(tl_plan_space_of(plan, 2), 0);
	CHECK_OK(tl_plan_validate(plan));
	CHECK(!tl_plan_is_infeasible(plan));
	tl_plan_add_buffer(plan, 1, 0, 0, 1);
	CHECK_FAILS(tl_plan_solve(plan, 0), TL_E_LIMIT);
	CHECK(tl_plan_is_infeasible(plan));
	tl_plan_add_space(plan, 1);
	CHECK(!tl_plan_is_infeasible(plan));
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(pins_that_collide_are_told)
{
	tl_plan* plan = new_plan();
	for (int i = 0; i < 2; i++) {
		tl_plan_add_buffer(plan, 64, 0, 0, 1);
		CHECK_OK(tl_plan_pin(plan, i, (size_t)(32 * i)));
	}
	CHECK_FAILS(tl_plan_solve(plan, 0), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_destroy(plan));
}

/* No small number is one, and a plan is no pool, nor the other way. */
static void numbers_are_no_plans(void)
{
	tl_plan* plan = NULL;
	tl_memory_pool* pool = NULL;
	CHECK_OK(tl_plan_create(&plan));
	CHECK_OK(tl_memory_pool_create(tl_device_allocator_for(0), 4096, &pool));
	for (uintptr_t n = 1; n < 5000; n++) {
		CHECK_REFUSED(tl_plan_num_buffers((tl_plan*)n), -1, TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_plan_destroy((tl_plan*)((uintptr_t)plan + n)), TL_E_INVALID_ARGUMENT);
	}
	CHECK_FAILS(tl_plan_destroy((tl_plan*)pool), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_memory_pool_destroy((tl_memory_pool*)plan), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_memory_pool_destroy(pool));
	CHECK_OK(tl_plan_destroy(plan));
}

THREAD(add_and_solve, plan)
{
	for (int i = 0; i < 200; i++) {
		CHECK(tl_plan_add_buffer(plan, 64, 64, i, i + 3) >= 0);
		if (i % 20 == 0) CHECK_OK(tl_plan_solve(plan, 0));
	}
}

TEST(threads_take_turns)
{
	tl_plan* plan = new_plan();
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) threads[i] = start_thread(add_and_solve, plan);
	for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
	CHECK_INT(tl_plan_num_buffers(plan), 800);
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_frame_bytes(plan), 4 * 3 * 64);
	CHECK_OK(tl_plan_destroy(plan));
}

/* Squares of a square of side 23, cut so that no guillotine makes them: orders need more than 23 bytes, a search finds
 * the 23 that are there. */
static void add_square(tl_plan* plan)
{
	static const int pieces[][4] = {{0, 9, 0, 14},  {0, 14, 14, 23}, {14, 23, 9, 23}, {9, 23, 0, 9},
	                                {9, 14, 9, 12}, {9, 11, 12, 14}, {11, 14, 12, 14}};
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
		for (int half = 0; half < 2; half++) {
			const int* p = pieces[i];
			int middle = (p[2] + p[3]) / 2, low = half ? middle : p[2], high = half ? p[3] : middle;
			CHECK(tl_plan_add_buffer(plan, (size_t)(high - low), 0, p[0], p[1]) >= 0);
		}
}

/* A capacity and a target are goals without a budget, too, and a caller may know the options without a target. */
TEST(a_capacity_is_a_goal)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		tl_plan* plan = new_plan();
		add_square(plan);
		tl_plan_options options = {.struct_size = sizeof options, .seed = seed, .target_bytes = 23};
		CHECK_OK(tl_plan_solve_with(plan, &options));
		CHECK_INT(tl_plan_frame_bytes(plan), 23);
		options.target_bytes = 1;
		CHECK_OK(tl_plan_solve_with(plan, &options)); /* as small as it can be is no failure */
		CHECK_INT(tl_plan_frame_bytes(plan), 23);
		options = (tl_plan_options){.struct_size = offsetof(tl_plan_options, target_bytes),
		                            .max_steps = 10,
		                            .target_bytes = 1,
		                            .progress = (tl_plan_progress_callback)(uintptr_t)1};
		CHECK_OK(tl_plan_solve_with(plan, &options));
		options.struct_size--;
		CHECK_FAILS(tl_plan_solve_with(plan, &options), TL_E_INVALID_ARGUMENT);
		options.struct_size = sizeof options;
		CHECK_FAILS(tl_plan_solve_with(plan, &options), TL_E_INVALID_ARGUMENT); /* that is no function */
		CHECK_INT(tl_plan_add_space(plan, 23), 0);
		CHECK_OK(tl_plan_solve(plan, 0));
		CHECK_INT(tl_plan_frame_bytes(plan), 23);
		CHECK_OK(tl_plan_destroy(plan));
	}
}

struct follower {
	tl_plan* plan;
	size_t frame;
	int64_t steps;
	int calls, most;
};

static int32_t follow(const tl_plan_progress* progress, void* ctx)
{
	struct follower* f = ctx;
	CHECK(progress->struct_size >= sizeof *progress);
	CHECK(progress->frame_bytes <= f->frame);
	CHECK(progress->lower_bound <= progress->frame_bytes);
	CHECK(progress->steps >= f->steps);
	CHECK(progress->elapsed_ms >= 0);
	f->frame = progress->frame_bytes;
	f->steps = progress->steps;
	CHECK_INT(tl_plan_solve(f->plan, 0), TL_E_BUSY); /* nothing of the library can be called, and nothing waits */
	return ++f->calls == f->most;
}

/* Follows a search, and ends it. */
TEST(a_search_is_followed)
{
	tl_plan* plan = new_plan();
	uint64_t random = 3;
	for (int i = 0; i < 2000; i++) {
		int64_t first = (int64_t)(check_random(&random) % 1000);
		tl_plan_add_buffer(plan, 1 + check_random(&random) % 5000, 0, first,
		                   first + 1 + (int64_t)(check_random(&random) % 100));
	}
	struct follower f = {.plan = plan, .frame = SIZE_MAX, .most = 1};
	tl_plan_options options = {
		.struct_size = sizeof options, .budget_ms = 3600 * 1000, .progress = follow, .progress_ctx = &f};
	CHECK_OK(tl_plan_solve_with(plan, &options)); /* within the hour */
	CHECK_INT(f.calls, 1);
	CHECK_OK(tl_plan_validate(plan));
	f.most = 5;
	f.calls = 0;
	f.frame = SIZE_MAX;
	f.steps = 0;
	CHECK_OK(tl_plan_solve_with(plan, &options));
	CHECK_INT(f.calls, 5);
	CHECK(tl_plan_frame_bytes(plan) <= f.frame); /* what was under way is part of the result */
	CHECK_OK(tl_plan_destroy(plan));
}

int main(void)
{
	RUN(numbers_are_no_plans); /* before there were many */
	return check_tests();
}
