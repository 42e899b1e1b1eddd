/* Call stacks (report_stacks.c). */
#ifndef TL_REPORT_STACKS_H
#define TL_REPORT_STACKS_H

#include <stddef.h>
#include <stdint.h>

enum { TLC_MOST_FRAMES = 48 };

typedef struct tlc_stack {
	size_t n;
	uintptr_t frames[TLC_MOST_FRAMES]; /* return addresses, innermost first */
	uintptr_t ends[TLC_MOST_FRAMES];   /* where on the stack each frame ends; UINTPTR_MAX for the last one */
} tlc_stack;

/* Takes this thread's frames. Code without unwind tables, such as a JIT compiler's that registers none, is the last
 * frame. */
__attribute__((visibility("hidden"))) void tlc_take_stack(tlc_stack* to);

#endif
