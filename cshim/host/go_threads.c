/* Threads for Go, created before Go requests them. Go ends the process when it cannot have a
 * thread, and when malloc has no room for the thread's arguments. So as many threads as Go may need
 * are created at once, before Go starts, and wait until Go requests one. If the system refuses one
 * of them, Go is not started; a limit that is set later does not affect them. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "environment.h"
#include "go_1_26.h"
#include "signals.h"
#include "stack.h"
#include "start.h"
#include "output.h"

/* Go's threads run only Go's own code, collector and scheduler: calls of the program run on the
 * program's threads. Go is told of half the stack. The rest is for thread-local storage, which lies
 * on the stack too, and for signal handlers. */
enum { STACK_BYTES = 1 << 20, STACK_TOLD = STACK_BYTES / 2 };

/* Go has a thread for each processor, one more for each that is about to wait when its processor is
 * passed on, and a few others. Measured on a machine that was too busy: at most 8 threads for 2
 * processors, 10 for 4, 19 for 8, 20 for 16 (docs/limits.md). For more processors than that the
 * number is not known. */
enum { BESIDE_PROCESSORS = 6, MOST_PROCESSORS = 16, MOST_KEPT = 2 * MOST_PROCESSORS + BESIDE_PROCESSORS };
enum { MOST_TASKS = 2 * MOST_KEPT };

/* What a thread has to run: a function with its argument, or else a thread of Go's. */
typedef struct task {
	go_thread_body body;
	void* argument;
	go_start start;
} task;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static task tasks[MOST_TASKS];                           /* given to waiting threads, not yet begun */
static unsigned given;
static unsigned waiting; /* threads without a task */
static pthread_t kept[MOST_KEPT];

static sem_t tasks_given;
static void (*go_set_g)(void*);

static void* wait_for_a_task(void* unused)
{
	(void)unused;
	while (sem_wait(&tasks_given) != 0 && errno == EINTR) {}
	pthread_mutex_lock(&lock);
	task t = tasks[--given];
	pthread_mutex_unlock(&lock);
	if (t.body != NULL) return t.body(t.argument);
	if (t.start.body != NULL) crosscall1(t.start.body, go_set_g, t.start.g);
	return NULL;
}

/* The caller is quiet, and the new thread inherits its signal mask. */
static int create(pthread_t* thread)
{
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	int error = pthread_create(thread, &attributes, wait_for_a_task, NULL);
	if (error == EINVAL) error = pthread_create(thread, NULL, wait_for_a_task, NULL); /* much thread-local storage */
	pthread_attr_destroy(&attributes);
	return error;
}

static unsigned processors(void)
{
	cpu_set_t set;
	int count = tlc_go_processors();
	if (count == 0) count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : MOST_PROCESSORS;
	return count < MOST_PROCESSORS ? (unsigned)count : MOST_PROCESSORS;
}

static void give(const task* t)
{
	tasks[given++] = *t;
	waiting--;
	sem_post(&tasks_given);
}

/* Makes the threads without a task end, and waits for that. */
static void send_home(unsigned count)
{
	const task nothing = {0};
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < count; i++) give(&nothing);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < count; i++) pthread_join(kept[i], NULL);
}

/* Why the threads, or the start after them, cannot be had. */
static tlc_lack lack_of_threads(int error)
{
	if (!tlc_has_mappings(GO_START_MAPPINGS)) return TLC_LACKS_MAPPINGS;
	if (error == 0) return TLC_LACKS_NOTHING;
	tlc_lack lack = tlc_look_for_memory(TLC_MOST_STACKS);
	return lack != TLC_LACKS_NOTHING ? lack : TLC_LACKS_THREADS;
}

tlc_lack tlc_keep_threads(void)
{
	unsigned wanted = 2 * processors() + BESIDE_PROCESSORS;
	sem_init(&tasks_given, 0, 0);
	int error = 0;
	while (waiting < wanted && (error = create(&kept[waiting])) == 0) waiting++;
	tlc_lack lack = lack_of_threads(error);
	if (lack != TLC_LACKS_NOTHING) {
		send_home(waiting);
		return lack;
	}
	for (unsigned i = 0; i < wanted; i++) pthread_detach(kept[i]);
	return TLC_LACKS_NOTHING;
}

/* Creates one thread more than were kept. If that fails, Go can only end the process. */
static void create_another(void)
{
	for (int tries = 1;; tries++) {
		pthread_t thread;
		int error = create(&thread);
		if (error == 0) {
			pthread_detach(thread);
			waiting++;
			return;
		}
		if (error != EAGAIN || tries == 20) {
			tlc_tell("tl_runtime: Go needs another thread: pthread_create: ", strerror(error), "\n", NULL);
			abort();
		}
		nanosleep(&(struct timespec){.tv_nsec = tries * 1000000L}, NULL);
	}
}

static void run(const task* t)
{
	tlc_quiet before;
	tlc_begin_quiet(&before);
	pthread_mutex_lock(&lock);
	while (given == MOST_TASKS) {
		pthread_mutex_unlock(&lock);
		sched_yield();
		pthread_mutex_lock(&lock);
	}
	if (waiting == 0) create_another();
	give(t);
	pthread_mutex_unlock(&lock);
	tlc_end_quiet(&before);
}

void tlc_run_thread(go_thread_body body, void* argument) { run(&(task){.body = body, .argument = argument}); }

void __wrap_x_cgo_init(go_g* g, void (*set_g)(void*), void** tls_g, void** tls_base)
{
	(void)tls_g;
	(void)tls_base;
	go_set_g = set_g;
	g->stack_low = (uintptr_t)__builtin_frame_address(0) - STACK_TOLD;
}

void __wrap_x_cgo_thread_start(const go_start* start)
{
	start->g->stack_high = STACK_TOLD;
	run(&(task){.start = *start});
}

/* The stack that the calling thread is on, or zeros: Go then estimates. Where pthread_getattr_np lacks memory it destroys the
 * attributes itself; runtime/cgo would destroy them again. */
void __wrap_x_cgo_getstackbound(uintptr_t bounds[2])
{
	pthread_attr_t attributes;
	void* low;
	size_t bytes;
	bounds[0] = bounds[1] = 0;
	if (tlc_stack_of_go(bounds)) return;
	if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
	if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
		bounds[0] = (uintptr_t)low;
		bounds[1] = (uintptr_t)low + bytes;
	}
	pthread_attr_destroy(&attributes);
}
