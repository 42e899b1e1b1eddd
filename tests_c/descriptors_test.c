/* A program that has closed standard input, output or error: no descriptor of the library stands there, so that log lines
 * and daemon() hit nothing of it. Each case is a new process.
 *
 *     descriptors_test                 runs all cases
 *     descriptors_test CASE CLOSED     is one of them; CLOSED has a bit for each closed descriptor
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sharing.h"
#include "thread.h"

enum { PATIENCE = 60, STANDARD = 3, ALL = 7, FIRST_OTHER = 20 };

static const char* program;
static int closed;
static long verdict; /* descriptor of the file that the parent reads */

static bool is_open(int file) { return fcntl(file, F_GETFD) >= 0; }

static void check_places(void)
{
	for (int i = 0; i < STANDARD; i++) CHECK_INT(is_open(i), (closed >> i & 1) == 0);
}

/* Standard error may be closed: who failed is told by the parent. */
static int end(void)
{
	int status = check_finish();
	if (write((int)verdict, &check_failures, sizeof check_failures) < 0) return 1;
	return status;
}

static tl_tensor* share_one(tl_tensor_shared* s, int64_t n)
{
	tl_tensor* tensor = tl_tensor_new_zeroed(TL_DTYPE_U8, TL_DEVICE_SHARED, 1, &n);
	CHECK(tensor != NULL);
	s->struct_size = sizeof *s;
	CHECK_OK(tl_tensor_share(tensor, 0, s));
	CHECK(s->fd >= STANDARD);
	return tensor;
}

/* A line for a closed standard error hits nothing. */
static void write_lines(void)
{
	if (is_open(2)) return;
	CHECK_OK(tl_configure("TL_ON_ERROR", "log"));
	CHECK_STATUS(tl_ptr_release((void*)0x1001), TL_E_UNKNOWN_POINTER);
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	CHECK_OK(tl_configure("TL_MEM_LOG", "1"));
	CHECK_OK(tl_log_alloc(program, 64, __FILE__, __LINE__));
	CHECK_OK(tl_configure("TL_MEM_LOG", "0"));
}

static void use(void)
{
	enum { BYTES = 4096 };
	tl_tensor_shared s;
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = share_one(&s, BYTES);
	check_places();
	tl_tensor* other = tl_tensor_open(&s);
	CHECK(other != NULL);
	check_places();
	write_lines();
	const char* elements = tl_tensor_data(tensor);
	for (int i = 0; i < BYTES; i++) CHECK_INT(elements[i], 0);
	close(s.fd);
	CHECK(tl_device_count() >= 2); /* drivers are looked for */
	check_places();
	CHECK_OK(tl_mem_exit_scope());
	check_places();
}

/* A trace has its file open all the time. */
static void trace(void)
{
	char name[64], text[64] = "";
	snprintf(name, sizeof name, "/tmp/tl_descriptors_%ld.json", (long)getpid());
	CHECK_OK(tl_trace_start(name));
	check_places();
	write_lines();
	CHECK(tl_mem_new(64) != NULL);
	CHECK_OK(tl_trace_stop());
	check_places();
	FILE* file = fopen(name, "re");
	CHECK(file != NULL && fgets(text, sizeof text, file) != NULL && text[0] == '{');
	if (file != NULL) fclose(file);
	CHECK_INT(unlink(name), 0);
}

static int use_with_places_closed(void)
{
	check_places();
	CHECK_OK(tl_init());
	check_places();
	use();
	CHECK_OK(tl_mem_enter_scope());
	trace();
	CHECK_OK(tl_mem_exit_scope());
	return end();
}

/* Puts files of its own there, and Go goes on: a table that it keeps is given back after some time, which takes a timer. */
static int use_and_put_files_there(void)
{
	CHECK_OK(tl_init());
	int nothing = open("/dev/null", O_RDWR);
	for (int i = 0; i < STANDARD; i++) dup2(nothing, i);
	closed = 0;
	for (int i = 0; i < 3; i++) {
		void* large = tl_mem_alloc(64 << 20);
		CHECK(large != NULL);
		CHECK_OK(tl_mem_free(large));
		usleep(250000);
	}
	use();
	return end();
}

static int become_a_daemon(void)
{
	CHECK_OK(tl_init());
	if (daemon(0, 0) != 0) return 1; /* the daemon tells the rest */
	closed = 0;
	check_places();
	CHECK_STATUS(tl_mem_purge(), TL_E_FORKED);
	if (write((int)verdict, &check_failures, sizeof check_failures) < 0) return 1;
	return 0;
}

static const struct {
	const char* name;
	int (*run)(void);
} cases[] = {{"use", use_with_places_closed}, {"put", use_and_put_files_there}, {"daemon", become_a_daemon}};

/* Runs a case with some of the three closed from before the load. */
static void run_case(const char* name, int mask, char* start)
{
	int ends[2], status = -1;
	long failures = -1;
	char text[2][16];
	CHECK_INT(pipe(ends), 0);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		int told = fcntl(ends[1], F_DUPFD, FIRST_OTHER);
		snprintf(text[0], sizeof text[0], "%d", mask);
		snprintf(text[1], sizeof text[1], "%d", told);
		alarm(PATIENCE);
		putenv(start);
		for (int i = 0; i < FIRST_OTHER; i++) /* also what this program was given */
			if (i >= STANDARD || (mask >> i & 1) != 0) close(i);
		execl(program, program, name, text[0], text[1], (char*)NULL);
		_exit(127);
	}
	close(ends[1]);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(read(ends[0], &failures, sizeof failures), (int64_t)sizeof failures);
	close(ends[0]);
	if (check_failed(failures == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0))
		fprintf(stderr, "%s with %d closed, %s: status %x, %ld failures\n", name, mask, start, (unsigned)status,
		        failures);
}

static char at_first_use[] = "TL_START=first-use", at_load[] = "TL_START=load";

static void run_all(const char* name)
{
	for (int mask = 0; mask <= ALL; mask++) {
		run_case(name, mask, at_load);
		run_case(name, mask, at_first_use);
	}
}

TEST(no_descriptor_of_the_library_stands_in_a_closed_place) { run_all("use"); }
TEST(files_may_be_put_there_later) { run_all("put"); }
TEST(the_program_becomes_a_daemon) { run_all("daemon"); }

/* Where the places cannot be taken Go is not started. */
TEST(few_descriptors_are_a_status)
{
	for (int mask = 0; mask <= ALL; mask++) run_case("few", mask, at_first_use);
}

static int have_few(void)
{
	struct rlimit limit;
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	for (rlim_t most = 0; most < 6; most++) {
		limit.rlim_cur = most;
		CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
		tl_status status = tl_init();
		CHECK(status == TL_OK || status == TL_E_OUT_OF_MEMORY);
		CHECK_INT(status == TL_OK, most >= 5); /* as long as the file for the verdict has a higher number */
		check_places();
	}
	limit.rlim_cur = limit.rlim_max;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
	use();
	return end();
}

int main(int argc, char** argv)
{
	program = argv[0];
	if (argc > 3) {
		closed = atoi(argv[2]);
		verdict = atol(argv[3]);
		if (strcmp(argv[1], "few") == 0) return have_few();
	}
	for (size_t i = 0; argc > 3 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
	return check_tests();
}
