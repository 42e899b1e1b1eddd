/* Limits of the host: with few threads, little memory or no descriptors the library works or
 * says why not. It does not end the process, and neither does Go inside it.
 *
 *     host_limits_test                          runs all cases
 *     host_limits_test MOMENT RESOURCE VALUE    is one of them (limited.h)
 */
#include "limited.h"

static const char* program;

static void expect(int result, int wanted, const char* moment, const char* resource, rlim_t value)
{
	if (result != LIMITED_SKIPPED && check_failed(result == wanted))
		fprintf(stderr, "%s %s %llu: %d, want %d\n", moment, resource, (unsigned long long)value, result, wanted);
}

/* Every value works or is refused, and with more than what works it works. How many threads
 * Go starts differs from process to process, and each takes memory: by spread a process may
 * need more than another. Returns the first value that works. A few processes run at once. */
static rlim_t sweep(const char* resource, rlim_t from, rlim_t to, rlim_t step, rlim_t spread)
{
	enum { AT_ONCE = 4 };
	pid_t children[AT_ONCE];
	rlim_t works = 0, started = from;
	for (rlim_t value = from; value <= to; value += step) {
		for (; started <= to && started < value + AT_ONCE * step; started += step)
			children[started / step % AT_ONCE] = start_limited(program, "before", resource, started, NULL);
		int result = end_limited(children[value / step % AT_ONCE]);
		bool starts = result == LIMITED_WORKS || result == LIMITED_SHORT;
		if (starts && works == 0) works = value;
		if (check_failed(result == LIMITED_SKIPPED || starts ||
		                 ((works == 0 || value <= works + spread) &&
		                  (result == LIMITED_REFUSED || result == LIMITED_NOT_LOADED))))
			fprintf(stderr, "%s of %llu: %d\n", resource, (unsigned long long)value, result);
		if (result == LIMITED_SKIPPED && value == to) {
			printf("skip: no limit of %s can be set here\n", resource);
			return 0;
		}
	}
	CHECK(works > from);
	expect(run_limited(program, "raised", resource, works - step, NULL), LIMITED_WORKS, "raised", resource,
	       works - step);
	return works;
}

TEST(too_few_threads_are_a_status)
{
	printf("works with %llu threads\n", (unsigned long long)sweep("threads", 1, 32, 1, 0));
}

TEST(little_data_is_a_status)
{
	const rlim_t stacks = 8 * 8 * LIMITED_MIB; /* of eight threads */
	rlim_t works = sweep("data", 8 * LIMITED_MIB, 512 * LIMITED_MIB, 8 * LIMITED_MIB, stacks);
	printf("works with %llu MiB of data\n", (unsigned long long)works / LIMITED_MIB);
}

TEST(no_descriptor_is_a_status) { printf("works with %llu files\n", (unsigned long long)sweep("files", 3, 16, 1, 0)); }

/* What Go may want it has by then. */
TEST(a_limit_of_threads_after_loading_changes_nothing)
{
	static char many[] = "GOMAXPROCS=16", busy[] = "GOGC=1";
	for (rlim_t value = 1; value < 8; value++) {
		pid_t after = start_limited(program, "after", "threads", value, many);
		pid_t used = start_limited(program, "used", "threads", value, many);
		pid_t collecting = start_limited(program, "used", "threads", value, busy);
		expect(end_limited(after), LIMITED_WORKS, "after", "threads", value);
		expect(end_limited(used), LIMITED_WORKS, "used", "threads", value);
		expect(end_limited(collecting), LIMITED_WORKS, "used", "threads", value);
	}
}

/* All repetitions at once: most of a process is waiting. */
static void lowered(const char* moment, const char* resource, int repetitions)
{
	enum { MOST = 6 };
	static char busy[] = "GOGC=1";
	for (rlim_t value = 1; value <= 2048; value *= 2) {
		pid_t children[MOST];
		for (int i = 0; i < repetitions; i++)
			children[i] = start_limited(program, moment, resource, value * LIMITED_MIB, i % 2 ? busy : NULL);
		for (int i = 0; i < repetitions; i++) {
			int result = end_limited(children[i]);
			bool good = result == LIMITED_WORKS || result == LIMITED_SHORT || result == LIMITED_REFUSED;
			if (check_failed(good))
				fprintf(stderr, "%s %s %llu MiB: %d\n", moment, resource, (unsigned long long)value, result);
		}
	}
}

TEST(limits_right_after_loading)
{
	lowered("after", "addresses", 6);
	lowered("after", "data", 6);
}

/* Where Go has enough, and the tables of the first use hardly; limited.h looks for the name. */
TEST(a_limit_that_the_first_use_finds_is_named)
{
	int refused = 0;
	for (rlim_t value = 1344; value < 1560; value += 4) {
		int result = run_limited(program, "after", "addresses", value * LIMITED_MIB, NULL);
		refused += result == LIMITED_REFUSED;
		if (check_failed(result == LIMITED_WORKS || result == LIMITED_SHORT || result == LIMITED_REFUSED))
			fprintf(stderr, "after addresses %llu MiB: %d\n", (unsigned long long)value, result);
	}
	CHECK(refused > 0);
}

TEST(limits_after_the_first_use)
{
	lowered("used", "addresses", 4);
	lowered("used", "data", 4);
	expect(run_limited(program, "used", "files", 0, NULL), LIMITED_WORKS, "used", "files", 0);
	expect(run_limited(program, "after", "files", 0, NULL), LIMITED_REFUSED, "after", "files", 0);
}

/* Go raises the soft one for itself. */
TEST(the_limit_of_descriptors_is_the_host_s)
{
	struct rlimit limit = {0, 0};
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	rlim_t soft = limit.rlim_max < 64 ? limit.rlim_max : 64;
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		limit.rlim_cur = soft;
		if (setrlimit(RLIMIT_NOFILE, &limit) == 0) execl(program, program, "descriptors", (char*)NULL);
		_exit(LIMITED_FAILED);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, (int)soft << 8);
}

static int tell_limit_of_descriptors(void)
{
	struct rlimit limit = {0, 0};
	CHECK_OK(tl_init());
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return (int)limit.rlim_cur;
}

int main(int argc, char** argv)
{
	program = argv[0];
	if (argc == 2) return tell_limit_of_descriptors();
	if (argc > 1) return limited_main(argc, argv);
	return check_tests();
}
