/* Handlers of all sorts, from all sources, while calls are made: nothing may be harmed.
 *
 *     signals                                     every way, each in a process of its own
 *     signals WAY MOMENT SOURCE DELIVERIES        one: "plain before timer 10000"
 *
 * The library is loaded with dlopen, so that handlers can be there before it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prove.h"
#include "tl_runtime.h"

static long failures;

static void expect(bool good, const char* what)
{
	if (good) return;
	if (failures++ < 10) fprintf(stderr, "not so: %s\n", what);
}
#define EXPECT(condition) expect((condition), #condition)

/* ---- handlers --------------------------------------------------------------------------- */

enum { HANDLER_BYTES = 32 << 10, NUMBER_OF_WAYS = 4 };

static atomic_long delivered;

static void handler(int number)
{
	char room[HANDLER_BYTES];
	memset(room, number, sizeof room);
	__asm__ volatile("" ::"r"(room) : "memory");
	atomic_fetch_add(&delivered, 1);
}

static void handler_with_info(int number, siginfo_t* info, void* context)
{
	EXPECT(info->si_signo == number && context != NULL);
	handler(number);
}

typedef struct way {
	const char* name;
	int flags;
	bool own_stack;
} way;

static const way ways[NUMBER_OF_WAYS] = {
	{"plain", 0, false},
	{"restarting", SA_RESTART, false},
	{"nested", SA_SIGINFO | SA_NODEFER | SA_RESTART, false},
	{"onstack", SA_ONSTACK | SA_RESTART, true},
};

static void have_own_stack(void)
{
	enum { BYTES = 128 << 10 };
	void* room = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = room, .ss_size = BYTES};
	EXPECT(room != MAP_FAILED && sigaltstack(&stack, NULL) == 0);
}

static void install(const way* w, int number)
{
	struct sigaction action = {.sa_flags = w->flags};
	if (w->flags & SA_SIGINFO) action.sa_sigaction = handler_with_info;
	else action.sa_handler = handler;
	EXPECT(sigaction(number, &action, NULL) == 0);
}

/* ---- calls -------------------------------------------------------------------------------- */

static struct {
	tl_status (*enter)(void), (*leave)(void), (*release)(void*), (*stats)(tl_stats*), (*purge)(void);
	void* (*vec)(int64_t);
	void* (*alloc)(size_t);
	const char* (*error)(void);
	int64_t (*collect)(void);
	tl_tensor* (*tensor)(int32_t, int32_t, int64_t, const int64_t*);
	tl_status (*plan_create)(tl_plan**), (*plan_destroy)(tl_plan*), (*plan_solve)(tl_plan*, int64_t);
	int64_t (*plan_add)(tl_plan*, size_t, size_t, int64_t, int64_t);
	tl_status (*custom)(void*, size_t, tl_deleter, void*), (*unregister)(void*);
} call;

static void find(void* library, const char* name, void* at)
{
	void* found = dlsym(library, name);
	if (found == NULL) {
		fprintf(stderr, "no %s: %s\n", name, dlerror());
		exit(1);
	}
	memcpy(at, &found, sizeof found);
}

static void load(void)
{
	void* library = dlopen(TL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	find(library, "tl_mem_enter_scope", &call.enter);
	find(library, "tl_mem_exit_scope", &call.leave);
	find(library, "tl_ptr_release", &call.release);
	find(library, "tl_stats_get", &call.stats);
	find(library, "tl_mem_purge", &call.purge);
	find(library, "tl_vec_new", &call.vec);
	find(library, "tl_mem_alloc", &call.alloc);
	find(library, "tl_last_error", &call.error);
	find(library, "tl_mem_collect_cycles", &call.collect);
	find(library, "tl_tensor_empty", &call.tensor);
	find(library, "tl_plan_create", &call.plan_create);
	find(library, "tl_plan_destroy", &call.plan_destroy);
	find(library, "tl_plan_solve", &call.plan_solve);
	find(library, "tl_plan_add_buffer", &call.plan_add);
	find(library, "tl_registry_register_custom", &call.custom);
	find(library, "tl_registry_unregister", &call.unregister);
}

static void deleter(void* block, void* ctx)
{
	(void)ctx;
	free(block);
}

static void plans(void)
{
	tl_plan* plan = NULL;
	EXPECT(call.plan_create(&plan) == TL_OK);
	for (int64_t i = 0; i < 40; i++) EXPECT(call.plan_add(plan, (size_t)(64 * (i % 7 + 1)), 64, i, i + 3 + i % 5) == i);
	EXPECT(call.plan_solve(plan, 1) == TL_OK);
	EXPECT(call.plan_destroy(plan) == TL_OK);
}

/* Calls that spend their time in Go, in its collector, and in the fast path. */
static void calls(unsigned turn)
{
	const int64_t shape[2] = {3, 5 + turn % 3};
	tl_stats stats = {.struct_size = sizeof stats};
	EXPECT(call.enter() == TL_OK);
	for (int i = 0; i < 20; i++) {
		EXPECT(call.vec(2) != NULL);
		EXPECT(call.release((void*)0x1001) == TL_E_UNKNOWN_POINTER);
		EXPECT(strncmp(call.error(), "tl_ptr_release: ", 16) == 0);
		EXPECT(call.tensor(TL_DTYPE_F32, TL_DEVICE_CPU, 2, shape) != NULL);
		EXPECT(call.release(call.alloc((size_t)(16 + turn % 300))) == TL_OK);
		void* block = malloc(64);
		EXPECT(call.custom(block, 64, deleter, NULL) == TL_OK && call.unregister(block) == TL_OK);
	}
	EXPECT(call.stats(&stats) == TL_OK);
	if (turn % 16 == 0) plans();
	if (turn % 8 == 0) EXPECT(call.collect() >= 0);
	EXPECT(call.leave() == TL_OK);
}

/* ---- sources ------------------------------------------------------------------------------ */

static atomic_bool stop;
static int sent;
static pthread_t target;

static void set_timer(int which, long microseconds)
{
	struct itimerval every = {{0, microseconds}, {0, microseconds}};
	EXPECT(setitimer(which, &every, NULL) == 0);
}

static void* sends(void* unused)
{
	const struct timespec pause = {0, 50000};
	while (!stop) {
		pthread_kill(target, sent);
		nanosleep(&pause, NULL);
	}
	return unused;
}

/* Children come from a process of their own, so that fork() of a large one is not what is measured. */
static void* ends_children(void* unused)
{
	while (!stop) {
		pid_t child = vfork();
		if (child == 0) _exit(0);
		while (waitpid(child, NULL, 0) < 0 && !stop) {}
	}
	return unused;
}

typedef struct source {
	const char* name;
	int signal, timer;
	void* (*thread)(void*);
	double part; /* of the deliveries: some sources are slow */
} source;

static const source sources[] = {
	{"timer", SIGALRM, ITIMER_REAL, NULL, 1},
	{"profiler", SIGPROF, ITIMER_PROF, NULL, 0.02},
	{"virtual", SIGVTALRM, ITIMER_VIRTUAL, NULL, 0.01},
	{"thread", SIGUSR1, -1, sends, 1},
	{"urgent", SIGURG, -1, sends, 0.3},
	{"children", SIGCHLD, -1, ends_children, 0.2},
};
enum { NUMBER_OF_SOURCES = sizeof sources / sizeof *sources };

/* ---- one way ---------------------------------------------------------------------------------- */

static const source* source_of(const char* name)
{
	for (int i = 0; i < NUMBER_OF_SOURCES; i++)
		if (strcmp(sources[i].name, name) == 0) return &sources[i];
	exit(2);
}

static const way* way_of(const char* name)
{
	for (int i = 0; i < NUMBER_OF_WAYS; i++)
		if (strcmp(ways[i].name, name) == 0) return &ways[i];
	exit(2);
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void ends_clean(void)
{
	tl_stats stats = {.struct_size = sizeof stats};
	call.purge();
	EXPECT(call.stats(&stats) == TL_OK);
	EXPECT(stats.live_objects == 0 && stats.live_bytes == 0 && stats.foreign_live == 0);
}

/* Prints how many were delivered; a source that gives out before is a failure of the test's. */
static int one(const char* how, bool before, const char* from, long wanted)
{
	const way* w = way_of(how);
	const source* s = source_of(from);
	pthread_t thread;
	double end = seconds() + 600;
	if (w->own_stack) have_own_stack();
	if (before) install(w, s->signal);
	load();
	calls(0);
	if (!before) install(w, s->signal);
	target = pthread_self();
	sent = s->signal;
	if (s->thread != NULL) EXPECT(pthread_create(&thread, NULL, s->thread, NULL) == 0);
	else set_timer(s->timer, 100);
	for (unsigned turn = 1; delivered < wanted && seconds() < end; turn++) calls(turn);
	stop = true;
	if (s->thread != NULL) pthread_join(thread, NULL);
	else set_timer(s->timer, 0);
	EXPECT(delivered >= wanted);
	ends_clean();
	printf("delivered %ld\n", (long)delivered);
	return failures == 0 ? 0 : 1;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* What a process of its own has had delivered; -1 when it failed. */
static long in_a_process(const char* self, const char* arguments)
{
	char command[600];
	long count = -1;
	snprintf(command, sizeof command, "timeout -s KILL 700 %s %s", self, arguments);
	FILE* said = popen(command, "r");
	if (said == NULL) return -1;
	if (fscanf(said, "delivered %ld", &count) != 1) count = -1;
	return pclose(said) == 0 ? count : -1;
}

int main(int argc, char** argv)
{
	if (argc == 5) return one(argv[1], strcmp(argv[2], "before") == 0, argv[3], atol(argv[4]));
	/* A million in all: of the sum of parts, in each way, before and after loading. */
	double parts = 0, each;
	long tried = 0, failed = 0;
	char arguments[200], detail[200];
	for (int i = 0; i < NUMBER_OF_SOURCES; i++) parts += sources[i].part;
	each = 1e6 / parts / NUMBER_OF_WAYS / 2;
	for (int i = 0; i < NUMBER_OF_WAYS * NUMBER_OF_SOURCES * 2; i++) {
		const source* s = &sources[i / 2 % NUMBER_OF_SOURCES];
		snprintf(arguments, sizeof arguments, "%s %s %s %ld", ways[i / 2 / NUMBER_OF_SOURCES].name,
		         i % 2 ? "after" : "before", s->name, prove_share(each * s->part));
		long count = in_a_process(argv[0], arguments);
		if (count < 0) {
			failed++;
			fprintf(stderr, "failed: %s %s\n", argv[0], arguments);
		} else {
			tried += count;
		}
	}
	snprintf(detail, sizeof detail, "%d sources, %d kinds of handlers, installed before and after loading",
	         NUMBER_OF_SOURCES, NUMBER_OF_WAYS);
	return prove_told("deliveries of signals", tried, failed, detail);
}
