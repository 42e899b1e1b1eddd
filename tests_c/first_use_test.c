/* When Go starts: at load, or at the first use (TL_START). In the second case children that are forked before can use the
 * library, limits and handlers may come before it, and a crash is the program's. Each case is a new process.
 *
 *     first_use_test                          runs all cases
 *     first_use_test CASE                     is one of them
 *     first_use_test MOMENT RESOURCE VALUE    is one under a limit (limited.h)
 */
#include <setjmp.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "limited.h"

enum { CRASHED = 99 };

static const char* program;
static char at_first_use[] = "TL_START=first-use", at_load[] = "TL_START=load", automatic[] = "TL_START=auto";

/* ---- processes ---------------------------------------------------------------------- */

/* Runs a case; where more is not NULL, with that setting as well. */
static int run_case(const char* name, char* start, char* more)
{
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		alarm(LIMITED_PATIENCE);
		putenv(start);
		if (more != NULL) putenv(more);
		if (freopen("/dev/null", "w", stdout) == NULL) _exit(127);
		execl(program, program, name, (char*)NULL);
		_exit(127);
	}
	return end_limited(child);
}

/* Runs body in a child of this process. */
static int in_child(void (*body)(void))
{
	pid_t child = fork();
	if (child == 0) {
		alarm(LIMITED_PATIENCE);
		check_failures = 0;
		body();
		fflush(NULL);
		_exit(check_failures != 0);
	}
	return end_limited(child);
}

/* ---- fork --------------------------------------------------------------------------- */

static void use(void)
{
	CHECK_OK(tl_init());
	use_everything();
	CHECK_INT(limited_short_calls, 0);
}

static void fail(void) { CHECK_FAILS(tl_mem_purge(), TL_E_FORKED); }

static void use_and_fork(void)
{
	use();
	CHECK(tl_is_started());
	CHECK_INT(in_child(fail), 0);
	use();
}

static void fork_and_use(void)
{
	CHECK_INT(in_child(use), 0);
	use_and_fork();
}

static void by_a_raw_clone(void (*body)(void))
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0) {
		body();
		_exit(check_failures != 0);
	}
	CHECK_INT(end_limited(child), 0);
}

static int fork_before_the_first_use(void)
{
	CHECK(!tl_is_started());
	CHECK_INT(in_child(use_and_fork), 0);
	CHECK_INT(in_child(fork_and_use), 0);
	by_a_raw_clone(use);
	CHECK(!tl_is_started());
	use_and_fork();
	by_a_raw_clone(fail);
	return limited_end();
}

static int fork_after_the_load(void)
{
	CHECK(tl_is_started());
	CHECK_INT(in_child(fail), 0);
	use();
	return limited_end();
}

/* Handlers of fork() that are registered before the library is loaded run inside of its own. */
static tl_status (*in_handlers)(void);
static tl_status before_fork, after_fork;

static void prepare(void)
{
	if (in_handlers != NULL) before_fork = in_handlers();
}

static void resume(void)
{
	if (in_handlers != NULL) after_fork = in_handlers();
}

static void register_handlers(void) { pthread_atfork(prepare, resume, resume); }

__attribute__((section(".preinit_array"), used)) static void (*first_of_all)(void) = register_handlers;

static tl_status configure(void) { return tl_configure("TL_ON_ERROR", "ignore"); }

static void use_after_the_handlers(void)
{
	CHECK_INT(after_fork, TL_E_BUSY);
	in_handlers = NULL;
	use();
}

static int use_in_handlers_of_fork(void)
{
	tl_status (*const calls[])(void) = {tl_init, tl_mem_purge, configure};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		in_handlers = calls[i];
		CHECK_INT(in_child(use_after_the_handlers), 0);
		CHECK_INT(before_fork, TL_E_BUSY);
		CHECK_INT(after_fork, TL_E_BUSY);
		CHECK(!tl_is_started());
	}
	in_handlers = NULL;
	use_and_fork();
	return limited_end();
}

/* What becomes of the daemon comes through a pipe. */
static int become_a_daemon(void)
{
	int ends[2];
	CHECK_INT(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		if (daemon(0, 0) != 0) _exit(1);
		alarm(LIMITED_PATIENCE);
		use();
		if (write(ends[1], &check_failures, sizeof check_failures) < 0) _exit(1);
		_exit(0);
	}
	close(ends[1]);
	long failures = -1;
	CHECK_INT(end_limited(child), 0);
	CHECK_INT(read(ends[0], &failures, sizeof failures), (int64_t)sizeof failures);
	CHECK_INT(failures, 0);
	use();
	return limited_end();
}

static void* use_in_a_thread(void* barrier)
{
	meet(barrier);
	CHECK_OK(tl_init());
	return NULL;
}

static void answer_somehow(void)
{
	tl_status status = tl_mem_purge();
	CHECK(status == TL_OK || status == TL_E_FORKED);
	CHECK_INT(tl_mem_purge(), status);
}

/* More of them wait than may enter at once. */
static int fork_beside_the_first_use(void)
{
	enum { THREADS = 24, CHILDREN = 8 };
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) threads[i] = start_thread(use_in_a_thread, &barrier);
	meet(&barrier);
	for (int i = 0; i < CHILDREN; i++) CHECK_INT(in_child(answer_somehow), 0);
	for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
	CHECK_INT(in_child(fail), 0);
	return limited_end();
}

TEST(a_child_uses_what_its_parent_has_not)
{
	CHECK_INT(run_case("fork", at_first_use, NULL), 0);
	CHECK_INT(run_case("forked", at_load, NULL), 0);
	CHECK_INT(run_case("forked", automatic, NULL), 0);
}

TEST(a_daemon_uses_what_its_parent_has_not) { CHECK_INT(run_case("daemon", at_first_use, NULL), 0); }

TEST(a_handler_of_fork_waits_for_nobody) { CHECK_INT(run_case("handlers of fork", at_first_use, NULL), 0); }

TEST(forks_beside_the_first_use_end)
{
	for (int i = 0; i < 10; i++) CHECK_INT(run_case("beside", at_first_use, NULL), 0);
}

/* ---- limits that come between ------------------------------------------------------- */

static void limited(const char* resource, rlim_t value)
{
	int result = run_limited(program, "after", resource, value, at_first_use);
	bool good = result == LIMITED_WORKS || result == LIMITED_SHORT || result == LIMITED_REFUSED;
	if (check_failed(good || result == LIMITED_SKIPPED))
		fprintf(stderr, "%s %llu: %d\n", resource, (unsigned long long)value, result);
}

TEST(a_limit_before_the_first_use_is_a_status)
{
	for (rlim_t value = 1; value <= 24; value += 3) limited("threads", value);
	for (rlim_t value = 1; value <= 4096; value *= 2) limited("addresses", value * LIMITED_MIB);
	for (rlim_t value = 1300; value <= 1700; value += 50) limited("addresses", value * LIMITED_MIB);
	for (rlim_t value = 16; value <= 512; value += 31) limited("data", value * LIMITED_MIB);
	for (rlim_t value = 0; value <= 12; value++) limited("files", value);
	CHECK_INT(run_limited(program, "after", "files", 0, at_first_use), LIMITED_REFUSED);
	CHECK_INT(run_limited(program, "after", "addresses", 512 * LIMITED_MIB, at_first_use), LIMITED_REFUSED);
}

/* ---- handlers ----------------------------------------------------------------------- */

static sigjmp_buf away;
static volatile int handled;
static volatile int* volatile nowhere;

static void leave(int number)
{
	handled = number;
	siglongjmp(away, 1);
}

static void count(int number)
{
	(void)number;
	handled++;
}

static void a_fault_is_handled(void)
{
	handled = 0;
	if (sigsetjmp(away, 1) == 0) *nowhere = 1;
	CHECK_INT(handled, SIGSEGV);
}

static void install(int number, void (*handler)(int), struct sigaction* out)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
	CHECK_INT(sigaction(number, &action, NULL), 0);
	CHECK_INT(sigaction(number, NULL, out), 0);
}

/* Handlers are run while Go starts, and are found as they were left. */
static int install_before_the_first_use(void)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGPIPE, SIGURG, SIGALRM, SIGCHLD, SIGINT};
	enum { NUMBERS = sizeof numbers / sizeof *numbers };
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	struct sigaction before[NUMBERS], now;
	for (int i = 0; i < NUMBERS; i++)
		install(numbers[i], numbers[i] == SIGSEGV ? leave : numbers[i] == SIGPIPE ? SIG_IGN : count, &before[i]);
	a_fault_is_handled();
	handled = 0;
	CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (handled == 0) {}
	CHECK_OK(tl_init());
	limited_objects();
	CHECK_INT(setitimer(ITIMER_REAL, &never, NULL), 0);
	for (int i = 0; i < NUMBERS; i++) {
		CHECK_INT(sigaction(numbers[i], NULL, &now), 0);
		CHECK(now.sa_handler == before[i].sa_handler && now.sa_flags == before[i].sa_flags);
	}
	a_fault_is_handled();
	use_everything();
	a_fault_is_handled();
	return limited_end();
}

/* Go calls the handler that it found. */
static int install_nothing(void)
{
	struct sigaction action;
	CHECK_INT(sigaction(SIGSEGV, NULL, &action), 0);
	CHECK_INT(action.sa_handler == SIG_DFL, !tl_is_started());
	CHECK_OK(tl_init());
	for (int i = 0; i < 3; i++) {
		static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE};
		CHECK_INT(sigaction(numbers[i], NULL, &action), 0);
		CHECK(action.sa_handler != SIG_DFL);
	}
	CHECK_INT(sigaction(SIGURG, NULL, &action), 0);
	CHECK(action.sa_handler == SIG_DFL);
	return limited_end();
}

static int crash(void)
{
	alarm(0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	*nowhere = 1;
	return CRASHED;
}

TEST(handlers_before_the_first_use_stay)
{
	CHECK_INT(run_case("handlers", at_first_use, NULL), 0);
	CHECK_INT(run_case("handlers", at_load, NULL), 0);
	CHECK_INT(run_case("none", at_first_use, NULL), 0);
	CHECK_INT(run_case("none", at_load, NULL), 0);
}

/* As without the library: also where Go could not be started at load. */
TEST(a_crash_before_the_first_use_is_the_program_s)
{
	static char refused[] = "GOMAXPROCS=5000";
	CHECK_INT(run_case("crash", at_first_use, NULL), LIMITED_KILLED + SIGSEGV);
	CHECK_INT(run_case("crash", at_load, refused), LIMITED_KILLED + SIGSEGV);
}

static const struct {
	const char* name;
	int (*run)(void);
} cases[] = {
	{"fork", fork_before_the_first_use},
	{"forked", fork_after_the_load},
	{"daemon", become_a_daemon},
	{"handlers of fork", use_in_handlers_of_fork},
	{"beside", fork_beside_the_first_use},
	{"handlers", install_before_the_first_use},
	{"none", install_nothing},
	{"crash", crash},
};

int main(int argc, char** argv)
{
	program = argv[0];
	for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0) return cases[i].run();
	if (argc > 1) return limited_main(argc, argv);
	return check_tests();
}
