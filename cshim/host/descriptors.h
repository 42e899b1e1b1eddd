/* Descriptors that the library makes, and the three of standard input, output and error; see descriptors.c. */
#pragma once

#include "../base/layout.h"

/* Numbers of standard descriptors that were closed. */
typedef struct tlc_filled_descriptors {
	int numbers[TL_FIRST_DESCRIPTOR];
	int count;
} tlc_filled_descriptors;

#pragma GCC visibility push(hidden)

/* Between these calls no new descriptor gets one of the three numbers. */
void tlc_fill_standard_descriptors(tlc_filled_descriptors* filled);
void tlc_close_filled_descriptors(const tlc_filled_descriptors* filled);

#pragma GCC visibility pop
