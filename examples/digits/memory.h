/* What the training program asks of its memory.
 *
 * train.c is written once against these names and compiled twice. memory_tl.h answers through the runtime: scopes,
 * frames and counts give everything back, and the calls of the group "by hand" compile to nothing. memory_malloc.h
 * answers with malloc and free: there the scopes compile to nothing, and only the calls "by hand" give memory back.
 * Neither side does work that only the other one needs.
 *
 *   function_enter(slots), function_exit()   around a function body
 *   scope_enter(), scope_exit()              around a block or a loop iteration
 *   tensor_new(rows, columns)                a matrix of floats, owned by the innermost scope
 *   tensor_in_slot(slot, rows, columns)      the same for values that die with the function
 *   tensor_data(t)                           its floats
 *   tensor_return(t), tensor_own(t)          callee gives the value away; caller takes it over
 *   tensor_store(&field, t)                  a field now holds t; what it held before is given up
 *   record_define, record_new, record_return, record_own   the same for structs whose fields hold values
 *   record_store(&field, r)                  a field that holds a record
 *   struct_new(bytes), struct_return, struct_own            for structs that only borrow
 *   by hand: tensor_free, slot_free, memory_free
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct record_type {
	const char* name;
	size_t size;
	const size_t* fields; /* offsets of the fields that hold references */
	size_t field_count;
	uint32_t id;
} record_type;

#if defined(DIGITS_WITH_TRACE)
#include "memory_trace.h" /* with malloc, and a record of every call */
#elif defined(DIGITS_WITH_MALLOC)
#include "memory_malloc.h"
#else
#include "memory_tl.h"
#endif
