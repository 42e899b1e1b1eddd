/* Copies of tensors whose elements have gaps between them, stand in another order, or repeat. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../shapes/shapes.h"

#pragma GCC visibility push(hidden)

/* Elements of 1, 2, 4, 8 or 16 bytes, and where they are. */
typedef struct tlc_elements {
	uintptr_t data;
	size_t size;
	int64_t rank;                 /* at most TL_MAX_RANK */
	int64_t shape[TL_MAX_RANK];   /* of what is copied, no extent is 0 */
	int64_t strides[TL_MAX_RANK]; /* in elements; of what is written none is 0 where the extent is not 1 */
} tlc_elements;

/* Copies the elements of `from` to an array of the same shape, whose own is not read. Both have no bytes in common. No
 * order is promised. */
void tlc_copy_elements(uintptr_t to, const int64_t* to_strides, const tlc_elements* from);

/* Where the lowest element begins, and the highest one ends. */
void tlc_reach(const tlc_elements* of, uintptr_t* low, uintptr_t* high);

#pragma GCC visibility pop
