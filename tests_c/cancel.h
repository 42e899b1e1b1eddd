/* Threads that are cancelled at a chosen moment, for cancel_test.c and the proof suite. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "thread.h"

static void wait_microseconds(double microseconds)
{
	double end = check_seconds() + microseconds * 1e-6;
	while (check_seconds() < end) {}
}

static void cancelled_after(void* (*body)(void*), double microseconds)
{
	void* result = NULL;
	pthread_t thread = start_thread(body, NULL);
	wait_microseconds(microseconds);
	CHECK_INT(pthread_cancel(thread), 0);
	CHECK_INT(pthread_join(thread, &result), 0);
	CHECK_PTR(result, PTHREAD_CANCELED);
}

/* ---- the first call of a process ------------------------------------------------------- */

static void* starts(void* unused)
{
	tl_init();
	for (;;) pthread_testcancel();
	return unused;
}

static void* calls_after_it(void* unused)
{
	CHECK_OK(tl_init());
	CHECK_OK(tl_ptr_release(tl_mem_alloc(64)));
	return unused;
}

/* What a process does that was started for it. */
static int cancels_its_first_call(const char* microseconds)
{
	alarm(60);
	cancelled_after(starts, atof(microseconds));
	run_thread(calls_after_it, NULL);
	calls_after_it(NULL);
	return check_finish();
}

/* The exit status of the program at self, started for that. */
static int in_a_new_process(const char* self, double microseconds)
{
	char text[32];
	int status = 0;
	snprintf(text, sizeof text, "%g", microseconds);
	pid_t child = fork();
	if (child == 0) {
		if (freopen("/dev/null", "w", stdout) == NULL) _exit(126);
		execl(self, self, text, (char*)NULL);
		_exit(127);
	}
	CHECK(waitpid(child, &status, 0) == child);
	return status;
}

/* ---- later calls ------------------------------------------------------------------------ */

static void calls_of_all_kinds(void)
{
	tl_mem_enter_scope();
	void* vec = tl_vec_new(2);
	tl_vec_push(vec, tl_mem_new(64));
	tl_ptr_release((void*)0x1001);
	tl_last_error();
	tl_configure("TL_MEM_LOG", "0");
	tl_mem_exit_scope();
}

static void* calls_until_cancelled(void* unused)
{
	for (;;) {
		calls_of_all_kinds();
		pthread_testcancel();
	}
	return unused;
}
