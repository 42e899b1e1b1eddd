/* Memory goes back to the system by itself: a gibibyte that was released is
 * resident no more after a second, up to 64 MiB, whatever it was made of. */
#include <pthread.h>

#include "check.h"

static const int64_t gibibyte = 1 << 30, allowance = 64 << 20;
static const double patience = 4; /* a second, and time for a loaded machine to notice */

static int64_t resident(void)
{
	long pages = 0;
	FILE* file = fopen("/proc/self/statm", "r");
	if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
	if (file != NULL) fclose(file);
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Allocates a gibibyte in objects of one size, touches all of it and releases it. */
static void comes_back(size_t bytes, bool newest_first)
{
	size_t count = (size_t)gibibyte / bytes;
	char** objects = malloc(count * sizeof *objects);
	double seconds;
	memset(objects, 0, count * sizeof *objects);
	int64_t before = resident();
	for (size_t i = 0; i < count; i++) {
		objects[i] = tl_mem_alloc(bytes);
		for (size_t at = 0; at < bytes; at += 4096) objects[i][at] = 1;
	}
	int64_t full = resident();
	CHECK(full - before > gibibyte / 10 * 9);
	for (size_t i = 0; i < count; i++) tl_ptr_release(objects[newest_first ? count - 1 - i : i]);
	for (seconds = 0; resident() - before > allowance && seconds < patience; seconds += 0.1)
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	printf("a gibibyte of %zu-byte objects: back after %.1f s, %" PRId64 " MiB stay\n", bytes, seconds,
	       (resident() - before) >> 20);
	if (check_failed(resident() - before <= allowance))
		fprintf(stderr, "%" PRId64 " MiB resident before, %" PRId64 " full, %" PRId64 " after\n", before >> 20,
		        full >> 20, resident() >> 20);
	free(objects);
}

TEST(small_objects_come_back)
{
	comes_back(64, true);
	comes_back(64, false);
}

TEST(medium_objects_come_back)
{
	comes_back(65536, true);
	comes_back(65536, false);
}

TEST(a_large_object_comes_back) { comes_back((size_t)gibibyte, true); }

TEST(scopes_come_back)
{
	int64_t before = resident();
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 4000000; i++) memset(tl_mem_new(64), 1, 64);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
	CHECK(resident() - before <= allowance);
}

TEST(tensors_come_back)
{
	int64_t before = resident(), shape = 64 << 20;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 4; i++) {
		tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 1, &shape);
		memset(tl_tensor_data(tensor), 1, tl_tensor_nbytes(tensor));
	}
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
	CHECK(resident() - before <= allowance);
}

/* What threads share that free many objects in random order, and then sleep or end. */
enum { THREADS = 4, OBJECTS = 200000 };
static void* all_objects[THREADS][OBJECTS];
static pthread_barrier_t barrier;
static bool of_tensors, sleeps;

static void* new_object(size_t bytes)
{
	const int64_t shape = (int64_t)bytes;
	void* object = of_tensors ? (void*)tl_tensor_empty(TL_DTYPE_U8, TL_DEVICE_CPU, 1, &shape) : tl_mem_alloc(bytes);
	*(char*)(of_tensors ? tl_tensor_data(object) : object) = 1;
	return object;
}

static void* frees_in_random_order(void* of_thread)
{
	void** objects = of_thread;
	uint32_t random = 1;
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < OBJECTS; i++) {
		random = random * 1664525 + 1013904223;
		objects[i] = new_object(16 + (random >> 8) % 585);
	}
	pthread_barrier_wait(&barrier); /* all are live at once */
	for (uint32_t i = OBJECTS - 1; i > 0; i--) {
		random = random * 1664525 + 1013904223;
		const uint32_t other = (random >> 8) % (i + 1);
		void* object = objects[i];
		objects[i] = objects[other];
		objects[other] = object;
	}
	for (int i = 0; i < OBJECTS; i++) CHECK_OK(of_tensors ? tl_tensor_free(objects[i]) : tl_ptr_release(objects[i]));
	CHECK_OK(tl_mem_exit_scope());
	pthread_barrier_wait(&barrier);
	if (sleeps) pthread_barrier_wait(&barrier);
	return NULL;
}

/* What was freed is resident no more, up to some MiB, although the threads never call again. */
static void come_back_from_threads(bool tensors, int64_t stay)
{
	pthread_t threads[THREADS];
	double seconds;
	of_tensors = tensors;
	memset(all_objects, 1, sizeof all_objects);
	CHECK_OK(tl_mem_purge());
	const int64_t before = resident();
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, frees_in_random_order, all_objects[i]);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS && !sleeps; i++) pthread_join(threads[i], NULL);
	for (seconds = 0; resident() - before > stay && seconds < 60; seconds += 0.1)
		nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	printf("%d %s of threads that %s: back after %.1f s, %" PRId64 " MiB stay\n", THREADS * OBJECTS,
	       tensors ? "tensors" : "objects", sleeps ? "sleep" : "have ended", seconds, (resident() - before) >> 20);
	CHECK(resident() - before <= stay);
	if (sleeps) pthread_barrier_wait(&barrier);
	for (int i = 0; i < THREADS && sleeps; i++) pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
}

TEST(threads_that_sleep_keep_little)
{
	sleeps = true;
	come_back_from_threads(false, 24 << 20);
	come_back_from_threads(true, 24 << 20);
}

TEST(threads_that_ended_keep_less)
{
	sleeps = false;
	come_back_from_threads(false, 16 << 20);
	come_back_from_threads(true, 16 << 20);
}

TEST(figures_of_the_process)
{
	CHECK(llabs(tl_get_memory_bytes() - resident()) < allowance);
	CHECK(llabs(tl_get_memory_mb() - (resident() >> 20)) < 64);
}

int main(void)
{
	CHECK_OK(tl_init());
	return check_tests();
}
