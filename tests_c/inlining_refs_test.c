/* Section Inlining: references by record and generation, between calls that change the context or the object. */
#include "inlined.h"

/* Whether this context answers a pair by this reference; the object has other references. */
static bool answers_pair(void* context, tl_ref ref)
{
	tl_ref same = 0;
	if (!tl_inl_op_ref_acquire(context, ref, &same)) return false;
	CHECK(same == ref);
	CHECK(tl_inl_op_ref_release(context, ref)); /* also where the object floats */
	return true;
}

static void check_stale(tl_inl_thread* thread, tl_ref ref)
{
	CHECK_REFUSED(tl_inl_ref_acquire(thread, ref), 0, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_inl_ref_release(thread, ref), TL_E_NOT_LIVE);
	CHECK_REFUSED(tl_inl_ref_get(thread, ref), 0, TL_E_NOT_LIVE);
	CHECK_FAILS(tl_inl_ref_check(thread, ref), TL_E_NOT_LIVE);
}

TEST(a_reference_is_counted)
{
	tl_inl_thread thread = begin();
	void* object = tl_inl_mem_alloc(&thread, 64);
	tl_ref ref = tl_inl_ref_of(&thread, object);
	CHECK(ref == (tl_ref_of)(object));
	CHECK(tl_inl_ref_acquire(&thread, ref) == ref);
	CHECK_COUNT(object, 2);
	CHECK_INT(tl_inl_ptr_refcount(&thread, object), 2);
	CHECK_OK(tl_inl_ref_check(&thread, ref));
	CHECK_PTR(tl_inl_ref_get(&thread, ref), object);
	CHECK_INT(answers_pair(context_now(), ref), is_fast());
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	CHECK_DEAD(object);
	check_stale(&thread, ref);
}

TEST(none_is_no_error)
{
	tl_inl_thread thread = begin();
	tl_clear_error();
	CHECK(tl_inl_ref_of(&thread, NULL) == 0);
	CHECK(tl_inl_ref_acquire(&thread, 0) == 0);
	CHECK_OK(tl_inl_ref_release(&thread, 0));
	CHECK_OK(tl_inl_ref_check(&thread, 0));
	CHECK_PTR(tl_inl_ref_get(&thread, 0), NULL);
	CHECK_INT(tl_inl_ptr_refcount(&thread, NULL), 0);
	CHECK_OK(tl_last_status());
}

/* What no pointer can tell. TL_DEBUG keeps the memory of what was released for a while. */
TEST(a_stale_reference_is_known_when_its_memory_is_used_again)
{
	const bool waits = getenv("TL_DEBUG") != NULL;
	tl_inl_thread thread = begin();
	void* old = tl_inl_mem_alloc(&thread, 96);
	tl_ref ref = tl_inl_ref_of(&thread, old);
	CHECK_OK(tl_inl_ptr_release(&thread, old));
	for (int life = 0; life < 300; life++) {
		void* object = tl_inl_mem_alloc(&thread, 96);
		CHECK(object == old || waits);
		check_stale(&thread, ref);
		CHECK_COUNT(object, 1);
		CHECK_OK(tl_inl_ref_release(&thread, tl_inl_ref_of(&thread, object)));
	}
}

TEST(words_that_are_no_references)
{
	tl_inl_thread thread = begin();
	void* object = tl_mem_alloc(64);
	const tl_ref ref = tl_ref_of(object);
	const tl_ref words[] = {1, UINT32_MAX, UINT64_MAX, ref + (UINT64_C(1) << 40), ref + (1u << 30), ref & UINT32_MAX};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		CHECK_REFUSED(tl_inl_ref_acquire(&thread, words[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_inl_ref_release(&thread, words[i]), TL_E_INVALID_ARGUMENT);
		CHECK_REFUSED(tl_inl_ref_get(&thread, words[i]), 0, TL_E_INVALID_ARGUMENT);
		CHECK_FAILS(tl_inl_ref_check(&thread, words[i]), TL_E_INVALID_ARGUMENT);
	}
	CHECK_REFUSED(tl_inl_ref_of(&thread, (char*)object + 8), 0, TL_E_INTERIOR_POINTER);
	CHECK_REFUSED(tl_inl_ref_of(&thread, &thread), 0, TL_E_UNKNOWN_POINTER);
	CHECK_REFUSED(tl_inl_ptr_refcount(&thread, &thread), -1, TL_E_UNKNOWN_POINTER);
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_inl_ref_release(&thread, ref));
}

/* Blocks of records of every form: in pages of their own, and not. */
TEST(objects_of_all_sizes_are_found)
{
	tl_inl_thread thread = begin();
	for (size_t bytes = 1; bytes < 300000; bytes += bytes / 9 + 1) {
		void* objects[5];
		for (int i = 0; i < 5; i++) {
			objects[i] = tl_inl_mem_alloc(&thread, bytes);
			CHECK_PTR(tl_inl_ref_get(&thread, tl_inl_ref_of(&thread, objects[i])), objects[i]);
		}
		for (int i = 0; i < 5; i++) CHECK_OK(tl_inl_ref_release(&thread, tl_inl_ref_of(&thread, objects[i])));
		for (int i = 0; i < 5; i++) CHECK_DEAD(objects[i]);
	}
}

static int destroyed;

static void note_end(void* object)
{
	tl_inl_thread thread = begin();
	destroyed++;
	CHECK_OK(tl_inl_ref_release(&thread, *(tl_ref*)object));
	CHECK_REFUSED(tl_inl_ref_of(&thread, object), 0, TL_E_NOT_LIVE);
}

/* The destructor of the last reference's object works by references, too. */
TEST(the_last_reference_calls_the_destructor)
{
	tl_type type = 0;
	tl_type_desc description = {.name = "holder of a word", .size = 48, .destructor = note_end};
	CHECK_OK(tl_type_define(&description, &type));
	tl_inl_thread thread = begin();
	void* held = tl_inl_mem_alloc(&thread, 64);
	tl_ref ref = tl_inl_ref_of(&thread, held);
	destroyed = 0;
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	tl_ref* holder = tl_object_new(type);
	tl_inl_retake(&thread);
	*holder = tl_inl_ref_acquire(&thread, ref);
	tl_ref last = tl_inl_ref_of(&thread, holder);
	CHECK_OK(tl_mem_unregister(holder));
	CHECK_OK(tl_inl_ref_release(&thread, last));
	CHECK_INT(destroyed, 1);
	CHECK_COUNT(held, 1);
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	check_stale(&thread, last);
}

TEST(tensors_have_references)
{
	const int64_t shape[2] = {3, 4};
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_mem_enter_scope(&thread));
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_F64, TL_DEVICE_CPU, 2, shape);
	tl_inl_retake(&thread);
	tl_ref ref = tl_inl_ref_of(&thread, tensor);
	CHECK(tl_inl_ref_acquire(&thread, ref) == ref);
	CHECK_INT(tl_inl_ptr_refcount(&thread, tensor), 2);
	CHECK_PTR(tl_inl_ref_get(&thread, ref), tensor);
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	CHECK_OK(tl_inl_mem_exit_scope(&thread));
	check_stale(&thread, ref);
}

/* ---- what changes the context, or the object, between two operations ----------------------------- */

TEST(operations_on_zeros_make_the_call)
{
	void* object = tl_mem_alloc(64);
	tl_ref ref = 0;
	ON_ZEROS(ref = tl_inl_ref_of(&thread, object));
	CHECK(ref == tl_ref_of(object));
	CHECK(!answers_pair(with_zeros().context, ref));
	ON_ZEROS(CHECK(tl_inl_ref_acquire(&thread, ref) == ref));
	ON_ZEROS(CHECK_INT(tl_inl_ptr_refcount(&thread, object), 2));
	ON_ZEROS(CHECK_OK(tl_inl_ref_release(&thread, ref)));
	ON_ZEROS(CHECK_PTR(tl_inl_ref_get(&thread, ref), object));
	ON_ZEROS(CHECK_OK(tl_inl_ref_check(&thread, ref)));
	ON_ZEROS(CHECK_OK(tl_inl_ref_release(&thread, ref)));
	CHECK_DEAD(object);
}

TEST(a_detach_between_operations)
{
	tl_inl_thread thread = begin();
	void* kept = tl_inl_mem_alloc(&thread, 64);
	tl_ref ref = tl_inl_ref_of(&thread, kept);
	CHECK_OK(tl_thread_detach());
	tl_inl_retake(&thread);
	CHECK(!answers_pair(thread.context, ref));
	pthread_t other = start_thread(use_the_runtime, NULL);
	for (int i = 0; i < 1000; i++) {
		CHECK(tl_inl_ref_acquire(&thread, ref) == ref);
		CHECK_PTR(tl_inl_ref_get(&thread, ref), kept);
		CHECK_OK(tl_inl_ref_release(&thread, ref));
		CHECK(tl_ref_acquire(ref) == ref);
		CHECK_OK(tl_ref_release(ref));
	}
	pthread_join(other, NULL);
	CHECK_COUNT(kept, 1);
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	CHECK_OK(tl_mem_purge());
	check_stale(&thread, ref);
}

static void a_pair_in_both_ways(tl_inl_thread* thread, tl_ref ref)
{
	CHECK(tl_inl_ref_acquire(thread, ref) == ref);
	CHECK_OK(tl_inl_ref_release(thread, ref));
	CHECK(tl_inl_ref_get(thread, ref) != NULL);
	CHECK(tl_ref_acquire(ref) == ref);
	CHECK_OK(tl_ref_release(ref));
	CHECK_OK(tl_ref_check(ref));
}

TEST(a_trace_sees_operations)
{
	enum { TIMES = 10, CALLS = 6 };
	char path[] = "/tmp/tl_inlining_XXXXXX";
	int file = mkstemp(path);
	CHECK(file >= 0);
	tl_inl_thread thread = begin();
	void* object = tl_inl_mem_alloc(&thread, 64);
	tl_ref ref = tl_inl_ref_of(&thread, object);
	a_pair_in_both_ways(&thread, ref);
	CHECK_OK(tl_trace_start(path));
	tl_inl_retake(&thread);
	CHECK(!answers_pair(thread.context, ref));
	uint64_t before = check_slow_calls();
	for (int i = 0; i < TIMES; i++) a_pair_in_both_ways(&thread, ref);
	CHECK_INT(check_slow_calls() - before, TIMES * CALLS + 1);
	CHECK_OK(tl_trace_stop());
	tl_inl_retake(&thread);
	CHECK_INT(answers_pair(thread.context, ref), is_fast());
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	close(file);
	unlink(path);
}

struct held {
	tl_inl_thread thread;
	void* object;
	tl_ref ref;
};

static void operations_in_a_child(void* argument)
{
	struct held* h = argument;
	tl_inl_retake(&h->thread);
	CHECK_INT(answers_pair(h->thread.context, h->ref), is_fast());
	tl_ref wanted = is_fast() ? h->ref : 0;
	CHECK(tl_inl_ref_acquire(&h->thread, h->ref) == wanted);
	CHECK_STATUS(tl_inl_ref_release(&h->thread, h->ref), is_fast() ? TL_OK : TL_E_FORKED);
	CHECK_PTR(tl_inl_ref_get(&h->thread, h->ref), is_fast() ? h->object : NULL);
	CHECK_STATUS(tl_ref_check(h->ref), is_fast() ? TL_OK : TL_E_FORKED);
}

TEST(a_fork_between_operations)
{
	struct held h = {begin(), tl_mem_alloc(64), 0};
	h.ref = tl_ref_of(h.object);
	tl_inl_retake(&h.thread);
	in_a_child(operations_in_a_child, &h);
	tl_inl_retake(&h.thread);
	CHECK_COUNT(h.object, 1);
	CHECK_OK(tl_inl_ref_release(&h.thread, h.ref));
}

static pthread_key_t late; /* its destructor runs after that of the library */
static struct held from_a_thread;

static void after_the_end(void* unused)
{
	(void)unused;
	tl_inl_thread thread = begin();
	const tl_ref ref = from_a_thread.ref;
	CHECK(!answers_pair(thread.context, ref));
	CHECK(tl_inl_ref_of(&thread, from_a_thread.object) == ref);
	CHECK(tl_inl_ref_acquire(&thread, ref) == ref);
	CHECK_PTR(tl_inl_ref_get(&thread, ref), from_a_thread.object);
	CHECK_OK(tl_inl_ref_release(&thread, ref));
	CHECK_INT(tl_inl_ptr_refcount(&thread, from_a_thread.object), 1);
}

static void* end_with_an_object(void* unused)
{
	(void)unused;
	tl_inl_thread thread = begin();
	from_a_thread.object = tl_inl_mem_alloc(&thread, 64);
	from_a_thread.ref = tl_inl_ref_of(&thread, from_a_thread.object);
	pthread_setspecific(late, &from_a_thread);
	return NULL;
}

TEST(operations_after_the_end_of_a_thread)
{
	pthread_key_create(&late, after_the_end);
	run_thread(end_with_an_object, NULL);
	pthread_key_delete(late);
	tl_inl_thread thread = begin();
	CHECK_OK(tl_inl_ref_check(&thread, from_a_thread.ref));
	CHECK_OK(tl_inl_ref_release(&thread, from_a_thread.ref));
	CHECK_OK(tl_mem_purge());
	check_stale(&thread, from_a_thread.ref);
}

static void* count_from_outside(void* argument)
{
	struct held* h = argument;
	tl_inl_thread thread = begin();
	for (int i = 0; i < 1000; i++) {
		CHECK(tl_inl_ref_acquire(&thread, h->ref) == h->ref);
		CHECK_PTR(tl_inl_ref_get(&thread, h->ref), h->object);
		CHECK_OK(tl_inl_ref_release(&thread, h->ref));
	}
	return NULL;
}

/* An object of another thread is never counted with plain stores. */
TEST(the_objects_of_others)
{
	for (int shared = 0; shared < 2; shared++) {
		struct held h = {begin(), tl_mem_alloc(64), 0};
		h.ref = tl_ref_of(h.object);
		CHECK_OK(tl_mem_free(tl_mem_alloc(64)));
		if (shared) CHECK_OK(tl_ptr_share(h.object));
		tl_inl_retake(&h.thread);
		CHECK_INT(answers_pair(h.thread.context, h.ref), is_fast() && !shared); /* before others count, too */
		pthread_t others[3];
		for (int i = 0; i < 3; i++) others[i] = start_thread(count_from_outside, &h);
		count_from_outside(&h);
		for (int i = 0; i < 3; i++) pthread_join(others[i], NULL);
		tl_inl_retake(&h.thread);
		CHECK_INT(tl_inl_ptr_refcount(&h.thread, h.object), 1);
		CHECK_OK(tl_inl_ref_release(&h.thread, h.ref));
	}
}

static void* release_later(void* argument)
{
	usleep(20000);
	CHECK_OK(tl_ref_release(((struct held*)argument)->ref));
	return NULL;
}

/* A compiler must not take a look at the words of a record for the last one. */
TEST(a_loop_sees_what_another_thread_does)
{
	struct held h = {begin(), tl_mem_alloc(64), 0};
	h.ref = tl_ref_of(h.object);
	CHECK_OK(tl_ptr_share(h.object));
	CHECK(tl_ref_acquire(h.ref) == h.ref);
	pthread_t other = start_thread(release_later, &h);
	tl_inl_retake(&h.thread);
	while (tl_inl_ptr_refcount(&h.thread, h.object) > 1) {}
	pthread_join(other, NULL);
	other = start_thread(release_later, &h);
	tl_inl_retake(&h.thread);
	while (tl_inl_ref_check(&h.thread, h.ref) == TL_OK) {}
	pthread_join(other, NULL);
	tl_mem_purge(); /* the owner's part in the end of an object */
}

/* ---- both ways at random --------------------------------------------------------------------------- */

enum { OBJECTS = 32, STEPS = 20000 };

/* One step on an object that has `count` references of ours, by pointer or by reference, inlined or called; returns the
 * references left. */
static int step(tl_inl_thread* thread, void* object, int count, uint64_t choice)
{
	const tl_ref ref = choice & 1 ? tl_inl_ref_of(thread, object) : (tl_ref_of)(object);
	const bool inlined = (choice & 2) != 0;
	switch (choice >> 2 & 7) {
	case 0: CHECK(tl_inl_ptr_acquire(thread, object) == object); return count + 1;
	case 1:
		if (inlined) CHECK_INT(tl_inl_ptr_is_unique(thread, object), count == 1);
		CHECK_OK(tl_inl_ptr_release(thread, object));
		return count - 1;
	case 2:
	case 3: CHECK((inlined ? tl_inl_ref_acquire(thread, ref) : (tl_ref_acquire)(ref)) == ref); return count + 1;
	case 4: CHECK_PTR(inlined ? tl_inl_ref_get(thread, ref) : (tl_ref_get)(ref), object); return count;
	case 5: CHECK_INT(inlined ? tl_inl_ptr_refcount(thread, object) : (tl_ptr_refcount)(object), count); return count;
	}
	CHECK_OK(inlined ? tl_inl_ref_release(thread, ref) : (tl_ref_release)(ref));
	return count - 1;
}

TEST(inlined_and_called_in_turns)
{
	void* objects[OBJECTS] = {NULL};
	tl_ref refs[OBJECTS] = {0};
	int counts[OBJECTS] = {0};
	uint64_t random = 88172645463325252u;
	tl_inl_thread thread = begin();
	for (int i = 0; i < STEPS; i++) {
		uint64_t choice = check_random(&random) >> 20;
		int k = (int)(choice % OBJECTS);
		size_t bytes = 1 + (choice >> 8) % 700;
		choice >>= 20;
		if (counts[k] == 0) {
			if (refs[k] != 0) check_stale(&thread, refs[k]);
			objects[k] = (choice & 1) != 0 ? tl_inl_mem_alloc(&thread, bytes) : (tl_mem_alloc)(bytes);
			refs[k] = tl_ref_of(objects[k]);
			counts[k] = 1;
		} else {
			counts[k] = step(&thread, objects[k], counts[k], choice);
		}
		tl_inl_retake(&thread);
		if (counts[k] != 0) CHECK_COUNT(objects[k], counts[k]);
		else CHECK_DEAD(objects[k]);
	}
	for (int k = 0; k < OBJECTS; k++)
		for (; counts[k] > 0; counts[k]--) CHECK_OK(tl_inl_ref_release(&thread, refs[k]));
}

int main(void) { return check_tests(); }
