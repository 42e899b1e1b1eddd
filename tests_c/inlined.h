/* A program's inlined operations: what tests of all their sections need. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "thread.h"
#include "tl_inline.h"

enum { ANOTHER_VERSION = TL_INLINE_VERSION + 1 };

static inline bool is_option(const char* name, const char* value)
{
	const char* is = getenv(name);
	return is != NULL && strcmp(is, value) == 0;
}

/* Whether this thread's operations are answered where they stand. */
static inline bool is_fast(void) { return !is_option("TL_FASTPATH", "0") && !is_option("TL_DEBUG", "1"); }

static inline void* context_now(void) { return tl_context(TL_INLINE_VERSION); }

/* Whether an allocation from this context needs no call. */
static inline bool answers(void* context)
{
	void* object;
	if (!tl_inl_op_mem_alloc(context, 64, &object)) return false;
	CHECK_COUNT(object, 1);
	CHECK_OK(tl_mem_free(object));
	return true;
}

static inline bool answers_now(void)
{
	CHECK_OK(tl_mem_free(tl_mem_alloc(64))); /* the magazine is not empty */
	return answers(context_now());
}

static inline tl_inl_thread begin(void)
{
	tl_inl_thread thread;
	tl_inl_begin(&thread);
	return thread;
}

/* A thread whose code was compiled for another version. */
static inline tl_inl_thread with_zeros(void)
{
	tl_inl_thread thread;
	tl_inl_begin_at(&thread, tl_context_address(ANOTHER_VERSION));
	return thread;
}

/* Runs an operation on zeros: it makes the call, and leaves no context. */
#define ON_ZEROS(...)                        \
	do {                                     \
		tl_inl_thread thread = with_zeros(); \
		CHECK(!answers(thread.context));     \
		__VA_ARGS__;                         \
		CHECK(thread.context == NULL);       \
	} while (0)

/* A thread's body that takes and gives objects. */
static inline void* use_the_runtime(void* unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++) {
		CHECK_OK(tl_mem_enter_scope());
		CHECK(tl_mem_new(64) != NULL);
		CHECK_OK(tl_mem_exit_scope());
	}
	return NULL;
}

/* Runs body in a forked child, in which its checks are to hold as well. */
static inline void in_a_child(void (*body)(void*), void* argument)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		alarm(30);
		check_failures = 0;
		body(argument);
		_exit(check_failures != 0);
	}
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}
