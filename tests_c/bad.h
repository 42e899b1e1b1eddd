/* Pointers that must be refused, with the status each of them deserves. */
#pragma once

#include "check.h"

typedef struct bad_pointer {
	void* pointer;
	tl_status status;
} bad_pointer;

enum { BAD_POINTERS = 12 };

typedef struct bad_pointers {
	char *small, *large; /* live; the interior pointers point into them */
	bad_pointer of[BAD_POINTERS];
} bad_pointers;

static char bad_static_memory[64];

/* Releasing the newest object and not allocating its size again keeps it dead. */
static inline void* bad_dead_object(size_t bytes)
{
	void* object = tl_mem_alloc(bytes);
	CHECK_OK(tl_ptr_release(object));
	return object;
}

static inline bad_pointers bad_make(void)
{
	char* small = tl_mem_alloc(96);
	char* large = tl_mem_alloc(1 << 20);
	bad_pointers bad = {
		.small = small,
		.large = large,
		.of =
			{
				{(void*)1, TL_E_UNKNOWN_POINTER},
				{(void*)0x1230, TL_E_UNKNOWN_POINTER},
				{(void*)~(uintptr_t)31, TL_E_UNKNOWN_POINTER},
				{bad_static_memory, TL_E_UNKNOWN_POINTER},
				{small + 1, TL_E_INTERIOR_POINTER},
				{small + 32, TL_E_INTERIOR_POINTER},
				{small + 95, TL_E_INTERIOR_POINTER},
				{large + 64, TL_E_INTERIOR_POINTER},
				{large + 65536, TL_E_INTERIOR_POINTER},
				{large + (1 << 20) - 1, TL_E_INTERIOR_POINTER},
				{bad_dead_object(224), TL_E_NOT_LIVE},
				{bad_dead_object(3 << 20), TL_E_NOT_LIVE},
			},
	};
	return bad;
}

static inline void bad_drop(bad_pointers* bad)
{
	CHECK_COUNT(bad->small, 1);
	CHECK_COUNT(bad->large, 1);
	CHECK_OK(tl_ptr_release(bad->small));
	CHECK_OK(tl_ptr_release(bad->large));
}

/* Evaluates call, an expression over `bad`, for every bad pointer. It must return
 * value (BAD_STATUS stands for the status itself) and leave that status. */
#define BAD_STATUS INT64_C(-1000)
#define CHECK_REFUSES(call, value)                                                                         \
	do {                                                                                                   \
		bad_pointers bad_all = bad_make();                                                                 \
		for (int bad_i = 0; bad_i < BAD_POINTERS; bad_i++) {                                               \
			void* bad = bad_all.of[bad_i].pointer;                                                         \
			tl_status bad_want = bad_all.of[bad_i].status;                                                 \
			tl_clear_error();                                                                              \
			int64_t bad_got = (int64_t)(call);                                                             \
			check_int(bad_got, (value) == BAD_STATUS ? bad_want : (value), __FILE__, __LINE__, #call);     \
			check_status(tl_last_status(), bad_want, __FILE__, __LINE__, "tl_last_status() after " #call); \
		}                                                                                                  \
		bad_drop(&bad_all);                                                                                \
	} while (0)
#define CHECK_REFUSES_STATUS(call) CHECK_REFUSES(call, BAD_STATUS)
#define CHECK_REFUSES_NULL(call) CHECK_REFUSES((intptr_t)(call), 0)
