/* Calls on a small stack that was painted before: how much of it they write to. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	SMALL_STACK_BYTES = 16 << 10, /* PTHREAD_STACK_MIN */
	SMALL_STACK_MOST = 8 << 10,   /* what the library takes of it: docs/limits.md */
	SMALL_STACK_PAINT = 0xA5,
};

typedef struct small_stack {
	char* low; /* below it no page can be touched */
	char* top; /* where the call began */
	ucontext_t caller, callee;
	void (*body)(void*);
	void* argument;
} small_stack;

static inline void small_stack_open(small_stack* s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char* at = mmap(NULL, page + SMALL_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at, page, PROT_NONE) != 0) {
		perror("mmap");
		exit(1);
	}
	s->low = at + page;
}

static inline void small_stack_close(const small_stack* s)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	munmap(s->low - page, page + SMALL_STACK_BYTES);
}

static inline void small_stack_paint(char* low, size_t bytes) { memset(low, SMALL_STACK_PAINT, bytes); }

/* Bytes from the lowest one that was written to up to the top. */
static inline size_t small_stack_depth(const char* low, const char* top)
{
	const char* p = low;
	while (p < top && *p == (char)SMALL_STACK_PAINT) p++;
	return (size_t)(top - p);
}

static inline void small_stack_enter(unsigned high, unsigned low)
{
	small_stack* s = (small_stack*)((uintptr_t)high << 32 | low);
	s->top = __builtin_frame_address(0);
	s->body(s->argument);
	swapcontext(&s->callee, &s->caller);
}

/* Calls body(argument) on the stack and returns how deep it went. */
static inline size_t small_stack_call(small_stack* s, void (*body)(void*), void* argument)
{
	uintptr_t self = (uintptr_t)s;
	s->body = body;
	s->argument = argument;
	small_stack_paint(s->low, SMALL_STACK_BYTES);
	getcontext(&s->callee);
	s->callee.uc_stack.ss_sp = s->low;
	s->callee.uc_stack.ss_size = SMALL_STACK_BYTES;
	s->callee.uc_link = NULL;
	makecontext(&s->callee, (void (*)(void))(uintptr_t)small_stack_enter, 2, (unsigned)(self >> 32), (unsigned)self);
	swapcontext(&s->caller, &s->callee);
	return small_stack_depth(s->low, s->top);
}
