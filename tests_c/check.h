/* Assertions for the test programs.
 *
 * A failed check prints file, line and both values, and the program goes on, so
 * that one run shows every failure; check_finish turns failures into the exit
 * status. Every TEST of a file is run, in the order of the file, and held to the
 * same end: no scope left open, and as many live objects, bytes and foreign
 * pointers as before it. RUN does that with a function that is no TEST.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tl_runtime.h"

/* A function that is looked for on the stack has a frame of its own, under its own name. So has each TEST. */
#ifdef __clang__
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME __attribute__((noinline, noclone))
#endif

#if defined(__has_feature) /* clang's way to say __SANITIZE_ADDRESS__ */
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN
#endif

#ifdef UNDER_ASAN
/* A forked child does not look for leaks when it exits: LeakSanitizer takes all locks of AddressSanitizer's malloc,
 * and a thread that the child has not got may have held one of them at the fork. */
#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) pid_t check_process;
__attribute__((constructor)) static void check_keep_process(void) { check_process = getpid(); }
__attribute__((weak, visibility("default"))) int __lsan_is_turned_off(void) { return getpid() != check_process; }
#ifdef __cplusplus
}
#endif
#endif

/* Of all files of a program. */
__attribute__((weak)) long check_count;
__attribute__((weak)) long check_failures;

enum { CHECK_MAX_FAILURES = 25 };

/* Counts one check; true when the caller should print its values. */
static inline bool check_failed(bool good)
{
	__atomic_add_fetch(&check_count, 1, __ATOMIC_RELAXED);
	if (good) return false;
	if (__atomic_add_fetch(&check_failures, 1, __ATOMIC_RELAXED) == CHECK_MAX_FAILURES) {
		fprintf(stderr, "too many failures, stopping\n");
		exit(1);
	}
	return true;
}

/* n, or half of what fits where TL_ARENA_BYTES is small or address space short. Each scope
 * entry and each open scope takes so many bytes of a part that is as large as the arena. */
enum { CHECK_ENTRY_BYTES = 16, CHECK_SCOPE_BYTES = 256 };
static inline int64_t check_fitting(int64_t n, int64_t bytes)
{
	if (tl_arena_init(0) != TL_OK) return 0;
	int64_t most = tl_arena_get_capacity() / bytes / 2;
	tl_arena_free();
	return n < most ? n : most;
}

static inline void check_true(bool good, const char* file, int line, const char* text)
{
	if (check_failed(good)) fprintf(stderr, "%s:%d: not true: %s\n", file, line, text);
}

static inline void check_int(int64_t got, int64_t want, const char* file, int line, const char* text)
{
	if (check_failed(got == want))
		fprintf(stderr, "%s:%d: %s is %" PRId64 ", want %" PRId64 "\n", file, line, text, got, want);
}

static inline void check_pointer(const void* got, const void* want, const char* file, int line, const char* text)
{
	if (check_failed(got == want)) fprintf(stderr, "%s:%d: %s is %p, want %p\n", file, line, text, got, want);
}

static inline void check_status(tl_status got, tl_status want, const char* file, int line, const char* text)
{
	if (check_failed(got == want))
		fprintf(stderr, "%s:%d: %s is %s, want %s; last error: %s\n", file, line, text, tl_status_string(got),
		        tl_status_string(want), tl_last_error());
}

/* Whether a signal handler can interrupt a call of the slow path: on arm64 it waits. */
#if defined(__aarch64__)
enum { HANDLERS_INTERRUPT_CALLS = 0 };
#else
enum { HANDLERS_INTERRUPT_CALLS = 1 };
#endif

#define CHECK(condition) check_true((condition) ? true : false, __FILE__, __LINE__, #condition)
#define CHECK_INT(got, want) check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_PTR(got, want) check_pointer((got), (want), __FILE__, __LINE__, #got)
#define CHECK_STATUS(got, want) check_status((got), (want), __FILE__, __LINE__, #got)
#define CHECK_OK(got) CHECK_STATUS(got, TL_OK)
#define CHECK_COUNT(object, want) CHECK_INT(tl_ptr_refcount(object), want)
#define CHECK_DEAD(object) CHECK_INT(tl_ptr_refcount(object), -1)

/* A call that returns a status, and leaves the same one as the thread's last. */
#define CHECK_FAILS(call, want)                                                                    \
	do {                                                                                           \
		tl_clear_error();                                                                          \
		CHECK_STATUS(call, want);                                                                  \
		check_status(tl_last_status(), want, __FILE__, __LINE__, "tl_last_status() after " #call); \
	} while (0)

/* A call that returns NULL, 0, -1 or false and tells why in tl_last_status. */
#define CHECK_REFUSED(call, value, want)                                                           \
	do {                                                                                           \
		tl_clear_error();                                                                          \
		CHECK_INT((intptr_t)(call), (intptr_t)(value));                                            \
		check_status(tl_last_status(), want, __FILE__, __LINE__, "tl_last_status() after " #call); \
	} while (0)

static inline tl_stats check_stats(void)
{
	tl_stats stats;
	memset(&stats, 0, sizeof stats);
	stats.struct_size = sizeof stats;
	CHECK_OK(tl_stats_get(&stats));
	return stats;
}

static inline uint64_t check_slow_calls(void) { return check_stats().slow_calls; }

typedef struct check_balance {
	int64_t depth;
	uint64_t objects, bytes, foreign;
} check_balance;

static inline check_balance check_take_balance(void)
{
	tl_stats stats;
	memset(&stats, 0, sizeof stats);
	stats.struct_size = sizeof stats;
	tl_stats_get(&stats);
	check_balance balance = {tl_get_scope_depth(), stats.live_objects, stats.live_bytes, stats.foreign_live};
	return balance;
}

static inline void check_same_balance(check_balance before, const char* test)
{
	check_balance now = check_take_balance();
	if (check_failed(now.depth == before.depth))
		fprintf(stderr, "%s: scope depth %" PRId64 " became %" PRId64 "\n", test, before.depth, now.depth);
	if (check_failed(now.objects == before.objects && now.bytes == before.bytes))
		fprintf(stderr, "%s: live objects %" PRIu64 " became %" PRIu64 ", bytes %" PRIu64 " became %" PRIu64 "\n", test,
		        before.objects, now.objects, before.bytes, now.bytes);
	if (check_failed(now.foreign == before.foreign))
		fprintf(stderr, "%s: live foreign pointers %" PRIu64 " became %" PRIu64 "\n", test, before.foreign,
		        now.foreign);
}

#define RUN(test)                                           \
	do {                                                    \
		check_balance before_##test = check_take_balance(); \
		test();                                             \
		check_same_balance(before_##test, #test);           \
	} while (0)

typedef struct check_test {
	void (*run)(void);
	const char* name;
	int line;
	struct check_test* next;
} check_test;

static check_test* check_first_test;

/* Compilers choose the order of constructors: a file's tests are sorted by their lines. */
static inline void check_add(check_test* test)
{
	check_test** place = &check_first_test;
	while (*place != NULL && (*place)->line < test->line) place = &(*place)->next;
	test->next = *place;
	*place = test;
}

#define TEST(test)                                                           \
	static void test(void);                                                  \
	__attribute__((constructor)) static void check_add_##test(void)          \
	{                                                                        \
		static check_test check_test_##test = {test, #test, __LINE__, NULL}; \
		check_add(&check_test_##test);                                       \
	}                                                                        \
	OWN_FRAME static void test(void)

/* A test whose body has a scope of its own. */
#define TEST_IN_SCOPE(test)                  \
	static void check_scope_of_##test(void); \
	TEST(test)                               \
	{                                        \
		CHECK_OK(tl_mem_enter_scope());      \
		check_scope_of_##test();             \
		CHECK_OK(tl_mem_exit_scope());       \
	}                                        \
	static void check_scope_of_##test(void)

static inline void check_run(void)
{
	for (const check_test* test = check_first_test; test != NULL; test = test->next) {
		check_balance before = check_take_balance();
		test->run();
		check_same_balance(before, test->name);
	}
}

/* Objects that a test made immortal: they stay, and nothing else does. */
static uint64_t check_immortals;

/* The end of a program: nothing else is live. Returns the exit status. */
static inline int check_finish(void)
{
	check_balance end;
	tl_mem_purge();
	end = check_take_balance();
	check_int(end.depth, 0, "at the end", 0, "scope depth");
	check_int((int64_t)end.objects, (int64_t)check_immortals, "at the end", 0, "live objects");
	if (check_immortals == 0) check_int((int64_t)end.bytes, 0, "at the end", 0, "live bytes");
	check_int((int64_t)end.foreign, 0, "at the end", 0, "live foreign pointers");
	if (check_failures != 0) {
		fprintf(stderr, "%ld of %ld checks failed\n", check_failures, check_count);
		return 1;
	}
	printf("%ld checks passed\n", check_count);
	return 0;
}

static inline int check_tests(void)
{
	check_run();
	return check_finish();
}

/* Waits for a child. Returns its exit status; -1: it ended otherwise. */
static inline int check_exit_of(pid_t child)
{
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
	return WEXITSTATUS(status);
}

/* A body for threads. */
static inline void* check_release(void* object)
{
	CHECK_OK(tl_ptr_release(object));
	return NULL;
}

static inline double check_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* xorshift64*: reproducible and good enough; the state must not be 0. */
static inline uint64_t check_random(uint64_t* state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}
