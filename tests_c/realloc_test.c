/* Objects that change their size: where they are, and where scopes hold many others. */
#include "check.h"

static tl_stats stats_now(void)
{
	const tl_stats stats = check_stats();
	return stats;
}

static uint64_t slow_calls(void) { return stats_now().slow_calls; }
static uint64_t live_bytes(void) { return stats_now().live_bytes; }

static bool is_set(const char* name)
{
	const char* value = getenv(name);
	return value != NULL && *value != '\0' && *value != '0';
}

/* Whether the fast path answers, which TL_TRACK and TL_DEBUG do not let it; samples are few or many. */
static bool is_fast(void)
{
	const char* path = getenv("TL_FASTPATH");
	return (path == NULL || *path != '0') && !is_set("TL_TRACK") && !is_set("TL_TRACK_SAMPLE") && !is_set("TL_DEBUG");
}

static unsigned char byte_at(size_t i, unsigned salt) { return (unsigned char)(i * 7 + i / 251 + salt); }

static void write_from(unsigned char* p, size_t from, size_t to, unsigned salt)
{
	for (size_t i = from; i < to; i++) p[i] = byte_at(i, salt);
}

static bool is_written(const unsigned char* p, size_t to, unsigned salt)
{
	for (size_t i = 0; i < to; i++)
		if (p[i] != byte_at(i, salt)) return false;
	return true;
}

/* Grows an object to `most` bytes by steps of `by`, or by a share of what it has. */
static unsigned char* grow(unsigned char* p, size_t from, size_t most, size_t by, size_t share)
{
	for (size_t bytes = from, next; p != NULL && bytes < most; bytes = next) {
		next = bytes + by + (share != 0 ? bytes / share : 0);
		p = tl_mem_realloc(p, next);
		CHECK(p != NULL);
		write_from(p, bytes, next, 1);
		from = next;
	}
	CHECK(is_written(p, from, 1));
	return p;
}

TEST(what_floats_grows)
{
	static const size_t steps[][3] = {
		{4000, 17, 0}, {112, 8, 0}, {1 << 20, 0, 1}, {64 << 10, 1, 2}, {2 << 20, 9001, 0}};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		unsigned char* p = tl_mem_realloc(NULL, 64);
		write_from(p, 0, 64, 1);
		p = grow(p, 64, steps[i][0], steps[i][1], steps[i][2]);
		CHECK_COUNT(p, 1);
		CHECK_OK(tl_mem_free(p));
	}
}

enum { MANY = 20000 };

/* An object for each entry of a scope, written; every fifth has another entry. */
static void open_scope(unsigned char** objects, int64_t n)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int64_t i = 0; i < n; i++) {
		objects[i] = tl_mem_new(64);
		write_from(objects[i], 0, 64, (unsigned)i);
		if (i % 5 == 4) CHECK_OK(tl_mem_register_struct(objects[i - 2]));
	}
}

static int64_t count_of(int64_t i, int64_t n) { return i % 5 == 2 && i + 2 < n ? 2 : 1; }

/* In any order, several times, to any class and back: each entry is found afterwards. */
TEST(all_entries_move)
{
	static unsigned char* objects[MANY];
	static const size_t sizes[] = {200, 65, 3000, 64, 40, 500};
	const int64_t n = check_fitting(MANY, 2 * CHECK_ENTRY_BYTES);
	open_scope(objects, n);
	uint64_t before = slow_calls();
	int64_t calls = 0, at = 0;
	for (int round = 0; round < 6; round++)
		for (int64_t i = 0; i < n; i++, calls++) {
			at = (at + 7919) % n;
			unsigned char* moved = tl_mem_realloc(objects[at], sizes[(round + at) % 6]);
			CHECK(moved != NULL && is_written(moved, 40, (unsigned)at));
			objects[at] = moved;
		}
	if (is_fast()) CHECK(slow_calls() - before < (uint64_t)calls / 4); /* a fifth has two entries */
	for (int64_t i = n - 1; i >= 0; i -= 3) {
		CHECK_COUNT(objects[i], count_of(i, n));
		CHECK_OK(tl_mem_unregister(objects[i]));
		if (count_of(i, n) == 2) CHECK_OK(tl_mem_unregister(objects[i]));
		CHECK_FAILS(tl_mem_unregister(objects[i]), TL_E_NOT_REGISTERED);
		CHECK_OK(tl_mem_free(objects[i]));
	}
	CHECK_OK(tl_mem_exit_scope());
}

/* The first of many grows; and from within a function, whose own entries alone it may unregister. */
TEST(the_oldest_entry_grows)
{
	static unsigned char* objects[MANY];
	const int64_t n = check_fitting(MANY, 2 * CHECK_ENTRY_BYTES);
	open_scope(objects, n);
	objects[0] = tl_mem_realloc(objects[0], 65); /* the entries go into the index now */
	write_from(objects[0], 0, 65, 1);
	const uint64_t before = slow_calls();
	objects[0] = grow(objects[0], 65, 50000, 17, 0);
	CHECK_OK(tl_mem_function_enter(0));
	write_from(objects[1], 0, 64, 1);
	objects[1] = grow(objects[1], 64, 50000, 17, 0);
	CHECK_FAILS(tl_mem_unregister(objects[1]), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_function_exit());
	if (is_fast()) CHECK(slow_calls() - before < 60);
	CHECK_OK(tl_mem_unregister(objects[1]));
	CHECK_OK(tl_mem_free(objects[1]));
	CHECK_OK(tl_mem_exit_scope());
}

/* An object moves to where another was that was freed by hand, and whose entries are newer, older, or on both sides. */
TEST(entries_of_the_dead_stay)
{
	enum { OTHERS = 3000, HOLDS = 7 };
	for (int held = 0; held < 1 << HOLDS; held++) {
		CHECK_OK(tl_mem_enter_scope());
		unsigned char *at[2] = {tl_mem_alloc(900), NULL}, *dead = at[0];
		for (int i = 0; i < HOLDS; i++)
			if (i == HOLDS / 2) write_from(at[1] = tl_mem_new(64), 0, 64, 1);
			else if (held >> i & 1) CHECK_OK(tl_mem_register_struct(dead));
		const int64_t references = tl_ptr_refcount(dead);
		for (int i = 0; i < OTHERS; i++) CHECK(tl_mem_new(32) != NULL);
		unsigned char* moved = tl_mem_realloc(at[1], 65); /* all are in the index */
		for (int64_t i = 0; i < references; i++) (void)tl_ptr_dec_ref(dead);
		CHECK_OK(tl_mem_free(dead));
		moved = tl_mem_realloc(moved, 900);
		CHECK(is_written(moved, 64, 1));
		if (is_fast()) CHECK_PTR(moved, dead);
		CHECK_COUNT(moved, 1);
		moved = tl_mem_realloc(moved, 20);
		CHECK(moved != NULL);
		CHECK_OK(tl_mem_unregister(moved));
		CHECK_OK(tl_mem_free(moved));
		CHECK_OK(tl_mem_exit_scope());
	}
}

enum { KIB = 1024, SPAN = 64 * KIB };

TEST(large_objects_change_where_they_are)
{
	if (is_set("TL_DEBUG")) return; /* where they move, so that stale pointers show */
	CHECK_OK(tl_mem_enter_scope());
	const uint64_t before = live_bytes();
	unsigned char* p = tl_mem_new(40 * SPAN);
	write_from(p, 0, 40 * SPAN, 1);
	CHECK_PTR(tl_mem_realloc(p, 20 * SPAN - 100), p);
	CHECK_INT(live_bytes() - before, 20 * SPAN);
	CHECK_PTR(tl_mem_realloc(p, 20 * SPAN - SPAN), p); /* less than an eighth stays */
	CHECK_INT(live_bytes() - before, 20 * SPAN);
	CHECK_PTR(tl_mem_realloc(p, 30 * SPAN + 1), p);
	CHECK_INT(live_bytes() - before, 31 * SPAN);
	CHECK(is_written(p, 20 * SPAN - SPAN, 1));

	/* What others hold may stay where it is. */
	CHECK_OK(tl_ptr_inc_ref(p));
	CHECK_PTR(tl_mem_realloc(p, 2 * SPAN), p);
	CHECK_INT(live_bytes() - before, 2 * SPAN);
	CHECK_STATUS(tl_ptr_check(p + 3 * SPAN), TL_E_NOT_LIVE);
	CHECK_OK(tl_ptr_release(p));
	CHECK_OK(tl_mem_exit_scope());
}

/* Two that stand in each other's way grow by little: each copy pays for an eighth. */
TEST(large_objects_move_seldom)
{
	enum { STEPS = 2000 };
	unsigned char* both[2] = {tl_mem_alloc(2 * SPAN), tl_mem_alloc(2 * SPAN)};
	int moves = 0;
	for (size_t i = 0; i < STEPS; i++) {
		unsigned char* grown = tl_mem_realloc(both[i % 2], 2 * SPAN + i * 8 * KIB);
		CHECK(grown != NULL);
		moves += grown != both[i % 2];
		both[i % 2] = grown;
	}
	if (!is_set("TL_DEBUG")) CHECK(moves < 100);
	CHECK_OK(tl_mem_free(both[0]));
	CHECK_OK(tl_mem_free(both[1]));
}

/* The bytes are the object's alone, and there are as many as were asked for. */
TEST(usable_bytes_are_usable)
{
	for (size_t bytes = 1; bytes < 20 << 20; bytes += 1 + bytes / 3) {
		unsigned char *p = tl_mem_alloc(bytes), *next = tl_mem_alloc(bytes);
		const size_t usable = tl_mem_usable_size(p);
		CHECK(usable >= bytes);
		if (is_set("TL_DEBUG")) CHECK_INT(usable, bytes);
		memset(next, 5, bytes);
		memset(p, 6, usable);
		CHECK(next[0] == 5 && next[bytes - 1] == 5);
		CHECK_PTR(tl_mem_realloc(p, usable), p);
		CHECK_OK(tl_mem_free(next));
		CHECK_OK(tl_mem_free(p));
	}
	CHECK_INT(tl_mem_usable_size(NULL), 0);
	CHECK_STATUS(tl_last_status(), TL_OK);
}

TEST_IN_SCOPE(other_objects_have_no_usable_size)
{
	const int64_t shape = 4;
	void *foreign = malloc(64), *others[] = {tl_vec_new(2), tl_tensor_empty(TL_DTYPE_F32, 0, 1, &shape), foreign};
	CHECK_OK(tl_mem_register_struct(foreign));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		CHECK_REFUSED((void*)tl_mem_usable_size(others[i]), 0, TL_E_UNSUPPORTED);
	}
}

/* Of all alignments and sizes, several at a time, so that neighbours do not overlap. */
TEST(aligned_objects_are_aligned)
{
	enum { AT_ONCE = 3 };
	for (size_t alignment = 1; alignment <= 2 << 20; alignment *= 2)
		for (size_t bytes = 1; bytes < 5 << 20; bytes = bytes * 3 + (alignment & 7)) {
			unsigned char* objects[AT_ONCE];
			for (int i = 0; i < AT_ONCE; i++) {
				objects[i] = tl_mem_aligned_alloc(bytes, alignment);
				CHECK(objects[i] != NULL && (uintptr_t)objects[i] % alignment == 0);
				CHECK_COUNT(objects[i], 1);
				CHECK(tl_mem_usable_size(objects[i]) >= bytes);
				memset(objects[i], i + 1, bytes);
			}
			for (int i = 0; i < AT_ONCE; i++) {
				CHECK(objects[i][0] == i + 1 && objects[i][bytes - 1] == i + 1);
				objects[i] = tl_mem_realloc(objects[i], bytes + 100);
				CHECK(objects[i] != NULL && objects[i][bytes - 1] == i + 1);
				CHECK_OK(tl_mem_free(objects[i]));
			}
		}
}

TEST(alignments_are_refused)
{
	static const size_t alignments[] = {0, 3, 48, (2 << 20) - 1, 4 << 20, SIZE_MAX, (size_t)1 << 63};
	for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
		CHECK_REFUSED(tl_mem_aligned_alloc(64, alignments[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_mem_aligned_alloc(0, alignments[i]), 0, TL_E_INVALID_ARGUMENT);
	}
	CHECK_PTR(tl_mem_aligned_alloc(0, 64), NULL);
	CHECK_STATUS(tl_last_status(), TL_OK);
	CHECK_REFUSED(tl_mem_aligned_alloc(SIZE_MAX, 64), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_mem_aligned_alloc((size_t)1 << 62, 2 << 20), 0, TL_E_OUT_OF_MEMORY);
}

TEST(a_refusal_names_the_function)
{
	CHECK_PTR(tl_mem_realloc(NULL, SIZE_MAX / 2), NULL);
	CHECK(strstr(tl_last_error(), "tl_mem_realloc: ") == tl_last_error());
	tl_clear_error();
}

int main(void) { return check_tests(); }
