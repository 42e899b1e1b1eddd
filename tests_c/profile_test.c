/* Heap profiles: sites, sizes and totals as pprof itself reads them. */
#include <sys/stat.h>

#include "check.h"
#include "no_file.h"

static char path[] = "/tmp/tl_profile_XXXXXX";
static char top[1 << 16];

/* What `go tool pprof` prints of the profile. */
static bool pprof(const char* options)
{
	char command[512];
	snprintf(command, sizeof command, "GOTOOLCHAIN=local go tool pprof -symbolize=local %s %s 2>/dev/null", options,
	         path);
	FILE* f = popen(command, "r");
	CHECK(f != NULL);
	size_t n = fread(top, 1, sizeof top - 1, f);
	top[n] = 0;
	return pclose(f) == 0;
}

static bool shows(const char* text)
{
	if (strstr(top, text) != NULL) return true;
	fprintf(stderr, "pprof does not show %s:\n%s\n", text, top);
	return false;
}

/* The flat figure of a function, in bytes or objects; -1: it is not there. */
static double flat(const char* function)
{
	const char* at = strstr(top, function);
	if (at == NULL) return -1;
	while (at > top && at[-1] != '\n') at--;
	return atof(at);
}

OWN_FRAME static void* loads_a_batch(size_t bytes)
{
	void* p = tl_mem_alloc(bytes);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame is looked for */
	return p;
}

OWN_FRAME static void* makes_a_table(size_t bytes)
{
	void* p = tl_registry_new_array(bytes / 8, 8);
	__asm__ volatile("" ::: "memory");
	return p;
}

static void sites_sizes_and_totals(void)
{
	enum { BATCHES = 10, BATCH = 100000, TABLE = 640000 };
	void* batch[BATCHES];
	CHECK_OK(tl_tag_push("epoch"));
	for (int i = 0; i < BATCHES; i++) batch[i] = loads_a_batch(BATCH);
	CHECK_OK(tl_tag_pop());
	void* table = makes_a_table(TABLE);
	for (int i = 0; i < 4; i++) CHECK_OK(tl_mem_free(batch[i]));
	CHECK_OK(tl_profile_write(path));

	CHECK(pprof("-top -unit=B -sample_index=inuse_space"));
	CHECK(shows("Type: inuse_space"));
	CHECK_INT(flat("loads_a_batch"), 6 * BATCH);
	CHECK_INT(flat("makes_a_table"), TABLE);
	CHECK(strstr(top, "libtl_runtime") == NULL);
	CHECK(pprof("-top -sample_index=inuse_objects"));
	CHECK_INT(flat("loads_a_batch"), 6);
	CHECK(pprof("-top -unit=B -sample_index=alloc_space"));
	CHECK_INT(flat("loads_a_batch"), BATCHES * BATCH);
	CHECK(pprof("-top -unit=B -sample_index=alloc_space -tagfocus=tag=epoch"));
	CHECK_INT(flat("loads_a_batch"), BATCHES * BATCH);
	CHECK(flat("makes_a_table") < 0);
	CHECK(pprof("-tags -sample_index=inuse_objects"));
	CHECK(shows("epoch"));
	CHECK(shows("registered"));
	CHECK(shows("97.66kB")); /* label bytes: 100000 */

	for (int i = 4; i < BATCHES; i++) CHECK_OK(tl_mem_free(batch[i]));
	CHECK_OK(tl_registry_unregister(table));
	CHECK_OK(tl_profile_write(path));
	CHECK(pprof("-top -unit=B -sample_index=inuse_space"));
	CHECK(flat("loads_a_batch") < 0);
}

static void a_line_that_the_program_told(void)
{
	void* p = tl_track_site(loads_a_batch(4096), "/src/train.py", 42);
	CHECK_OK(tl_profile_write(path));
	CHECK(pprof("-top -unit=B -sample_index=inuse_space"));
	CHECK_INT(flat("train.py:42"), 4096);
	CHECK(pprof("-peek=train.py"));
	CHECK(shows("loads_a_batch")); /* the caller */
	CHECK_OK(tl_mem_free(p));
}

/* Samples stand for the whole: the estimate of 64 MiB in 16 Ki objects from one in 64 KiB
 * has a standard deviation of 3 percent. */
static void samples_are_scaled_up(void)
{
	enum { N = 1 << 14, BYTES = 4096 };
	static void* p[N];
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "64KiB"));
	for (int i = 0; i < N; i++) p[i] = loads_a_batch(BYTES);
	CHECK_OK(tl_profile_write(path));
	CHECK(pprof("-top -unit=B -sample_index=inuse_space"));
	double estimate = flat("loads_a_batch");
	CHECK(estimate > 0.8 * N * BYTES && estimate < 1.2 * N * BYTES);
	for (int i = 0; i < N; i++) CHECK_OK(tl_mem_free(p[i]));
	CHECK_OK(tl_configure("TL_TRACK_SAMPLE", "0"));
	CHECK_OK(tl_configure("TL_TRACK", "1"));
}

/* Without tracking there are no sites, and still the totals. */
static void nothing_was_recorded(void)
{
	CHECK_OK(tl_configure("TL_TRACK", "0"));
	void* p = loads_a_batch(65536);
	CHECK_OK(tl_profile_write(path));
	CHECK(pprof("-top -unit=B -sample_index=inuse_space"));
	CHECK(shows("[not recorded]"));
	CHECK(flat("[not recorded]") >= 65536);
	CHECK_OK(tl_mem_free(p));
	CHECK_OK(tl_configure("TL_TRACK", "1"));
}

TEST(names_that_are_none)
{
	CHECK_FAILS(tl_profile_write(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_profile_write(""), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_profile_write(no_file()), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), no_file()) != NULL);
	CHECK_FAILS(tl_snapshot_write(NULL), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_snapshot_write(no_file()), TL_E_INVALID_ARGUMENT);
	CHECK_OK(tl_snapshot_write("/dev/null"));
}

/* Opening it would wait for a reader. */
TEST(a_pipe_that_nobody_reads)
{
	char name[sizeof path + 8];
	snprintf(name, sizeof name, "%s.pipe", path);
	CHECK_INT(mkfifo(name, 0600), 0);
	alarm(60);
	CHECK_FAILS(tl_profile_write(name), TL_E_INVALID_ARGUMENT);
	CHECK(strstr(tl_last_error(), "is a pipe that no process reads") != NULL);
	CHECK_FAILS(tl_snapshot_write(name), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_stats_print(name), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_registry_print_statistics(name), TL_E_INVALID_ARGUMENT);
	CHECK_FAILS(tl_trace_start(name), TL_E_INVALID_ARGUMENT);
	CHECK_REFUSED(tl_leak_report(name), -1, TL_E_INVALID_ARGUMENT);
	alarm(0);
	unlink(name);
}

TEST(no_memory_for_the_walk)
{
	void* one = tl_mem_alloc(64);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "0"));
	CHECK_FAILS(tl_profile_write(path), TL_E_OUT_OF_MEMORY);
	CHECK_OK(tl_configure("TL_FAIL_MEMORY", "-1"));
	CHECK_OK(tl_mem_free(one));
	CHECK_OK(tl_profile_write(path));
}

int main(void)
{
	int file = mkstemp(path);
	CHECK(file >= 0);
	close(file);
	CHECK_OK(tl_configure("TL_TRACK", "1"));
	check_run();
	CHECK_OK(tl_profile_write(path));
	if (pprof("-raw")) {
		RUN(sites_sizes_and_totals);
		RUN(a_line_that_the_program_told);
		RUN(samples_are_scaled_up);
		RUN(nothing_was_recorded);
	} else {
		printf("skip: no go tool pprof\n");
	}
	unlink(path);
	return check_finish();
}
