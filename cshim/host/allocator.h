/* The program's malloc, which need not be the C library's: what a program registers are blocks of its
 * malloc, and its own free takes them. A library that was loaded with RTLD_DEEPBIND sees the C library's
 * functions first, so that a call by name would mean another malloc than the program's. Everything that
 * frees, resizes or measures a block of the program's, and what makes one for it, goes through here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Written once, at load. Before that it has the functions that a call by name means. */
typedef struct tlc_host_malloc {
	void* (*malloc)(size_t bytes);
	void* (*calloc)(size_t count, size_t bytes_each);
	void* (*realloc)(void* block, size_t bytes);
	void (*free)(void* block);
	size_t (*usable)(void* block); /* 0: no block, or the program's malloc does not tell */
	int (*aligned)(void** block, size_t alignment, size_t bytes);
	void (*free_aligned)(void* block); /* what `aligned` made */
	uintptr_t misaligned;              /* the bits that no address of a block has */
	bool tells;                        /* how large a block is */
	bool has_headers;                  /* it is the C library's: 16 bytes before each block can be read */
} tlc_host_malloc;

extern tlc_host_malloc tlc_host;

#pragma GCC visibility pop
