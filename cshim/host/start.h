/* The start of Go, its threads and memory, and memory that only loading needs; see start.c. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The priority of constructors that run before Go's start, which is one without a priority. */
#define TLC_BEFORE_GO 101

/* The first call maps tables, of a few MiB if memory is limited. With less than this they would be
 * too small (layout in runtime/object/slices.go). */
#define TLC_CALL_WRITABLE ((size_t)112 << 20)

#pragma GCC visibility push(hidden)

/* Why Go is not started: the resource that the host's limits leave too little of, or a variable that makes Go end the
 * process; report/errors.c has the sentences. */
typedef enum tlc_lack {
	TLC_LACKS_NOTHING,
	TLC_LACKS_THREADS,
	TLC_LACKS_ADDRESS_SPACE,
	TLC_LACKS_DATA,
	TLC_LACKS_MAPPINGS,
	TLC_LACKS_UNLOCKED,
	TLC_LACKS_DESCRIPTORS,
	TLC_LACKS_KEYS,
	TLC_REFUSES_GOMEMLIMIT,
	TLC_REFUSES_GOMAXPROCS,
	TLC_REFUSES_GODEBUG,
} tlc_lack;

/* Before the first call into Go: starts it if it has not been started, and makes the key of
 * thread-specific data. Otherwise tlc_first_use_lacks tells why not. The caller is quiet (signals.h), holds the
 * entry guard's start lock and has filled the standard descriptors that are closed. */
int32_t tlc_start_go(pthread_key_t* key, void (*thread_ended)(void*));

/* Notes what the library's own tables lacked, which Go could not map after its start. */
void tlc_tables_were_refused(void);

/* The resource that the newest attempt at a first use lacked. */
tlc_lack tlc_first_use_lacks(void);

/* Gives back memory that only loading needed. Called once, after the start. */
void tlc_forget_relocations(void);

/* go_threads.c: starts the threads that Go will need, or none; then one of them runs body. */
#define TLC_MOST_STACKS ((size_t)40 << 20)
tlc_lack tlc_keep_threads(void);
void tlc_run_thread(void* (*body)(void*), void* argument);

/* go_memory.c: obtains the memory that Go's start needs; drops it, if Go is not started after
 * all, or keeps what Go may need later; tests whether so much is available. */
tlc_lack tlc_hold_memory(void);
void tlc_drop_memory(void);
void tlc_keep_memory(void);
tlc_lack tlc_look_for_memory(size_t bytes);

/* Whether the system allows that many more mappings. */
bool tlc_has_mappings(size_t count);

/* Whether membarrier works in this process. It does if the process had one thread when the library was loaded and the
 * kernel has it (alone.c). */
bool tlc_has_barrier(void);

/* Whether Go can obtain more memory: false after the system has refused some, as long as it would
 * refuse again. Go's reserve is then left for calls that release memory. */
bool tlc_go_has_room(void);

#pragma GCC visibility pop
