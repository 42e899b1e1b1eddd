/* A first use that fails is tried again by the next call: it has left nothing behind, and
 * what was in its way may be gone. Each case is a new process, since a process starts once.
 *
 *     start_test             runs all cases
 *     start_test CASE        is one of them, with so many requests for memory that succeed
 */
#include "check.h"
#include "memory.h"

enum { FAILED_STARTS = 4000, WARM_UP = 300, MOST_REQUESTS = 100, STARTED_AT_ONCE = 2 };

static const char* program;

static void let_requests_succeed(const char* count) { CHECK_OK(tl_configure("TL_FAIL_MEMORY", count)); }

static int run_case(const char* name, int requests)
{
	pid_t child = fork();
	if (child == 0) {
		char count[16];
		snprintf(count, sizeof count, "%d", requests);
		execl(program, program, name, count, (char*)NULL);
		_exit(127);
	}
	return check_exit_of(child);
}

static long mappings(void)
{
	FILE* maps = fopen("/proc/self/maps", "re");
	long lines = 0;
	CHECK(maps != NULL);
	for (int c = 0; maps != NULL && (c = fgetc(maps)) != EOF;) lines += c == '\n';
	if (maps != NULL) fclose(maps);
	return lines;
}

static long address_space(void)
{
	FILE* statm = fopen("/proc/self/statm", "re");
	long pages = 0;
	CHECK(statm != NULL && fscanf(statm, "%ld", &pages) == 1);
	if (statm != NULL) fclose(statm);
	return pages;
}

static void use_a_little(void)
{
	tl_type type = 0;
	const size_t offsets[] = {0};
	tl_type_desc desc = {.name = "pair", .size = 16, .pointer_offsets = offsets, .num_pointers = 1};
	CHECK_OK(tl_mem_enter_scope());
	CHECK(tl_mem_new(64) != NULL);
	CHECK(tl_vec_new(4) != NULL);
	CHECK_OK(tl_mem_register_struct(malloc(64)));
	CHECK_OK(tl_type_define(&desc, &type));
	CHECK(tl_mem_register_struct(tl_object_new(type)) == TL_OK);
	CHECK_OK(tl_mem_exit_scope());
	keep_tensors(2, 1000);
	CHECK_INT(tl_get_pool_count(), 2);
}

/* Exit status 2: so many requests are enough, nothing failed. */
static int start_after_a_failure(const char* requests)
{
	let_requests_succeed(requests);
	tl_status first = tl_init();
	let_requests_succeed("-1");
	CHECK_OK(tl_init());
	use_a_little();
	if (first == TL_OK) return check_finish() != 0 ? 1 : STARTED_AT_ONCE;
	CHECK_STATUS(first, TL_E_OUT_OF_MEMORY);
	return check_finish();
}

static int start_after_many_failures(const char* requests)
{
	let_requests_succeed(requests);
	CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	if (tl_init() == TL_OK) /* two tables that have no size to choose are kept for the next try */
		return check_finish() != 0 ? 1 : STARTED_AT_ONCE;
	for (int i = 0; i < WARM_UP; i++) CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	long lines = mappings(), pages = address_space();
	for (int i = 0; i < FAILED_STARTS; i++) CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	/* A start that left its smallest table would leave 250 MiB in all. Threads of Go's that
	 * start meanwhile take 72 each, stack and arena of malloc. */
	CHECK(mappings() <= lines + 16);
	CHECK(address_space() <= pages + (220 << 20) / 4096);
	let_requests_succeed("-1");
	use_a_little();
	return check_finish();
}

/* What the first try has read of the environment is forgotten. */
static int start_in_another_environment(const char* requests)
{
	CHECK_INT(setenv("TL_MEM_LOG", "1", 1), 0);
	CHECK_INT(setenv("TL_FAIL_MEMORY", requests, 1), 0);
	CHECK_FAILS(tl_init(), TL_E_OUT_OF_MEMORY);
	CHECK_INT(unsetenv("TL_FAIL_MEMORY"), 0);
	CHECK_INT(unsetenv("TL_MEM_LOG"), 0);
	CHECK_OK(tl_init());
	char dump[8192] = "";
	CHECK(tl_config_dump(dump, sizeof dump) < sizeof dump);
	CHECK(strstr(dump, "TL_MEM_LOG=0 (default)") != NULL);
	CHECK(strstr(dump, "TL_FAIL_MEMORY=-1 (default)") != NULL);
	use_a_little();
	return check_finish();
}

TEST(a_failed_start_can_be_tried_again)
{
	int n = 0, result;
	for (; (result = run_case("again", n)) == 0; n++) CHECK(n < MOST_REQUESTS);
	CHECK_INT(result, STARTED_AT_ONCE);
	CHECK(n > 5);
	printf("a start makes %d requests for memory, each failed once\n", n);
}

TEST(a_failed_start_leaves_nothing)
{
	int n = 0, result = 0;
	for (; result == 0; n++) result = run_case("many", n);
	CHECK_INT(result, STARTED_AT_ONCE);
	CHECK(n > 5);
}

TEST(a_second_start_reads_the_environment_again) { CHECK_INT(run_case("environment", 2), 0); }

int main(int argc, char** argv)
{
	program = argv[0];
	if (argc > 2 && strcmp(argv[1], "again") == 0) return start_after_a_failure(argv[2]);
	if (argc > 2 && strcmp(argv[1], "many") == 0) return start_after_many_failures(argv[2]);
	if (argc > 2 && strcmp(argv[1], "environment") == 0) return start_in_another_environment(argv[2]);
	return check_tests();
}
