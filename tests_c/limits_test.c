/* Little address space: under RLIMIT_AS the runtime works or says why not, and the
 * host's malloc works on. Each case is a new process, because the limit has to
 * stand before the library is loaded.
 *
 *     limits_test            runs all cases
 *     limits_test CASE       is one of them
 */
#include <errno.h>
#include <sys/resource.h>

#include "check.h"
#include "thread.h"

static const char* program;

/* Runs this program again with an argument, a limit in MiB (0: none) and an
 * environment setting (NULL: none); returns its exit status, -1 for a signal. */
static int run_case(const char* name, size_t mebibytes, const char* key, const char* value)
{
	pid_t child = fork();
	if (child == 0) {
		struct rlimit limit = {mebibytes << 20, strcmp(name, "raise") == 0 ? RLIM_INFINITY : mebibytes << 20};
		if (mebibytes > 0) setrlimit(RLIMIT_AS, &limit);
		if (key != NULL) setenv(key, value, 1);
		execl(program, program, name, (char*)NULL);
		_exit(127);
	}
	return check_exit_of(child);
}

static void host_malloc_works(void)
{
	for (int i = 0; i < 64; i++) {
		char* block = malloc(1 << 20);
		CHECK(block != NULL);
		if (block == NULL) return;
		memset(block, i, 1 << 20);
		free(block);
	}
}

/* The case itself: use the runtime until it refuses, and use malloc beside it. */
static int work_under_a_limit(void)
{
	tl_status status = tl_init();
	void **newest = NULL, **block;
	host_malloc_works();
	if (status != TL_OK) {
		CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
		return check_failures != 0;
	}
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_register_struct(malloc(64)));
	CHECK_OK(tl_mem_exit_scope());
	while ((block = tl_mem_alloc(256 << 10)) != NULL) {
		*block = newest;
		newest = block;
	}
	CHECK_STATUS(tl_last_status(), TL_E_OUT_OF_MEMORY);
	CHECK(newest != NULL);
	host_malloc_works();
	while (newest != NULL) {
		block = *newest;
		CHECK_OK(tl_ptr_release(newest));
		newest = block;
	}
	return check_finish();
}

/* Stacks and arenas of the threads themselves may leave nothing for the runtime. */
THREAD(use_a_little, unused)
{
	tl_status status = tl_mem_enter_scope();
	if (status != TL_OK) {
		CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
		return;
	}
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
}

static int threads_under_a_limit(void)
{
	pthread_t threads[8];
	for (int i = 0; i < 8; i++) threads[i] = start_thread(use_a_little, NULL);
	for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
	return check_finish();
}

/* One step of the sweep: whatever is left, the runtime works or says why not. Exit status 0: it works, 2: it does
 * not. */
static int start_under_a_limit(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_AS, &limit);
	tl_status status = tl_init();
	void* object = tl_mem_alloc(64);
	host_malloc_works();
	if (status != TL_OK) {
		CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
		CHECK(tl_last_error()[0] != '\0');
		/* It wants Go, which starts with a little less than the tables take. */
		tl_status told = tl_configure("TL_ON_ERROR", "ignore");
		/* covers: tl_configure TL_E_OUT_OF_MEMORY */
		if (limit.rlim_cur <= (rlim_t)1 << 30 || told != TL_OK) CHECK_STATUS(told, TL_E_OUT_OF_MEMORY);
		CHECK_STATUS(tl_mem_enter_scope(), TL_E_OUT_OF_MEMORY);
		return check_failures != 0 ? 1 : 2;
	}
	CHECK_OK(tl_ptr_release(object));
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	return check_finish();
}

/* With no memory for the tables at all, init says so and keeps saying so. */
static int init_without_memory(void)
{
	CHECK_STATUS(tl_init(), TL_E_OUT_OF_MEMORY);
	CHECK_STATUS(tl_mem_manager_init(), TL_E_OUT_OF_MEMORY);
	CHECK_PTR(tl_mem_alloc(64), NULL);
	CHECK_STATUS(tl_mem_enter_scope(), TL_E_OUT_OF_MEMORY);
	CHECK_STATUS(tl_ptr_release((void*)0x1230), TL_E_OUT_OF_MEMORY);
	CHECK(tl_status_string(TL_E_OUT_OF_MEMORY)[0] != '\0');
	host_malloc_works();
	return check_failures != 0;
}

TEST(little_address_space)
{
	CHECK_INT(run_case("work", 4096, NULL, NULL), 0);
	CHECK_INT(run_case("work", 2048, NULL, NULL), 0);
	CHECK_INT(run_case("work", 1900, NULL, NULL), 0);
	CHECK_INT(run_case("work", 1024, NULL, NULL), 0);
	CHECK_INT(run_case("threads", 2048, NULL, NULL), 0);
	CHECK_INT(run_case("threads", 1024, NULL, NULL), 0);
}

/* From less than Go can be loaded with to plenty, in steps. It never aborts, and what
 * works with so much works with more. */
TEST(every_address_space)
{
	int works_from = 0;
	for (int mebibytes = 48; mebibytes <= 2560; mebibytes += mebibytes < 1536 ? 64 : 32) {
		int result = run_case("start", (size_t)mebibytes, NULL, NULL);
		if (check_failed(result == 0 || result == 2))
			fprintf(stderr, "with %d MiB: exit status %d\n", mebibytes, result);
		if (result == 0 && works_from == 0) works_from = mebibytes;
		if (check_failed(works_from == 0 || result == 0))
			fprintf(stderr, "with %d MiB it works, with %d MiB it does not\n", works_from, mebibytes);
	}
	CHECK(works_from > 0 && works_from <= 2048);
	printf("works from %d MiB of address space on\n", works_from);
}

/* A limit that is raised before the first use is as good as one that was never low. */
static int raise_the_limit(void)
{
	struct rlimit limit;
	CHECK_STATUS(tl_init(), TL_E_OUT_OF_MEMORY);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = limit.rlim_max;
	CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK_OK(tl_init());
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_mem_exit_scope());
	return check_finish();
}

TEST(a_limit_that_is_raised) { CHECK_INT(run_case("raise", 256, NULL, NULL), 0); }

/* A limit that comes after the library has been loaded, with so much left. */
static int limit_what_is_left(const char* mebibytes)
{
	FILE* statm = fopen("/proc/self/statm", "re");
	long pages = 0;
	usleep(100 * 1000); /* Go starts in a thread of its own */
	CHECK(statm != NULL && fscanf(statm, "%ld", &pages) == 1);
	fclose(statm);
	struct rlimit limit = {(rlim_t)pages * 4096 + ((rlim_t)atol(mebibytes) << 20), RLIM_INFINITY};
	CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
	tl_status status = tl_init();
	limit.rlim_cur = RLIM_INFINITY; /* for the end of the test itself */
	CHECK_INT(setrlimit(RLIMIT_AS, &limit), 0);
	if (status != TL_OK) CHECK_STATUS(status, TL_E_OUT_OF_MEMORY);
	return check_failures != 0;
}

TEST(little_left_after_the_start)
{
	static const char* const left[] = {"0", "1", "2", "4", "8", "16", "31", "33", "48", "64", "128", "256", "512"};
	for (size_t i = 0; i < sizeof left / sizeof *left; i++)
		if (check_failed(run_case("left", 0, "TL_TEST_LEFT", left[i]) == 0))
			fprintf(stderr, "with %s MiB left\n", left[i]);
}

TEST(a_reservation_of_the_users_choice)
{
	CHECK_INT(run_case("work", 0, "TL_HEAP_RESERVE", "33554432"), 0);
	CHECK_INT(run_case("work", 2048, "TL_HEAP_RESERVE", "134217728"), 0);
	CHECK_INT(run_case("work", 2048, "TL_ARENA_BYTES", "1048576"), 0);
}

TEST(no_memory_for_the_tables) { CHECK_INT(run_case("init", 0, "TL_FAIL_MEMORY", "0"), 0); }

int main(int argc, char** argv)
{
	program = argv[0];
	if (argc > 1 && strcmp(argv[1], "work") == 0) return work_under_a_limit();
	if (argc > 1 && strcmp(argv[1], "threads") == 0) return threads_under_a_limit();
	if (argc > 1 && strcmp(argv[1], "init") == 0) return init_without_memory();
	if (argc > 1 && strcmp(argv[1], "start") == 0) return start_under_a_limit();
	if (argc > 1 && strcmp(argv[1], "raise") == 0) return raise_the_limit();
	if (argc > 1 && strcmp(argv[1], "left") == 0) return limit_what_is_left(getenv("TL_TEST_LEFT"));
	return check_tests();
}
