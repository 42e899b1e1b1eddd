/* Section Cells: counts in front of the bytes, by calls and inlined, and what is no cell. */
#include "inlined.h"

typedef struct node {
	struct node *left, *right;
	int64_t value;
} node;

/* ---- in both ways ---------------------------------------------------------------------- */

typedef struct ways {
	void* (*make)(size_t bytes);
	void* (*dup)(void* cell);
	bool (*is_unique)(const void* cell);
	bool (*drop)(void* cell);
	tl_status (*free)(void* cell);
} ways;

static void* make_inlined(size_t bytes)
{
	tl_inl_thread thread = begin();
	return tl_inl_cell_new(&thread, bytes);
}
static void* dup_inlined(void* cell) { return tl_inl_cell_dup(cell); }
static bool is_unique_inlined(const void* cell) { return tl_inl_cell_is_unique(cell); }
static bool drop_inlined(void* cell) { return tl_inl_cell_drop(cell); }
static tl_status free_inlined(void* cell)
{
	tl_inl_thread thread = begin();
	return tl_inl_cell_free(&thread, cell);
}

static const ways called = {tl_cell_new, tl_cell_dup, tl_cell_is_unique, tl_cell_drop, tl_cell_free};
static const ways inlined = {make_inlined, dup_inlined, is_unique_inlined, drop_inlined, free_inlined};

static uint32_t* tag_of(void* cell) { return (uint32_t*)cell - 1; }

static void count_one(const ways* w, void* cell)
{
	CHECK(w->is_unique(cell));
	CHECK_PTR(w->dup(cell), cell);
	CHECK_PTR(w->dup(cell), cell);
	CHECK(!w->is_unique(cell));
	CHECK(!w->drop(cell));
	CHECK(!w->is_unique(cell));
	CHECK(!w->drop(cell));
	CHECK(w->is_unique(cell));
	CHECK(w->drop(cell)); /* the last one stays */
	CHECK(w->is_unique(cell));
}

static void sizes_and_counts(const ways* w)
{
	static const size_t sizes[] = {0, 1, 16, 17, 48, 100, 496, 497, 65519, 65520, 65521, 65536, 70000, 1 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		for (int round = 0; round < 3; round++) { /* from the magazine, too */
			unsigned char* cell = w->make(sizes[i]);
			CHECK(cell != NULL && (uintptr_t)cell % 16 == 0);
			CHECK_INT(*tag_of(cell), 0);
			*tag_of(cell) = 0xFFFFFFFF;
			memset(cell, 0xFF, sizes[i]);
			count_one(w, cell);
			CHECK_OK(tl_cell_share(cell));
			count_one(w, cell);
			CHECK_INT(*tag_of(cell), 0xFFFFFFFF);
			for (size_t at = 0; at < sizes[i]; at++)
				if (cell[at] != 0xFF) CHECK_INT(at, -1);
			CHECK_OK(w->free(cell));
		}
	}
}

TEST(cells_are_counted_by_calls) { sizes_and_counts(&called); }
TEST(cells_are_counted_inlined) { sizes_and_counts(&inlined); }

/* One is made by a call and ended by inlined code, and the other way round. */
TEST(both_ways_mix)
{
	const ways calls_free = {make_inlined, tl_cell_dup, is_unique_inlined, tl_cell_drop, tl_cell_free};
	const ways calls_make = {tl_cell_new, dup_inlined, tl_cell_is_unique, drop_inlined, free_inlined};
	sizes_and_counts(&calls_free);
	sizes_and_counts(&calls_make);
}

TEST(operations_on_zeros_make_the_call)
{
	void* cell = NULL;
	ON_ZEROS(cell = tl_inl_cell_new(&thread, 40));
	CHECK(tl_inl_cell_is_unique(cell));
	ON_ZEROS(CHECK_OK(tl_inl_cell_free(&thread, cell)));
}

static void drop_tree(const ways* w, node* n)
{
	while (n != NULL && w->drop(n)) {
		node *left = n->left, *right = n->right;
		CHECK_OK(w->free(n));
		drop_tree(w, left);
		n = right;
	}
}

static node* make_tree(const ways* w, int depth)
{
	if (depth == 0) return NULL;
	node *left = make_tree(w, depth - 1), *n = w->make(sizeof *n);
	*n = (node){left, depth % 3 == 0 && left != NULL ? w->dup(left) : make_tree(w, depth - 1), depth};
	return n;
}

static int64_t count_tree(const node* n) { return n == NULL ? 0 : 1 + count_tree(n->left) + count_tree(n->right); }

static void a_tree_with_sharing(const ways* w)
{
	node* tree = make_tree(w, 12);
	CHECK_INT(count_tree(tree), (1 << 12) - 1);
	CHECK(w->dup(tree) == tree);
	drop_tree(w, tree);
	CHECK_INT(count_tree(tree), (1 << 12) - 1);
	drop_tree(w, tree);
}

TEST(trees_of_cells)
{
	a_tree_with_sharing(&called);
	a_tree_with_sharing(&inlined);
}

/* A map that is rebuilt in the cells of the old one takes no memory. */
TEST(the_last_reference_is_memory_for_another)
{
	void* cell = tl_cell_new(sizeof(node));
	const uint64_t allocations = check_take_balance().objects;
	for (int i = 0; i < 100; i++) {
		void* token = tl_inl_cell_drop(cell) ? cell : NULL;
		CHECK(token != NULL);
		cell = token != NULL ? token : tl_cell_new(sizeof(node));
		((node*)cell)->value = i;
	}
	CHECK_INT(check_take_balance().objects, allocations);
	CHECK(tl_cell_is_unique(cell));
	CHECK_OK(tl_cell_free(cell));
}

/* ---- inlined cells need no slow call ------------------------------------------------------ */

TEST(inlined_cells_make_no_slow_calls)
{
	if (!is_fast() || is_option("TL_TRACK", "1")) return;
	drop_tree(&inlined, make_tree(&inlined, 12));
	const uint64_t before = check_slow_calls();
	for (int i = 0; i < 100; i++) drop_tree(&inlined, make_tree(&inlined, 12));
	CHECK(check_slow_calls() - before < 10);
}

/* ---- threads ---------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 2000 };

static _Atomic int ended;

static void* count_shared(void* cell)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (tl_inl_cell_dup(cell) != cell || tl_inl_cell_is_unique(cell)) CHECK(false);
		if (tl_inl_cell_drop(cell)) CHECK(false);
	}
	if (!tl_inl_cell_drop(cell)) return NULL;
	ended++;
	CHECK_OK(free_inlined(cell));
	return NULL;
}

TEST(a_shared_cell_ends_on_any_thread)
{
	pthread_t threads[THREADS];
	for (int round = 0; round < 20; round++) {
		void* cell = tl_cell_new(40);
		for (int i = 1; i < THREADS; i++) tl_inl_cell_dup(cell);
		CHECK_OK(tl_cell_share(cell));
		for (int i = 0; i < THREADS; i++) threads[i] = start_thread(count_shared, cell);
		for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
		CHECK_INT(ended, round + 1);
	}
}

static void* free_tree(void* tree)
{
	drop_tree(&inlined, tree);
	return NULL;
}

/* Cells have no owner: one thread at a time has a tree that is not shared. */
TEST(another_thread_ends_a_tree)
{
	const uint64_t before = check_take_balance().objects;
	for (int i = 0; i < 20; i++) run_thread(free_tree, make_tree(&inlined, 10));
	CHECK_INT(check_take_balance().objects, before);
}

static void count_in_a_child(void* cell)
{
	CHECK_INT(((node*)cell)->value, 7);
	CHECK(tl_inl_cell_is_unique(cell));
	((node*)cell)->value = 8;
}

TEST(a_forked_child_has_a_copy)
{
	node* cell = tl_cell_new(sizeof *cell);
	cell->value = 7;
	if (is_fast()) in_a_child(count_in_a_child, cell);
	CHECK_INT(cell->value, 7);
	CHECK_OK(tl_cell_free(cell));
}

/* ---- counts that overflow ---------------------------------------------------------------- */

static int32_t* count_of(void* cell) { return (int32_t*)cell - 2; }

static void sticks(void* cell)
{
	for (int i = 0; i < 3; i++) CHECK_PTR(tl_inl_cell_dup(cell), cell);
	CHECK(*count_of(cell) < -(1 << 30));
	for (int i = 0; i < 10; i++) CHECK(!tl_inl_cell_drop(cell));
	CHECK(*count_of(cell) < -(1 << 30));
	CHECK(!tl_inl_cell_is_unique(cell) && !tl_cell_drop(cell));
	CHECK_FAILS(tl_cell_free(cell), TL_E_BUSY);
	CHECK_OK(tl_cell_share(cell));
	CHECK(!tl_cell_drop(cell));
}

TEST(a_count_that_overflows_sticks)
{
	void* cell = tl_cell_new(40);
	*count_of(cell) = INT32_MAX;
	if (is_option("TL_DEBUG", "1")) *count_of(cell) = -(1 << 30);
	sticks(cell);
	*count_of(cell) = -1; /* as no program may */
	CHECK_OK(tl_cell_free(cell));
	cell = tl_cell_new(40);
	CHECK_OK(tl_cell_share(cell));
	*count_of(cell) = -(1 << 30) + 1;
	sticks(cell);
	*count_of(cell) = -1;
	CHECK_OK(tl_cell_free(cell));
}

/* ---- what is no cell --------------------------------------------------------------------- */

/* covers: tl_cell_dup TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE
 * covers: tl_cell_is_unique TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER, TL_E_NOT_LIVE
 * covers: tl_cell_drop TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER
 * covers: tl_cell_free TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER
 * covers: tl_cell_share TL_E_UNKNOWN_POINTER, TL_E_INTERIOR_POINTER */
static void refused(void* cell, tl_status why)
{
	CHECK_REFUSED(tl_cell_dup(cell), cell, why);
	CHECK_REFUSED(tl_cell_is_unique(cell), false, why);
	CHECK_REFUSED(tl_cell_drop(cell), false, why);
	CHECK_FAILS(tl_cell_free(cell), why);
	CHECK_FAILS(tl_cell_share(cell), why);
}

/* Whether the last error says something of two addresses, or of the first. */
static bool tells(const char* format, void* address, void* cell)
{
	char text[128];
	snprintf(text, sizeof text, format, address, cell);
	return strstr(tl_last_error(), text) != NULL;
}

TEST(a_bad_pointer_is_an_error)
{
	static int64_t outside[16];
	char *object = tl_mem_alloc(64), *cell = tl_cell_new(64);
	refused(NULL, TL_OK);
	refused(outside + 2, TL_E_UNKNOWN_POINTER);
	refused((void*)8, TL_E_UNKNOWN_POINTER);
	refused(object, TL_E_UNKNOWN_POINTER);
	refused(object + 16, TL_E_INTERIOR_POINTER);
	refused(object + 8, TL_E_INTERIOR_POINTER);
	refused(cell + 16, TL_E_INTERIOR_POINTER);
	refused(cell + 8, TL_E_INTERIOR_POINTER);
	CHECK(tl_cell_dup(cell) == cell);
	CHECK_FAILS(tl_cell_free(cell), TL_E_BUSY);
	CHECK(tells("%p is a cell with a count of 2", cell, NULL));
	CHECK(!tl_cell_drop(cell));
	CHECK_OK(tl_cell_free(cell));
	refused(cell, TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_free(object));
	CHECK_REFUSED(tl_cell_new(SIZE_MAX), NULL, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_cell_new(SIZE_MAX - 15), NULL, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(make_inlined(SIZE_MAX - 15), NULL, TL_E_OUT_OF_MEMORY);
}

/* A cell of up to 2,040 bytes has a head of 8 bytes, unless it is recorded or checked. */
static bool is_small(size_t bytes) { return bytes <= 2040 && getenv("TL_DEBUG") == NULL && getenv("TL_TRACK") == NULL; }

/* No other function counts a cell, takes it or frees it. */
static void is_nothing_to_the_rest(size_t bytes)
{
	char* cell = tl_cell_new(bytes);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_FAILS(tl_mem_register_struct(cell), TL_E_INTERIOR_POINTER);
	CHECK_REFUSED(tl_ptr_acquire(cell), cell, TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_ptr_release(cell), TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_mem_free(cell), TL_E_INTERIOR_POINTER);
	CHECK_REFUSED(tl_ref_of(cell), 0, TL_E_INTERIOR_POINTER);
	CHECK_FAILS(tl_vec_push(tl_vec_new(1), cell), TL_E_INTERIOR_POINTER);
	for (int at = 0; at < 2; at++) { /* where its memory starts, after another's as well */
		const int behind = is_small(bytes) ? 8 : 16;
		void* start = cell - behind;
		CHECK_FAILS(tl_mem_register_struct(start), TL_E_NOT_LIVE);
		CHECK_REFUSED(tl_ptr_acquire(start), start, TL_E_NOT_LIVE);
		CHECK_FAILS(tl_ptr_release(start), TL_E_NOT_LIVE);
		CHECK_REFUSED(tl_ptr_dec_ref(start), 0, TL_E_NOT_LIVE);
		CHECK_FAILS(tl_ptr_share(start), TL_E_NOT_LIVE);
		CHECK_FAILS(tl_mem_free(start), TL_E_NOT_LIVE);
		CHECK(tells("%p lies in the memory of the cell at %p", start, cell));
		CHECK_REFUSED(tl_ptr_acquire(cell), cell, TL_E_INTERIOR_POINTER);
		CHECK(tells("%p lies in the memory of the cell at %p", cell, cell));
		CHECK_REFUSED(tl_mem_realloc(start, 200), NULL, TL_E_NOT_LIVE);
		CHECK_REFUSED(tl_weak_of(start), 0, TL_E_NOT_LIVE);
		CHECK_INT(tl_ptr_refcount(start), -1);
		CHECK(tl_cell_is_unique(cell));
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(tl_mem_collect_cycles(), 0);
	CHECK(tl_cell_is_unique(cell));
	CHECK_OK(tl_cell_free(cell));
}

TEST(a_cell_is_nothing_to_the_rest)
{
	static const size_t sizes[] = {0, 8, 9, 48, 248, 249, 600, 2040, 2041, 70000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) is_nothing_to_the_rest(sizes[i]);
}

/* Around the slots of cells: what was never handed out, and what memory in front of them tells nobody. */
TEST(no_slot_of_cells_is_one)
{
	static const size_t sizes[] = {0, 24, 40, 100, 248, 249, 1000, 2040};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char *cell = tl_cell_new(sizes[i]), *base = (char*)((uintptr_t)cell & ~(uintptr_t)0xFFFF);
		CHECK_INT(*count_of(cell), is_option("TL_DEBUG", "1") ? -1 : 1);
		int live = 0;
		for (char* p = base; p < base + 0x10000; p += 16) live += tl_cell_is_unique(p);
		CHECK_INT(live, 1);
		CHECK_OK(tl_cell_free(cell));
		for (char* p = base; p < base + 0x10000; p += 16) CHECK(!tl_cell_is_unique(p));
	}
}

/* What an object leaves behind does not reach the cell in its slot, nor the other way round. */
TEST(a_stale_reference_does_not_reach_a_cell)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	CHECK_OK(tl_mem_free(object));
	void* cell = tl_cell_new(48);
	CHECK_REFUSED(tl_ref_acquire(ref), NULL, TL_E_NOT_LIVE);
	CHECK_PTR(tl_weak_get(ref), NULL);
	CHECK_OK(free_inlined(cell));
	CHECK_STATUS(tl_ref_check(ref), TL_E_NOT_LIVE);
	object = tl_mem_alloc(64);
	CHECK_COUNT(object, 1);
	CHECK_STATUS(tl_ref_check(ref), TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_free(object));
}

/* ---- reports ---------------------------------------------------------------------------- */

static char report[1 << 16];

static bool shows(const char* text)
{
	if (strstr(report, text) != NULL) return true;
	fprintf(stderr, "not in the report: %s\n%s\n", text, report);
	return false;
}

/* The report of the leaks since a mark, of which there are so many. */
static void take(uint64_t before, int64_t leaks)
{
	char path[] = "/tmp/tl_cells_XXXXXX";
	close(mkstemp(path));
	CHECK_INT(tl_leak_report_since(path, before), leaks);
	FILE* file = fopen(path, "r");
	report[fread(report, 1, sizeof report - 1, file)] = 0;
	fclose(file);
	unlink(path);
}

static void track(bool on) { CHECK_OK(tl_configure("TL_TRACK", on ? "1" : "0")); }

TEST(a_leak_report_names_cells)
{
	const bool was_on = is_option("TL_TRACK", "1");
	track(true);
	const uint64_t before = *tl_track_count();
	void *kept = tl_cell_new(40), *stuck = tl_cell_new(40);
	*count_of(stuck) = INT32_MIN;
	take(before, 2);
	CHECK(shows("a cell: tl_cell_drop or tl_cell_free is missing"));
	CHECK(shows("a cell whose count has overflowed: it is never freed"));
	*count_of(stuck) = -1;
	CHECK_OK(tl_cell_free(stuck));
	CHECK_OK(free_inlined(kept));
	take(before, 0);
	CHECK_INT(strlen(report), 0);
	track(was_on);
}

/* Cells that were recorded give their slots the next generation, so that the record ends with them. */
TEST(recorded_cells_end)
{
	const bool was_on = is_option("TL_TRACK", "1");
	track(true);
	const uint64_t before = *tl_track_count();
	for (int i = 0; i < 100; i++) CHECK_OK(free_inlined(make_inlined(48)));
	take(before, 0);
	void* cell = make_inlined(48);
	take(before, 1);
	const uint64_t then = *tl_track_count();
	track(false);
	CHECK_OK(free_inlined(cell));
	void* other = make_inlined(48); /* in the same slot, and not recorded */
	track(true);
	if (!is_option("TL_DEBUG", "1")) take(before, 0);
	take(then, is_option("TL_DEBUG", "1"));
	CHECK_OK(free_inlined(other));
	track(was_on);
}

TEST(debug_checks_inlined_operations)
{
	if (!is_option("TL_DEBUG", "1")) return;
	char* cell = make_inlined(40);
	CHECK_OK(free_inlined(cell));
	CHECK_REFUSED(tl_inl_cell_dup(cell), cell, TL_E_NOT_LIVE);
	CHECK(strstr(tl_last_error(), "allocated at\n    #0 0x") != NULL);
	CHECK(strstr(tl_last_error(), "released at\n    #0 0x") != NULL);
	CHECK_REFUSED(tl_inl_cell_is_unique(cell), false, TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_inl_cell_drop(cell), false, TL_E_NOT_LIVE);
	CHECK_FAILS(free_inlined(cell), TL_E_NOT_LIVE);
	cell = make_inlined(40);
	cell[40] = 1; /* beyond its end */
	CHECK_FAILS(free_inlined(cell), TL_E_CORRUPTED);
}

int main(void) { return check_tests(); }
