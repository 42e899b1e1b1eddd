/* The first thread is alone until a second one comes: contexts in which a tensor is ended without a compare-and-swap.
 *
 *     alone_test        runs every case in a process of its own
 *     alone_test CASE   is such a process
 */
#include "../cshim/base/layout.h"
/* Before tl_runtime.h. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "check.h"
#include "thread.h"
#include "tl_inline.h"

static tl_context* context(void) { return *(tl_context**)tl_context_address(TL_INLINE_VERSION); }

static void use(void)
{
	CHECK_OK(tl_mem_enter_scope());
	tl_tensor* tensor = tl_tensor_empty(TL_DTYPE_F32, TL_DEVICE_CPU, 0, NULL);
	CHECK(tensor != NULL);
	CHECK_OK(tl_tensor_free(tensor));
	CHECK_OK(tl_mem_exit_scope());
}

THREAD(use_in_thread, done)
{
	use();
	if (done != NULL) atomic_store((atomic_int*)done, 1);
}

/* A thread's context shows zeros on the slow path, but it is the first one of all. */
static tl_context* first(void)
{
	use();
	tl_context* c = context();
	return c->self;
}

static bool is_alone(tl_context* c) { return atomic_load(&c->alone) != 0; }

/* Looks before any library of the process is initialised. Emulators and sanitizers have threads of their own. */
static bool had_one_thread;

static void count_threads(void)
{
	struct stat tasks;
	had_one_thread = syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &tasks, 0) == 0 && tasks.st_nlink == 3;
}

__attribute__((section(".preinit_array"), used)) static void (*const at_load)(void) = count_threads;

static bool has_barrier(void)
{
	const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
	return had_one_thread && commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

static void the_second_thread_waits_for_the_first(void)
{
	atomic_int done = 0;
	tl_context* c = first();
	CHECK_INT(is_alone(c), has_barrier());
	CHECK_INT(atomic_load(&c->busy), 0);
	if (!is_alone(c)) return;
	atomic_store(&c->busy, 1);
	pthread_t second = start_thread(use_in_thread, &done);
	for (const double end = check_seconds() + 60; is_alone(c) && check_seconds() < end;)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	CHECK(!is_alone(c));
	nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL); /* in which it could go on */
	CHECK_INT(atomic_load(&done), 0);
	atomic_store(&c->busy, 0);
	pthread_join(second, NULL);
	CHECK_INT(atomic_load(&done), 1);
	for (int i = 0; i < 3; i++) use();
	CHECK(!is_alone(c));
}

/* A thread that adopts the first context is as alone as the one before it; one that comes beside it is not. */
static void whoever_adopts_the_context_is_alone(void)
{
	tl_context* c = first();
	CHECK_OK(tl_thread_detach());
	run_thread(use_in_thread, NULL);
	CHECK_INT(is_alone(c), has_barrier());
	CHECK(first() == c);
	CHECK_INT(is_alone(c), has_barrier());
	run_thread(use_in_thread, NULL);
	CHECK(!is_alone(c));
}

static pthread_key_t late;
static pthread_barrier_t gate;

static void use_after_the_end(void* unused)
{
	(void)unused;
	meet(&gate);
	meet(&gate);
	use();
}

THREAD(end_late, unused)
{
	use();
	pthread_key_create(&late, use_after_the_end); /* after the library's */
	pthread_setspecific(late, &gate);
}

/* Such a thread uses the shared context while this one has adopted its own. */
static void a_thread_that_has_ended_is_a_second_one(void)
{
	pthread_barrier_init(&gate, NULL, 2);
	pthread_t ended = start_thread(end_late, NULL);
	meet(&gate);
	tl_context* c = first();
	CHECK_INT(c->id, 1);
	CHECK_INT(is_alone(c), has_barrier());
	meet(&gate);
	pthread_join(ended, NULL);
	CHECK(!is_alone(c));
	use();
	pthread_barrier_destroy(&gate);
}

static bool refuse_barriers(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
		return true;
	printf("skip: no seccomp filters here\n");
	return false;
}

/* On the first thread alone: those of Go go on as before. A thread takes over the filter of the one that starts it. */
static void a_barrier_that_is_refused_later_is_a_pause(void)
{
	tl_context* c = first();
	if (!refuse_barriers()) return;
	run_thread(use_in_thread, NULL);
	CHECK(!is_alone(c));
}

static void without_a_barrier_nobody_is_alone(void)
{
	CHECK(!is_alone(first()));
	run_thread(use_in_thread, NULL);
}

static const struct {
	const char* name;
	void (*run)(void);
	bool refused; /* from the start of the process */
} cases[] = {
	{"second", the_second_thread_waits_for_the_first, false},
	{"adopted", whoever_adopts_the_context_is_alone, false},
	{"ended", a_thread_that_has_ended_is_a_second_one, false},
	{"refused-later", a_barrier_that_is_refused_later_is_a_pause, false},
	{"refused", without_a_barrier_nobody_is_alone, true},
};
enum { CASES = sizeof cases / sizeof *cases };

static void start_case(const char* program, int i)
{
	if (cases[i].refused && !refuse_barriers()) _exit(0);
	execl(program, program, cases[i].name, (char*)NULL);
	_exit(127);
}

int main(int argc, char** argv)
{
	for (int i = 0; i < CASES; i++) {
		if (argc > 1) {
			if (strcmp(argv[1], cases[i].name) == 0) cases[i].run();
			continue;
		}
		pid_t child = fork();
		if (child == 0) start_case(argv[0], i);
		CHECK_INT(check_exit_of(child), 0);
	}
	return check_finish();
}
