/* Each test here fails without one particular precaution of the design: the dead
 * record at the tail of a span, generations in scope entries, holes that keep
 * unregister cheap in any order. */
#include "check.h"
#include "thread.h"

enum { SPAN = 65536 };

static int compare_pointers(const void* a, const void* b)
{
	uintptr_t x = *(const uintptr_t*)a, y = *(const uintptr_t*)b;
	return x < y ? -1 : x > y;
}

/* Fills three spans of one size class and asks of every 16th byte of them whether
 * it is an object. Only the starts are; the tail, where a division alone would see
 * one slot more, is not. */
static void every_address_of_a_span(size_t bytes)
{
	size_t count = 3 * SPAN / bytes + 64, wrong = 0;
	uintptr_t* starts = malloc(count * sizeof *starts);
	for (size_t i = 0; i < count; i++) starts[i] = (uintptr_t)tl_mem_alloc(bytes);
	qsort(starts, count, sizeof *starts, compare_pointers);
	for (uintptr_t span = starts[0] & ~(uintptr_t)(SPAN - 1); span <= starts[count - 1]; span += SPAN)
		for (uintptr_t p = span; p < span + SPAN; p += 16) {
			bool ours = bsearch(&p, starts, count, sizeof *starts, compare_pointers) != NULL;
			wrong += (tl_ptr_check((void*)p) == TL_OK) != ours;
			if (!ours) wrong += tl_ptr_release((void*)p) == TL_OK;
		}
	CHECK_INT(wrong, 0);
	for (size_t i = 0; i < count; i++) CHECK_OK(tl_ptr_release((void*)starts[i]));
	free(starts);
}

TEST(the_tail_of_a_span_is_no_object)
{
	static const size_t sizes[] = {32, 96, 160, 224, 320, 448, 640, 1280, 3072, 5120, 12288, 20480, 40960};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) every_address_of_a_span(sizes[i]);
}

TEST(a_freed_objects_scope_entry_is_skipped)
{
	const tl_stats before = check_stats();
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
	void* innocent = tl_mem_alloc(64);
	CHECK_PTR(innocent, object);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(innocent, 1);
	const tl_stats after = check_stats();
	CHECK_INT(after.scope_entries_skipped, before.scope_entries_skipped + 1);
	CHECK_OK(tl_mem_free(innocent));
}

TEST(a_freed_foreign_pointers_scope_entry_is_skipped)
{
	void *object = malloc(64), *innocent;
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_ptr_release(object));
	CHECK_DEAD(object);
	innocent = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(innocent));
	CHECK_OK(tl_mem_unregister(innocent));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(innocent, 1);
	CHECK_OK(tl_ptr_release(innocent));
	CHECK_DEAD(innocent);
}

TEST(unregister_of_a_slot_that_was_reused)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_new(64);
	CHECK_OK(tl_ptr_release(object));
	void* innocent = tl_mem_alloc(64);
	CHECK_PTR(innocent, object);
	CHECK_FAILS(tl_mem_unregister(innocent), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_register_struct(innocent));
	CHECK_OK(tl_mem_unregister(innocent));
	CHECK_FAILS(tl_mem_unregister(innocent), TL_E_NOT_REGISTERED);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(innocent, 1);
	CHECK_OK(tl_mem_free(innocent));
}

TEST(a_write_beyond_the_end_reaches_no_count)
{
	CHECK_OK(tl_mem_enter_scope());
	void* first = tl_mem_new(64);
	void* second = tl_mem_new(64);
	void* third = tl_mem_alloc(64);
	CHECK_OK(tl_mem_free(third));
	memset(first, 0xFF, 64);
	memset(second, 0xFF, 64);
	memset(third, 0xFF, 64); /* freed, and holds no links of the allocator */
	CHECK_COUNT(first, 1);
	CHECK_COUNT(second, 1);
	for (int i = 0; i < 1000; i++) CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

static void shuffle(void** objects, size_t count, uint64_t* random)
{
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = check_random(random) % (i + 1);
		void* other = objects[i];
		objects[i] = objects[j];
		objects[j] = other;
	}
}

/* order: 0 oldest first, 1 newest first, 2 random */
static void unregister_half_of_a_million(int order)
{
	const size_t million = (size_t)check_fitting(1000000, CHECK_ENTRY_BYTES);
	void** objects = malloc(million * sizeof *objects);
	uint64_t random = 31;
	size_t failed = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (size_t i = 0; i < million; i++) objects[i] = tl_mem_new(32);
	if (order == 2) shuffle(objects, million, &random);
	for (size_t i = 0; i < million / 2; i++)
		failed += tl_mem_unregister(objects[order == 1 ? million - 1 - i : i]) != TL_OK;
	for (size_t i = 0; i < million / 2; i += 100)
		failed += tl_mem_unregister(objects[order == 1 ? million - 1 - i : i]) != TL_E_NOT_REGISTERED;
	CHECK_INT(failed, 0);
	CHECK_OK(tl_mem_exit_scope());
	for (size_t i = 0; i < million; i++) {
		void* object = objects[order == 1 ? million - 1 - i : i];
		if (i < million / 2) failed += tl_ptr_refcount(object) != 1 || tl_ptr_release(object) != TL_OK;
		else failed += tl_ptr_refcount(object) != -1;
	}
	CHECK_INT(failed, 0);
	free(objects);
}

TEST(unregister_any_of_a_million)
{
	for (int order = 0; order < 3; order++) unregister_half_of_a_million(order);
}

/* Unregistering and registering again in turns, far below the top. */
TEST(unregister_and_register_again_in_a_large_scope)
{
	const size_t count = (size_t)check_fitting(50000, CHECK_ENTRY_BYTES);
	void** objects = malloc(count * sizeof *objects);
	uint64_t random = 5;
	size_t failed = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (size_t i = 0; i < count; i++) objects[i] = tl_mem_new(32);
	for (size_t i = 0; i < 4 * count; i++) {
		void* object = objects[check_random(&random) % count];
		failed += tl_mem_unregister(object) != TL_OK;
		if (i % 7 == 0) {
			failed += tl_mem_enter_scope() != TL_OK;
			failed += tl_mem_register_struct(object) != TL_OK;
			failed += tl_mem_unregister(object) != TL_OK;
			failed += tl_mem_exit_scope() != TL_OK;
		}
		failed += tl_mem_register_struct(object) != TL_OK;
	}
	CHECK_INT(failed, 0);
	for (size_t i = 0; i < count; i++) failed += tl_ptr_refcount(objects[i]) != 1;
	CHECK_INT(failed, 0);
	CHECK_OK(tl_mem_exit_scope());
	free(objects);
}

/* Objects of all sizes and blocks of malloc's, registered up to five times each, taken out
 * and put back: buckets of the index that are full, chains, and both kinds of pointer. */
TEST(a_pointer_is_found_as_often_as_it_was_registered)
{
	enum { COUNT = 30000, MOST = 5 };
	static void* objects[COUNT];
	static uint8_t held[COUNT];
	const size_t count = (size_t)check_fitting(COUNT, MOST * CHECK_ENTRY_BYTES);
	uint64_t random = 77;
	size_t failed = 0;
	CHECK_OK(tl_mem_enter_scope());
	for (size_t i = 0; i < count; i++) {
		size_t bytes = (size_t)32 << check_random(&random) % 8;
		bool foreign = i % 4 == 3;
		objects[i] = foreign ? malloc(bytes) : tl_mem_new(bytes);
		failed += foreign && tl_mem_register_struct(objects[i]) != TL_OK;
		held[i] = 1;
		failed += tl_ptr_acquire(objects[i]) == NULL; /* so that none floats or ends here */
	}
	for (size_t n = 0; n < 10 * count; n++) {
		size_t i = check_random(&random) % count;
		if (held[i] < MOST && check_random(&random) % 2 == 0) {
			failed += tl_mem_register_struct(objects[i]) != TL_OK;
			held[i]++;
			continue;
		}
		tl_status expected = held[i] > 0 ? TL_OK : TL_E_NOT_REGISTERED;
		failed += tl_mem_unregister(objects[i]) != expected;
		held[i] -= held[i] > 0;
	}
	CHECK_INT(failed, 0);
	for (size_t i = 0; i < count; i++)
		for (; held[i] > 0; held[i]--) failed += tl_mem_unregister(objects[i]) != TL_OK;
	for (size_t i = 0; i < count; i++) failed += tl_mem_unregister(objects[i]) != TL_E_NOT_REGISTERED;
	CHECK_INT(failed, 0);
	CHECK_OK(tl_mem_exit_scope());
	for (size_t i = 0; i < count; i++)
		while (tl_ptr_refcount(objects[i]) > 0) failed += tl_ptr_release(objects[i]) != TL_OK;
	CHECK_INT(failed, 0);
}

enum { BELOW = 6000 };
static void* below[BELOW];

static void take_out_what_is_below(void* object)
{
	(void)object;
	for (int i = 0; i < BELOW; i++) CHECK_OK(tl_mem_unregister(below[i]));
}

/* The holes that the destructor leaves are closed while the inner scope is being left. */
TEST(a_scope_ends_whose_entries_a_destructor_has_moved)
{
	tl_type type;
	CHECK_OK(tl_type_define(&(tl_type_desc){.name = "mover", .size = 8, .destructor = take_out_what_is_below}, &type));
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < BELOW; i++) below[i] = tl_mem_new(32);
	CHECK_OK(tl_mem_enter_scope());
	void* released_last = tl_mem_new(64);
	CHECK(tl_object_new(type) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(released_last);
	CHECK_OK(tl_mem_exit_scope());
	for (int i = 0; i < BELOW; i++) CHECK_OK(tl_ptr_release(below[i]));
}

/* Large objects take the newest record that is free: an address gets another record, whose
 * generations begin anew, while an entry in the depth of a scope still means the old one. */
static void unregister_of_an_address_with_another_record(void)
{
	enum { COUNT = 100, BYTES = 100000 };
	CHECK_OK(tl_mem_enter_scope());
	void* old = tl_mem_new(BYTES);
	void* first = tl_mem_new(32);
	for (int i = 0; i < COUNT; i++) tl_mem_new(32);
	CHECK_OK(tl_mem_unregister(first)); /* indexes what is below the newest entries */
	CHECK_OK(tl_ptr_release(first));
	CHECK_OK(tl_ptr_release(old));
	void* taker = tl_mem_alloc(16 * BYTES);
	void* again = tl_mem_alloc(BYTES);
	CHECK_PTR(again, old);
	CHECK_PTR(tl_ptr_acquire(again), again);
	CHECK_STATUS(tl_mem_unregister(again), TL_E_NOT_REGISTERED);
	CHECK_STATUS(tl_mem_free(again), TL_E_BUSY);
	CHECK_OK(tl_ptr_release(again));
	CHECK_OK(tl_mem_free(again));
	CHECK_OK(tl_mem_free(taker));
	CHECK_OK(tl_mem_exit_scope());
}

/* Another thread drops the reference that a scope holds, and the owner looks into its inbox in the call that takes the
 * scope's entry out: the object is in the queue of those that die. */
TEST(unregister_of_what_is_dying)
{
	CHECK_OK(tl_mem_enter_scope());
	void *vec = tl_vec_new(2), *plain = tl_mem_new(24);
	run_thread(check_release, vec);
	run_thread(check_release, plain);
	CHECK_STATUS(tl_mem_unregister(vec), TL_E_NOT_LIVE);
	CHECK_STATUS(tl_mem_unregister(plain), TL_E_NOT_LIVE);
	CHECK_OK(tl_mem_exit_scope());
}

int main(void)
{
	RUN(unregister_of_an_address_with_another_record); /* while records of large objects are new */
	return check_tests();
}
