/* When Go starts and what it starts with, and what is left of loading; see entry_start.c. */
#ifndef TL_START_H
#define TL_START_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The first call maps tables of a few MiB where it is not given much. With less than this
 * it would be given too little (layout in runtime/object/slices.go). */
#define TLC_CALL_WRITABLE ((size_t)112 << 20)

#pragma GCC visibility push(hidden)

/* What the host's limits leave too little of; library.c has the sentences. */
typedef enum tlc_lack {
	TLC_LACKS_NOTHING,
	TLC_LACKS_THREADS,
	TLC_LACKS_ADDRESS_SPACE,
	TLC_LACKS_DATA,
	TLC_LACKS_MAPPINGS,
	TLC_LACKS_UNLOCKED,
	TLC_LACKS_DESCRIPTORS,
	TLC_LACKS_KEYS,
} tlc_lack;

/* Before the first call into Go: starts it if it has not been started, and makes the key of
 * thread-specific data. false: something lacks. Quietly (entry_signals.h) and under the entry guard's
 * start lock. */
bool tlc_start_go(pthread_key_t* key, void (*thread_ended)(void*));

/* What the newest try of a first use has found lacking. */
tlc_lack tlc_first_use_lacks(void);

/* Gives memory back that only loading the library needed. Once, when it has started. */
void tlc_forget_relocations(void);

/* entry_go_threads.c: starts the threads that Go will want, or none; then one of them runs body. */
typedef void* (*tlc_thread_body)(void*);
#define TLC_MOST_STACKS ((size_t)40 << 20)
tlc_lack tlc_keep_threads(void);
void tlc_run_thread(tlc_thread_body body, void* argument);

/* entry_go_memory.c: takes the memory that Go's start wants; drops it, if Go is not started after
 * all, or keeps what Go may want later; looks whether so much could be had. */
tlc_lack tlc_hold_memory(void);
void tlc_drop_memory(void);
void tlc_keep_memory(void);
tlc_lack tlc_look_for_memory(size_t bytes);

/* Whether there may be so many more mappings. Go's start makes 38. */
#define TLC_START_MAPPINGS 64
bool tlc_has_mappings(size_t count);

/* Whether Go may come to more memory: false after the system has refused some, as long as
 * it would again. What Go has in reserve is then left for calls that release. */
bool tlc_go_has_room(void);

#pragma GCC visibility pop

#endif
