/* Which frames can be stepped out of (unwinding.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unwind.h>

/* What is known from step to step; zeros at the start. */
typedef struct tlc_known {
	uintptr_t low, high; /* part of the stack that can be read */
	uintptr_t address;   /* that was looked up last, for the next frame; its table, and the function that it is of */
	const void* table;
	uintptr_t function;
	bool by_stack; /* the frame that was looked at ends by the stack's pointer or the frame's */
} tlc_known;

typedef struct tlc_caller_frame {
	uintptr_t address, sp;
} tlc_caller_frame;

/* What the unwinder may do in a frame. */
typedef enum tlc_step {
	TLC_STEP,       /* go on to the caller */
	TLC_STEP_LAST,  /* nothing: the caller, *caller, has no unwind tables */
	TLC_STEP_NEVER, /* nothing: the caller is not known */
} tlc_step;

/* A word of this thread's stack, whatever a sanitizer thinks of that place. */
static inline __attribute__((no_sanitize("address"))) uintptr_t tlc_stack_word(uintptr_t at)
{
	return *(const uintptr_t*)at;
}

/* `at` is the frame, `pc` its address, inside the call unless a signal came there. */
__attribute__((visibility("hidden"))) tlc_step tlc_may_step(struct _Unwind_Context* at, uintptr_t pc, bool signal,
                                                            tlc_known* known, tlc_caller_frame* caller);
