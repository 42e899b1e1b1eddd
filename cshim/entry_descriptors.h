/* Descriptors that the library makes, and the three of standard input, output and error; see entry_descriptors.c. */
#ifndef TL_DESCRIPTORS_H
#define TL_DESCRIPTORS_H

#include "layout.h"

/* Places below it that were free. */
typedef struct tlc_places {
	int taken[TL_FIRST_DESCRIPTOR];
	int count;
} tlc_places;

#pragma GCC visibility push(hidden)

/* Between these calls no new descriptor gets one of the three numbers. */
void tlc_take_places(tlc_places* places);
void tlc_leave_places(const tlc_places* places);

#pragma GCC visibility pop

#endif
