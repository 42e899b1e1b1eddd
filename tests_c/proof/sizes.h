/* Memory of every size, by every function that takes one.
 *
 *   sizes.c        what is done with a block of each size
 *   sizes_kinds.c  the functions whose memory has that size
 *   sizes_others.c functions whose size is one of something else, or of memory that is there
 */
#pragma once

#include "check.h"

/* A block that somebody has. */
typedef struct block {
	void* owner; /* what is given back: an object, a tensor, a workspace */
	char* at;    /* the memory that may be used */
} block;

/* A function that takes a size, and how its memory goes back. */
typedef struct kind {
	const char* name;
	bool (*make)(size_t bytes, block* out);
	void (*end)(block of, size_t bytes);
	/* NULL, or the block with another size; false: refused, and the block is as it was. */
	bool (*resize)(block* of, size_t bytes);
	size_t most; /* bytes; 0: no bound */
	size_t unit; /* sizes are multiples of it; 0: any */
	size_t alignment;
	bool zeroed;
	bool guarded; /* TL_DEBUG finds a write to the byte behind it */
} kind;

extern const kind kinds[];
extern const int kind_count;

/* Tries the functions of sizes_others.c; the arena is empty, and of no use to others. */
enum { OTHERS = 9 };
void sizes_of_others(size_t bytes);

/* What has to be there: an arena, a function with slots, pools. */
void kinds_open(void);
void kinds_close(void);
