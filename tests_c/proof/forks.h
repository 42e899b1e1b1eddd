/* What a child of a busy program does; see forks.c. */
#pragma once

#include "limited.h"
#include "prove.h"

/* What a thread has when it forks. */
typedef struct stock {
	void* object;         /* one counted reference of the thread's */
	void* vec;            /* with the object in it */
	tl_tensor* tensor;    /* of the shape {length} */
	tl_memory_pool* pool; /* with a free block */
	void* watched;        /* memory from malloc whose deleter counts: */
	int *deletions, deletions_before;
	int64_t length; /* no other thread has tensors of it, and the pool keeps one */
} stock;

extern bool runs_fast; /* calls are served by the fast path */

/* One of these runs in each child. */
typedef void (*child_body)(const stock* s);
extern const struct child_kind {
	const char* name;
	child_body body;
} child_kinds[];
extern const int child_kind_count;

/* Ends the child, by exit() or not. */
_Noreturn void end_child(bool by_exit);

/* The deleter of what a stock watches. */
void count_deletion(void* block, void* deletions);
