/* Leaks at the end of a process: what is reported, once, and with which status. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leak_reader.h"

static void* register_at_rest(void* nothing)
{
	tl_mem_new(96);
	return nothing;
}

static void* leave_a_scope_open(void* nothing)
{
	tl_mem_enter_scope();
	tl_mem_new(96);
	return nothing;
}

static void nothing_but(void) {}
static void leak_one(void) { forgetful(64); }
static void leave_scopes_open(void)
{
	tl_mem_enter_scope();
	tl_mem_new(64);
	tl_mem_function_enter(2);
}
static void end_a_thread(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, leave_a_scope_open, NULL) == 0) pthread_join(thread, NULL);
}
/* Whoever makes the next slow call releases what the thread has left: that is told, too. */
static void end_a_thread_and_go_on(void)
{
	end_a_thread();
	tl_mem_enter_scope();
	for (int i = 0; i < 5000; i++) tl_mem_new(64);
	tl_vec_new(100);
	tl_mem_exit_scope();
}
static void end_two_threads(void)
{
	end_a_thread();
	end_a_thread();
}
static void end_a_thread_and_shut_down(void)
{
	end_a_thread();
	if (tl_shutdown() != TL_OK || tl_shutdown() != TL_OK) _exit(97);
}
static void leak_and_shut_down(void)
{
	leak_one();
	if (tl_shutdown() != TL_OK) _exit(97);
}
static void* outlives;
static void release_late(void) { tl_ptr_release(outlives); }
/* As the static of a C++ program, or an array that Python still has. */
static void shut_down_first(void)
{
	atexit(release_late);
	tl_mem_enter_scope();
	outlives = tl_ptr_acquire(tl_mem_new(64));
	tl_mem_exit_scope();
	if (tl_shutdown() != TL_OK) _exit(97);
}
static void end_a_thread_at_rest(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, register_at_rest, NULL) == 0) pthread_join(thread, NULL);
}
static void* late;
static void free_late(void) { tl_mem_free(late); }
static void free_in_a_handler(void)
{
	late = forgetful(40);
	atexit(free_late);
}
static void run_no_destructor(void* object) { (void)object, _exit(99); }
static void leave_a_destructor(void)
{
	tl_type type;
	tl_type_desc description = {"never", 32, NULL, 0, run_no_destructor, 0};
	if (tl_type_define(&description, &type) == TL_OK) tl_object_new(type);
}
static void fork_and_leak(void)
{
	leak_one();
	if (fork() == 0) exit(0); /* the child's end says nothing */
	int status;
	wait(&status);
	if (status != 0) _exit(98);
	tl_configure("TL_LEAK_CHECK", "off");
}

static void* exit_when_empty(void* ctx, size_t bytes)
{
	static int calls;
	static _Alignas(64) char memory[1 << 16];
	(void)ctx;
	if (calls++ > 0 || bytes > sizeof memory) exit(5);
	return memory;
}
static void take_back(void* ctx, void* memory, size_t bytes) { (void)ctx, (void)memory, (void)bytes; }
/* The pool is locked while its allocator is asked. */
static void exit_from_inside_a_call(void)
{
	tl_device_allocator own = {sizeof own, "own", 64, NULL, exit_when_empty, take_back};
	tl_memory_pool* pool;
	if (tl_memory_pool_create(&own, 1 << 16, &pool) != TL_OK) _exit(97);
	for (int i = 0; i < 4; i++) tl_memory_pool_allocate(pool, 1 << 16);
	_exit(96);
}

static const struct ending {
	const char* name;
	void (*body)(void);
	const char* check;
	int status;
	const char* shows; /* on standard error; NULL = nothing */
} endings[] = {
	{"clean", nothing_but, "fail", 0, NULL},
	{"leak", leak_one, "fail", 23, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"leak-reported", leak_one, "report", 0, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"leak-unseen", leak_one, "off", 0, NULL},
	{"open", leave_scopes_open, "fail", 0, NULL},
	{"thread", end_a_thread, "fail", 23, "held by an open scope of a thread that has ended"},
	{"thread-goes-on", end_a_thread_and_go_on, "fail", 23, "Direct leak of 96 byte(s) in 1 object(s)"},
	{"threads", end_two_threads, "fail", 23, "SUMMARY: LeakSanitizer: 192 byte(s) leaked in 2 allocation(s)."},
	{"thread-shutdown", end_a_thread_and_shut_down, "fail", 23,
     "SUMMARY: LeakSanitizer: 96 byte(s) leaked in 1 allocation(s)."},
	{"shutdown", leak_and_shut_down, "fail", 23, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"shutdown-first", shut_down_first, "fail", 0, NULL},
	{"leak-word", leak_one, "1", 0, "Direct leak of 64 byte(s) in 1 object(s)"},
	{"leak-word-off", leak_one, "0", 0, NULL},
	{"rest", end_a_thread_at_rest, "fail", 0, NULL},
	{"handler", free_in_a_handler, "fail", 0, NULL},
	{"destructor", leave_a_destructor, "fail", 0, NULL},
	{"inside", exit_from_inside_a_call, "fail", 23,
     "leaks could not be looked for: exit() was called from inside a call"},
	{"inside", exit_from_inside_a_call, "off", 5, NULL},
	{"fork", fork_and_leak, "fail", 0, NULL},
};

static void end_as(const char* self, const struct ending* e, const char* track)
{
	char command[512];
	snprintf(command, sizeof command, "TL_LEAK_CHECK=%s TL_TRACK=%s %s %s 2>&1", e->check, track, self, e->name);
	FILE* pipe = popen(command, "r");
	size_t n = fread(report, 1, sizeof report - 1, pipe);
	report[n] = 0;
	int status = pclose(pipe);
	CHECK_INT(WEXITSTATUS(status), e->status);
	if (WEXITSTATUS(status) != e->status) fprintf(stderr, "%s: %s\n", e->name, report);
	CHECK(e->shows != NULL ? shows(e->shows) : hides("TL Runtime"));
	if (e->shows == NULL || strstr(e->shows, "could not") != NULL) return;
	if (*track == '0') CHECK(shows("Run with TL_TRACK=1"));
	const char* first = strstr(report, "ERROR: LeakSanitizer");
	CHECK(first != NULL && strstr(first + 1, "ERROR: LeakSanitizer") == NULL); /* told once */
	int groups, frames;
	CHECK(read_as_leak_sanitizers(&groups, &frames) > 0);
}

int main(int count, char** arguments)
{
	for (size_t i = 0; count > 1 && i < sizeof endings / sizeof *endings; i++) {
		if (strcmp(arguments[1], endings[i].name) != 0) continue;
		endings[i].body();
		return 0;
	}
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		end_as(arguments[0], &endings[i], "1");
		end_as(arguments[0], &endings[i], "0");
	}
	return check_finish();
}
