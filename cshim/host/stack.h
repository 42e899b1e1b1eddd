/* The stack that Go works on (stack.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Calls a function of the program's from C that Go has called, on the stack that the program's call came from. All
 * arguments are integers or addresses. */
uintptr_t tlc_call_program(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

/* TLC_WALK_BYTES in which the stack of a call is walked, since its caller's may be small; until Go is entered, or the walk
 * has ended. NULL: there are none. */
#define TLC_WALK_BYTES ((size_t)16 << 10)
void* tlc_begin_walk(bool* lent);
void tlc_end_walk(bool lent);

/* The part of the stack that Go may use, while the thread is on it. */
bool tlc_stack_of_go(uintptr_t bounds[2]);

/* Gives the stacks of ended threads to others from now on. Go has started. */
void tlc_watch_ends(void);

#pragma GCC visibility pop
