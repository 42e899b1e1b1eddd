/* Section Objects: allocation, sizes, realloc, free, immortality. */
#include "check.h"
#include "thread.h"

TEST(sizes_and_alignment)
{
	static const size_t sizes[] = {1,    7,    31,    32,    33,    64,    65,     96,     100,     128,
	                               1000, 4096, 10000, 65536, 65537, 70000, 262144, 524289, 1 << 20, 5 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		unsigned char* object = tl_mem_alloc(sizes[i]);
		CHECK(object != NULL);
		CHECK_INT((uintptr_t)object % (sizes[i] % 64 == 0 ? 64 : 32), 0);
		memset(object, 0xA5, sizes[i]);
		CHECK_COUNT(object, 1);
		CHECK_OK(tl_ptr_check(object));
		CHECK_INT(object[sizes[i] - 1], 0xA5);
		CHECK_OK(tl_mem_free(object));
		CHECK_DEAD(object);
	}
}

TEST(objects_do_not_overlap)
{
	enum { COUNT = 5000 };
	static unsigned char* objects[COUNT];
	static size_t sizes[COUNT];
	uint64_t random = 12345;
	for (int i = 0; i < COUNT; i++) {
		sizes[i] = 1 + check_random(&random) % 3000;
		objects[i] = tl_mem_alloc(sizes[i]);
		memset(objects[i], i & 0xFF, sizes[i]);
	}
	for (int i = 0; i < COUNT; i++) {
		bool intact = true;
		for (size_t j = 0; j < sizes[i]; j++) intact = intact && objects[i][j] == (i & 0xFF);
		CHECK(intact);
		CHECK_OK(tl_ptr_release(objects[i]));
	}
}

TEST(nothing_is_null)
{
	CHECK_REFUSED(tl_mem_alloc(0), 0, TL_OK);
	CHECK_REFUSED(tl_mem_new(0), 0, TL_OK);
	CHECK_REFUSED(tl_mem_new_zeroed(0), 0, TL_OK);
	CHECK_REFUSED(tl_alloc_tmp(0), 0, TL_OK);
}

TEST(null_is_a_value)
{
	CHECK_OK(tl_mem_free(NULL));
	CHECK_OK(tl_mem_dealloc(NULL));
	CHECK_OK(tl_free_tmp(NULL));
	CHECK_PTR(tl_mem_deep_clone(NULL), NULL);
	CHECK_OK(tl_ptr_share(NULL));
	CHECK_OK(tl_ptr_make_immortal(NULL));
	CHECK_PTR(tl_ptr_acquire(NULL), NULL);
	CHECK_OK(tl_ptr_release(NULL));
	CHECK_OK(tl_ptr_inc_ref(NULL));
	CHECK_INT(tl_ptr_dec_ref(NULL), 0);
	CHECK(!tl_ptr_release_bool(NULL));
	CHECK_INT(tl_ptr_refcount(NULL), 0);
	CHECK_OK(tl_ptr_check(NULL));
	CHECK_OK(tl_mem_register(NULL));
	CHECK_OK(tl_mem_register_struct(NULL));
	CHECK_OK(tl_mem_register_struct_named(NULL, "Nothing"));
	CHECK_OK(tl_mem_register_ptr(NULL));
	CHECK_OK(tl_mem_register_tensor(NULL));
	CHECK_OK(tl_mem_register_vec_ptr(NULL));
	CHECK_OK(tl_mem_unregister(NULL));
}

TEST(new_zeroed_is_zero_after_reuse)
{
	for (size_t bytes = 24; bytes <= 200000; bytes = bytes * 3) {
		bool zero = true;
		unsigned char* object = tl_mem_alloc(bytes);
		memset(object, 0xFF, bytes);
		CHECK_OK(tl_mem_free(object));
		CHECK_OK(tl_mem_enter_scope());
		object = tl_mem_new_zeroed(bytes);
		for (size_t i = 0; i < bytes; i++) zero = zero && object[i] == 0;
		CHECK(zero);
		CHECK_COUNT(object, 1);
		CHECK_OK(tl_mem_exit_scope());
		CHECK_DEAD(object);
	}
}

TEST(huge_sizes)
{
	static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, SIZE_MAX / 2 + 1, (size_t)1 << 47};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		CHECK_REFUSED(tl_mem_alloc(sizes[i]), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(tl_mem_new(sizes[i]), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(tl_mem_new_zeroed(sizes[i]), 0, TL_E_OUT_OF_MEMORY);
	}
	CHECK_REFUSED(tl_alloc_tmp(INT64_MAX), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_alloc_tmp(-1), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_alloc_tmp(INT64_MIN), 0, TL_E_INVALID_ARGUMENT);
}

TEST(realloc_keeps_content_count_and_registration)
{
	CHECK_OK(tl_mem_enter_scope());
	unsigned char* object = tl_mem_new(40);
	for (int i = 0; i < 40; i++) object[i] = (unsigned char)i;
	CHECK_OK(tl_mem_register_struct(object));
	for (size_t bytes = 50; bytes < (4u << 20); bytes *= 5) {
		unsigned char* old = object;
		object = tl_mem_realloc(object, bytes);
		CHECK(object != NULL);
		CHECK_COUNT(object, 2);
		CHECK_INT(object[39], 39);
		if (object != old) CHECK_DEAD(old);
	}
	object = tl_mem_realloc(object, 20);
	CHECK_INT(object[19], 19);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(realloc_moves_every_registration)
{
	CHECK_OK(tl_mem_enter_scope());
	char* object = tl_mem_new(32);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	object = tl_mem_realloc(object, 5000);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_unregister(object));
	object = tl_mem_realloc(object, 100000);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

enum { FLOATS = 7 };

/* An object with more floating references than its owner's word counts. */
static char* afloat(void)
{
	char* object = tl_mem_alloc(32);
	for (int i = 0; i < FLOATS; i++) CHECK_OK(tl_mem_register_struct(object));
	for (int i = 0; i < FLOATS; i++) CHECK_OK(tl_mem_unregister(object));
	return object;
}

TEST_IN_SCOPE(realloc_moves_what_floats_often)
{
	char* object = afloat();
	object = tl_mem_realloc(object, 5000);
	CHECK(object != NULL);
	CHECK_COUNT(object, FLOATS);
	CHECK_OK(tl_mem_free(object));
}

/* All of them float, down to the last one. */
TEST_IN_SCOPE(free_of_what_floated_often)
{
	char* object = afloat();
	for (int left = FLOATS; left > 1; left--) CHECK_OK(tl_ptr_release(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_free(object));
	CHECK_DEAD(object);
}

TEST(realloc_refuses)
{
	CHECK_OK(tl_mem_enter_scope());
	char* object = tl_mem_new(64);
	strcpy(object, "unchanged");
	CHECK_REFUSED(tl_mem_realloc(object, 0), 0, TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_mem_realloc(object, SIZE_MAX), 0, TL_E_OUT_OF_MEMORY);
	CHECK_REFUSED(tl_mem_realloc(object, (size_t)1 << 47), 0, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0")); /* not even for the list of its registrations */
	CHECK_REFUSED(tl_mem_realloc(object, 1 << 20), 0, TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_REFUSED(tl_mem_realloc(object, 100000), 0, TL_E_BUSY);
	CHECK_OK(tl_ptr_release(object));
	CHECK_COUNT(object, 1);
	CHECK(strcmp(object, "unchanged") == 0);
	void* vec = tl_vec_new(2);
	CHECK_REFUSED(tl_mem_realloc(vec, 4096), 0, TL_E_UNSUPPORTED);
	char* foreign = malloc(64);
	CHECK_OK(tl_mem_register_struct(foreign));
	CHECK_REFUSED(tl_mem_realloc(foreign, 4096), 0, TL_E_UNSUPPORTED);
	CHECK_OK(tl_mem_exit_scope());

	object = tl_mem_realloc(NULL, 64);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_free(object));
}

THREAD(keep_a_reference, object) { CHECK_OK(tl_ptr_inc_ref(object)); }

/* The place stays, and nothing that led to the old object leads to the new one. */
TEST(a_unique_object_is_reused)
{
	const bool in_place = getenv("TL_DEBUG") == NULL;
	for (size_t bytes = 1; bytes <= 65536; bytes = bytes * 5 / 4 + 1) {
		char *object = tl_mem_alloc(bytes), *next;
		const tl_ref ref = tl_ref_of(object);
		const tl_ref weak = tl_weak_of(object);
		object[0] = 'x';
		const tl_stats before = check_stats();
		next = tl_ptr_reuse(object, bytes);
		const tl_stats after = check_stats();
		CHECK(next == object ? next[0] == 'x' : next != NULL && !in_place);
		CHECK_COUNT(next, 1);
		CHECK(tl_ref_get(ref) == NULL && tl_weak_get(weak) == NULL);
		CHECK_INT(after.allocations, before.allocations + 1);
		CHECK_INT(after.frees, before.frees + 1);
		CHECK_OK(tl_mem_free(next)); /* its reference floats */
	}
}

/* Another size, another reference, another thread's, none. */
TEST(what_cannot_be_reused_is_released)
{
	static const size_t sizes[] = {8, 100, 5000, 70000, 1 << 20};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
			void *object = tl_mem_alloc(sizes[i]), *next;
			if (i == j) CHECK_OK(tl_ptr_inc_ref(object));
			next = tl_ptr_reuse(object, sizes[j]);
			CHECK(next != NULL && next != object);
			CHECK_COUNT(next, 1);
			if (i != j) CHECK_DEAD(object);
			else CHECK_OK(tl_ptr_release(object));
			memset(next, 1, sizes[j]);
			CHECK_OK(tl_ptr_release(next));
		}
	void *object = tl_mem_alloc(64), *next;
	run_thread(keep_a_reference, object);
	next = tl_ptr_reuse(object, 64);
	CHECK(next != NULL && next != object);
	CHECK_OK(tl_ptr_release(next));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_release(object));
	object = tl_ptr_reuse(NULL, 64);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(object));
	next = tl_ptr_reuse(object, 64); /* the scope's entry is of the old object */
	CHECK_OK(tl_mem_exit_scope());
	CHECK_COUNT(next, 1);
	CHECK_OK(tl_ptr_release(next));
}

TEST(reuse_refuses)
{
	static const size_t impossible[] = {SIZE_MAX, (size_t)1 << 47};
	char* object = tl_mem_alloc(64);
	strcpy(object, "unchanged");
	CHECK_REFUSED(tl_ptr_reuse(object, 0), 0, TL_E_INVALID_ARGUMENT);
	for (int i = 0; i < 2; i++) {
		CHECK_REFUSED(tl_ptr_reuse(object, impossible[i]), 0, TL_E_OUT_OF_MEMORY);
		CHECK_REFUSED(tl_ptr_reuse(NULL, impossible[i]), 0, TL_E_OUT_OF_MEMORY);
	}
	CHECK_COUNT(object, 1);
	CHECK(strcmp(object, "unchanged") == 0);
	CHECK_OK(tl_ptr_release(object));
	CHECK_REFUSED(tl_ptr_reuse(NULL, 0), 0, TL_OK);
	CHECK_OK(tl_mem_enter_scope());
	int64_t shape = 4;
	void* others[] = {tl_vec_new(2), tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape), malloc(64)};
	CHECK_OK(tl_mem_register_struct(others[2]));
	for (int i = 0; i < 3; i++) {
		CHECK_REFUSED(tl_ptr_reuse(others[i], 64), 0, TL_E_UNSUPPORTED);
		CHECK_COUNT(others[i], 1);
	}
	CHECK_OK(tl_mem_exit_scope());
}

TEST(free_wants_an_object_that_nobody_holds)
{
	void* object = tl_mem_alloc(64);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_FAILS(tl_mem_free(object), TL_E_BUSY);
	CHECK_FAILS(tl_mem_dealloc(object), TL_E_BUSY);
	CHECK_FAILS(tl_free_tmp(object), TL_E_BUSY);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_mem_dealloc(object));

	CHECK_OK(tl_mem_enter_scope());
	object = tl_mem_new(64);
	CHECK_FAILS(tl_mem_free(object), TL_E_BUSY);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());

	object = tl_alloc_tmp(64);
	CHECK_OK(tl_free_tmp(object));
	CHECK_DEAD(object);
}

THREAD(free_elsewhere, object) { CHECK_OK(tl_mem_free(object)); }

TEST(free_by_another_thread)
{
	void* object = tl_mem_alloc(64);
	run_thread(free_elsewhere, object);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_DEAD(object);
}

TEST(freed_memory_is_used_again)
{
	void* first = tl_mem_alloc(64);
	CHECK_OK(tl_mem_free(first));
	CHECK_PTR(tl_mem_alloc(64), first);
	CHECK_OK(tl_mem_free(first));
}

TEST(large_objects_come_and_go)
{
	for (int round = 0; round < 50; round++) {
		unsigned char* objects[8];
		for (size_t i = 0; i < 8; i++) {
			size_t bytes = (i + 1) * 300000;
			objects[i] = tl_mem_alloc(bytes);
			CHECK(objects[i] != NULL);
			objects[i][0] = objects[i][bytes - 1] = (unsigned char)i;
		}
		for (size_t i = 0; i < 8; i++) {
			CHECK_INT(objects[(i * 5) % 8][0], (i * 5) % 8);
			CHECK_OK(tl_ptr_release(objects[(i * 5) % 8]));
		}
	}
}

/* Where a large object was, its memory has others, or none. What stands at its start says nothing of the rest. */
TEST(large_objects_leave_nothing_behind)
{
	enum { BYTES = 10 << 20, STEP = 4096, SIZES = 4 };
	static const size_t sizes[SIZES] = {64 << 10, 100000, 1 << 20, 48};
	for (int i = 0; i < SIZES; i++) {
		char* gone = tl_mem_alloc(BYTES);
		CHECK_OK(tl_mem_free(gone));
		CHECK_OK(tl_mem_purge());
		char* first = tl_mem_alloc(sizes[i]);
		for (size_t at = 0; at < BYTES; at += STEP) {
			const char* p = gone + at;
			if (p == first) CHECK_OK(tl_ptr_check(p));
			else if (p > first && p < first + sizes[i]) CHECK_FAILS(tl_ptr_check(p), TL_E_INTERIOR_POINTER);
			else if (p < first || p >= first + (1 << 20)) CHECK_FAILS(tl_ptr_check(p), TL_E_NOT_LIVE);
		}
		CHECK_OK(tl_mem_free(first));
	}
}

TEST(many_small_objects)
{
	enum { COUNT = 300000 };
	void** objects = malloc(COUNT * sizeof *objects);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < COUNT; i++) objects[i] = tl_mem_alloc(64);
		CHECK_INT(check_take_balance().objects, COUNT);
		for (int i = 0; i < COUNT; i++) tl_ptr_release(objects[round % 2 == 0 ? i : COUNT - 1 - i]);
		CHECK_INT(check_take_balance().objects, 0);
	}
	free(objects);
}

int main(void) { return check_tests(); }
