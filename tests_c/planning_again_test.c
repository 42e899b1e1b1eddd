/* Plans that are solved again, or are much like one that was solved: they begin at its offsets. Budgets of the processor,
 * alignments of spaces. */
#include "check.h"

static tl_plan* new_plan(void)
{
	tl_plan* plan = NULL;
	CHECK_OK(tl_plan_create(&plan));
	return plan;
}

/* Rectangles that were cut from a square, some of which are left out: what is done without a budget does not find the
 * square again. */
enum { CUT = 300, EVERY = 20, PIECES = CUT - CUT / EVERY, SIDE = 100000 };

static struct piece {
	int64_t first, end, low, high;
} pieces[CUT];

static void cut_pieces(void)
{
	uint64_t state = 7;
	pieces[0] = (struct piece){0, SIDE, 0, SIDE};
	for (int count = 1; count < CUT; count++) {
		int largest = 0;
		for (int i = 1; i < count; i++) {
			struct piece *a = &pieces[i], *b = &pieces[largest];
			if ((a->end - a->first) * (a->high - a->low) > (b->end - b->first) * (b->high - b->low)) largest = i;
		}
		struct piece* from = &pieces[largest];
		state = state * 6364136223846793005u + 1442695040888963407u;
		int64_t part = 30 + (int64_t)(state >> 33) % 41;
		pieces[count] = *from;
		if (from->end - from->first > from->high - from->low)
			from->end = pieces[count].first = from->first + (from->end - from->first) * part / 100;
		else from->high = pieces[count].low = from->low + (from->high - from->low) * part / 100;
	}
	for (int i = 0, kept = 0; i < CUT; i++)
		if (i % EVERY != EVERY - 1) pieces[kept++] = pieces[i];
}

static tl_plan* new_square(void)
{
	tl_plan* plan = new_plan();
	if (pieces[0].end == 0) cut_pieces();
	for (int i = 0; i < PIECES; i++)
		CHECK_INT(tl_plan_add_buffer(plan, (size_t)(pieces[i].high - pieces[i].low), 0, pieces[i].first, pieces[i].end),
		          i);
	return plan;
}

static size_t solved(tl_plan* plan)
{
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_OK(tl_plan_validate(plan));
	return tl_plan_frame_bytes(plan);
}

TEST(a_plan_begins_at_its_last_offsets)
{
	tl_plan* plan = new_square();
	for (int i = 0; i < PIECES; i++) CHECK_OK(tl_plan_set_hint(plan, i, (size_t)pieces[i].low));
	CHECK_INT(solved(plan), SIDE);
	/* Hints are for one solution, and change none that there is. */
	CHECK_INT(solved(plan), SIDE);
	CHECK_OK(tl_plan_set_hint(plan, 0, (size_t)pieces[0].low));
	CHECK_INT(tl_plan_frame_bytes(plan), SIDE);
	/* A change drops the solution, and not where it was. */
	CHECK_INT(tl_plan_add_buffer(plan, 5, 0, 0, SIDE), PIECES);
	CHECK_REFUSED(tl_plan_frame_bytes(plan), 0, TL_E_INVALID_ARGUMENT);
	CHECK(solved(plan) <= SIDE + 5);
	CHECK_OK(tl_plan_resize(plan, 0, (size_t)(pieces[0].high - pieces[0].low) - 1));
	CHECK_REFUSED(tl_plan_frame_bytes(plan), 0, TL_E_INVALID_ARGUMENT);
	CHECK(solved(plan) <= SIDE + 5);
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(sizes_and_hints_that_are_refused)
{
	tl_plan* plan = new_plan();
	for (int i = 0; i < 2; i++) tl_plan_add_buffer(plan, 64u << i, 0, 0, 4);
	CHECK_OK(tl_plan_alias(plan, 0, 1, 32));
	CHECK_FAILS(tl_plan_resize(plan, 0, 97), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_resize(plan, 1, 95), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_resize(plan, 1, SIZE_MAX), TL_E_OVERFLOW);
	CHECK_FAILS(tl_plan_resize(plan, 2, 1), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_resize(NULL, 0, 1), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_resize(plan, 0, 96));
	CHECK_FAILS(tl_plan_set_hint(plan, 2, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_hint(plan, -1, 0), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_hint(NULL, 0, 0), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_set_hint(plan, 1, SIZE_MAX));
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_frame_bytes(plan), 128);
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(spaces_have_alignments)
{
	tl_plan* plan = new_plan();
	for (int i = 0; i < 3; i++) tl_plan_add_buffer(plan, 24, 8, 0, 1);
	CHECK_INT(tl_plan_add_space(plan, 100), 0);
	CHECK_INT(tl_plan_add_space(plan, 0), 1);
	const int64_t first = 0;
	CHECK_OK(tl_plan_set_spaces(plan, 2, &first, 1));
	CHECK_OK(tl_plan_set_space_alignment(plan, 0, 64));
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_OK(tl_plan_validate(plan));
	size_t offsets[3];
	int64_t spaces[3];
	CHECK_OK(tl_plan_offsets(plan, offsets, spaces, 3));
	for (int i = 0; i < 3; i++) CHECK_INT(offsets[i] % 64, 0);
	CHECK_INT(spaces[2], 0);
	CHECK_INT(tl_plan_space_bytes(plan, 0), 64 + 24);
	CHECK_OK(tl_plan_set_space_alignment(plan, 0, 0));
	CHECK_OK(tl_plan_solve(plan, 0));
	CHECK_INT(tl_plan_space_bytes(plan, 0), 3 * 24);
	CHECK_FAILS(tl_plan_set_space_alignment(plan, 0, 48), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_space_alignment(plan, 0, SIZE_MAX), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_space_alignment(plan, 2, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_space_alignment(plan, -1, 64), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_plan_set_space_alignment(NULL, 0, 64), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_plan_destroy(plan));
}

TEST(a_budget_of_the_processor)
{
	tl_plan* plan = new_plan();
	for (int i = 0; i < 3; i++) tl_plan_add_buffer(plan, 64, 64, i, i + 2);
	tl_plan_options options = {.struct_size = sizeof options, .budget_cpu_ms = 60000};
	CHECK_OK(tl_plan_solve_with(plan, &options)); /* ends with the proof */
	CHECK_INT(tl_plan_frame_bytes(plan), 128);
	CHECK(tl_plan_is_optimal(plan));
	options.budget_ms = 1;
	CHECK_FAILS(tl_plan_solve_with(plan, &options), TL_E_INVALID_ARGUMENT);
	options.budget_ms = 0;
	options.budget_cpu_ms = -1;
	CHECK_FAILS(tl_plan_solve_with(plan, &options), TL_E_INVALID_ARGUMENT);
	/* A caller that was compiled before knows no such member. */
	options.struct_size = offsetof(tl_plan_options, budget_cpu_ms);
	CHECK_OK(tl_plan_solve_with(plan, &options));
	CHECK_OK(tl_plan_destroy(plan));
	/* A search that cannot prove anything ends with its time. */
	plan = new_square();
	options = (tl_plan_options){.struct_size = sizeof options, .budget_cpu_ms = 20};
	CHECK_OK(tl_plan_solve_with(plan, &options));
	CHECK_OK(tl_plan_validate(plan));
	CHECK_OK(tl_plan_destroy(plan));
}

int main(void) { return check_tests(); }
