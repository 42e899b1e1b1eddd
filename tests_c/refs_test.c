/* Section Checked and weak references: references by record and generation. */
#include "bad.h"
#include "check.h"
#include "sparse.h"
#include "thread.h"

TEST(a_reference_names_an_object)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	CHECK(ref != 0);
	CHECK(tl_ref_of(object) == ref);
	CHECK(tl_weak_of(object) == ref);
	CHECK_OK(tl_ref_check(ref));
	CHECK_PTR(tl_ref_get(ref), object);
	CHECK_COUNT(object, 1);
	CHECK(tl_ref_acquire(ref) == ref);
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ref_release(ref));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_inc_ref(object));
	CHECK_OK(tl_ref_release(ref));
	CHECK_OK(tl_ref_release(ref));
	CHECK_DEAD(object);
}

TEST(none_refers_to_nothing)
{
	tl_clear_error();
	CHECK(tl_ref_of(NULL) == 0);
	CHECK(tl_weak_of(NULL) == 0);
	CHECK(tl_weak_share(NULL) == 0);
	CHECK(tl_ref_acquire(0) == 0);
	CHECK_OK(tl_ref_release(0));
	CHECK_OK(tl_ref_check(0));
	CHECK_OK(tl_last_status());
	/* Of an earlier failure nothing is left, so that NULL means what it says. */
	tl_ptr_release(&check_failures);
	CHECK_PTR(tl_ref_get(0), NULL);
	CHECK_OK(tl_last_status());
	tl_ptr_release(&check_failures);
	CHECK_PTR(tl_weak_get(0), NULL);
	CHECK_OK(tl_last_status());
}

static void check_stale(tl_ref ref)
{
	CHECK_REFUSED(tl_ref_acquire(ref), 0, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ref_release(ref), TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_ref_get(ref), 0, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_ref_check(ref), TL_E_NOT_LIVE);
	CHECK_PTR(tl_weak_get(ref), NULL);
	CHECK_OK(tl_last_status()); /* not that of the calls above */
}

TEST(a_reference_ends_with_its_object)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	CHECK_OK(tl_ptr_release(object));
	check_stale(ref);
	CHECK_FAILS(tl_ref_check(ref), TL_E_NOT_LIVE);
	CHECK(strstr(tl_last_error(), "tl_ref_check: TL_E_NOT_LIVE: the object of the reference 0x") == tl_last_error());
	CHECK_REFUSED(tl_ref_of(object), 0, TL_E_NOT_LIVE);
}

/* What no pointer can tell. TL_DEBUG keeps the memory of what was released for a while. */
TEST(a_stale_reference_is_known_when_its_memory_is_used_again)
{
	const bool waits = getenv("TL_DEBUG") != NULL;
	void* old = tl_mem_alloc(96);
	tl_ref ref = tl_ref_of(old);
	CHECK_OK(tl_ptr_release(old));
	for (int life = 0; life < 300; life++) {
		void* new = tl_mem_alloc(96);
		CHECK(new == old || waits);
		check_stale(ref);
		CHECK_FAILS(tl_ref_release(ref), TL_E_NOT_LIVE);
		CHECK(waits || strstr(tl_last_error(), "its memory belongs to another object now") != NULL);
		CHECK_COUNT(new, 1);
		CHECK_PTR(tl_ref_get(tl_ref_of(new)), new);
		CHECK_OK(tl_ref_release(tl_ref_of(new)));
	}
}

static int64_t destroyed;
static tl_ref of_dying; /* of the object whose destructor runs */

static void note_end(void* object)
{
	(void)object;
	destroyed++;
	CHECK_REFUSED(tl_weak_get(of_dying), 0, TL_OK);
	CHECK_FAILS(tl_ref_check(of_dying), TL_E_NOT_LIVE);
}

static tl_type node_type(bool tells)
{
	static const size_t offsets[] = {0};
	const tl_type_desc desc = {.name = "node", .size = 48, .pointer_offsets = offsets, .num_pointers = 1};
	tl_type_desc telling = desc;
	telling.destructor = note_end;
	tl_type type = 0;
	CHECK_OK(tl_type_define(tells ? &telling : &desc, &type));
	return type;
}

TEST(the_last_reference_ends_every_kind)
{
	const int64_t shape[] = {4, 4};
	for (int kind = 0; kind < 8; kind++) {
		CHECK_OK(tl_mem_enter_scope());
		void* held = tl_mem_new(32);
		void* object = NULL;
		switch (kind) {
		case 0: object = tl_mem_new(24); break;
		case 1: object = tl_mem_new(100000); break;
		case 2: object = tl_object_new(node_type(false)); break;
		case 3: object = tl_object_new(node_type(true)); break;
		case 4: object = tl_vec_new(4); break;
		case 5: object = tl_tensor_new_zeroed(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape); break;
		case 6: object = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 2, (int64_t[]){300, 300}); break;
		default: object = sparse_sample(); break;
		}
		if (kind == 2 || kind == 3) *(void**)object = tl_ptr_acquire(held);
		if (kind == 4) CHECK_OK(tl_vec_push(object, held));
		tl_ref ref = tl_ref_of(object);
		of_dying = ref;
		CHECK_PTR(tl_ref_get(ref), object);
		CHECK(tl_ref_acquire(ref) == ref);
		CHECK_OK(tl_mem_unregister(object));
		CHECK_COUNT(object, 2);
		CHECK_OK(tl_ref_release(ref));
		CHECK_PTR(tl_weak_get(ref), object);
		CHECK_OK(tl_ref_release(ref));
		CHECK_COUNT(held, kind >= 2 && kind <= 4 ? 2 : 1);
		CHECK_OK(tl_ref_release(ref));
		CHECK_COUNT(held, 1);
		check_stale(ref);
		CHECK_OK(tl_mem_exit_scope());
	}
	CHECK_INT(destroyed, 1);
}

TEST(slots_of_all_classes_are_found)
{
	enum { EACH = 5 };
	for (size_t bytes = 1; bytes < 300000; bytes += bytes / 9 + 1) {
		void* objects[EACH];
		for (int i = 0; i < EACH; i++) {
			objects[i] = tl_mem_alloc(bytes);
			CHECK_PTR(tl_ref_get(tl_ref_of(objects[i])), objects[i]);
		}
		for (int i = 0; i < EACH; i++) CHECK_OK(tl_ref_release(tl_ref_of(objects[i])));
	}
}

TEST(many_of_a_class_are_found)
{
	enum { MANY = 20000 };
	static void* objects[MANY];
	static tl_ref refs[MANY];
	for (int i = 0; i < MANY; i++) refs[i] = tl_ref_of(objects[i] = tl_mem_alloc(32));
	for (int i = 0; i < MANY; i++) {
		CHECK_PTR(tl_ref_get(refs[i]), objects[i]);
		CHECK_OK(tl_ref_release(refs[i]));
	}
	tl_mem_purge(); /* records of free blocks lose their pages */
	for (int i = 0; i < MANY; i++) CHECK_REFUSED(tl_weak_get(refs[i]), 0, TL_OK);
	for (int i = 0; i < MANY; i += 97) check_stale(refs[i]);
}

/* Two threads that count two tensors must not write to one cache line, whoever has made the tensors: they took 1.5 to 2.5
 * times as long. A line is four records, of which a slot of 1 KiB or more uses the first. */
TEST(large_objects_share_no_line_of_records)
{
	enum { BYTES = 1024, OBJECTS = 100, LINE_RECORDS = 4 };
	void* objects[OBJECTS];
	for (int i = 0; i < OBJECTS; i++) {
		tl_ref ref = tl_ref_of(objects[i] = tl_mem_alloc(BYTES));
		uint32_t line = (uint32_t)ref / LINE_RECORDS;
		for (int k = 0; k < i; k++) CHECK((uint32_t)tl_ref_of(objects[k]) / LINE_RECORDS != line);
		for (uint32_t n = 1; n < LINE_RECORDS; n++) CHECK_FAILS(tl_ref_check(ref + n), TL_E_INVALID_ARGUMENT);
		CHECK_PTR(tl_ref_get(ref), objects[i]);
	}
	for (int at = 1; at < BYTES; at++) {
		/* Some of these lead to the records that no slot has. */
		void* inside = (char*)objects[0] + at;
		CHECK_FAILS(tl_ptr_check(inside), TL_E_INTERIOR_POINTER);
		CHECK_FAILS(tl_ptr_release(inside), TL_E_INTERIOR_POINTER);
		CHECK_REFUSED(tl_ref_of(inside), 0, TL_E_INTERIOR_POINTER);
	}
	for (int i = 0; i < OBJECTS; i++) CHECK_OK(tl_ptr_release(objects[i]));
}

TEST(what_has_no_record_has_no_reference)
{
	void* block = malloc(64);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_register_struct(block));
	CHECK_OK(tl_arena_init(4096));
	void* places[] = {block, tl_arena_malloc(64), tl_mem_frame_enter(64)};
	for (int i = 0; i < 3; i++) {
		CHECK_REFUSED(tl_ref_of(places[i]), 0, TL_E_UNSUPPORTED);
		CHECK_REFUSED(tl_weak_of(places[i]), 0, TL_E_UNSUPPORTED);
		CHECK_REFUSED(tl_weak_share(places[i]), 0, TL_E_UNSUPPORTED);
	}
	CHECK(strstr(tl_last_error(), "not an object of the runtime") != NULL);
	CHECK_OK(tl_mem_frame_exit());
	tl_arena_free();
	CHECK_OK(tl_mem_exit_scope());
}

TEST(pointers_that_are_no_objects)
{
	CHECK_REFUSES(tl_ref_of(bad), 0);
	CHECK_REFUSES(tl_weak_of(bad), 0);
	CHECK_REFUSES(tl_weak_share(bad), 0);
}

static void check_no_reference(tl_ref word)
{
	CHECK_REFUSED(tl_ref_acquire(word), 0, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_ref_release(word), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_ref_get(word), 0, TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_ref_check(word), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_weak_get(word), 0, TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "is no reference") != NULL);
}

TEST(words_that_are_no_references)
{
	void* object = tl_mem_alloc(64);
	const tl_ref ref = tl_ref_of(object), life = UINT64_C(1) << 40, other_class = UINT64_C(1) << 32;
	const tl_ref words[] = {1,
	                        UINT32_MAX,
	                        UINT64_MAX,
	                        UINT64_C(1) << 63,
	                        ref + life,
	                        ref ^ other_class,
	                        ref + (1u << 30),
	                        ref & UINT32_MAX,
	                        (uintptr_t)object};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) check_no_reference(words[i]);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ref_release(ref));
}

/* Never a crash, and never another object's count. */
TEST(random_words_do_no_harm)
{
	uint64_t random = 7;
	void* objects[64];
	for (int i = 0; i < 64; i++) objects[i] = tl_mem_alloc(64);
	const tl_ref ref = tl_ref_of(objects[32]);
	for (int i = 0; i < 200000; i++) {
		tl_ref word = check_random(&random);
		if (i % 2) word = (ref & ~(tl_ref)0xFFFFF) | (word & 0xFFFFF);
		if (tl_ref_check(word) != TL_OK) continue;
		tl_ref_release(tl_ref_acquire(word));
	}
	for (int i = 0; i < 64; i++) CHECK_COUNT(objects[i], 1);
	for (int i = 0; i < 64; i++) CHECK_OK(tl_ptr_release(objects[i]));
}

TEST(floats_are_references)
{
	CHECK_OK(tl_mem_enter_scope());
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	CHECK(tl_ref_acquire(ref) == ref);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 2);
	CHECK_OK(tl_ref_release(ref));
	CHECK_OK(tl_mem_unregister(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_register_struct(object));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_exit_scope());
	check_stale(ref);
}

TEST(a_count_that_leaves_the_local_word)
{
	enum { MANY = 70000 };
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	for (int i = 0; i < MANY; i++) CHECK(tl_ref_acquire(ref) == ref);
	CHECK_COUNT(object, MANY + 1);
	CHECK_PTR(tl_weak_get(ref), object);
	for (int i = 0; i < MANY + 2; i++) CHECK_OK(tl_ref_release(ref));
	check_stale(ref);
}

TEST(brought_to_zero_by_hand)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	CHECK_INT(tl_ptr_dec_ref(object), 1);
	check_stale(ref);
	CHECK_FAILS(tl_ref_check(ref), TL_E_NOT_LIVE);
	CHECK(strstr(tl_last_error(), "tl_mem_free frees it") != NULL);
	CHECK_OK(tl_mem_free(object));
	check_stale(ref);
}

static void an_immortal_object(void)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	CHECK_OK(tl_ptr_make_immortal(object));
	check_immortals++;
	for (int i = 0; i < 3; i++) CHECK_OK(tl_ref_release(ref));
	CHECK(tl_ref_acquire(ref) == ref);
	CHECK_PTR(tl_ref_get(ref), object);
	CHECK_PTR(tl_weak_get(ref), object);
}

TEST_IN_SCOPE(a_tensor_that_the_pool_keeps)
{
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, (int64_t[]){1000});
	tl_ref ref = tl_ref_of(tensor);
	CHECK(tl_ref_acquire(ref) == ref);
	CHECK_FAILS(tl_pool_release(tensor, 1000, TL_DTYPE_F32, TL_DEVICE_CPU), TL_E_BUSY);
	CHECK_OK(tl_ref_release(ref));
	CHECK_OK(tl_tensor_free(tensor));
	check_stale(ref);
	tl_tensor* again = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, (int64_t[]){1000});
	check_stale(ref);
	CHECK_PTR(tl_ref_get(tl_ref_of(again)), again);
}

TEST(resizing_ends_a_reference_when_the_object_moves)
{
	void* object = tl_mem_alloc(40);
	tl_ref ref = tl_ref_of(object);
	object = tl_mem_realloc(object, 48);
	CHECK_PTR(tl_ref_get(ref), object);
	void* moved = tl_mem_realloc(object, 4000);
	CHECK(moved != object);
	check_stale(ref);
	CHECK_OK(tl_ref_release(tl_ref_of(moved)));
}

/* ---- two threads --------------------------------------------------------------------------- */

THREAD(hold_and_release, ref)
{
	CHECK(tl_ref_acquire((tl_ref)(uintptr_t)ref) == (uintptr_t)ref);
	CHECK_OK(tl_ref_check((tl_ref)(uintptr_t)ref));
	CHECK_OK(tl_ref_release((tl_ref)(uintptr_t)ref));
}

THREAD(release_it, ref) { CHECK_OK(tl_ref_release((tl_ref)(uintptr_t)ref)); }

TEST(another_thread_counts)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	run_thread(hold_and_release, (void*)(uintptr_t)ref);
	CHECK_COUNT(object, 1);
	CHECK(tl_ref_acquire(ref) == ref);
	run_thread(release_it, (void*)(uintptr_t)ref);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_ptr_share(object));
	run_thread(hold_and_release, (void*)(uintptr_t)ref);
	CHECK_COUNT(object, 1);
	run_thread(release_it, (void*)(uintptr_t)ref);
	check_stale(ref);
}

/* An owner's object that another thread has released waits; it is nobody's. */
TEST(the_last_reference_of_another_thread)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = tl_ref_of(object);
	run_thread(release_it, (void*)(uintptr_t)ref);
	CHECK_REFUSED(tl_weak_get(ref), 0, TL_OK);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	check_stale(ref);
}

int main(void)
{
	check_run();
	an_immortal_object(); /* stays */
	return check_finish();
}
