/* Handlers of the program's that know nothing of Go: installed after loading, without
 * SA_ONSTACK, as signal() does it. They run on whatever stack the thread is on. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "check.h"
#include "thread.h"

/* Handlers of five signals can interrupt each other: with their frames, of up to 11 KiB, they fit a stack of
 * THREAD_STACK_BYTES. */
enum { HANDLER_BYTES = 12 << 10, DELIVERIES = 2000 };

static atomic_long delivered;

/* Uses more stack than a goroutine begins with. */
static void handler(int signal)
{
	char room[HANDLER_BYTES];
	memset(room, signal, sizeof room);
	__asm__ volatile("" ::"r"(room) : "memory");
	atomic_fetch_add(&delivered, 1);
}

/* Calls that are in Go nearly all the time, and make its collector work. */
static void slow_calls(void)
{
	CHECK_OK(tl_mem_enter_scope());
	for (int i = 0; i < 50; i++) {
		tl_vec_new(2);
		CHECK_STATUS(tl_ptr_release((void*)0x1001), TL_E_UNKNOWN_POINTER);
		CHECK(strncmp(tl_last_error(), "tl_ptr_release: ", 16) == 0);
	}
	CHECK_OK(tl_mem_exit_scope());
}

static void every_100_microseconds(int timer, bool on)
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	CHECK_INT(setitimer(timer, on ? &often : &never, NULL), 0);
}

static void interrupted_by(int signal_number, int timer, long deliveries)
{
	double end = check_seconds() + 20;
	sighandler_t before = signal(signal_number, handler);
	delivered = 0;
	every_100_microseconds(timer, true);
	while (delivered < deliveries && check_seconds() < end) slow_calls();
	every_100_microseconds(timer, false);
	CHECK(delivered >= deliveries);
	signal(signal_number, before);
}

static void a_timer_with_a_handler_of_signal(void) { interrupted_by(SIGALRM, ITIMER_REAL, DELIVERIES); }

/* The system sends it to whichever thread uses the processor, one of Go's as well. */
static void a_profiler_with_a_handler_of_signal(void) { interrupted_by(SIGPROF, ITIMER_PROF, DELIVERIES / 20); }

static atomic_bool stop;

THREAD(makes_slow_calls, unused)
{
	while (!stop) slow_calls();
}

static void children_that_end_while_others_call(void)
{
	sighandler_t before = signal(SIGCHLD, handler);
	pthread_t thread = start_thread(makes_slow_calls, NULL);
	delivered = 0;
	for (int i = 0; i < 200; i++) {
		pid_t child = fork();
		if (child == 0) _exit(0);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
		slow_calls();
	}
	stop = true;
	pthread_join(thread, NULL);
	stop = false;
	CHECK(delivered > 0);
	signal(SIGCHLD, before);
}

static void signals_to_a_thread_that_calls(void)
{
	static const int numbers[] = {SIGUSR1, SIGUSR2, SIGURG, SIGWINCH, SIGIO};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) CHECK(signal(numbers[i], handler) != SIG_ERR);
	pthread_t thread = start_thread(makes_slow_calls, NULL);
	delivered = 0;
	for (int i = 0; i < 2000; i++) {
		CHECK_INT(pthread_kill(thread, numbers[(size_t)i % (sizeof numbers / sizeof *numbers)]), 0);
		slow_calls();
	}
	stop = true;
	pthread_join(thread, NULL);
	stop = false;
	CHECK(delivered > 0);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) signal(numbers[i], SIG_DFL);
}

/* ---- masks --------------------------------------------------------------------------- */

/* The signals that a thread of this process blocks; all, when it has ended. */
static uint64_t blocked_by(const char* thread)
{
	char path[300], line[200];
	unsigned long long mask = ~0ull;
	snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
	FILE* file = fopen(path, "r");
	if (file == NULL) return mask;
	while (fgets(line, sizeof line, file) != NULL)
		if (sscanf(line, "SigBlk: %llx", &mask) == 1) break;
	fclose(file);
	return mask;
}

/* Nothing but faults, and the two signals that are the C library's own. */
static void threads_of_go_block_the_programs_signals(void)
{
	static const int numbers[] = {SIGALRM, SIGCHLD, SIGPROF,   SIGINT, SIGTERM, SIGUSR1,
	                              SIGUSR2, SIGIO,   SIGVTALRM, SIGHUP, SIGURG};
	int threads = 0;
	slow_calls();
	DIR* all = opendir("/proc/self/task");
	if (all == NULL) return;
	for (struct dirent* entry; (entry = readdir(all)) != NULL;) {
		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid()) continue;
		uint64_t mask = blocked_by(entry->d_name);
		threads++;
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (check_failed(mask >> (numbers[i] - 1) & 1))
				fprintf(stderr, "thread %s takes signal %d\n", entry->d_name, numbers[i]);
	}
	closedir(all);
	CHECK(threads > 0);
}

THREAD(first_call_with_a_mask, unused)
{
	sigset_t some, now;
	sigemptyset(&some);
	sigaddset(&some, SIGCHLD);
	sigaddset(&some, SIGPROF);
	sigaddset(&some, SIGURG);
	sigaddset(&some, SIGUSR1);
	CHECK_INT(pthread_sigmask(SIG_SETMASK, &some, NULL), 0);
	for (int i = 0; i < 3; i++) {
		slow_calls();
		CHECK_INT(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
		for (int s = 1; s < 32; s++) CHECK_INT(sigismember(&now, s), sigismember(&some, s));
	}
}

/* A program that waits for SIGCHLD with sigwait must not have it unblocked. */
static void a_threads_mask_stays_as_it_was(void)
{
	for (int i = 0; i < 4; i++) run_thread(first_call_with_a_mask, NULL);
}

/* ---- what a program does in handlers ---------------------------------------------------- */

static atomic_long refused;
static void* block;

/* These would be answered in C, from what the interrupted call is at. */

static void calls_the_library(int unused)
{
	(void)unused;
	if (tl_mem_register_struct(block) == TL_E_BUSY) {
		CHECK_REFUSED(tl_mem_alloc(64), NULL, TL_E_BUSY);
		CHECK_REFUSED(tl_registry_is_registered(block), false, TL_E_BUSY);
		CHECK_FAILS(tl_registry_register(block, 64, TL_ALLOC_MALLOC), TL_E_BUSY);
		CHECK_FAILS(tl_mem_enter_scope(), TL_E_BUSY);
		atomic_fetch_add(&refused, 1);
	} else {
		tl_mem_unregister(block);
	}
}

static void a_handler_that_calls_is_refused(void)
{
	double end = check_seconds() + 20;
	tl_stats stats = {.struct_size = sizeof stats};
	block = tl_mem_alloc(64);
	signal(SIGALRM, calls_the_library);
	refused = 0;
	every_100_microseconds(ITIMER_REAL, true);
	while (refused < 50 && check_seconds() < end)
		for (int i = 0; i < 100; i++) CHECK_OK(tl_stats_get(&stats));
	every_100_microseconds(ITIMER_REAL, false);
	CHECK(refused >= 50);
	CHECK_OK(tl_ptr_release(block));
	signal(SIGALRM, SIG_DFL);
}

static sigjmp_buf away;

static void leaves(int unused)
{
	(void)unused;
	siglongjmp(away, 1);
}

/* A fault of the program's is the program's, before and after calls. */
static void the_programs_own_fault_handler_goes_on_working(void)
{
	static volatile int* volatile nowhere;
	struct sigaction mine = {.sa_handler = leaves, .sa_flags = SA_NODEFER}, before;
	CHECK_INT(sigaction(SIGSEGV, &mine, &before), 0);
	for (volatile int i = 0; i < 100; i++) {
		slow_calls();
		if (sigsetjmp(away, 1) == 0) {
			*nowhere = 1;
			CHECK(!"the fault was not delivered");
		}
	}
	CHECK_INT(sigaction(SIGSEGV, &before, NULL), 0);
}

int main(void)
{
	RUN(threads_of_go_block_the_programs_signals);
	RUN(a_threads_mask_stays_as_it_was);
	RUN(a_timer_with_a_handler_of_signal);
	RUN(a_profiler_with_a_handler_of_signal);
	RUN(children_that_end_while_others_call);
	RUN(signals_to_a_thread_that_calls);
	if (HANDLERS_INTERRUPT_CALLS) RUN(a_handler_that_calls_is_refused);
	RUN(the_programs_own_fault_handler_goes_on_working);
	return check_finish();
}
