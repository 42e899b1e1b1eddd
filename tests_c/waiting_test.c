/* Memory whose last reference another thread has dropped waits for the thread that made it: how much it is stands in
 * figures and in messages, and tl_ptr_share and tl_thread_detach let it go. */
#include "memory.h"
#include "thread.h"

enum { OBJECTS = 100 };
static void* objects[OBJECTS];

static void make(size_t bytes)
{
	for (int i = 0; i < OBJECTS; i++) {
		objects[i] = tl_mem_alloc(bytes);
		CHECK(objects[i] != NULL);
	}
}

static void release_all(void)
{
	for (int i = 0; i < OBJECTS; i++) CHECK_OK(tl_ptr_release(objects[i]));
}

/* On the thread that is not the owner. */
THREAD(released_elsewhere, bytes)
{
	const uint64_t each = *(const uint64_t*)bytes, before = usage(0).in_use;
	release_all();
	tl_mem_usage_info now = usage(0);
	CHECK_INT(now.waiting_objects, OBJECTS);
	CHECK(now.waiting_bytes >= OBJECTS * each && now.waiting_bytes < OBJECTS * (2 * each + 65536));
	CHECK_INT(now.in_use, before); /* the owner has not freed anything yet */
	CHECK_INT(usage(TL_MEM_TOTAL).waiting_bytes, now.waiting_bytes);
	CHECK_INT(usage(TL_MEM_OWN_ALLOCATORS).waiting_bytes, 0);
	CHECK_OK(tl_mem_purge());
	CHECK_INT(usage(0).waiting_objects, OBJECTS);
}

static void nothing_waits(void)
{
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	CHECK_INT(usage(0).waiting_objects, 0);
	CHECK_INT(usage(0).waiting_bytes, 0);
}

TEST(what_waits_is_counted)
{
	static uint64_t sizes[] = {24, 1000, 60000, MIB};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		make(sizes[i]);
		run_thread(released_elsewhere, &sizes[i]);
		nothing_waits();
	}
}

THREAD(vec_elsewhere, vec)
{
	CHECK_OK(tl_ptr_release(vec));
	CHECK_INT(usage(0).waiting_objects, 1);
	CHECK(usage(0).waiting_bytes >= 8000000 && usage(0).waiting_bytes < 16100000);
}

TEST(a_vec_waits_with_its_table)
{
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1000000);
	CHECK_OK(tl_mem_unregister(vec));
	CHECK_OK(tl_mem_exit_scope());
	run_thread(vec_elsewhere, vec);
	nothing_waits();
}

THREAD(first_released, unused) { CHECK_OK(tl_ptr_release(objects[0])); }

THREAD(released_by_all_but_one, unused)
{
	release_all();
	CHECK_INT(usage(0).waiting_objects, 0);
}

/* Of several threads that hold an object the first puts it into the inbox, and the last one makes it wait. */
TEST(what_several_threads_held_is_counted)
{
	static uint64_t sizes[] = {24, 1000, 60000, MIB};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		for (int holders = 2; holders <= 4; holders++) {
			make(sizes[i]);
			for (int k = 0; k < OBJECTS; k++)
				for (int more = 1; more < holders; more++) CHECK_PTR(tl_ptr_acquire(objects[k]), objects[k]);
			for (int k = 1; k < holders; k++) run_thread(released_by_all_but_one, NULL);
			run_thread(released_elsewhere, &sizes[i]);
			nothing_waits();
		}
	}
	CHECK_OK(tl_mem_enter_scope());
	void* vec = tl_vec_new(1000000);
	CHECK_PTR(tl_ptr_acquire(vec), vec);
	CHECK_PTR(tl_ptr_acquire(vec), vec);
	CHECK_OK(tl_mem_exit_scope());
	objects[0] = vec;
	run_thread(first_released, NULL);
	run_thread(vec_elsewhere, vec);
	nothing_waits();
}

THREAD(held_elsewhere, unused)
{
	release_all();
	CHECK_INT(usage(0).waiting_objects, 0);
}

/* Another thread drops a reference, and the owner has one left. */
TEST(what_its_owner_holds_does_not_wait)
{
	make(1000);
	for (int i = 0; i < OBJECTS; i++) CHECK_PTR(tl_ptr_acquire(objects[i]), objects[i]);
	run_thread(held_elsewhere, NULL);
	release_all();
	nothing_waits();
}

THREAD(merged_elsewhere, unused)
{
	release_all();
	CHECK_INT(usage(0).waiting_objects, 0);
	CHECK(usage(0).in_use < OBJECTS * MIB);
}

TEST(shared_objects_do_not_wait)
{
	make(MIB);
	for (int i = 0; i < OBJECTS; i++) CHECK_OK(tl_ptr_share(objects[i]));
	run_thread(merged_elsewhere, NULL);
}

THREAD(makes_and_detaches, barrier)
{
	make(MIB);
	CHECK_OK(tl_thread_detach());
	meet(barrier);
	meet(barrier); /* a long wait */
}

TEST(those_of_a_detached_thread_do_not_wait)
{
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_t thread = start_thread(makes_and_detaches, &barrier);
	meet(&barrier);
	release_all();
	CHECK_INT(usage(0).waiting_objects, 0);
	CHECK(usage(0).in_use < OBJECTS * MIB);
	meet(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

THREAD(fails_elsewhere, unused)
{
	release_all();
	CHECK_OK(tl_mem_set_limit(0, 0, reserved(0) + MIB));
	CHECK_REFUSED(tl_mem_alloc(64 * MIB), NULL, TL_E_LIMIT);
	CHECK(strstr(tl_last_error(), " MiB in 100 objects, released by other threads, wait for their owners") != NULL);
	CHECK(strstr(tl_last_error(), "tl_ptr_share") != NULL && strstr(tl_last_error(), "tl_thread_detach") != NULL);
	size_t length = tl_stats_json(NULL, 0);
	char* report = malloc(length + 1000);
	CHECK(tl_stats_json(report, length + 1000) > 0 && strstr(report, "\"waiting_objects\": 100") != NULL);
	free(report);
}

TEST(a_message_tells_what_waits)
{
	make(MIB);
	run_thread(fails_elsewhere, NULL);
	CHECK_OK(tl_mem_enter_scope());
	CHECK_OK(tl_mem_exit_scope());
	void* large = tl_mem_alloc(64 * MIB);
	CHECK(large != NULL); /* their memory is there again */
	CHECK_OK(tl_ptr_release(large));
	no_limits();
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
