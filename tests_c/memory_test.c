/* Memory goes back to the system by itself: a gibibyte that was released is
 * resident no more after a second, up to 64 MiB, whatever it was made of. */
#include <unistd.h>

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
	int64_t before, full;
	double seconds;
	memset(objects, 0, count * sizeof *objects);
	before = resident();
	for (size_t i = 0; i < count; i++) {
		objects[i] = tl_mem_alloc(bytes);
		for (size_t at = 0; at < bytes; at += 4096) objects[i][at] = 1;
	}
	full = resident();
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

static void small_objects_come_back(void)
{
	comes_back(64, true);
	comes_back(64, false);
}

static void medium_objects_come_back(void)
{
	comes_back(65536, true);
	comes_back(65536, false);
}

static void a_large_object_comes_back(void) { comes_back((size_t)gibibyte, true); }

static void scopes_come_back(void)
{
	int64_t before = resident();
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 4000000; i++) memset(tl_mem_new(64), 1, 64);
	CHECK_OK(tl_mem_exit_scope());
	CHECK_OK(tl_mem_purge());
	CHECK(resident() - before <= allowance);
}

static void tensors_come_back(void)
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

static void figures_of_the_process(void)
{
	CHECK(llabs(tl_get_memory_bytes() - resident()) < allowance);
	CHECK(llabs(tl_get_memory_mb() - (resident() >> 20)) < 64);
}

int main(void)
{
	CHECK_OK(tl_init());
	RUN(small_objects_come_back);
	RUN(medium_objects_come_back);
	RUN(a_large_object_comes_back);
	RUN(scopes_come_back);
	RUN(tensors_come_back);
	RUN(figures_of_the_process);
	return check_finish();
}
