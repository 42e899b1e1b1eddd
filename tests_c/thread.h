/* Threads for the tests: start or stop the program, never a status to look at. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREAD_STACK_BYTES = 128 * 1024 };

/* The body of a thread whose result nobody wants. */
#define THREAD(name, argument)               \
	static void name##_body(void* argument); \
	static void* name(void* argument)        \
	{                                        \
		name##_body(argument);               \
		return NULL;                         \
	}                                        \
	static void name##_body(__attribute__((unused)) void* argument)

/* A thread with a small stack, so that thousands fit and recursion would show. */
static inline pthread_t start_thread(void* (*body)(void*), void* argument)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
	if (pthread_create(&thread, &attributes, body, argument) != 0) {
		perror("pthread_create");
		exit(1);
	}
	pthread_attr_destroy(&attributes);
	return thread;
}

static inline void run_thread(void* (*body)(void*), void* argument)
{
	pthread_join(start_thread(body, argument), NULL);
}

static inline void meet(void* barrier) { pthread_barrier_wait((pthread_barrier_t*)barrier); }
