/* What the library writes to standard error, where that is a pipe without a reader, a full file, or a pipe that does not
 * block: the program goes on as one that writes to it itself. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "check.h"

/* ---- who writes ---------------------------------------------------------------------- */

static void nothing(void) {}
static void fails(void) { tl_ptr_release((void*)0x1001); }
static void says_memory(void) { tl_trace_mem("here"); }
static void tells_stats(void) { tl_stats_print(NULL); }
static void tells_registry(void) { tl_registry_print_statistics(NULL); }
static void tells_leaks(void)
{
	tl_mem_alloc(32);
	tl_leak_report(NULL);
}
static void dumps_pool(void) { tl_dump_gpu_pool_stats(); }
static void leaks(void) { tl_mem_alloc(32); }

static void logs_allocation(void)
{
	tl_log_alloc((void*)16, 32, "file.c", 1);
	tl_log_free((void*)16, "file.c", 2);
}

static void damages(void)
{
	volatile char* p = tl_mem_alloc(32);
	p[32] = 1;
	tl_mem_free((void*)p);
}

static void uses_pool(void) { (void)tl_pool_acquire(4, TL_DTYPE_F32, TL_DEVICE_CPU); }

static const struct writer {
	const char *name, *option, *value;
	void (*write)(void);
	bool once; /* with the first call, or at the end of the process */
} writers[] = {
	{"failure", "TL_ON_ERROR", "log", fails, false},
	{"memory", "TL_MEM_LOG", "1", says_memory, false},
	{"allocation", "TL_MEM_LOG", "1", logs_allocation, false},
	{"damage", "TL_DEBUG", "1", damages, false},
	{"pool", "TL_POOL_DEBUG", "1", uses_pool, false},
	{"dump", "TL_ON_ERROR", "ignore", dumps_pool, false},
	{"statistics", "TL_ON_ERROR", "ignore", tells_stats, false},
	{"registry", "TL_ON_ERROR", "ignore", tells_registry, false},
	{"leaks", "TL_TRACK", "1", tells_leaks, false},
	{"leaks at the end", "TL_LEAK_CHECK", "report", leaks, true},
	{"statistics at the end", "TL_SHOW_STATS", "1", nothing, true},
	{"option", "TL_ON_EROR", "log", nothing, true},
};

enum { WRITERS = sizeof writers / sizeof *writers };

/* ---- what the program does with SIGPIPE ------------------------------------------------ */

typedef enum disposition { DEFAULT, IGNORED_AT_START, IGNORED, HANDLED, BLOCKED, DISPOSITIONS } disposition;

static const char* const disposition_names[] = {"default", "ignored at the start", "ignored", "handled", "blocked"};

enum { HANDLER_RAN = 7, LEFT_PENDING = 8, GO_ON = 3 /* a descriptor */ };

static void leave(int signal_number)
{
	(void)signal_number;
	_exit(HANDLER_RAN);
}

static void dispose(disposition how)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	if (how == IGNORED) signal(SIGPIPE, SIG_IGN);
	if (how == HANDLED) signal(SIGPIPE, leave);
	if (how == BLOCKED) pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static bool is_pending(int signal_number)
{
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, signal_number) == 1;
}

/* The program that writes. "midway": it has written before, and goes on when the reader has left. */
static int write_as(const struct writer* w, disposition how, bool midway)
{
	char byte;
	dispose(how);
	if (midway) {
		if (!w->once) w->write();
		if (write(STDERR_FILENO, "begun\n", 6) != 6 || read(GO_ON, &byte, 1) != 0) return 9;
	}
	if (tl_init() != TL_OK && !w->once) return 9;
	for (int i = 0; i < 3; i++) w->write();
	return is_pending(SIGPIPE) || is_pending(SIGXFSZ) ? LEFT_PENDING : 0;
}

/* Starts the program with that standard error, and returns its wait status. */
static int run(const struct writer* w, disposition how, bool midway, int standard_error, int reader, rlim_t most)
{
	int go_on[2], status;
	char number[16], what[16], byte;
	snprintf(number, sizeof number, "%d", (int)(w - writers));
	snprintf(what, sizeof what, "%d", (int)how);
	if (pipe2(go_on, O_CLOEXEC) != 0) return -1;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		const struct rlimit no_core = {0, 0};
		struct rlimit limit;
		getrlimit(RLIMIT_FSIZE, &limit);
		if (most < limit.rlim_cur) limit.rlim_cur = most;
		setenv(w->option, w->value, 1);
		signal(SIGPIPE, how == IGNORED_AT_START ? SIG_IGN : SIG_DFL);
		if (setrlimit(RLIMIT_CORE, &no_core) != 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(9);
		if (dup2(standard_error, STDERR_FILENO) < 0 || dup2(go_on[0], GO_ON) < 0) _exit(9);
		if (go_on[0] == GO_ON) fcntl(GO_ON, F_SETFD, 0);
		execl("/proc/self/exe", "standard_error_test", number, what, midway ? "midway" : "start", (char*)NULL);
		_exit(9);
	}
	if (standard_error != STDERR_FILENO) close(standard_error);
	char last[7] = {0};
	while (midway && strcmp(last, "begun\n") != 0 && read(reader, &byte, 1) == 1) {
		memmove(last, last + 1, 5);
		last[5] = byte;
	}
	if (reader >= 0) close(reader);
	close(go_on[0]);
	close(go_on[1]);
	return waitpid(child, &status, 0) == child ? status : -1;
}

static int wanted(disposition how)
{
	return how == DEFAULT ? W_EXITCODE(0, SIGPIPE) : how == HANDLED ? W_EXITCODE(HANDLER_RAN, 0) : 0;
}

static void without_a_reader(bool midway)
{
	for (int i = 0; i < WRITERS; i++)
		for (disposition how = 0; how < DISPOSITIONS; how++) {
			int ends[2];
			CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
			if (!midway) close(ends[0]);
			int status = run(&writers[i], how, midway, ends[1], midway ? ends[0] : -1, RLIM_INFINITY);
			if (check_failed(status == wanted(how)))
				fprintf(stderr, "%s, SIGPIPE %s, reader gone %s: the program ends with %#x, want %#x\n",
				        writers[i].name, disposition_names[how], midway ? "midway" : "at the start", status,
				        wanted(how));
		}
}

TEST(a_pipe_that_nobody_reads) { without_a_reader(false); }
TEST(a_pipe_whose_reader_leaves) { without_a_reader(true); }

TEST(a_file_at_its_limit)
{
	for (int i = 0; i < WRITERS; i++) {
		char name[] = "/tmp/tl_standard_error_XXXXXX";
		int file = mkostemp(name, O_CLOEXEC);
		CHECK(file >= 0);
		unlink(name);
		int status = run(&writers[i], DEFAULT, false, file, -1, 10);
		if (check_failed(status == 0)) fprintf(stderr, "%s: the program ends with %#x\n", writers[i].name, status);
	}
}

/* What a program ignored before the library was loaded, it ignores afterwards, and what it starts does, too. */
TEST(sigpipe_stays_ignored)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGPIPE, SIG_IGN);
		execl("/proc/self/exe", "standard_error_test", "ignores", (char*)NULL);
		_exit(9);
	}
	CHECK_INT(check_exit_of(child), 0);
}

static int ignores(void)
{
	struct sigaction now;
	if (tl_init() != TL_OK) return 9;
	return sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_IGN ? 0 : 1;
}

/* ---- a pipe that does not block -------------------------------------------------------- */

static int own_error = -1, reader = -1;

static void take_standard_error(int flags)
{
	int ends[2];
	CHECK_INT(pipe2(ends, flags), 0);
	own_error = dup(STDERR_FILENO);
	CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
	close(ends[1]);
	reader = ends[0];
}

static void give_standard_error_back(void)
{
	CHECK(dup2(own_error, STDERR_FILENO) >= 0);
	close(own_error);
	close(reader);
}

static char* read_all(size_t room)
{
	char* text = calloc(1, room);
	size_t n = 0;
	for (ssize_t some; n + 1 < room && (some = read(reader, text + n, room - n - 1)) > 0;) n += (size_t)some;
	return text;
}

/* Until a pipe that does not block takes nothing. */
static void fill_standard_error(void)
{
	struct pollfd takes_more = {STDERR_FILENO, POLLOUT, 0};
	while (poll(&takes_more, 1, 0) != 0) { /* a write may also fail for want of a page */
		while (write(STDERR_FILENO, "full", 4) > 0) {}
		while (write(STDERR_FILENO, "\n", 1) > 0) {}
	}
}

/* Of a function of its own: of each one eight lines are written, and the same one once. */
TEST(lines_that_are_lost_are_counted)
{
	static const char want[] = "\ntl_runtime: 5 lines before this one are lost: standard error took nothing\n"
							   "tl_runtime: tl_ptr_inc_ref: TL_E_UNKNOWN_POINTER: ";
	enum { ROOM = 1 << 21 };
	CHECK_OK(tl_configure("TL_ON_ERROR", "log"));
	take_standard_error(O_NONBLOCK);
	fill_standard_error();
	double before = check_seconds();
	for (uintptr_t i = 0; i < 5; i++) CHECK_STATUS(tl_ptr_inc_ref((void*)(0x1001 + i)), TL_E_UNKNOWN_POINTER);
	double took = check_seconds() - before;
	free(read_all(ROOM));
	CHECK_INT(errno, EAGAIN);
	CHECK_STATUS(tl_ptr_inc_ref((void*)0x1006), TL_E_UNKNOWN_POINTER);
	char* text = read_all(ROOM);
	CHECK_STATUS(tl_ptr_inc_ref((void*)0x1007), TL_E_UNKNOWN_POINTER);
	char* later = read_all(ROOM);
	give_standard_error_back();
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	if (check_failed(strncmp(text, want + 1, strlen(want + 1)) == 0))
		fprintf(stderr, "standard error got \"%s\"\n", text);
	CHECK_INT(strncmp(later, "tl_runtime: tl_ptr_inc_ref: TL_E_UNKNOWN_POINTER: ", 50), 0);
	CHECK(took >= 0.15); /* it waited for the first */
	free(text);
	free(later);
}

/* A child does not tell of lines that its parent lost, nor that one of them was torn. */
TEST(a_child_has_lost_nothing)
{
	static const char want[] = "tl_runtime: tl_mem_free: ";
	int status = -1;
	CHECK_OK(tl_configure("TL_ON_ERROR", "log"));
	take_standard_error(O_NONBLOCK);
	fill_standard_error();
	CHECK_STATUS(tl_mem_free((void*)0x1001), TL_E_UNKNOWN_POINTER);
	pid_t child = fork();
	if (child == 0) {
		take_standard_error(0);
		tl_mem_free((void*)0x1002);
		close(STDERR_FILENO);
		_exit(strncmp(read_all(4096), want, sizeof want - 1) != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	free(read_all(1 << 21));
	CHECK_STATUS(tl_mem_free((void*)0x1003), TL_E_UNKNOWN_POINTER); /* the parent does */
	char* text = read_all(4096);
	give_standard_error_back();
	CHECK_OK(tl_configure("TL_ON_ERROR", "ignore"));
	CHECK_INT(status, 0);
	CHECK_INT(strncmp(text, "tl_runtime: 1 lines before this one are lost", 44), 0);
	free(text);
}

enum { LONG = 400 << 10 };

static void* reads_slowly(void* text)
{
	char* at = text;
	for (ssize_t n = 1; n > 0 && at[n - 1] != '\n'; usleep(500)) {
		size_t length = strlen(text);
		at = (char*)text + length;
		while ((n = read(reader, at, 4096)) < 0 && (errno == EAGAIN || errno == EINTR)) usleep(500);
	}
	return NULL;
}

static void interrupted(int signal_number) { (void)signal_number; }

/* Short writes, EAGAIN and EINTR: the text arrives whole. */
static void a_long_text(int flags)
{
	const struct itimerval often = {{0, 2000}, {0, 2000}}, never = {{0, 0}, {0, 0}};
	struct sigaction without_restart = {.sa_handler = interrupted}, before;
	char *message = malloc(LONG + 1), *text = calloc(1, LONG + 8192);
	pthread_t thread;
	memset(message, 'm', LONG);
	message[LONG] = 0;
	CHECK_OK(tl_configure("TL_MEM_LOG", "1"));
	take_standard_error(flags);
	sigset_t alarm, mask;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, &mask);
	CHECK_INT(pthread_create(&thread, NULL, reads_slowly, text), 0);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGALRM, &without_restart, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	errno = 4711;
	CHECK_OK(tl_trace_mem(message));
	CHECK_INT(errno, 4711);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	pthread_join(thread, NULL);
	give_standard_error_back();
	CHECK_OK(tl_configure("TL_MEM_LOG", "0"));
	CHECK_INT(strncmp(text, "tl_runtime: m", 13), 0);
	CHECK_INT(strspn(text + 12, "m"), LONG);
	CHECK_INT(strncmp(text + 12 + LONG, ": ", 2), 0);
	CHECK(strstr(text + LONG, " bytes resident\n") != NULL);
	free(message);
	free(text);
}

TEST(a_long_text_in_a_pipe_that_blocks) { a_long_text(0); }
TEST(a_long_text_in_a_pipe_that_does_not) { a_long_text(O_NONBLOCK); }

int main(int argc, char** argv)
{
	if (argc == 2) return ignores();
	if (argc == 4) return write_as(&writers[atoi(argv[1])], (disposition)atoi(argv[2]), strcmp(argv[3], "midway") == 0);
	signal(SIGPIPE, SIG_DFL);
	return check_tests();
}
