/* Records whose generations end: what is in their slots goes back to the system like any other memory, and no reference
 * of an earlier life ever names another object.
 *
 * A test of 16,777,216 lives for each slot would take hours on the slow path, so the tests write the last generation
 * into the records themselves. */
#include "inlined.h"
#include "memory.h"

enum { GENERATION_SHIFT = 8, LAST_GENERATION = 0xFFFFFF, MOST = 5000, PATIENCE = 40 };

static tl_inl_record* record_of(void* object)
{
	const tl_inl_context* context = context_now();
	return context->self->records + (uint32_t)tl_ref_of(object);
}

/* Gives an object of which no reference is known the last life but so many of its record. */
static void* aged(void* object, uint32_t lives_left)
{
	CHECK(object != NULL);
	if (object == NULL) return NULL;
	tl_inl_record* r = record_of(object);
	r->gen = (r->gen & 0xFF) | (LAST_GENERATION - lives_left) << GENERATION_SHIFT;
	CHECK_OK(tl_ref_check(tl_ref_of(object)));
	return object;
}

/* TL_DEBUG keeps freed slots for a while. */
static void nothing_is_held(void)
{
	CHECK_OK(tl_mem_purge());
	if (!is_option("TL_DEBUG", "1")) CHECK_INT(reserved(0), 0);
	CHECK_INT(usage(0).in_use, 0);
}

/* The caller holds what the newest scope held alone. */
static void* held(void* object)
{
	CHECK(tl_ptr_acquire(object) == object);
	CHECK_OK(tl_mem_exit_scope());
	return object;
}

static void* tensor_of(int64_t elements)
{
	CHECK_OK(tl_mem_enter_scope());
	return held(tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &elements));
}

static void* plain(int64_t bytes)
{
	CHECK_OK(tl_mem_enter_scope());
	return held(tl_mem_new((size_t)bytes));
}

static void* floating(int64_t bytes) { return tl_mem_alloc((size_t)bytes); }

/* Many lives of objects that end by a release or with a scope, some shared, where a limit has room for two. */
static void lives_of_large(void* (*make)(int64_t), int64_t size)
{
	nothing_is_held();
	leave_room(0, 12 * MIB);
	for (int i = 0; i < PATIENCE; i++) {
		void* object = aged(make(size), (uint32_t)i % 3);
		if (object == NULL) break;
		const tl_ref ref = tl_ref_of(object);
		if (i % 4 == 1) {
			CHECK_OK(tl_mem_enter_scope());
			CHECK_OK(tl_mem_register(object));
			if (make != floating) CHECK_OK(tl_ptr_release(object));
			CHECK_OK(tl_mem_exit_scope());
		} else {
			if (i % 4 == 2) CHECK_OK(tl_ptr_share(object));
			CHECK_OK(tl_ptr_release(object));
		}
		CHECK_STATUS(tl_ref_check(ref), TL_E_NOT_LIVE);
		CHECK_PTR(tl_ref_get(ref), NULL);
		CHECK_PTR(tl_weak_get(ref), NULL);
		CHECK(tl_ptr_release(object) != TL_OK);
	}
	no_limits();
	nothing_is_held();
}

TEST(large_objects_go_back) { lives_of_large(plain, 4 * MIB); }
TEST(large_floating_objects_go_back) { lives_of_large(floating, 4 * MIB); }
TEST(large_tensors_go_back) { lives_of_large(tensor_of, MIB); }

static void* objects[MOST];
static tl_ref refs[MOST];

/* Allocates, has every `old`th object live its last life, releases all, and wants no memory held. */
static void live_and_end(void* (*make)(int64_t), int64_t size, int count, int old)
{
	for (int i = 0; i < count; i++) {
		objects[i] = make(size);
		if (i % old == 0) aged(objects[i], 0);
		refs[i] = tl_ref_of(objects[i]);
	}
	for (int i = 0; i < count; i++) CHECK_OK(tl_ptr_release(objects[i]));
	nothing_is_held();
	for (int i = 0; i < count; i++) {
		CHECK_STATUS(tl_ref_check(refs[i]), TL_E_NOT_LIVE);
		CHECK(tl_ptr_release(objects[i]) != TL_OK);
	}
}

/* New objects get none of the records that are retired, and references of old ones stay dead. */
static void no_record_comes_back(void* (*make)(int64_t), int64_t size, int count, int old)
{
	void** now = calloc((size_t)count, sizeof *now);
	uint32_t* records = calloc((size_t)count, sizeof *records);
	for (int i = 0; i < count; i++) records[i] = (uint32_t)(now[i] = make(size), tl_ref_of(now[i]));
	for (int i = 0; i < count; i++)
		for (int j = 0; j < count; j += old)
			if ((uint32_t)refs[j] == records[i]) CHECK(!"a retired record was used again");
	for (int i = 0; i < count; i++) CHECK_STATUS(tl_ref_check(refs[i]), TL_E_NOT_LIVE);
	for (int i = 0; i < count; i++) CHECK_OK(tl_ptr_release(now[i]));
	free(now);
	free(records);
	nothing_is_held();
}

/* Slabs of small classes become empty, whether some of their records retire or all do. */
static void lives_of_small(void* (*make)(int64_t))
{
	static const int64_t sizes[] = {24, 60, 90, 470, 1000, 3000, 8000, 15000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		/* Two slabs and a part of a third one. */
		const int count = sizes[i] < 40 ? MOST : sizes[i] < 100 ? 2500 : sizes[i] < 1000 ? 400 : 100;
		static const int olds[] = {1, 2, 7, 1000};
		for (size_t k = 0; k < sizeof olds / sizeof *olds; k++) {
			live_and_end(make, sizes[i], count, olds[k]);
			no_record_comes_back(make, sizes[i], count, olds[k]);
		}
	}
}

TEST(small_objects_go_back) { lives_of_small(plain); }
TEST(small_floating_objects_go_back) { lives_of_small(floating); }
TEST(small_tensors_go_back) { lives_of_small(tensor_of); }

static void* release_all(void* unused)
{
	for (int i = 0; i < 200; i++) CHECK_OK(tl_ptr_release(objects[i]));
	return unused;
}

/* A thread that is not the owner drops the last reference, before the owner reads its inbox or after it has ended. */
TEST(another_thread_ends_the_last_life)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++)
			objects[i] = aged(i % 2 == 0 ? plain(i % 4 == 0 ? 100 : 100000) : tensor_of(30000), 0);
		pthread_t thread = start_thread(release_all, NULL);
		pthread_join(thread, NULL);
		nothing_is_held();
	}
}

static void* make_and_leave(void* unused)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 100; i++) {
		void* object = aged(i % 2 == 0 ? plain(100000) : tensor_of(300), 0);
		CHECK_OK(tl_mem_register(object));
		CHECK_OK(tl_ptr_release(object));
	}
	return unused;
}

TEST(a_thread_ends_with_its_objects)
{
	if (is_option("TL_LEAK_CHECK", "fail")) return; /* which this is */
	pthread_t thread = start_thread(make_and_leave, NULL);
	pthread_join(thread, NULL);
	CHECK_OK(tl_mem_purge()); /* takes what the thread left apart, at its end */
	nothing_is_held();
}

TEST(containers_end)
{
	static const size_t offsets[] = {0, 8};
	const tl_type_desc pair = {.name = "pair", .size = 200, .pointer_offsets = offsets, .num_pointers = 2};
	tl_type type = 0;
	CHECK_OK(tl_type_define(&pair, &type));
	for (int i = 0; i < 300; i++) {
		CHECK_OK(tl_mem_enter_scope());
		void* vec = aged(held(tl_vec_new(10000)), 0);
		CHECK_OK(tl_mem_enter_scope());
		void** object = aged(held(tl_object_new(type)), 0);
		CHECK_OK(tl_mem_enter_scope());
		void* tensor = aged(tensor_of(20000), 0);
		void* view = tl_view_reshape(tensor, 1, (const int64_t[]){20000});
		CHECK(view != NULL);
		object[0] = aged(plain(300000), 0);
		object[1] = vec;
		void* element = aged(plain(50), 0);
		CHECK_OK(tl_vec_push(vec, element));
		CHECK_OK(tl_ptr_release(element));
		CHECK_OK(tl_ptr_release(tensor));
		CHECK_OK(tl_mem_exit_scope()); /* the view */
		CHECK_OK(tl_ptr_release(object));
	}
	nothing_is_held();
}

/* Without a word written into a record. */
TEST(a_record_lives_all_its_lives)
{
	if (!is_fast()) {
		printf("skip: 16,777,216 lives take too long without the fast path\n");
		return;
	}
	void* first = plain(60);
	const tl_ref ref = tl_ref_of(first);
	CHECK_OK(tl_ptr_release(first));
	for (int i = 0; i < LAST_GENERATION + 10; i++) tl_ptr_release(floating(60));
	void* object = plain(60);
	CHECK((uint32_t)tl_ref_of(object) != (uint32_t)ref);
	CHECK_STATUS(tl_ref_check(ref), TL_E_NOT_LIVE);
	CHECK_OK(tl_ptr_release(object));
	nothing_is_held();
}

int main(void)
{
	nothing_is_held();
	return check_tests();
}
