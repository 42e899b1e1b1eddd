/* Every function that says `Cost: fast` or `Cost: grows`, called with what varies: sizes, shapes, lengths, kinds of
 * objects, scopes, threads.
 *
 * kinds_table.h is generated from capi/. A function in it has a driver, DRIVE(name), which makes what the function
 * needs, calls it inside CALL, and lets go of what came of it; what it does outside of CALL is not counted. A function
 * without a driver fails the link. */
#pragma once

#include <stdatomic.h>

#include "check.h"
#include "kinds_table.h"

#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#ifdef CALLGRIND_TOGGLE_COLLECT
#define KINDS_COUNTS_INSTRUCTIONS true
#else
#define KINDS_COUNTS_INSTRUCTIONS false
#define CALLGRIND_TOGGLE_COLLECT ((void)0)
#define CALLGRIND_ZERO_STATS ((void)0)
#define CALLGRIND_DUMP_STATS_AT(name) ((void)(name))
#endif

enum {
	KINDS_LARGEST = 32 << 20, /* bytes */
	KINDS_LENGTH = 10000,     /* elements of a Vec, references of a scope, rows */
	KINDS_ENTRIES = 100000,   /* of the scope in which a driver works */
	KINDS_HELD = 64,
	KINDS_RANK = 8
};

typedef _Atomic(void*) kinds_held[KINDS_HELD];

/* What a driver works with, on one thread. */
typedef struct kinds_world {
	uint64_t random;
	uint64_t calls, entered; /* calls of the function, and of them those that called the slow path */
	double sampled;          /* calls that may be recorded, where allocations are sampled */
	double period;           /* bytes for each of them; 0: none are */
	size_t largest;          /* bytes of one request */
	size_t touched;          /* bytes that this round has written */
	kinds_held* held;        /* objects that wait for their end; of two threads, where there are two */
	void** entries;          /* of the scope that is open */
	int64_t entry_count;
	int64_t rank, shape[KINDS_RANK];
	int32_t dtype;
	/* What lasts for a round, where a driver has asked for it. */
	void *vec, *object, *block, *array;
	size_t object_bytes, array_bytes;
	tl_sparse* sparse;
	int64_t rows;
	tl_workspace* workspace;
	void *pool_blocks[KINDS_HELD], *numpy_blocks[KINDS_HELD];
	uint64_t buffer;
	const char* apart; /* why a function cannot be driven here */
} kinds_world;

#define KINDS_DECLARE(name, kind) void drive_##name(kinds_world* w);
KINDS(KINDS_DECLARE)
#define DRIVE(name) void drive_##name(kinds_world* w)

uint64_t kinds_slow_calls(void); /* of this thread */

/* Counts one call. */
#define CALL(statement)                                  \
	do {                                                 \
		uint64_t before_call = kinds_slow_calls();       \
		CALLGRIND_TOGGLE_COLLECT;                        \
		statement;                                       \
		CALLGRIND_TOGGLE_COLLECT;                        \
		w->entered += kinds_slow_calls() != before_call; \
		w->calls++;                                      \
	} while (0)

static inline uint64_t below(kinds_world* w, uint64_t n) { return check_random(&w->random) % n; }
static inline bool one_in(kinds_world* w, uint64_t n) { return below(w, n) == 0; }

uint64_t kinds_log_uniform(kinds_world* w, uint64_t most); /* 1 to most */
size_t kinds_bytes(kinds_world* w);
size_t kinds_bytes_to(kinds_world* w, size_t most);
size_t kinds_noted(kinds_world* w, size_t bytes); /* an allocation of so many bytes may be recorded */
int64_t kinds_length(kinds_world* w);             /* 0 to KINDS_LENGTH */

/* Sets rank, shape and dtype, of no more than `largest` bytes; at_least and at_most bound the rank. */
void kinds_shape(kinds_world* w, int64_t at_least, int64_t at_most);
size_t kinds_shape_bytes(const kinds_world* w);
size_t kinds_shape_elements(const kinds_world* w);

/* In the scope that is open. */
tl_tensor* kinds_tensor(kinds_world* w, int64_t at_least, int64_t at_most);
void* kinds_vec(kinds_world* w, int64_t length);
void* kinds_object(kinds_world* w); /* plain, typed, with a destructor, a Vec or a tensor */
void* kinds_any(kinds_world* w);    /* one of them, or a block of malloc's */
void* kinds_entry(kinds_world* w);  /* one of those that the round began with */

/* With a floating reference; of the other thread, where there is one. */
void* kinds_loose(kinds_world* w, void* (*make)(kinds_world* w));
void* kinds_plain(kinds_world* w);
void* kinds_one_tensor(kinds_world* w);

/* A pointer that is nobody's. */
void* kinds_nobody(kinds_world* w);

void kinds_let_go(kinds_world* w, void* object); /* of a floating reference */
void kinds_drop(kinds_world* w, void* object);   /* of one that the scope holds */

void kinds_start(void);
void kinds_open_scope(kinds_world* w, int64_t entries);
void kinds_close_scope(kinds_world* w);
void kinds_end_lasting(kinds_world* w); /* what drivers have made that no scope holds */
void kinds_release_held(kinds_held* held);

extern tl_type kinds_fields, kinds_leaf, kinds_destroyed;
extern tl_memory_pool* kinds_pool;
extern atomic_long kinds_ended;                         /* by destructors and deleters */
extern char kinds_source[KINDS_LARGEST + KINDS_LENGTH]; /* what is copied from; nobody writes to it */
void kinds_deleter(void* pointer, void* ctx);
