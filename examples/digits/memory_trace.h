/* memory_malloc.h with every allocation and release written down, in the form that bench/src/trace.hpp reads:
 * `a ID BYTES` and `f ID`, where the IDs of released blocks are used again. What is live at the end is released there.
 * DIGITS_TRACE names the file. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

void* trace_malloc(size_t bytes);
void* trace_calloc(size_t count, size_t bytes);
void trace_free(void* block);

#define malloc trace_malloc
#define calloc trace_calloc
#define free trace_free
#include "memory_malloc.h"
#undef malloc
#undef calloc
#undef free
