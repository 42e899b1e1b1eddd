/* Call stacks (stacks.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	TLC_MOST_FRAMES = 48, /* of C that are recorded */
	TLC_MOST_WALKED =
		160, /* of C where Python runs: a call from Python to C and back has a dozen of the interpreter's */
};

typedef struct tlc_stack {
	size_t n;
	uintptr_t frames[TLC_MOST_WALKED]; /* return addresses, innermost first */
} tlc_stack;

typedef void (*tlc_stack_use)(const tlc_stack* stack, void* argument);

/* Takes up to `most` of this thread's frames and hands them to a function. Code without unwind tables, such as a JIT compiler's that
 * registers none, is the last frame. The caller keeps no such stack in its own frame, where copies of addresses of the
 * stack would be taken for saved registers (stacks.c). */
__attribute__((visibility("hidden"))) void tlc_take_stack(size_t most, tlc_stack_use use, void* argument);
