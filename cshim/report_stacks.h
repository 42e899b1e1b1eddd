/* Call stacks (report_stacks.c). */
#ifndef TL_REPORT_STACKS_H
#define TL_REPORT_STACKS_H

#include <stddef.h>
#include <stdint.h>

enum { TLC_MOST_FRAMES = 48 };

/* This thread's frames, innermost first, at most TLC_MOST_FRAMES. Code without unwind tables, such as a JIT compiler's
 * that registers none, is the last frame. */
__attribute__((visibility("hidden"))) size_t tlc_take_stack(uintptr_t* frames);

#endif
