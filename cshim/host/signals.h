/* The program's signal handlers and Go; see signals.c. */
#pragma once

#include <signal.h>

#pragma GCC visibility push(hidden)

/* What a thread had before it was made quiet. */
typedef struct tlc_quiet {
	sigset_t mask;
	int cancel_state;
} tlc_quiet;

/* Until tlc_end_quiet the thread is not cancelled, and no handler of the program runs on it,
 * because the stacks that Go makes or grows meanwhile have no room for one. Faults stay as they
 * are. */
void tlc_begin_quiet(tlc_quiet* before);
void tlc_end_quiet(const tlc_quiet* before);

/* The mask that the program has given the calling thread, which has the mask `now`. */
const sigset_t* tlc_program_mask(const sigset_t* now);

/* Around each entry into Go. On arm64 Go keeps frame pointers below the stack pointer, where the
 * kernel puts the frame of a handler that runs on the same stack: handlers wait there until the
 * thread has left Go. */
#if defined(__aarch64__)
void tlc_hold_handlers(void);
void tlc_release_handlers(void);
#else
static inline void tlc_hold_handlers(void) {}
static inline void tlc_release_handlers(void) {}
#endif

/* Once Go has installed its handlers, at load: gives the program back what it had. Until Go is up, a crash of the program
 * ends as it would without the library. */
void tlc_take_handlers_back(void);

/* When Go is up: installs Go's handlers, except where the program has changed its own since the load. */
void tlc_let_go_handle(void);

/* Makes Go leave SIGCHLD and SIGPROF blocked on its threads. Called before its first thread exists. */
void tlc_keep_blocked(void);

#pragma GCC visibility pop
